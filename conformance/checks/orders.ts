/** Section 4.4: the orders. */
import { JsonObject, kindOf, type Json } from '../client/json.ts';
import { listOrders } from '../client/requests.ts';
import { check, type Check } from '../session/check.ts';

export const orderChecks: readonly Check[] = [
  check('orders.exists', { requests: 1 }, async (t) => {
    const response = await t.send(listOrders(t.key));
    t.observe('orders.shape', response.status === 200 ? shapeOf(response.json) : `${response.status}`, response);
    const exists = ![404, 405, 501].includes(response.status) && response.status < 500;
    t.require(exists, response, 'any status except 404, 405 and server errors (5xx)');
  }),
];

function shapeOf(json: Json | SyntaxError): string {
  if (json instanceof SyntaxError) return 'no JSON';
  const first = Array.isArray(json) ? json[0] : json;
  const fields = first instanceof JsonObject ? ` with ${first.members.map(([name]) => name).join(', ')}` : '';
  if (!Array.isArray(json)) return `${kindOf(json)}${fields}`;
  return fields === '' ? 'an array' : `an array of objects${fields}`;
}
