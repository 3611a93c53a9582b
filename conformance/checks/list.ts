/** Section 4.1: the list, its limit and its filter. */
import * as fc from 'fast-check';
import { check, observe, type Check } from '../session/check.ts';
import type { Response } from '../client/response.ts';
import { Inconclusive } from '../verdicts/outcome.ts';
import { statuses } from '../client/pet.ts';
import { listPets, listPetsAnyhow } from '../client/requests.ts';
import type { CheckContext } from '../session/context.ts';

/** The ends of the range, the default and their neighbours. */
const limits = [1, 2, 3, 10, 19, 20, 21, 50, 99, 100];

/** How often a comparison is tried again that others have disturbed by writing meanwhile. */
const attempts = 3;

export const listChecks: readonly Check[] = [
  check('list.answers', { requests: 1 }, async (t) => {
    await t.send(listPets(t.key));
  }),
  check('list.limit-accepted', { requests: limits.length, perCase: { requests: 1, most: 100 } }, async (t) => {
    await t.each(limits, async (limit) => {
      await t.send(listPets(t.key, { limit }));
    });
    // Evenly spread, so that no gap between them is wide.
    const step = 100 / t.cases;
    const offset = Math.abs(t.options.seed) % Math.ceil(step);
    await t.each(
      Array.from({ length: t.cases }, (_, i) => Math.min(100, 1 + offset + Math.floor(i * step))),
      async (limit) => {
        await t.send(listPets(t.key, { limit }));
      },
    );
  }),
  check('list.limit', { requests: limits.length }, async (t) => {
    await t.fixtures.needMany();
    await t.each(limits, async (limit) => {
      await t.send(listPets(t.key, { limit }));
    });
    if (t.history.count() <= 100)
      throw new Inconclusive(`only ${t.history.count()} animals are known: a list of limit=100 could not have had more`);
  }),
  check('list.default-limit', { requests: 3 * attempts }, async (t) => {
    await t.fixtures.needMany();
    if (t.history.count() <= 20) throw new Inconclusive(`only ${t.history.count()} animals are known, and 20 is the default`);
    // A page may be short, and of another length each time: only what is always so says something of the default.
    const explicit: (number | undefined)[] = [];
    const plain: (number | undefined)[] = [];
    for (let attempt = 1; ; attempt++) {
      explicit.push(length(await t.send(listPets(t.key, { limit: 20 }))));
      const response = await t.send(listPets(t.key));
      plain.push(length(response));
      explicit.push(length(await t.send(listPets(t.key, { limit: 20 }))));
      if (explicit.includes(undefined) || plain.includes(undefined))
        throw new Inconclusive('the list gives no array; see pets.array');
      const constant = new Set(explicit).size === 1 && new Set(plain).size === 1;
      if ((!constant || explicit[0] !== plain[0]) && attempt < attempts) continue;
      if (!constant) throw new Inconclusive('a list has another number of animals each time');
      t.require(plain[0] === explicit[0], response, `${explicit[0]} animals, as limit=20 gives each time`, `${plain[0]}`);
      return;
    }
  }),
  check('list.status', { requests: 3 + 5 * attempts }, async (t) => {
    await t.fixtures.needStatuses();
    for (const status of statuses) await t.send(listPets(t.key, { status }));
    needTwoStatuses(t);
    // A filter could also change what it shows. A status may move, but not twice, there and back, each time one looks.
    let contradiction: readonly [filtered: Response, was: string] | undefined;
    for (let attempt = 1; attempt === 1 || (contradiction !== undefined && attempt <= attempts); attempt++) {
      const before = await t.send(listPets(t.key, { limit: 100 }));
      const filtered: Response[] = [];
      for (const status of statuses) filtered.push(await t.send(listPets(t.key, { limit: 100, status })));
      const after = await t.send(listPets(t.key, { limit: 100 }));
      contradiction = undefined;
      for (const response of filtered) {
        for (const shown of response.pets) {
          const was = [before, after].map((list) => list.pets.find(({ id }) => id === shown.id)?.status);
          if (was[0] !== undefined && was[0] === was[1] && shown.status !== undefined && shown.status !== was[0])
            contradiction ??= [
              response,
              `animal ${shown.id} as ${shown.status}, which a list without a filter shows as ${was[0]} before and after`,
            ];
        }
      }
    }
    if (contradiction !== undefined)
      t.require(false, contradiction[0], 'animals that have the status asked for', contradiction[1]);
  }),
  check('list.status-and-limit', { requests: 18, perCase: { requests: 1 } }, async (t) => {
    await t.fixtures.needMany();
    for (const status of statuses) {
      for (const limit of [1, 2, 19, 20, 30, 100]) await t.send(listPets(t.key, { limit, status }));
    }
    const asked = fc.record({ limit: fc.integer({ min: 1, max: 100 }), status: fc.constantFrom(...statuses) });
    await t.forAll(
      asked,
      ({ limit, status }) => `limit=${limit}, status=${status}`,
      async (both) => {
        await t.send(listPets(t.key, both));
      },
    );
    needTwoStatuses(t);
  }),

  observe(
    [
      'list.limit-0',
      'list.limit-negative',
      'list.limit-101',
      'list.limit-not-integer',
      'list.unknown-status',
      'list.unknown-parameter',
    ],
    { requests: 6 },
    async (t) => {
      const cases = [
        ['list.limit-0', 'limit=0'],
        ['list.limit-negative', 'limit=-1'],
        ['list.limit-101', 'limit=101'],
        ['list.limit-not-integer', 'limit=ten'],
        ['list.unknown-status', 'status=asleep'],
        ['list.unknown-parameter', 'colour=red'],
      ] as const;
      for (const [gap, query] of cases) {
        const response = await t.send(listPetsAnyhow(t.key, query));
        t.observe(gap, response.status === 200 ? '200, a list' : `${response.status}`, response);
      }
    },
  ),
  observe(['list.order', 'list.short-pages', 'list.paging', 'list.new-animal'], { requests: 5, creates: 1 }, async (t) => {
    await t.fixtures.needStatuses();
    const all = await t.send(listPets(t.key, { limit: 100 }));
    const ids = all.pets.map((p) => p.id);
    const [rising, falling] = [-1, 1].map((sign) => ids.every((id, i) => i === 0 || (id > ids[i - 1]! ? -1 : 1) === sign));
    if (ids.length > 1) t.observe('list.order', rising ? 'ascending ids' : falling ? 'descending ids' : 'not by id', all);
    const page = await t.send(listPets(t.key, { limit: 20 }));
    if (t.history.count() >= 20) t.observe('list.short-pages', page.pets.length < 20 ? 'yes' : 'not seen', page);
    const few = await t.send(listPets(t.key, { limit: 1 }));
    t.observe('list.paging', few.all('link').some((link) => /rel="?next/.test(link)) ? 'yes, by Link' : 'not by Link', few);
    if (!t.mayWrite) return;
    const created = await t.fixtures.created();
    const later = await t.send(listPets(t.key, { limit: 100 }));
    t.observe(
      'list.new-animal',
      later.pets.some((p) => p.id === created.id) ? 'yes, on the first page' : 'not on the first page',
      later,
    );
  }),
];

/** How many elements a list has, or undefined where it is none. */
function length(response: Response): number | undefined {
  return response.status === 200 && Array.isArray(response.json) ? response.json.length : undefined;
}

/** A filter that one status only could pass shows nothing. */
function needTwoStatuses(t: CheckContext): void {
  if (t.history.statuses() < 2) throw new Inconclusive('all animals known have one status: the filter had nothing to leave out');
}
