/** Section 4.2: a valid NewPet is accepted, returned as it was sent, and stored. */
import * as fc from 'fast-check';
import { int64Max, int64Min, statuses, type NewPet } from '../client/pet.ts';
import type { Request } from '../client/request.ts';
import { createPet, createPetOf, listPets } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { check, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';
import {
  anyName,
  fragileNames,
  invisibleName,
  isOrdinary,
  isPlain,
  linesName,
  nulName,
  unusualName,
} from './names.ts';

/** The examples of create.name. A server may reject the last few, but not change them. */
const names: readonly string[] = [...fragileNames, invisibleName, unusualName, linesName, nulName];

/** The maximum number of animals that create.stored gets. */
const maxGets = 60;

/** The limits of integers: zero, signs, 32 bits, the precision of a double, 64 bits. */
const boundaryCategories: readonly bigint[] = [
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
  check('create.answers', { requests: 17, creates: 17, writes: true }, async (t) => {
    await t.each([undefined, ...statuses], async (status) => {
      const response = await t.send(createPet(t.key, t.fixtures.newPet(status)));
      const [pet] = response.pets;
      if (status === undefined && pet !== undefined)
        t.observe('pet.default-status', pet.status ?? 'none is shown', response);
      if (response.status === 201)
        t.observe('create.location', response.all('location').length > 0 ? 'yes' : 'no', response);
    });
    const c = t.fixtures.category;
    const bodies: readonly [body: string, name: string][] = [
      [`{"categoryId":${c},"name":"Order of members"}`, 'Order of members'],
      [`{"status":"sold","categoryId":${c},"name":"Status first"}`, 'Status first'],
      [`\r\n\t { "name" :\n"Spaces" ,\t"categoryId"\r: ${c} } \n`, 'Spaces'],
      [`{"name":"\\u0045sc\\u0061ped \\u00fc \\ud83d\\udc08 \\/","categoryId":${c}}`, 'Escaped ü 🐈 /'],
      [`{"name":"\\u0045sc\\u0061ped","categoryId":${c}}`, 'Escaped'],
      [`{"n\\u0061me":"Escaped member","categoryId":${c}}`, 'Escaped member'],
      [`{"name":"status","categoryId":${c},"status":"\\u0073old"}`, 'status'],
    ];
    await t.each(bodies, async ([body, name]) => {
      const sent = { name, categoryId: c };
      await t.send({ ...createPetOf(t.key, body), sent, ...(isPlain(name) && { mustBe: 201 }) });
    });
    // The parameter changes nothing, because JSON is always UTF-8 (RFC 8259, section 11).
    await t.each(['application/json; charset=utf-8', 'application/json;charset=UTF-8'], async (type) => {
      await t.send({ ...createPet(t.key, t.fixtures.newPet()), headers: [['Content-Type', type]] });
    });
    const twin = t.fixtures.newPet();
    for (let i = 0; i < 2; i++) await t.send(createPet(t.key, twin));
  }),
  check(
    'create.name',
    { requests: names.length + 3, creates: names.length + 1, writes: true, perCase: { requests: 1.1, creates: 1 } },
    async (t) => {
      let count = 0;
      let refused: Response | undefined;
      await t.forAll(
        anyName,
        (name) => JSON.stringify(name),
        async (name) => {
          // Which strings are valid names is a gap (section 2).
          const response = await t.send(create(t, { name, categoryId: t.fixtures.category }, false));
          if (isOrdinary(name) && response.status !== 201) refused ??= response;
          // While the animals may be on the first page, for the rule animals.agree.
          if (++count % 15 === 0) await t.send(listPets(t.key, { limit: 100 }));
        },
        names,
      );
      t.observe('create.ordinary-name', refused === undefined ? 'yes, all that were sent' : 'not all', refused);
      await sendInParts(t);
    },
  ),
  check(
    'create.category',
    { requests: 16, creates: 16, writes: true, perCase: { requests: 1, creates: 1, share: 0.5 } },
    async (t) => {
      const known = t.fixtures.categories;
      const anyCategory = fc.oneof(
        fc.nat(9).map((n) => known[n % known.length]!),
        fc.bigInt({ min: int64Min, max: int64Max }),
      );
      await t.forAll(
        anyCategory,
        String,
        async (categoryId) => {
          const isKnown = known.includes(categoryId);
          const response = await t.send(create(t, { name: 'Category', categoryId }, isKnown));
          if (isKnown) return;
          const size = categoryId > 2n ** 53n ? 'create.large-category' : 'create.unknown-category';
          const gap = categoryId < 0n ? 'create.negative-category' : size;
          t.observe(gap, response.status === 201 ? 'yes' : `no: ${response.status}`, response);
        },
        [...boundaryCategories, ...known.slice(0, 2)],
      );
    },
  ),
  check('create.status', { requests: 8 * 2, creates: 8, writes: true }, async (t) => {
    const getExists = !(await t.fixtures.getIsRemoved());
    await t.each([undefined, ...statuses, ...statuses, undefined], async (status) => {
      const [created] = (await t.send(createPet(t.key, t.fixtures.newPet(status)))).pets;
      if (getExists && created !== undefined) await t.getCreated(created.id);
    });
  }),
  check('create.stored', { requests: 12 + maxGets, creates: 12, writes: true }, async (t) => {
    await t.fixtures.needGet();
    const { category } = t.fixtures;
    for (const name of fragileNames.slice(0, Math.max(0, 12 - t.history.createdIds().length)))
      await t.send(create(t, { name, categoryId: category }, false));
    const isFragile = (id: bigint) => {
      const { name, categoryId } = t.history.known(id)!.sent!;
      return Number(names.includes(name) || boundaryCategories.includes(categoryId));
    };
    const ids = [...t.history.createdIds()].sort((a, b) => isFragile(b) - isFragile(a)).slice(0, maxGets);
    await t.each(ids, async (id) => {
      const response = await t.getCreated(id);
      const [created, got] = [t.history.known(id)?.sent, response.pets[0]];
      if (created?.status !== undefined)
        t.observe('pet.status-moves', got?.status === created.status ? 'not seen' : 'yes', response);
    });
  }),
];

/** A body may arrive in parts, and a part may end within a character. */
async function sendInParts(t: CheckContext): Promise<void> {
  const pet: NewPet = { name: 'Größe 🐈', categoryId: t.fixtures.category };
  const { sent: _, ...request } = create(t, pet, false);
  const firstPart = Buffer.from(request.body!).indexOf('🐈') + 2;
  const response = await t.send({ ...request, firstPart });
  const [created] = response.pets;
  if (created === undefined) return;
  const required = `name ${JSON.stringify(pet.name)}, although two parts of the body, sent separately, divide the 🐈`;
  t.require(created.name === pet.name, response, required, JSON.stringify(created.name));
}

/** A create that must be accepted if `strict`. The rules judge what a 201 returns in either case. */
function create(t: CheckContext, pet: NewPet, strict: boolean): Request {
  const { mustBe, ...request } = createPet(t.key, pet);
  return strict ? { ...request, mustBe: mustBe! } : request;
}
