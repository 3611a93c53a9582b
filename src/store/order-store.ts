import { join } from 'node:path';
import { orderLine, readOrder } from '../domain/order.ts';
import { DamagedFileError } from '../files/damaged-file.ts';
import { readJsonFile } from '../files/read-json.ts';
import { decodeRecords } from '../files/record-file.ts';
import { JsonArray } from '../json/read.ts';
import { LineTable, type Page, type PageQuery } from './line-table.ts';

export const ordersName = 'orders.json';

/** The orders: what `orders.json` held when it was read. */
export class OrderStore {
  #table = new LineTable();
  readonly #path: string;

  /** Reads the orders of a data folder; none where there is no file. Throws OperatorError that names the bad line. */
  constructor(folder: string) {
    this.#path = join(folder, ordersName);
    this.load();
  }

  /** Reads the file again. Throws as the constructor does; the orders are the old ones then. */
  load(): void {
    const document = readJsonFile(this.#path);
    if (document === null) return;
    if (!(document instanceof JsonArray)) throw new DamagedFileError(this.#path, 1, 'the orders must be a JSON array');
    const orders = decodeRecords(this.#path, 1, document.items, readOrder);
    this.#table = new LineTable();
    for (const order of orders.sort((a, b) => (a.id < b.id ? -1 : 1))) {
      this.#table.append(Buffer.from(orderLine(order)), order.status);
    }
  }

  /** A page of the list, in ascending id. */
  page(query: PageQuery): Page {
    return this.#table.page(query);
  }
}
