/** Which statuses a valid create may get, and whose bodies must be JSON. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bearer, nobody, wrongKey } from '../../client/credentials.ts';
import { createPet, createPetOf, listPets, tryPet } from '../../client/requests.ts';
import { response } from '../../testing/responses.ts';
import { apiKey } from '../../testing/servers.ts';
import { History } from '../history.ts';
import { bodyRules } from './bodies.ts';

const key = bearer(apiKey);

test('a status that no name explains is a violation, unless the category, a field or the type explains it', () => {
  const history = new History();
  history.add(response({ request: listPets(key), body: '[{"id":7,"name":"Rex","categoryId":3}]' }));
  const { judge } = bodyRules.find(({ id }) => id === 'create.answers')!;
  const pet = { name: ' Rex', categoryId: 3n };
  const usual = tryPet(key, pet);
  const withId = { ...createPetOf(key, '{"id":7,"name":" Rex","categoryId":3}'), sent: pet };
  const unknown = tryPet(key, { ...pet, categoryId: 4n });
  for (const [request, status, isViolation] of [
    [usual, 409, true],
    [usual, 410, true],
    [usual, 406, false],
    [usual, 303, true],
    [usual, 400, false],
    [{ ...usual, headers: [] }, 415, false],
    [usual, 422, false],
    [unknown, 409, false],
    [withId, 409, false],
    [createPetOf(key, '{}'), 409, false],
  ] as const)
    assert.equal(typeof judge(response({ request, status }), history), isViolation ? 'object' : 'undefined');
});

test('a body must be JSON with any status, unless a proxy or a firewall may have made the response', () => {
  const { judge } = bodyRules.find(({ id }) => id === 'service.json')!;
  const page = { body: '<p>No</p>', headers: [['Content-Type', 'text/html']] as const };
  for (const [status, isViolation] of [
    ...[200, 202, 400, 401, 404, 409, 410, 415, 422, 429].map((status) => [status, true] as const),
    ...[302, 403, 413, 431, 502].map((status) => [status, false] as const),
  ])
    for (const request of [listPets(key), createPet(key, { name: 'Rex', categoryId: 3n })])
      assert.equal(
        typeof judge(response({ request, status, ...page }), new History()),
        isViolation ? 'object' : 'undefined',
        `${status}`,
      );
});

test('a request without a valid key must not succeed, whichever check sends it', () => {
  const { judge } = bodyRules.find(({ id }) => id === 'auth.invalid-request')!;
  const spelled = { header: 'bearer x', shell: undefined, key: 'none', acceptedAs: 'main' } as const;
  for (const [credential, status, isViolation] of [
    [nobody, 200, true],
    [wrongKey, 201, true],
    [wrongKey, 401, false],
    [wrongKey, 429, false],
    [spelled, 200, false],
    [key, 200, false],
  ] as const)
    assert.equal(
      typeof judge(response({ request: listPets(credential), status }), new History()),
      isViolation ? 'object' : 'undefined',
    );
});
