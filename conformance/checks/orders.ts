/** Section 4.4: the orders. */
import { JsonObject, kindOf, type Json } from '../client/json.ts';
import { listOrders } from '../client/requests.ts';
import { withHeaders } from '../model/exchange.ts';
import { check, type Check } from '../session/check.ts';

export const orderChecks: readonly Check[] = [
  // The model sends it with other headers and after other responses.
  check('orders.exists', { requests: 2 }, async (t) => {
    await t.send(withHeaders({ Accept: 'application/json' })(listOrders(t.key)));
    const response = await t.send(listOrders(t.key));
    t.observe('orders.shape', response.status === 200 ? shapeOf(response.json) : `${response.status}`, response);
  }),
];

function shapeOf(json: Json | SyntaxError): string {
  if (json instanceof SyntaxError) return 'no JSON';
  const first = Array.isArray(json) ? json[0] : json;
  const fields = first instanceof JsonObject ? ` with ${first.members.map(([name]) => name).join(', ')}` : '';
  if (!Array.isArray(json)) return `${kindOf(json)}${fields}`;
  return fields === '' ? 'an array' : `an array of objects${fields}`;
}
