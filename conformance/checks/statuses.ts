/** Section 4: the statuses of the operations on animals. No value of a client may cause a server error. */
import { int64Max, int64Min } from '../client/pet.ts';
import { createPetOf, getPetWithId, listPetsWithQuery } from '../client/requests.ts';
import { isServerError } from '../client/response.ts';
import { check, type Check } from '../session/check.ts';
import { loneSurrogateName, nulName } from './names.ts';

const queries = [
  'limit=abc',
  'limit=-1',
  'limit=0',
  'limit=1.5',
  'limit=',
  `limit=${2n ** 31n}`,
  `limit=${2n ** 64n}`,
  'limit=1&limit=2',
  'status=asleep',
  'status=',
  'status=%00',
  'status=sold&status=pending',
];

const petIds = ['cat', '-1', '0', '1.5', `${int64Max + 1n}`, `${2n ** 64n}`, `${int64Min - 1n}`, '9'.repeat(400)];

const names = [nulName, loneSurrogateName, 'x'.repeat(1_000)];

/** Other fields: for a column of 32 bits, a double, a field that the server fills, and a parser that calls itself. */
const otherFields = ['-1', `${int64Max}`, '1e400', '1,"id":"x"', `1,"more":${'['.repeat(2_000)}${']'.repeat(2_000)}`];

const total = queries.length + petIds.length + names.length + otherFields.length;

export const statusChecks: readonly Check[] = [
  check('service.status', { requests: total, creates: names.length + otherFields.length }, async (t) => {
    const { category } = t.fixtures;
    const getExists = !(await t.fixtures.getIsRemoved());
    const bodies = [
      ...names.map((name) => `{"name":${JSON.stringify(name)},"categoryId":${category}}`),
      ...otherFields.map((fields) => `{"name":"Rex","categoryId":${fields}}`),
    ];
    const requests = [
      ...queries.map((query) => listPetsWithQuery(t.key, query)),
      ...(getExists ? petIds.map((petId) => getPetWithId(t.key, petId)) : []),
      ...(t.mayWrite ? bodies.map((body) => createPetOf(t.key, body)) : []),
    ];
    await t.each(requests, async (request) => {
      const response = await t.send(request);
      // After a server error the request is repeated, and the rule judges the second response.
      if (!isServerError(response)) t.require(true, response, 'no server error (5xx)');
    });
  }),
];
