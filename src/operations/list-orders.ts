import { orderStatuses } from '../domain/order.ts';
import type { Records } from '../engine.ts';
import { listOperation } from './list.ts';
import type { Operation } from './operation.ts';

/** `listOrders` (specification.md section 4.4, decisions.md "Orders"). */
export function listOrders(orders: Records, basePath: string): Operation {
  return listOperation('listOrders', `${basePath}/store/orders`, orderStatuses, orders);
}
