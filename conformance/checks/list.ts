/** Section 4.1: the list, its limit and its filter. */
import { statuses } from '../client/pet.ts';
import { createPet, listPets } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { withHeaders } from '../model/exchange.ts';
import { costOf } from '../model/plan.ts';
import { check, observe, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';
import { lengthOf, staleListMs } from '../verdicts/disputes.ts';
import { replicaLagMs } from '../verdicts/history.ts';
import { Inconclusive } from '../verdicts/outcome.ts';

/** Lists whose limit the server must obey, or whose limit is invalid: none may have more than 100 animals. */
const limited = ['list.limit-accepted', 'list.limit', 'list.limit-0', 'list.limit-negative', 'list.limit-101'] as const;

/** The number of attempts at a comparison that other clients can disturb by writing. */
const attempts = 3;

const ofFewAnimals = { requests: 9 + 6 * statuses.length, creates: 2 * statuses.length };

/**
 * Sends the entity tag of a list that has become longer since. A strong tag is not that of the longer one (RFC 9110,
 * section 8.8.1). A replica may still have the shorter one at first.
 */
async function sendTagOf(t: CheckContext, list: Response): Promise<void> {
  const [tag = 'W/'] = list.all('etag');
  if (tag.startsWith('W/')) return;
  const request = withHeaders({ 'If-None-Match': tag })(listPets(t.key, { limit: 100 }));
  const { mustBe: _, ...first } = request;
  // A 304 of a proxy has none of the other headers.
  if ((await t.send({ ...first, mayBeRefused: [304] })).status !== 304) return;
  await t.sleep(replicaLagMs, 'a replica may not show new animals yet');
  await t.send(request);
}

/** Checks that find more while few animals exist, so they come before those that create many. */
export const earlyListChecks: readonly Check[] = [
  // Each list is sent with a limit that is the number of animals, one more and one less.
  check('list.answers', { ...ofFewAnimals, planned: costOf('list.answers') }, async (t) => {
    // Two animals of each status: a page of one animal cannot contain an animal twice.
    const pets = t.mayWrite ? [...statuses, ...statuses].map((status) => t.fixtures.newPet(status)) : [];
    const before = await t.send(listPets(t.key, { limit: 100 }));
    for (const pet of pets) await t.send(createPet(t.key, pet));
    const after = await t.send(listPets(t.key, { limit: 100 }));
    if (after.pets.length > before.pets.length) await sendTagOf(t, before);
    await t.send(listPets(t.key));
    for (const query of [{}, ...statuses.map((status) => ({ status }))]) {
      const { length } = (await t.send(listPets(t.key, { ...query, limit: 100 }))).pets;
      const limits = [length, length + 1, length - 1].filter((limit) => limit >= 1 && limit < 100);
      for (const limit of limits) await t.send(listPets(t.key, { ...query, limit }));
    }
    await t.sendCases('list.answers');
  }),
];

export const listChecks: readonly Check[] = [
  check('list.limit', { many: true, planned: costOf(...limited) }, async (t) => {
    await t.sendCases(...limited);
    const known = t.history.count();
    if (known <= 100)
      throw new Inconclusive(`only ${known} animals are known: a list with limit=100 could not be too long`);
  }),
  check('list.default-limit', { requests: 3 * attempts, many: true }, async (t) => {
    const known = t.history.count();
    if (known <= 20) throw new Inconclusive(`only ${known} animals are known, and the default limit is 20`);
    // A page may be shorter than its limit, by a different number each time. Only constant lengths can be compared.
    const [explicit, implicit] = [new Set<number | undefined>(), new Set<number | undefined>()];
    for (let attempt = 1; ; attempt++) {
      const before = lengthOf(await t.send(listPets(t.key, { limit: 20 })));
      const response = await t.send(listPets(t.key));
      const after = lengthOf(await t.send(listPets(t.key, { limit: 20 })));
      const length = lengthOf(response);
      if ([before, length, after].includes(undefined))
        throw new Inconclusive('the list is not an array; see pets.array');
      explicit.add(before).add(after);
      implicit.add(length);
      const isEqual = before === length && length === after;
      if (!isEqual && attempt < attempts) {
        await t.sleep(attempt * staleListMs, 'lists disagree; one may be cached');
        continue;
      }
      if (!isEqual && explicit.size + implicit.size > 2)
        throw new Inconclusive('lists have a different number of animals each time');
      return t.require(isEqual, response, `${before} animals, as with limit=20 each time`, `${length}`);
    }
  }),
  ...(['list.status', 'list.status-and-limit'] as const).map((id) =>
    check(id, { requests: 1, many: true, planned: costOf(id) }, async (t) => {
      await t.send(listPets(t.key, { limit: 100 }));
      await t.sendCases(id);
      if (t.history.statuses().length === 0)
        throw new Inconclusive('no response shows a status, so it is unknown what a filter selects');
    }),
  ),

  observe(
    ['list.order', 'list.short-pages', 'list.paging', 'list.new-animal'],
    { requests: 5, creates: 1, many: true },
    async (t) => {
      const all = await t.send(listPets(t.key, { limit: 100 }));
      const ids = all.pets.map((pet) => pet.id);
      if (ids.length > 1) t.observe('list.order', orderOf(ids), all);
      const page = await t.send(listPets(t.key, { limit: 20 }));
      if (t.history.count() >= 20) t.observe('list.short-pages', page.pets.length < 20 ? 'yes' : 'not seen', page);
      const one = await t.send(listPets(t.key, { limit: 1 }));
      const hasNext = one.all('link').some((link) => /rel="?next/.test(link));
      t.observe('list.paging', hasNext ? 'yes, by Link' : 'not by Link', one);
      if (!t.mayWrite) return;
      const created = await t.fixtures.created();
      const later = await t.send(listPets(t.key, { limit: 100 }));
      const isListed = later.pets.some((pet) => pet.id === created.id);
      t.observe('list.new-animal', isListed ? 'yes, on the first page' : 'not on the first page', later);
    },
  ),
];

function orderOf(ids: readonly bigint[]): string {
  const isSorted = (inOrder: (a: bigint, b: bigint) => boolean) =>
    ids.every((id, i) => i === 0 || inOrder(ids[i - 1]!, id));
  if (isSorted((a, b) => a < b)) return 'ascending ids';
  return isSorted((a, b) => a >= b) ? 'descending ids' : 'not by id';
}
