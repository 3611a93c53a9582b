/** Section 4.1: the list, its limit and its filter. */
import { base, type Exchange, type Pet } from '../server/hooks.ts';
import { changedStatus, failing, pages, shown, status, table, type Change } from './changes.ts';

/** Changes the parsed limit. */
const limits = (change: (limit: number, text: string | null, exchange: Exchange) => number | undefined): Change => ({
  limit: (text, exchange) => {
    const limit = base.limit(text, exchange);
    return limit === undefined ? undefined : change(limit, text, exchange);
  },
});

/** Accepts other limits. */
const anyLimit = (limitOf: (text: string | null) => number | undefined): Change => ({
  limit: (text, exchange) => base.limit(text, exchange) ?? limitOf(text),
});

/** Rejects some limits. */
const rejecting = (which: (limit: number) => boolean): Change =>
  limits((limit) => (which(limit) ? undefined : limit));

/** Changes which animals a filter selects. */
const filtering = (fits: (pet: Pet, status: string, exchange: Exchange) => boolean): Change => ({
  fits: (pet, status, exchange) => status === '' || fits(pet, status, exchange),
});

/** Replaces a row of a page by an animal that does not have the requested status. */
function misfit(page: Pet[], at: number, exchange: Exchange): Pet[] {
  const status = exchange.query.get('status');
  const other = [...exchange.world.pets.values()].find((pet) => status !== null && pet.status !== status);
  return other === undefined || page.length === 0 ? page : page.with(at, other);
}

export const listMutants = table([
  ['list-206-full', 'list.answers', 'A page as long as its limit has status 206.',
    changedStatus(({ body }, { operation, query }) =>
      operation === 'list' && Array.isArray(body) && body.length === Number(query.get('limit') ?? 20), 206)],
  ['list-201', 'list.answers', 'listPets returns 201.', changedStatus(status(200, 'list'), 201)],

  ['list-limit-100-refused', 'list.limit-accepted', 'limit=100 is rejected.', rejecting((limit) => limit === 100)],
  ['list-limit-1-refused', 'list.limit-accepted', 'limit=1 is rejected.', rejecting((limit) => limit === 1)],
  ['list-limit-51-refused', 'list.limit-accepted', 'A limit above 50 is rejected.', rejecting((limit) => limit > 50)],
  ['list-limit-odd-refused', 'list.limit-accepted', 'A limit from 33 to 39 is rejected.',
    rejecting((limit) => limit >= 33 && limit <= 39)],

  ['list-limit-1-gives-2', 'list.limit', 'limit=1 returns two animals.', limits((limit) => (limit === 1 ? 2 : limit))],
  ['list-limit-100-gives-101', 'list.limit', 'limit=100 returns 101 animals.',
    limits((limit) => (limit === 100 ? 101 : limit))],
  ['list-limit-ignored-10', 'list.limit', 'A limit from 2 to 10 returns 11 animals.',
    limits((limit) => (limit >= 2 && limit <= 10 ? 11 : limit))],
  ['list-limit-at-least-20', 'list.limit', 'A limit below 20 returns 20 animals.',
    limits((limit) => Math.max(limit, 20))],
  ['list-tenth-one-more', 'list.limit', 'Every tenth list has one animal more than its limit.',
    limits((limit, _text, { world }) => (world.lists % 10 === 0 ? limit + 1 : limit))],

  ['list-limit-101-gives-101', 'list.limit', 'limit=101 returns 101 animals.',
    anyLimit((text) => (text === '101' ? 101 : undefined))],
  ['list-limit-1000-gives-all', 'list.limit', 'limit=1000 returns up to 1,000 animals.',
    anyLimit((text) => (text === '1000' ? 1000 : undefined))],
  ['list-limit-0-gives-all', 'list.limit', 'limit=0 returns all animals.',
    anyLimit((text) => (text === '0' ? Number.MAX_SAFE_INTEGER : undefined))],
  ['list-limit-negative-gives-all', 'list.limit', 'A negative limit returns all animals.',
    anyLimit((text) => (text?.startsWith('-') ? Number.MAX_SAFE_INTEGER : undefined))],

  ['list-default-21', 'list.default-limit', 'The default limit is 21.',
    limits((limit, text) => (text === null ? 21 : limit))],
  ['list-default-19', 'list.default-limit', 'The default limit is 19.',
    limits((limit, text) => (text === null ? 19 : limit))],
  ['list-default-unlimited', 'list.default-limit', 'There is no default limit.',
    limits((limit, text) => (text === null ? Number.MAX_SAFE_INTEGER : limit))],
  ['list-default-filtered', 'list.default-limit', 'There is no default limit for filtered lists.',
    limits((limit, text, { query }) => (text === null && query.has('status') ? Number.MAX_SAFE_INTEGER : limit))],

  ['list-filter-refused', 'list.status', 'status=sold is rejected.',
    { filter: (text, exchange) => (text === 'sold' ? undefined : base.filter(text, exchange)) }],
  ['list-filter-ignored', 'list.status', 'status=pending is ignored.',
    filtering((pet, status) => status === 'pending' || pet.status === status)],
  ['list-filter-sold-empty', 'list.status', 'status=sold returns no animals.',
    filtering((pet, status) => status !== 'sold' && pet.status === status)],
  ['list-filter-pending-empty-default', 'list.status', 'status=pending without a limit returns no animals.',
    filtering((pet, status, { query }) => pet.status === status && (status !== 'pending' || query.has('limit')))],
  ['list-filter-pending-empty-limit', 'list.status', 'status=pending with a limit returns no animals.',
    filtering((pet, status, { query }) => pet.status === status && (status !== 'pending' || !query.has('limit')))],
  ['list-filter-loses-some', 'list.status', 'status=pending lacks every ninth animal.',
    filtering((pet, status) => pet.status === status && (status !== 'pending' || BigInt(pet.id) % 9n !== 0n))],
  ['list-filter-stale', 'list.status', 'status=sold shows only animals that were there at the start.',
    filtering((pet, status) => pet.status === status && (status !== 'sold' || pet.at === 0))],
  ['list-filter-some-pending', 'list.status', 'status=sold includes every seventh animal if it is pending.',
    filtering((pet, status) => pet.status === status ||
      (status === 'sold' && pet.status === 'pending' && BigInt(pet.id) % 7n === 0n))],
  ['list-filter-some-sold', 'list.status', 'status=pending includes sold animals of category 3.',
    filtering((pet, status) => pet.status === status ||
      (status === 'pending' && pet.status === 'sold' && pet.categoryId === '3'))],
  ['list-filter-sold-or-pending', 'list.status', 'status=sold includes pending animals.',
    filtering((pet, status) => pet.status === status || (status === 'sold' && pet.status === 'pending'))],
  ['list-filter-not-sold', 'list.status', 'status=available includes every animal that is not sold.',
    filtering((pet, status) => (status === 'available' ? pet.status !== 'sold' : pet.status === status))],
  ['empty-filter-ignored', 'list.status', 'The filter is ignored; the server has no animals at the start.',
    { animals: () => 0, ...filtering(() => true) }],
  ['list-filter-truth-hidden', 'list.status', 'status=sold returns all animals, each shown as sold.',
    {
      ...filtering((pet, status) => status === 'sold' || pet.status === status),
      ...shown('list', (fields, _pet, { query }) => {
        if (query.get('status') === 'sold') fields.set('status', 'sold');
      }),
    }],
  ['list-filter-first-20', 'list.status', 'A filter without a limit selects from the first 20 animals.',
    {
      fits: (pet, status, exchange) => !exchange.query.has('limit') || base.fits(pet, status, exchange),
      page: (rows, limit, exchange) =>
        base.page(rows, limit, exchange).filter((pet) => base.fits(pet, exchange.query.get('status') ?? '', exchange)),
    }],
  ['list-filter-none-ignored', 'list.status', 'A filter that selects nothing is ignored; there are none at the start.',
    {
      animals: () => 0,
      ...filtering((pet, status, { world }) =>
        pet.status === status || ![...world.pets.values()].some((other) => other.status === status)),
    }],
  ['list-filter-none-404', 'list.status', 'A filter that selects no animal gets 404; the server has none at the start.',
    {
      animals: () => 0,
      ...failing(({ body }, { operation, query }) =>
        operation === 'list' && query.has('status') && Array.isArray(body) && body.length === 0,
        404, 'There is no such animal.'),
    }],
  ['list-filter-last-row', 'list.status', 'The last row of a filtered list without a limit does not fit the filter.',
    pages((page, exchange) => (exchange.query.has('limit') ? page : misfit(page, -1, exchange)))],

  ['list-filter-after-limit', 'list.status-and-limit', 'The limit is applied before the filter.',
    {
      fits: () => true,
      page: (rows, limit, exchange) =>
        base.page(rows, limit, exchange).filter((pet) => base.fits(pet, exchange.query.get('status') ?? '', exchange)),
    }],
  ['list-filter-misfit-50', 'list.status-and-limit', 'One row of a filtered page of 50 or more does not fit.',
    pages((page, exchange) => (page.length >= 50 ? misfit(page, 42, exchange) : page))],
  ['list-filter-ignored-with-limit', 'list.status-and-limit', 'With a limit, the filter is ignored.',
    filtering((pet, status, { query }) => query.has('limit') || pet.status === status)],
  ['list-limit-ignored-with-filter', 'list.status-and-limit', 'With a filter, a limit below 20 is ignored.',
    limits((limit, _text, { query }) => (query.has('status') ? Math.max(limit, 20) : limit))],
  ['list-filter-and-limit-one-more', 'list.status-and-limit', 'With status=sold, a list exceeds its limit by one.',
    limits((limit, text, { query }) => (query.get('status') === 'sold' && text !== null ? limit + 1 : limit))],
  ['list-limit-after-filter', 'list.status-and-limit', 'A limit after a filter in the query is ignored.',
    limits((limit, _text, { query }) => ([...query.keys()][0] === 'status' ? 20 : limit))],
  ['list-order-of-parameters', 'list.status-and-limit', 'A filter after a limit in the query is ignored.',
    filtering((pet, status, { query }) => [...query.keys()][0] === 'limit' || pet.status === status)],
  ['list-cached', 'list.status-and-limit', 'Lists are cached by limit, regardless of status, for ten lists.',
    {
      page: (rows, limit, exchange) => {
        const { notes, lists, pets } = exchange.world;
        const page = base.page(rows, limit, exchange);
        if (!exchange.query.has('limit')) return page;
        const key = `list ${limit} ${Math.floor(lists / 10)}`;
        const ids = notes.get(key) ?? page.map((pet) => pet.id).join();
        notes.set(key, ids);
        return ids.split(',').flatMap((id) => pets.get(id) ?? []);
      },
    }],
]);
