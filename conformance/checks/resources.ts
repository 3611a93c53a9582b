/** Sections 2 and 7: ids of animals, and what the specification leaves open about bodies, Pets and Errors. */
import type { JsonObject } from '../client/json.ts';
import { createPet, createPetOf, listPets } from '../client/requests.ts';
import { check, observe, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';

/** The number of animals that are created at the same time: a server without synchronization could repeat an id. */
const concurrent = 8;

/** The number of them that are requested: a server may lose those that are over a limit of its own. */
const lastOfConcurrent = 4;

const openInBodies = [
  ...(['service.compression', 'error.extra-fields', 'error.codes'] as const),
  ...(['pet.shows-status', 'pet.extra-fields', 'pet.id-size'] as const),
];

export const resourceChecks: readonly Check[] = [
  check('pet.unique-id', { requests: concurrent + lastOfConcurrent + 8, creates: concurrent + 5 }, async (t) => {
    await t.send(listPets(t.key, { limit: 100 }));
    if (!t.mayWrite) return;
    await sendOwnId(t);
    await t.room(concurrent);
    const creates = Array.from({ length: concurrent }, () => createPet(t.key, t.fixtures.newPet()));
    const created = (await t.sendTogether(creates)).flatMap(({ pets }) => pets);
    if (await t.fixtures.getIsRemoved()) return;
    for (const { id } of created.slice(-lastOfConcurrent)) await t.getCreated(id);
  }),

  observe(openInBodies, { requests: 1 }, async (t) => {
    await t.fixtures.oneOfEach();
    // Only the first observation counts. If a response had a coding, the session has already observed it.
    t.observe('service.compression', 'no');
    const { errors } = t.history;
    if (errors.length > 0) {
      t.observe('error.extra-fields', otherFields(errors, ['code', 'message', 'status']));
      const codes = errors.map((error) => error.get('code')).filter((code) => typeof code === 'string');
      t.observe('error.codes', [...new Set(codes)].sort().join(', '));
    }
    const { petObjects: pets } = await t.send(listPets(t.key, { limit: 100 }));
    if (pets.length === 0) return;
    t.observe('pet.shows-status', pets.every((pet) => pet.get('status') !== undefined) ? 'yes' : 'no');
    t.observe('pet.extra-fields', otherFields(pets, ['id', 'name', 'categoryId', 'status']));
    t.observe('pet.id-size', (t.history.ids().at(-1) ?? 0n) >= 2n ** 53n ? 'beyond 2^53' : 'within 2^53');
  }),
];

/**
 * Creates animals with the id that may be next, and with the one of another animal. The server may ignore or refuse the
 * id. The rules judge whether a 201 has it.
 */
async function sendOwnId(t: CheckContext): Promise<void> {
  const { id, categoryId } = await t.fixtures.created();
  for (const [own, ...names] of [[id + 1n, 'id'], [id, 'id'], [id, '_id', 'petId', 'pet_id', 'pk'], [id, 'Id', 'ID']]) {
    const ids = names.map((name) => `"${name}":${own}`).join();
    await t.send(createPetOf(t.key, `{${ids},"name":"Own id","categoryId":${categoryId}}`));
  }
  if (await t.fixtures.getIsRemoved()) return;
  const response = await t.getCreated(id);
  const isOther = response.pets[0]?.name === 'Own id';
  const required = `animal ${id} as it was before another create sent its id`;
  t.require(!isOther, response, required, 'the animal of that create');
}

/** The fields of objects that the specification does not have. */
function otherFields(objects: readonly JsonObject[], specified: readonly string[]): string {
  const names = objects.flatMap(({ members }) => members.map(([name]) => name));
  const others = [...new Set(names)].filter((name) => !specified.includes(name)).sort();
  return others.length === 0 ? 'none' : others.join(', ');
}
