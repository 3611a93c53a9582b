/** A valid create must not be refused because of another animal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bearer } from '../../client/credentials.ts';
import { createPet, createPetOf, listPets } from '../../client/requests.ts';
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
  const { mustBe: _, ...usual } = createPet(key, pet);
  const withId = { ...createPetOf(key, '{"id":7,"name":" Rex","categoryId":3}'), sent: pet };
  const { mustBe: __, ...unknown } = createPet(key, { ...pet, categoryId: 4n });
  for (const [request, status, isViolation] of [
    [usual, 409, true],
    [usual, 406, true],
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
