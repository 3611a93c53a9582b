/** Section 4.2, gaps: bodies that a server may reject. If it accepts them, it must not change them. */
import { int64Max } from '../client/pet.ts';
import { createPet, createPetOf } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import type { GapId } from '../requirements/gaps.ts';
import { observe, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';
import { controlName, loneSurrogateName, nulName } from './names.ts';

/** Categories that probably no animal has, up to the limits of integers. */
const categories: readonly bigint[] = [123_456_789n, 2n ** 31n, 2n ** 32n, 2n ** 53n + 1n, int64Max];

export const createGapChecks: readonly Check[] = [
  // The specification does not state which categories exist, so a server may refuse any of them. This check is the
  // first, because get.answers gets the latest animals, and the names that the other checks create reveal more faults.
  observe(
    ['create.category-range'],
    { requests: categories.length, creates: categories.length, writes: true },
    async (t) => {
      for (const categoryId of categories) {
        const { mustBe: _, ...request } = createPet(t.key, { name: 'Category', categoryId });
        const response = await t.send(request);
        if (response.status !== 201)
          return t.observe('create.category-range', `no: ${categoryId} gets ${response.status}`, response);
      }
      t.observe('create.category-range', 'yes, as far as tried');
    },
  ),
  observe(
    [
      'create.empty-name',
      'create.blank-name',
      'create.long-name',
      'create.control-characters',
      'create.nul',
      'create.lone-surrogate',
    ],
    { requests: 10, creates: 10, writes: true },
    async (t) => {
      const createNamed = async (name: string) => {
        const { mustBe: _, ...request } = createPet(t.key, { name, categoryId: t.fixtures.category });
        return t.send(request);
      };
      const cases = [
        ['create.empty-name', ''],
        ['create.blank-name', '   '],
        ['create.control-characters', controlName],
        ['create.nul', nulName],
      ] as const;
      for (const [gap, name] of cases) accepted(t, gap, await createNamed(name));
      for (const name of [loneSurrogateName, '\udc08\ud83d']) {
        const response = await createNamed(name);
        const [pet] = response.pets;
        if (pet === undefined) accepted(t, 'create.lone-surrogate', response);
        else t.observe('create.lone-surrogate', `yes, and ${pet.name === name ? 'kept' : 'replaced'}`, response);
      }
      const lengths = [256, 1_000, 10_000, 50_000];
      let longest = 0;
      for (const length of lengths) {
        const response = await createNamed(`${'Rex'.padEnd(length - 3, ' the dog')}🐕.`);
        if (response.status !== 201) break;
        longest = length;
      }
      const some = longest === 0 ? 'fewer than 256 characters' : `at least ${longest} characters`;
      t.observe('create.long-name', longest === lengths.at(-1) ? `${longest} characters and maybe more` : some);
    },
  ),
  observe(
    [
      'create.whole-fraction',
      'create.tiny-fraction',
      'create.duplicate-name',
      'create.byte-order-mark',
      'create.invalid-utf-8',
      'create.utf-16',
      'create.malformed',
      'create.nan',
      'create.comments',
      'create.unknown-field',
      'create.own-id',
      'create.content-type',
    ],
    { requests: 14, creates: 13, writes: true },
    async (t) => {
      const c = t.fixtures.category;
      const sent = { name: 'Rex', categoryId: c };
      const fields = `"name":"Rex","categoryId":${c}`;
      const create = (body: string | Uint8Array) => createPetOf(t.key, body);
      for (const number of [`${c}.0`, `${c}e0`, `${c}0e-1`]) {
        const response = await t.send({ ...create(`{"name":"Rex","categoryId":${number}}`), sent });
        accepted(t, 'create.whole-fraction', response);
      }
      const latin1 = Buffer.from(`{"name":"R\u00e9x","categoryId":${c}}`, 'latin1');
      const textPlain = { headers: [['Content-Type', 'text/plain']], open: true } as const;
      const cases = [
        ['create.tiny-fraction', create(`{"name":"Rex","categoryId":${c}.00000000000000000001}`)],
        ['create.duplicate-name', { ...create(`{"name":"First",${fields}}`), sent: { categoryId: c } }],
        ['create.byte-order-mark', { ...create(`\ufeff{${fields}}`), sent }],
        ['create.invalid-utf-8', { ...create(latin1), sent: { categoryId: c } }],
        ['create.utf-16', create(Buffer.from(`\ufeff{${fields}}`, 'utf16le'))],
        ['create.nan', create(`{${fields},"weight":NaN}`)],
        ['create.comments', { ...create(`{/* a dog */${fields}}`), sent }],
        ['create.unknown-field', { ...create(`{${fields},"colour":"red"}`), sent }],
        ['create.own-id', { ...create(`{"id":4611686018427387904,${fields}}`), sent }],
        ['create.content-type', { ...create(`{${fields}}`), sent, ...textPlain }],
      ] as const;
      for (const [gap, request] of cases) accepted(t, gap, await t.send(request));
      const response = await t.send(create(`{${fields}`));
      t.observe('create.malformed', `${response.status}`, response);
    },
  ),
];

function accepted(t: CheckContext, gap: GapId, response: Response): void {
  t.observe(gap, response.status === 201 ? 'yes' : `no: ${response.status}`, response);
}
