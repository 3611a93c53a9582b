/** Section 4.2: a valid NewPet is accepted, returned as it was sent, and stored; an invalid one is refused. */
import * as fc from 'fast-check';
import { int64Max, int64Min, statuses, type NewPet } from '../client/pet.ts';
import type { Request } from '../client/request.ts';
import { createPet, listPets } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { refusals } from '../model/model.ts';
import { anyName, exampleNames, fragileNames, isOrdinary, isPlain } from '../model/names.ts';
import { costOf } from '../model/plan.ts';
import type { GapId } from '../requirements/gaps.ts';
import { check, observe, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';
import { checkCases, observeCases } from './cases.ts';

/** The maximum number of animals that create.stored gets. */
const maxGets = 60;

/** A store may truncate names that are longer. */
const longName = 255;

/** The name of the animals with generated categories. */
const anyCategoryName = 'Category';

/** Names that a server may reject, but must not change. */
const nameGaps = [
  'create.empty-name',
  'create.blank-name',
  'create.control-characters',
  'create.nul',
  'create.lone-surrogate',
  'create.long-name',
] as const;

export const createChecks: readonly Check[] = [
  check('create.answers', { writes: true, planned: costOf('create.answers') }, async (t) => {
    for (const { response } of await t.sendCases('create.answers')) {
      const [pet] = response.pets;
      if (response.request.sent?.status === undefined && pet !== undefined)
        t.observe('pet.default-status', pet.status ?? 'none is shown', response);
      if (response.status === 201)
        t.observe('create.location', response.all('location').length > 0 ? 'yes' : 'no', response);
    }
  }),
  check(
    'create.name',
    { requests: 3, creates: 1, writes: true, perCase: { requests: 1.1, creates: 1 }, planned: costOf('create.name') },
    async (t) => {
      let count = 0;
      const refused: Response[] = [];
      const note = (response: Response) => {
        const { name = '' } = response.request.sent ?? {};
        if (isOrdinary(name) && response.status !== 201) refused.push(response);
      };
      await t.forAll(
        anyName,
        (name) => JSON.stringify(name),
        async (name) => {
          // Which strings are valid names is a gap (section 2).
          note(await t.send(create(t, { name, categoryId: t.fixtures.category }, false)));
          // While the animals may be on the first page, for the rule animals.agree.
          if (++count % 15 === 0) await t.send(listPets(t.key, { limit: 100 }));
        },
      );
      for (const { response } of await t.sendCases('create.name')) note(response);
      t.observe('create.ordinary-name', refused.length === 0 ? 'yes, all that were sent' : 'not all', refused[0]);
    },
  ),
  check(
    'create.category',
    {
      requests: 2,
      creates: 2,
      writes: true,
      perCase: { requests: 1, creates: 1, share: 0.5 },
      planned: costOf('create.category'),
    },
    async (t) => {
      const known = t.fixtures.categories;
      await t.forAll(
        fc.oneof(fc.nat(9).map((n) => known[n % known.length]!), fc.bigInt({ min: int64Min, max: int64Max })),
        String,
        async (categoryId) => {
          await t.send(create(t, { name: anyCategoryName, categoryId }, known.includes(categoryId)));
        },
        known.slice(0, 2),
      );
      const responses = (await t.sendCases('create.category')).map(({ response }) => response);
      for (const response of responses) {
        const { categoryId = 0n } = response.request.sent ?? {};
        const size = categoryId > 2n ** 53n ? 'create.large-category' : 'create.unknown-category';
        t.observe(categoryId < 0n ? 'create.negative-category' : size, acceptance(response), response);
      }
      const sizeOf = ({ request: { sent } }: Response) => sent?.categoryId ?? 0n;
      const [refused] = responses
        .filter((response) => sizeOf(response) > 0n && response.status !== 201)
        .sort((one, other) => (sizeOf(one) < sizeOf(other) ? -1 : 1));
      const reason = refused && `no: ${sizeOf(refused)} gets ${refused.status}`;
      t.observe('create.category-range', reason ?? 'yes, as far as tried', refused);
    },
  ),
  check('create.status', { requests: 8 * 2, creates: 8, writes: true }, async (t) => {
    const getExists = !(await t.fixtures.getIsRemoved());
    await t.each([undefined, ...statuses, ...statuses, undefined], async (status) => {
      const [created] = (await t.send(createPet(t.key, t.fixtures.newPet(status)))).pets;
      if (getExists && created !== undefined) await t.getCreated(created.id);
    });
  }),
  observe([...nameGaps], { writes: true, planned: costOf(...nameGaps) }, async (t) => {
    const long: number[] = [];
    for (const { of, response } of await t.sendCases(...nameGaps)) {
      const [created] = response.pets;
      const { name = '' } = response.request.sent ?? {};
      if (of === 'create.long-name') long.push(response.status === 201 ? name.length : 0);
      else if (of === 'create.lone-surrogate' && created !== undefined)
        t.observe(of, `yes, and ${created.name === name ? 'kept' : 'replaced'}`, response);
      else t.observe(of as GapId, acceptance(response), response);
    }
    const longest = Math.max(0, ...long);
    const some = longest === 0 ? 'fewer than 256 characters' : `at least ${longest} characters`;
    t.observe('create.long-name', long.includes(0) ? some : `${longest} characters and maybe more`);
  }),
  check('create.stored', { requests: 12 + maxGets, creates: 12, writes: true }, async (t) => {
    await t.fixtures.needGet();
    const { category, categories } = t.fixtures;
    for (const name of fragileNames.slice(0, Math.max(0, 12 - t.history.createdIds().length)))
      await t.send(create(t, { name, categoryId: category }, false));
    // First one animal of each example value, then others that a store may damage.
    const seen = new Set<string>();
    const rankOf = (id: bigint) => {
      const { name, categoryId } = t.history.known(id)!.sent!;
      const isExampleName = exampleNames.includes(name) || name.length > longName;
      const isExample = isExampleName || (!categories.includes(categoryId) && name !== anyCategoryName);
      const value = isExampleName ? name : String(categoryId);
      if (isExample && seen.size !== seen.add(value).size) return 2;
      return Number(!isPlain(name) || !categories.includes(categoryId));
    };
    const ranked = t.history.createdIds().map((id) => [rankOf(id), id] as const);
    const ids = ranked.sort(([one], [other]) => other - one).slice(0, maxGets).map(([, id]) => id);
    await t.each(ids, async (id) => {
      const response = await t.getCreated(id);
      const [created, got] = [t.history.known(id)?.sent, response.pets[0]];
      if (created?.status !== undefined)
        t.observe('pet.status-moves', got?.status === created.status ? 'not seen' : 'yes', response);
    });
  }),
  ...refusals.filter((id) => id.startsWith('create.')).map((id) => checkCases(id, { writes: true })),

  observeCases(
    [
      'create.whole-fraction',
      'create.tiny-fraction',
      'create.duplicate-name',
      'create.byte-order-mark',
      'create.invalid-utf-8',
      'create.utf-16',
      'create.nan',
      'create.comments',
      'create.unknown-field',
      'create.own-id',
      'create.content-type',
      'create.malformed',
    ],
    (response, gap) => (gap === 'create.malformed' ? `${response.status}` : acceptance(response)),
    { writes: true },
  ),
];

function acceptance({ status }: Response): string {
  return status === 201 ? 'yes' : `no: ${status}`;
}

/** A create that must be accepted if `strict`. The rules judge what a 201 returns in either case. */
function create(t: CheckContext, pet: NewPet, strict: boolean): Request {
  const { mustBe, ...request } = createPet(t.key, pet);
  return strict ? { ...request, mustBe: mustBe! } : request;
}
