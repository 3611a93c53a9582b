/** Our own decisions, "Pets": which values are valid, and how one comes to all animals. */
import { check, type Check } from '../../session/check.ts';
import type { Request } from '../../client/request.ts';
import type { Response } from '../../client/response.ts';
import { controlName, invisibleName } from '../names.ts';
import { Inconclusive } from '../../verdicts/outcome.ts';
import { int64Max, int64Min, type NewPet, type PetStatus } from '../../client/pet.ts';
import { createPet, createPetOf, listPets } from '../../client/requests.ts';
import { codeOf } from '../../verdicts/rules-reference.ts';
import { inJson } from '../../verdicts/rules.ts';
import type { CheckContext } from '../../session/context.ts';
import { basePath, inShort, links } from './common.ts';

/** So many pages one follows: 1,200 animals. */
const maxPages = 12;

/** How often a comparison is tried again that others have disturbed by writing meanwhile. */
const attempts = 3;

/** Whole numbers, each in a way in which a reader that goes by the look or by a double takes it for another. */
const integerForms: readonly (readonly [text: string, value: bigint])[] = [
  ['1.0', 1n],
  ['10e-1', 1n],
  ['1e2', 100n],
  ['-0', 0n],
  ['0e999999999', 0n],
  ['-1.50e+1', -15n],
  ['9223372036854775807.000', int64Max],
  ['-922337203685477580.8E1', int64Min],
  ['90071992547409930e-1', 2n ** 53n + 1n],
];

const notIntegers = ['1e-1', '0.1e0', '1e19', '1e999999999', '9223372036854775807.5', '922337203685477580.9e1'];

const strangeNames = [
  '',
  'a\u0000b',
  '\ud800',
  '\udc00\ud83d \ud83d',
  controlName,
  invisibleName,
  '\uffff\ufffe\ufffd',
  'long '.repeat(12_000),
];

export const petChecks: readonly Check[] = [
  accepts(
    'decided.pets.int64',
    [int64Max, int64Min, int64Max - 1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n].map((categoryId) => [
      `${categoryId}`,
      { name: 'Category', categoryId },
    ]),
  ),
  accepts(
    'decided.pets.integer-forms',
    integerForms.map(([text, categoryId]) => [text, { name: 'Category', categoryId }]),
  ),
  check('decided.pets.not-integers', { requests: notIntegers.length, writes: true }, async (t) => {
    await t.each(notIntegers, async (number) => {
      const response = await t.send(createPetOf(t.key, `{"name":"Category","categoryId":${number}}`));
      t.require(
        response.status === 400 && codeOf(response) === 'invalid_body',
        response,
        '400 invalid_body, since the value is no integer of 64 bits',
        inShort(response),
      );
    });
  }),
  check('decided.pets.default-status', { requests: 1, creates: 1, writes: true }, async (t) => {
    const response = await t.send(createPet(t.key, t.fixtures.newPet()));
    t.require(
      response.pets[0]?.status === 'available',
      response,
      'status available, since none was sent',
      response.pets[0]?.status ?? inShort(response),
    );
  }),
  check('decided.pets.any-name', { requests: strangeNames.length, creates: strangeNames.length, writes: true }, async (t) => {
    await t.each(strangeNames, async (name) => {
      await requireCreated(t, createPet(t.key, { name, categoryId: t.fixtures.category }), {
        name,
        categoryId: t.fixtures.category,
      });
    });
  }),
  check('decided.pets.unknown-fields', { requests: 2, creates: 2, writes: true }, async (t) => {
    const taken = (await t.fixtures.animal()).id;
    const pet = { name: 'Fields', categoryId: t.fixtures.category, status: 'sold' } as const;
    await t.each(
      [`"id":${taken}`, `"id":"no number","tags":[{"a":null}],"__proto__":{"name":1},"Name":"B","constructor":2`],
      async (fields) => {
        const body = `{${fields},"name":"Fields","categoryId":${pet.categoryId},"status":"sold"}`;
        const response = await requireCreated(t, { ...createPetOf(t.key, body), sent: pet }, pet);
        const names = response.petObjects[0]!.members.map(([name]) => name);
        const more = names.filter((name) => !['id', 'name', 'categoryId', 'status'].includes(name));
        t.require(
          more.length === 0 && response.pets[0]!.id !== taken,
          response,
          'an animal with an id of its own, and without the fields that NewPet does not have',
          `id ${response.pets[0]!.id}, and ${names.join(', ')}`,
        );
      },
    );
  }),
  check('decided.pets.ids', { requests: 3, creates: 3, writes: true }, async (t) => {
    let before = 0n;
    for (let i = 0; i < 3; i++) {
      const response = await t.send(createPet(t.key, t.fixtures.newPet()));
      const id = response.pets[0]?.id;
      if (id === undefined) throw new Inconclusive(`no animal could be created: ${inShort(response)}`);
      t.require(id > before, response, `an id above ${before}`, `${id}`);
      before = id;
    }
  }),
  check('decided.pets.location', { writes: true }, async (t) => t.fixtures.oneOfEach()),
  check('decided.pets.status-stays', { requests: 2, creates: 1, writes: true }, async (t) => {
    const { id } = await t.fixtures.created(t.fixtures.newPet('pending'));
    await t.send(listAfter(t, id - 1n, 1));
  }),

  // The lists by status are among what sees to it that there are all statuses.
  check('decided.pets.ascending', { requests: 1 }, async (t) => {
    await t.fixtures.needStatuses();
    await t.send(listPets(t.key, { limit: 100 }));
  }),
  check('decided.pets.after', { requests: 8 }, async (t) => {
    await t.fixtures.needStatuses();
    const all = (await t.send(listPets(t.key, { limit: 100 }))).pets.map((p) => p.id);
    const [first] = all;
    if (first === undefined || all.length < 4) throw new Inconclusive(`only ${all.length} animals are known`);
    const middle = all[Math.floor(all.length / 2)]!;
    const cases = [
      [`after=${middle}&limit=3`, all.filter((id) => id > middle).slice(0, 3)],
      [`after=${first}&limit=1`, all.slice(1, 2)],
      [`limit=2&after=${first - 1n}`, all.slice(0, 2)],
      ['after=-1&limit=2', all.filter((id) => id > -1n).slice(0, 2)],
      ['after=-0&limit=1', all.filter((id) => id > 0n).slice(0, 1)],
      [`after=${int64Min}&limit=1`, [first]],
      [`after=${int64Max}`, []],
    ] as const;
    await t.each(cases, async ([query, ids]) => {
      const response = await t.send(listBy(t, query));
      const found = response.pets.map((p) => p.id);
      // Where the list ends, others may have added an animal meanwhile.
      const same = response.status === 200 && ids.every((id, i) => found[i] === id) && (ids.length > 0 || found.length === 0);
      t.require(
        same,
        response,
        `the animals ${ids.join(', ') || '(none)'}`,
        response.status === 200 ? found.join(', ') || 'none' : inShort(response),
      );
    });
  }),
  check('decided.pets.link', { requests: 6 + 3 * attempts }, async (t) => {
    await t.fixtures.needStatuses();
    for (const query of [{ limit: 1 }, { limit: 1, status: 'sold' }, {}] as const) {
      const { limit = 20, status } = query;
      // A page of `limit` has more behind it where a page of one more is longer.
      const page = await t.send(listPets(t.key, query));
      const longer = await t.send(listPets(t.key, { ...query, limit: limit + 1 }));
      if (longer.pets.length > limit) requireNext(t, page, { limit, ...(status !== undefined && { status }) });
    }
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const rest = await t.send(listAfter(t, t.history.ids().at(-1)!, 100));
      const last = t.history.ids().at(-1)!;
      const end = await t.send(listAfter(t, last - 1n, 1));
      if (rest.pets.length === 100) continue;
      const newer = await t.send(listAfter(t, last, 1));
      // Others may add one at any time; then there is a next page.
      if (newer.pets.length > 0) continue;
      t.require(
        links(end, 'next').length === 0,
        end,
        'no Link to a next page, since no animal follows',
        end.all('link').join(' and '),
      );
      return;
    }
    throw new Inconclusive('others add animals faster than one finds the last');
  }),
  check('decided.pets.walk', { requests: 2 * maxPages }, async (t) => {
    await t.fixtures.needStatuses();
    for (const status of [undefined, 'sold'] as const) {
      const known =
        status === undefined
          ? t.history.ids()
          : t.history.ids().filter((id) => (t.history.listed(id) ?? t.history.created(id))?.status === status);
      // Several pages, but no more than it takes.
      const limit = Math.min(100, Math.ceil(known.length / 4));
      if (limit === 0) continue;
      const seen = new Set<bigint>();
      let next: string | undefined = status === undefined ? `/pets?limit=${limit}` : `/pets?limit=${limit}&status=${status}`;
      let response: Response | undefined;
      for (let pages = 0; next !== undefined; pages++) {
        if (pages === maxPages) throw new Inconclusive(`there are more than ${maxPages} pages of ${limit}`);
        response = await t.send({ ...listBy(t, ''), target: next, ...(status !== undefined && { status }) });
        for (const { id } of response.pets) {
          t.require(!seen.has(id), response, 'no animal that a page before has shown', `animal ${id} again`);
          seen.add(id);
        }
        next = followed(t, response);
      }
      const missing = known.find((id) => !seen.has(id));
      t.require(
        missing === undefined,
        response!,
        `pages that show all of ${known.length} animals that exist`,
        `no animal ${missing} on any page`,
      );
    }
  }),
];

/** A check that each of these animals is created, and comes back as it was sent. */
function accepts(id: Parameters<typeof check>[0], pets: readonly (readonly [categoryId: string, pet: NewPet])[]): Check {
  return check(id, { requests: pets.length, creates: pets.length, writes: true }, async (t) => {
    await t.each(pets, async ([categoryId, pet]) => {
      await requireCreated(t, { ...createPetOf(t.key, `{"name":"Category","categoryId":${categoryId}}`), sent: pet }, pet);
    });
  });
}

async function requireCreated(t: CheckContext, request: Request, pet: NewPet): Promise<Response> {
  const { mustBe: _, ...asked } = request;
  const response = await t.send(asked);
  const [made] = response.pets;
  const same =
    response.status === 201 &&
    made?.name === pet.name &&
    made.categoryId === pet.categoryId &&
    (pet.status === undefined || made.status === pet.status);
  t.require(
    same,
    response,
    '201, and the animal as it was sent',
    response.status === 201 ? inJson(made ?? {}).slice(0, 500) : inShort(response),
  );
  return response;
}

/** Requires the Link to the page behind this one. */
function requireNext(t: CheckContext, page: Response, asked: { readonly limit: number; readonly status?: PetStatus }): void {
  const last = page.pets.at(-1)?.id;
  const wanted = new URLSearchParams({
    limit: `${asked.limit}`,
    after: `${last}`,
    ...(asked.status !== undefined && { status: asked.status }),
  });
  const [target, ...more] = links(page, 'next');
  const [path, query = ''] = (target ?? '').split('?');
  const found = new URLSearchParams(query);
  wanted.sort();
  found.sort();
  const same = more.length === 0 && path === `${basePath(t)}/pets` && found.toString() === wanted.toString();
  t.require(
    same,
    page,
    `Link: <${basePath(t)}/pets?${wanted}>; rel="next", its parameters in any order`,
    page.all('link').join(' and ') || 'none',
  );
}

/** Where the Link to the next page leads, below the base URL; undefined at the end. */
export function followed(t: CheckContext, response: Response): string | undefined {
  const [link] = links(response, 'next');
  if (link === undefined) return undefined;
  const { pathname, search } = new URL(link, t.client.baseUrl);
  const below = pathname.startsWith(`${basePath(t)}/`);
  t.require(below, response, 'a Link to a page of the same list', link);
  return pathname.slice(basePath(t).length) + search;
}

function listBy(t: CheckContext, query: string): Request {
  return { operation: 'listPets', method: 'GET', target: `/pets?${query}`, credential: t.key, headers: [], open: true };
}

function listAfter(t: CheckContext, after: bigint, limit: number): Request {
  return listBy(t, `after=${after}&limit=${limit}`);
}
