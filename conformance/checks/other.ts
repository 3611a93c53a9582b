/** Sections 4.4 and 9: the other operation, and the path of the version. */
import { check, observe, type Check } from '../session/check.ts';
import { JsonObject, kindOf } from '../client/json.ts';
import { getPet, listOrders, listPets } from '../client/requests.ts';

export const otherChecks: readonly Check[] = [
  check('orders.exists', { requests: 1 }, async (t) => {
    const response = await t.send(listOrders(t.key));
    const exists = ![404, 405, 501].includes(response.status) && response.status < 500;
    t.require(exists, response, 'any response but 404, 405 and a failure of the server (5xx)');
  }),
  check('version.path', { requests: 3 }, async (t) => {
    const [id] = t.history.ids();
    const requests = [
      listPets(t.key),
      listOrders(t.key),
      ...(id === undefined || (await t.fixtures.getIsRemoved()) ? [] : [getPet(t.key, id)]),
    ];
    await t.each(requests, async (request) => {
      const response = await t.send(request);
      const elsewhere = [404, 405].includes(response.status) || Math.floor(response.status / 100) === 3;
      t.require(!elsewhere, response, `an operation below ${new URL(t.client.baseUrl).pathname}`);
    });
  }),

  observe(['orders.shape'], { requests: 1 }, async (t) => {
    const response = await t.send(listOrders(t.key));
    const { json } = response;
    const first = Array.isArray(json) ? json[0] : json;
    const fields = first instanceof JsonObject ? ` with ${first.members.map(([name]) => name).join(', ')}` : '';
    const shape =
      json instanceof SyntaxError
        ? 'no JSON'
        : Array.isArray(json)
          ? `an array${fields === '' ? '' : ` of objects${fields}`}`
          : `${kindOf(json)}${fields}`;
    t.observe('orders.shape', response.status === 200 ? shape : `${response.status}`, response);
  }),
];
