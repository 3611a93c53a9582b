import { join } from 'node:path';
import { orderLine, readOrder } from '../domain/order.ts';
import { readRecords, writeRecords } from '../files/record-file.ts';
import type { LineTable } from './line-table.ts';

export const ordersName = 'orders.json';
export const ordersFormat = { name: 'petstore-orders', member: 'orders', mayBeBare: true };

/** Adds the orders of a data folder to an empty table. Throws OperatorError if the file is damaged or unreadable. */
export function readOrders(folder: string, table: Pick<LineTable, 'append'>): void {
  const { records } = readRecords(join(folder, ordersName), ordersFormat, readOrder);
  for (const order of records.sort((a, b) => (a.id < b.id ? -1 : 1))) {
    table.append(Buffer.from(orderLine(order)), order.status);
  }
}

/** Replaces the orders of a data folder. Each is a line of `orderLine`. Rejects as `writeRecords` does. */
export function writeOrders(
  folder: string,
  store: string,
  lines: Iterable<string>,
  checkLock?: () => Promise<void>,
): Promise<void> {
  return writeRecords(join(folder, ordersName), ordersFormat, { store }, lines, checkLock);
}
