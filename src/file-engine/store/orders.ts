import { join } from 'node:path';
import { orderLine, readOrder } from '../../domain/order.ts';
import { recordSteps, writeRecords } from '../files/record-file.ts';
import { atOnce, type Steps } from '../files/turns.ts';
import type { LineTable } from './line-table.ts';

export const ordersName = 'orders.json';
/** How many orders are added in one step: at most about 20 ms. */
const ordersPerStep = 1000;
export const ordersFormat = { name: 'petstore-orders', member: 'orders', mayBeBare: true };

/** Adds the orders of a data folder to an empty table. Throws OperatorError if the file is damaged or unreadable. */
export function readOrders(folder: string, table: Pick<LineTable, 'append'>): void {
  atOnce(orderSteps(folder, table));
}

/** Does what `readOrders` does, in steps: a million take seconds, during which a server must respond to commands. */
export function* orderSteps(folder: string, table: Pick<LineTable, 'append'>): Steps<void> {
  const { records } = yield* recordSteps(join(folder, ordersName), ordersFormat, readOrder);
  for (const [index, order] of records.sort((a, b) => (a.id < b.id ? -1 : 1)).entries()) {
    table.append(Buffer.from(orderLine(order)), order.status);
    if (index % ordersPerStep === 0) yield;
  }
}

/** Replaces the orders of a data folder. Each is a line of `orderLine`. Rejects as `writeRecords` does. */
export function writeOrders(
  folder: string,
  store: string,
  lines: Iterable<string>,
  checkLock?: () => void,
): Promise<void> {
  return writeRecords(join(folder, ordersName), ordersFormat, { store }, lines, checkLock);
}
