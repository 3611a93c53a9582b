import { join } from 'node:path';
import { orderLine, readOrder, type Order } from '../domain/order.ts';
import { badLine, readJsonFile } from '../files/read-json.ts';
import { JsonArray, JsonObject, type JsonValue } from '../json/read.ts';
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

  /** Reads the file again. Throws as the constructor does. */
  load(): void {
    const document = readJsonFile(this.#path);
    if (document === null) return;
    const table = new LineTable();
    for (const order of ordersOf(document, this.#path)) table.append(Buffer.from(orderLine(order)), order.status);
    this.#table = table;
  }

  /** A page of the list, in ascending id. */
  page(query: PageQuery): Page {
    return this.#table.page(query);
  }
}

function ordersOf(document: JsonValue, path: string): Order[] {
  if (!(document instanceof JsonArray)) throw badLine(path, 1, 'the orders must be a JSON array');
  const lines = new Map<bigint, number>();
  let line = 1;
  const orders = document.items.map((value) => {
    if (!(value instanceof JsonObject)) throw badLine(path, line, 'behind what begins here stands something that is no JSON object');
    line = value.line;
    const order = readOrder(value);
    if (typeof order === 'string') throw badLine(path, line, order);
    const other = lines.get(order.id);
    if (other !== undefined) throw badLine(path, line, `the id ${order.id} stands in line ${other} already`);
    lines.set(order.id, line);
    return order;
  });
  return orders.sort((a, b) => (a.id < b.id ? -1 : 1));
}
