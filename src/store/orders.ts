import { join } from 'node:path';
import { orderLine, readOrder } from '../domain/order.ts';
import { readRecords } from '../files/record-file.ts';
import type { LineTable } from './line-table.ts';

export const ordersName = 'orders.json';

/** Adds the orders of a data folder to an empty table. Throws OperatorError if the file is damaged or unreadable. */
export function readOrders(folder: string, table: LineTable): void {
  const orders = readRecords(join(folder, ordersName), null, readOrder);
  for (const order of orders.sort((a, b) => (a.id < b.id ? -1 : 1))) {
    table.append(Buffer.from(orderLine(order)), order.status);
  }
}
