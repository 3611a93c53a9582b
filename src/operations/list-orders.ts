import { orderStatuses } from '../domain/order.ts';
import type { LineTable } from '../store/line-table.ts';
import { listOperation } from './list.ts';
import type { Operation } from './operation.ts';

/** `listOrders` (specification.md section 4.4, decisions.md "Orders"). */
export function listOrders(orders: LineTable, basePath: string): Operation {
  return listOperation('listOrders', `${basePath}/store/orders`, orderStatuses, (query) => orders.page(query));
}
