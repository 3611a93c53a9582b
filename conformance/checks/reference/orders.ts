/** Our own decisions, "Orders": a list like that of the animals. */
import { check, type Check } from '../../session/check.ts';
import type { Request } from '../../client/request.ts';
import type { Response } from '../../client/response.ts';
import { JsonObject } from '../../client/json.ts';
import { Inconclusive } from '../../verdicts/outcome.ts';
import { listOrders } from '../../client/requests.ts';
import { orderIds, orderStatuses } from '../../verdicts/rules-reference.ts';
import type { CheckContext } from '../../session/context.ts';
import { inShort, links, refused } from './common.ts';
import { followed } from './pets.ts';

/** So many pages one follows. */
const maxPages = 50;

const invalid = ['limit=0', 'limit=101', 'limit=2&limit=2', 'status=available', 'after=', 'after=9223372036854775808', 'x=%zz'];

export const orderListChecks: readonly Check[] = [
  check('decided.orders.schema', { requests: 1 }, async (t) => {
    const response = await firstOrders(t);
    t.require(response.status === 200, response, '200', inShort(response));
    if (orderIds(response).length === 0) throw new Inconclusive('there are no orders');
  }),
  check('decided.orders.ascending', {}, async (t) => {
    await firstOrders(t);
  }),
  check('decided.orders.limit', { requests: 3 }, async (t) => {
    const all = await someOrders(t);
    for (const limit of [1, 2]) {
      const response = await t.send(ordersBy(t, `limit=${limit}`));
      requireIds(t, response, all.slice(0, limit));
      if (all.length > limit)
        t.require(
          links(response, 'next').length === 1,
          response,
          'a Link to the next page, since orders follow',
          response.all('link').join(' and ') || 'none',
        );
    }
    requireIds(t, await t.send(listOrders(t.key)), all.slice(0, 20));
  }),
  check('decided.orders.status', { requests: orderStatuses.length }, async (t) => {
    const all = await firstOrders(t);
    for (const status of orderStatuses) {
      const fitting = Array.isArray(all.json)
        ? all.json.filter((order) => order instanceof JsonObject && order.get('status') === status)
        : [];
      const ids = orderIds(all).filter((_, i) => Array.isArray(all.json) && fitting.includes(all.json[i]!));
      const response = await t.send(ordersBy(t, `limit=100&status=${status}`));
      if (orderIds(all).length < 100) requireIds(t, response, ids);
      else t.require(response.status === 200, response, '200', inShort(response));
    }
  }),
  check('decided.orders.parameters', { requests: invalid.length }, async (t) => {
    await t.each(invalid, async (query) => {
      await refused(t, ordersBy(t, query), 400, 'invalid_parameter', `the query is ${query}`);
    });
  }),
  check('decided.orders.walk', { requests: 20 }, async (t) => {
    const all = await someOrders(t);
    const seen: bigint[] = [];
    let next: string | undefined = '/store/orders?limit=4';
    let response: Response | undefined;
    for (let pages = 0; next !== undefined && pages < maxPages; pages++) {
      response = await t.send({ ...listOrders(t.key), target: next });
      seen.push(...orderIds(response));
      next = followed(t, response);
    }
    const shown = seen.slice(0, all.length).join(', ');
    t.require(shown === all.join(', '), response!, `pages that show each order once: ${all.join(', ')}`, shown);
    const after = await t.send(ordersBy(t, `after=${all[0]}&limit=1`));
    requireIds(t, after, all.slice(1, 2));
  }),
];

/** The first 100 orders, asked for once in a run: they never change. */
async function firstOrders(t: CheckContext): Promise<Response> {
  return t.fixtures.once('orders', () => t.send(ordersBy(t, 'limit=100')));
}

/** The ids of the first 100 orders. */
async function someOrders(t: CheckContext): Promise<readonly bigint[]> {
  const ids = orderIds(await firstOrders(t));
  if (ids.length < 2) throw new Inconclusive(`there ${ids.length === 1 ? 'is one order' : 'are no orders'}`);
  return ids;
}

function requireIds(t: CheckContext, response: Response, ids: readonly bigint[]): void {
  const found = orderIds(response);
  t.require(
    response.status === 200 && found.join() === ids.join(),
    response,
    `the orders ${ids.join(', ') || '(none)'}`,
    response.status === 200 ? found.join(', ') || 'none' : inShort(response),
  );
}

function ordersBy(t: CheckContext, query: string): Request {
  return { ...listOrders(t.key), target: `/store/orders?${query}`, open: true };
}
