/**
 * Section 4: creates, lists and getPet, in any order, must show the same animals. The rules compare every animal in
 * every response with the history of the run, so this check only sends requests. Other clients may write at the same
 * time, because no operation changes an animal.
 */
import * as fc from 'fast-check';
import { wrongKey } from '../client/credentials.ts';
import { int64Max, newPetText, statuses, type NewPet, type PetStatus } from '../client/pet.ts';
import { createPet, createPetOf, getPet, listPets, tryPet } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { anyName } from '../model/names.ts';
import { check, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';
import { inJson } from '../verdicts/rules/rule.ts';

/** A request of a generated sequence. `get` is the index of an animal that the sequence has created. */
type Step =
  | { readonly create: NewPet }
  | { readonly refused: string }
  | { readonly get: number | 'unknown' }
  | { readonly list: { readonly limit?: number; readonly status?: PetStatus } };

/** The number of steps of a sequence. */
const stepCount = 5;

/** How often one of the animals is requested again: a faulty server may lose it after some requests. */
const moreGets = 11;

function stepText(step: Step): string {
  if ('create' in step) return `create ${newPetText(step.create)}`;
  if ('refused' in step) return `create ${step.refused}`;
  if ('list' in step) return `list ${inJson(step.list)}`;
  return step.get === 'unknown' ? 'get unknown' : `get created[${step.get}]`;
}

/** Sends the requests of a sequence. */
async function send(t: CheckContext, steps: readonly Step[]): Promise<readonly bigint[]> {
  const ids: bigint[] = [];
  for (const step of steps) {
    if ('create' in step) ids.push(...idsIn(await t.send(tryPet(t.key, step.create))));
    else if ('refused' in step) await t.send(createPetOf(t.key, step.refused));
    else if ('list' in step) await t.send(listPets(t.key, step.list));
    else if (step.get === 'unknown') await t.send(getPet(t.key, t.fixtures.unknownId()));
    else if (ids.length > 0) await t.getCreated(ids[step.get % ids.length]!);
  }
  return ids;
}

const idsIn = (response: Response) => response.pets.map(({ id }) => id);

/**
 * Finds faults that need no generated sequence: an equal second animal, a rejected create, repeated gets, animals that
 * are lost after some requests, and a get of the id that the next animal probably has: a server must not remember that
 * it did not find it.
 */
async function repeatedGets(t: CheckContext): Promise<void> {
  const pets = statuses.map((status) => t.fixtures.newPet(status));
  const created = await send(t, [{ refused: '{"name":"Nobody"}' }, ...pets.map((pet) => ({ create: pet }))]);
  const [, second, third] = created;
  if (second === undefined || third === undefined) return; // the server refuses creates
  const next = 2n * third - second;
  if (next > 0n && next <= int64Max) await t.send(getPet(t.key, next));
  const oldest = t.history.createdIds().slice(0, 2);
  const ids = [...oldest, ...created, ...(await send(t, [{ create: pets[0]! }]))];
  // A server must not undo what the connection has carried before.
  if (t.options.thoroughAuth) await t.sendOptional([createPet(wrongKey, t.fixtures.newPet())]);
  for (let round = 0; round < 2; round++) for (const id of ids) await t.getCreated(id);
  for (let i = 0; i < moreGets; i++) await t.getCreated(second);
}

/** Sends creates, lists and gets at the same time. */
async function together(t: CheckContext, getExists: boolean): Promise<void> {
  const { categories } = t.fixtures;
  const unknown = t.fixtures.unknownId();
  const [first = unknown, second = unknown] = t.history.createdIds().slice(-2);
  // On most servers, these are the oldest, which no replica lacks.
  const [oldest = unknown, other = unknown] = t.history.ids();
  const requests = [
    // The errors of one body must not appear for another, nor the values of one animal in another.
    createPetOf(t.key, '{"name":"Nobody"}'),
    ...statuses.map((status, i) => {
      return createPet(t.key, { ...t.fixtures.newPet(status), categoryId: categories[i % categories.length]! });
    }),
    ...[{}, ...statuses.map((status) => ({ status }))].map((query) => listPets(t.key, query)),
    ...(getExists ? [second, unknown, first, oldest, oldest, other] : []).map((id) => getPet(t.key, id)),
  ];
  await t.room(requests.length);
  const creates = (await t.sendTogether(requests)).slice(0, 1 + statuses.length);
  if (getExists) for (const id of creates.flatMap(idsIn)) await t.getCreated(id);
}

/** Sends the requests that are the same in every run. */
async function sendFixed(t: CheckContext, getExists: boolean): Promise<void> {
  const { pets: listed } = await t.send(listPets(t.key, { limit: 100 }));
  for (const status of statuses) await t.send(listPets(t.key, { limit: 100, status }));
  const sample = [0, 1 / 3, 2 / 3, 1].flatMap((part) => listed[Math.floor(part * (listed.length - 1))] ?? []);
  if (getExists) for (const { id } of sample) await t.send(getPet(t.key, id));
  if (!t.mayWrite) return;
  if (getExists) await repeatedGets(t);
  await together(t, getExists);
}

export const animalChecks: readonly Check[] = [
  check(
    'animals.agree',
    {
      requests: 8 + 18 + moreGets + 17,
      creates: 4 + 3,
      planned: ({ thoroughAuth, write }) => ({ requests: 0, keyless: Number(thoroughAuth && write), creates: 0 }),
      perCase: { requests: stepCount, creates: stepCount, share: 0.25 },
    },
    async (t) => {
      const getExists = !(await t.fixtures.getIsRemoved());
      // A replay sends only its case.
      if (t.options.path === undefined) await sendFixed(t, getExists);
      if (!t.mayWrite) return;
      // Categories by index, so that a seed generates the same sequences for any categories.
      const category = fc.nat(9).map((n) => t.fixtures.categories[n % t.fixtures.categories.length]!);
      const pets = fc.record(
        { name: anyName, categoryId: category, status: fc.constantFrom(...statuses) },
        { requiredKeys: ['name', 'categoryId'] },
      );
      const queries = fc.record(
        { limit: fc.integer({ min: 1, max: 100 }), status: fc.constantFrom(...statuses) },
        { requiredKeys: [] },
      );
      const refused = fc.constantFrom('{"name":"Nobody"}', '{"name":"Nobody","categoryId":"1","status":"sold"}');
      const steps = fc.oneof<fc.Arbitrary<Step>[]>(
        fc.record({ create: pets }),
        fc.record({ refused }),
        fc.record({ list: queries }),
        ...(getExists ? [fc.record({ get: fc.nat(9) }), fc.constant({ get: 'unknown' } as const)] : []),
      );
      // A generated sequence has all its steps, so that the number of requests depends little on the seed. A smaller one
      // lacks some.
      const some = fc.option(steps, { freq: 1_000_000 });
      await t.forAll(
        fc.array(some, { minLength: stepCount, maxLength: stepCount }).map((all) => all.filter((step) => step !== null)),
        (sequence) => sequence.map(stepText).join(', '),
        async (sequence) => void (await send(t, sequence)),
      );
    },
  ),
];
