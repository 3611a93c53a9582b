/** Sections 1, 2, 3 and 7: what every response must look like. The rules judge; here it is seen that there are responses. */
import { check, observe, onEveryResponse, type Check } from '../session/check.ts';
import { JsonObject } from '../client/json.ts';
import { nobody } from '../client/credentials.ts';
import { createPet, listPets } from '../client/requests.ts';

/** Fields of the specification; others are a server's own. */
const petFields = ['id', 'name', 'categoryId', 'status'];
const errorFields = ['code', 'message', 'status'];

/** Creates at once, among which a server that counts carelessly gives an id twice. */
const atOnce = 8;

export const resourceChecks: readonly Check[] = [
  ...(['service.json', 'pets.array', 'pet.id', 'pet.name', 'pet.category', 'pet.status'] as const).map(onEveryResponse),
  check('pet.unique-id', { requests: atOnce + 1, creates: atOnce }, async (t) => {
    await t.send(listPets(t.key, { limit: 100 }));
    if (!t.mayWrite) return;
    await t.room(atOnce);
    const responses = await t.sendTogether(Array.from({ length: atOnce }, () => createPet(t.key, t.fixtures.newPet())));
    const ids = responses.flatMap((response) => response.pets.map((p) => p.id));
    if (ids.length < 2) return;
    const twice = responses.find(
      (response, i) => responses.findIndex((other) => other.pets[0]?.id === response.pets[0]?.id) !== i && response.pets.length > 0,
    );
    t.require(
      twice === undefined,
      twice ?? responses[0]!,
      `${ids.length} ids for ${ids.length} animals created at once`,
      `id ${twice?.pets[0]?.id} twice`,
    );
  }),
  ...(['error.object', 'error.code', 'error.message', 'error.status'] as const).map((id) =>
    check(id, {}, async (t) => {
      await t.fixtures.oneOfEach();
      if (t.history.errors().length === 0) await t.send({ ...listPets(nobody), mustBe: 401 });
    }),
  ),

  observe(['pet.shows-status', 'pet.extra-fields', 'pet.id-size', 'error.extra-fields', 'error.codes'], {}, async (t) => {
    await t.fixtures.oneOfEach();
    const pets = t.history.shown();
    if (pets.length > 0) {
      t.observe('pet.shows-status', pets.every((p) => p.get('status') !== undefined) ? 'yes' : 'no');
      t.observe('pet.extra-fields', others(pets, petFields));
      const largest = t.history.ids().at(-1) ?? 0n;
      t.observe('pet.id-size', largest >= 2n ** 53n ? 'beyond 2^53' : 'within 2^53');
    }
    const errors = t.history.errors();
    if (errors.length > 0) {
      t.observe('error.extra-fields', others(errors, errorFields));
      const codes = errors.map((e) => e.get('code')).filter((code) => typeof code === 'string');
      t.observe('error.codes', [...new Set(codes)].sort().join(', '));
    }
  }),
];

function others(objects: readonly JsonObject[], known: readonly string[]): string {
  const names = new Set(objects.flatMap((o) => o.members.map(([name]) => name)).filter((name) => !known.includes(name)));
  return names.size === 0 ? 'none' : [...names].sort().join(', ');
}
