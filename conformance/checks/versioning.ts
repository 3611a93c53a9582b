/** Section 9: versioning. */
import { getPet, listOrders, listPets } from '../client/requests.ts';
import { check, type Check } from '../session/check.ts';

export const versionChecks: readonly Check[] = [
  check('version.path', { requests: 3 }, async (t) => {
    const [id] = t.history.ids();
    const gets = id === undefined || (await t.fixtures.getIsRemoved()) ? [] : [getPet(t.key, id)];
    await t.each([listPets(t.key), listOrders(t.key), ...gets], async (request) => {
      const response = await t.send(request);
      const isElsewhere = [404, 405].includes(response.status) || Math.floor(response.status / 100) === 3;
      t.require(!isElsewhere, response, `an operation below ${new URL(t.client.baseUrl).pathname}`);
    });
  }),
];
