/** Section 4.2: adding an animal. What is valid comes back as it was sent, and stays so. */
import * as fc from 'fast-check';
import { check, type Check } from '../session/check.ts';
import { anyName, halfName, invisibleName, isOrdinary, linesName, nulName, oddName, tellingNames } from './names.ts';
import { int64Max, int64Min, statuses, type NewPet } from '../client/pet.ts';
import { createPet, createPetOf, listPets } from '../client/requests.ts';
import type { CheckContext } from '../session/context.ts';

/** Tried before any is generated. The last few a server may refuse, but not change. */
const examples: readonly string[] = [...tellingNames, invisibleName, oddName, linesName, halfName, nulName];

/** How many animals at most are got again for `create.stored`. */
const maxGets = 60;

/** Where numbers change their nature: signs, 32 bits, what a double holds, 64 bits. */
const tellingCategories: readonly bigint[] = [
  0n,
  -1n,
  2n ** 31n - 1n,
  2n ** 31n,
  -(2n ** 31n) - 1n,
  2n ** 32n,
  2n ** 53n - 1n,
  2n ** 53n + 1n,
  -(2n ** 53n) - 1n,
  1234567890123456789n,
  int64Max,
  int64Max - 1n,
  int64Min,
  int64Min + 1n,
];

export const createChecks: readonly Check[] = [
  check('create.answers', { requests: 14, creates: 14, writes: true }, async (t) => {
    await t.each([undefined, ...statuses], async (status) => {
      const response = await t.send(createPet(t.key, t.fixtures.newPet(status)));
      if (status === undefined && response.pets[0] !== undefined)
        t.observe('pet.default-status', response.pets[0].status ?? 'none is shown', response);
      if (response.status === 201) t.observe('create.location', response.all('location').length > 0 ? 'yes' : 'no', response);
    });
    const c = t.fixtures.category;
    const bodies: readonly [body: string, name: string][] = [
      [`{"categoryId":${c},"name":"Order of members"}`, 'Order of members'],
      [`{"status":"sold","categoryId":${c},"name":"Status first"}`, 'Status first'],
      [`\r\n\t { "name" :\n"Spaces" ,\t"categoryId"\r: ${c} } \n`, 'Spaces'],
      [`{"name":"\\u0045sc\\u0061ped \\u00fc \\ud83d\\udc08 \\/","categoryId":${c}}`, 'Escaped ü 🐈 /'],
      [`{"n\\u0061me":"Escaped member","categoryId":${c}}`, 'Escaped member'],
      [`{"name":"status","categoryId":${c},"status":"\\u0073old"}`, 'status'],
    ];
    await t.each(bodies, async ([body, name]) => {
      await t.send({ ...createPetOf(t.key, body), sent: { name, categoryId: c }, mustBe: 201 });
    });
    const twin = t.fixtures.newPet();
    for (let i = 0; i < 2; i++) await t.send(createPet(t.key, twin));
  }),
  check(
    'create.name',
    { requests: examples.length + 2, creates: examples.length, writes: true, perCase: { requests: 1.1, creates: 1 } },
    async (t) => {
      let count = 0;
      await t.forAll(
        anyName,
        (name) => JSON.stringify(name),
        async (name) => {
          await t.send(pet(t, { name, categoryId: t.fixtures.category }, isOrdinary(name)));
          // While it can still be on the first page: what the list says of it is judged by animals.agree.
          if (++count % 15 === 0) await t.send(listPets(t.key, { limit: 100 }));
        },
        examples,
      );
    },
  ),
  check(
    'create.category',
    { requests: 16, creates: 16, writes: true, perCase: { requests: 1, creates: 1, share: 0.5 } },
    async (t) => {
      const known = t.fixtures.categories;
      const seen = {
        negative: 'create.negative-category',
        unknown: 'create.unknown-category',
        large: 'create.large-category',
      } as const;
      await t.forAll(
        fc.oneof(
          fc.nat(9).map((n) => known[n % known.length]!),
          fc.bigInt({ min: int64Min, max: int64Max }),
        ),
        String,
        async (categoryId) => {
          const response = await t.send(pet(t, { name: 'Category', categoryId }, known.includes(categoryId)));
          if (known.includes(categoryId)) return;
          const kind = categoryId < 0n ? 'negative' : categoryId > 2n ** 53n ? 'large' : 'unknown';
          t.observe(seen[kind], response.status === 201 ? 'yes' : `no: ${response.status}`, response);
        },
        [...tellingCategories, ...known.slice(0, 2)],
      );
    },
  ),
  check('create.status', { requests: 6, creates: 6, writes: true }, async (t) => {
    for (const status of [...statuses, ...statuses]) await t.send(createPet(t.key, t.fixtures.newPet(status)));
  }),
  check('create.stored', { requests: 12 + maxGets, creates: 12, writes: true }, async (t) => {
    await t.fixtures.needGet();
    const enough = 12;
    const { category } = t.fixtures;
    for (const name of tellingNames.slice(0, Math.max(0, enough - t.history.createdIds().length)))
      await t.send(createPet(t.key, { name, categoryId: category }));
    // Those first that tell most.
    const telling = (id: bigint) =>
      Number(examples.includes(t.history.created(id)!.name) || tellingCategories.includes(t.history.created(id)!.categoryId));
    const ids = [...t.history.createdIds()].sort((a, b) => telling(b) - telling(a)).slice(0, maxGets);
    await t.each(ids, async (id) => {
      const response = await t.fixtures.getCreated(id);
      if (response.status !== 200) t.require(false, response, `200, since the animal was created (404 is tried again for 5 s)`);
      const [created, got] = [t.history.created(id), response.pets[0]];
      if (created?.status !== undefined)
        t.observe('pet.status-moves', got?.status === created.status ? 'not seen' : 'yes', response);
    });
  }),
];

/** A create that must be answered with 201 where `strict`, and else may be refused: what a 201 returns is judged either way. */
function pet(t: CheckContext, wanted: NewPet, strict: boolean): ReturnType<typeof createPet> {
  const { mustBe, ...request } = createPet(t.key, wanted);
  return strict ? { ...request, mustBe: mustBe! } : request;
}
