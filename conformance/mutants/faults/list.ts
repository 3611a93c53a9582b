/** The list, its limit and its filter: section 4.1. */
import { base, type Exchange, type Hooks, type Pet } from '../hooks.ts';
import { answers, shown, type Fault } from './fault.ts';

/** Changes the parsed limit. */
const limits = (change: (limit: number, text: string | null, exchange: Exchange) => number | undefined): Partial<Hooks> => ({
  limit: (text, exchange) => {
    const limit = base.limit(text, exchange);
    return limit === undefined ? undefined : change(limit, text, exchange);
  },
});

/** Changes which animals fit. */
const fitting = (fits: (pet: Pet, status: string, exchange: Exchange) => boolean): Partial<Hooks> => ({
  fits: (pet, status, exchange) => status === '' || fits(pet, status, exchange),
});

/** Puts a row that does not fit into a page. */
function misfit(page: Pet[], at: number, exchange: Exchange): Pet[] {
  const status = exchange.query.get('status');
  const other = [...exchange.world.pets.values()].find((pet) => status !== null && pet.status !== status);
  return other === undefined || page.length === 0 ? page : page.with(at, other);
}

export const listFaults: readonly Fault[] = [
  {
    id: 'list-206-full',
    requirement: 'list.answers',
    text: 'A page that is as long as its limit is answered with 206.',
    shares: 'list status code',
    hooks: answers(
      (answer, { operation, query }) =>
        operation === 'list' && Array.isArray(answer.body) && answer.body.length === Number(query.get('limit') ?? 20),
      (answer) => void (answer.status = 206),
    ),
  },
  {
    id: 'list-201',
    requirement: 'list.answers',
    text: 'The list is answered with 201.',
    shares: 'list status code',
    hooks: answers(
      (answer, { operation }) => operation === 'list' && answer.status === 200,
      (answer) => void (answer.status = 201),
    ),
  },
  {
    id: 'list-limit-100-refused',
    requirement: 'list.limit-accepted',
    text: 'limit=100 is refused.',
    shares: 'limit refused',
    hooks: limits((limit) => (limit === 100 ? undefined : limit)),
  },
  {
    id: 'list-limit-1-refused',
    requirement: 'list.limit-accepted',
    text: 'limit=1 is refused.',
    shares: 'limit refused',
    hooks: limits((limit) => (limit === 1 ? undefined : limit)),
  },
  {
    id: 'list-limit-51-refused',
    requirement: 'list.limit-accepted',
    text: 'A limit above 50 is refused.',
    shares: 'limit refused',
    hooks: limits((limit) => (limit > 50 ? undefined : limit)),
  },
  {
    id: 'list-limit-odd-refused',
    requirement: 'list.limit-accepted',
    text: 'A limit from 33 to 39 is refused.',
    shares: 'limit refused',
    hooks: limits((limit) => (limit >= 33 && limit <= 39 ? undefined : limit)),
  },
  {
    id: 'list-limit-1-gives-2',
    requirement: 'list.limit',
    text: 'limit=1 gives two animals.',
    shares: 'limit off by one',
    hooks: limits((limit) => (limit === 1 ? 2 : limit)),
  },
  {
    id: 'list-limit-100-gives-101',
    requirement: 'list.limit',
    text: 'limit=100 gives 101 animals.',
    shares: 'limit off by one',
    needs: 'animals',
    hooks: limits((limit) => (limit === 100 ? 101 : limit)),
  },
  {
    id: 'list-limit-ignored-10',
    requirement: 'list.limit',
    text: 'A limit from 2 to 10 gives 11.',
    shares: 'limit off by one',
    hooks: limits((limit) => (limit >= 2 && limit <= 10 ? 11 : limit)),
  },
  {
    id: 'list-limit-at-least-20',
    requirement: 'list.limit',
    text: 'A limit below 20 gives 20.',
    hooks: limits((limit) => Math.max(limit, 20)),
  },
  {
    id: 'list-tenth-one-more',
    requirement: 'list.limit',
    text: 'Every tenth list has one animal too many.',
    hooks: limits((limit, _text, { world }) => (world.lists % 10 === 0 ? limit + 1 : limit)),
  },
  {
    id: 'list-default-21',
    requirement: 'list.default-limit',
    text: 'The default of limit is 21.',
    shares: 'default',
    hooks: limits((limit, text) => (text === null ? 21 : limit)),
  },
  {
    id: 'list-default-19',
    requirement: 'list.default-limit',
    text: 'The default of limit is 19.',
    shares: 'default',
    hooks: limits((limit, text) => (text === null ? 19 : limit)),
  },
  {
    id: 'list-default-unlimited',
    requirement: 'list.default-limit',
    text: 'Without a limit, all animals are listed.',
    shares: 'default',
    hooks: limits((limit, text) => (text === null ? Number.MAX_SAFE_INTEGER : limit)),
  },
  {
    id: 'list-default-filtered',
    requirement: 'list.default-limit',
    text: 'Without a limit but with a status, all animals of it are listed.',
    shares: 'default',
    hooks: limits((limit, text, { query }) => (text === null && query.has('status') ? Number.MAX_SAFE_INTEGER : limit)),
  },
  {
    id: 'list-filter-refused',
    requirement: 'list.status',
    text: 'status=sold is refused.',
    hooks: { filter: (text, exchange) => (text === 'sold' ? undefined : base.filter(text, exchange)) },
  },
  {
    id: 'list-filter-ignored',
    requirement: 'list.status',
    text: 'status=pending is ignored.',
    shares: 'filter',
    hooks: fitting((pet, status) => status === 'pending' || pet.status === status),
  },
  {
    id: 'list-filter-sold-or-pending',
    requirement: 'list.status',
    text: 'status=sold lists pending animals too.',
    shares: 'filter',
    hooks: fitting((pet, status) => pet.status === status || (status === 'sold' && pet.status === 'pending')),
  },
  {
    id: 'list-filter-not-sold',
    requirement: 'list.status',
    text: 'status=available lists whatever is not sold.',
    shares: 'filter',
    hooks: fitting((pet, status) => (status === 'available' ? pet.status !== 'sold' : pet.status === status)),
  },
  {
    id: 'empty-filter-ignored',
    requirement: 'list.status',
    text: 'The filter is ignored, on a server that began without animals.',
    shares: 'filter',
    animals: 0,
    hooks: fitting(() => true),
  },
  {
    id: 'list-filter-truth-hidden',
    requirement: 'list.status',
    text: 'status=sold lists all animals, each shown as sold.',
    hooks: {
      ...fitting((pet, status) => status === 'sold' || pet.status === status),
      ...shown('list', (fields, _pet, { query }) => void (query.get('status') === 'sold' && fields.set('status', 'sold'))),
    },
  },
  {
    id: 'list-filter-last-row',
    requirement: 'list.status',
    text: 'The last row of a filtered list without a limit does not fit.',
    shares: 'one misfit',
    hooks: {
      page: (rows, limit, exchange) => {
        const page = base.page(rows, limit, exchange);
        return exchange.query.has('limit') ? page : misfit(page, -1, exchange);
      },
    },
  },
  {
    id: 'list-filter-misfit-50',
    requirement: 'list.status-and-limit',
    text: 'A filtered page of 50 animals or more has one that does not fit.',
    shares: 'one misfit',
    needs: 'animals',
    hooks: {
      page: (rows, limit, exchange) => {
        const page = base.page(rows, limit, exchange);
        return page.length >= 50 ? misfit(page, 42, exchange) : page;
      },
    },
  },
  {
    id: 'list-filter-ignored-with-limit',
    requirement: 'list.status-and-limit',
    text: 'With a limit, the filter is ignored.',
    shares: 'filter or limit',
    hooks: fitting((pet, status, { query }) => query.has('limit') || pet.status === status),
  },
  {
    id: 'list-limit-ignored-with-filter',
    requirement: 'list.status-and-limit',
    text: 'With a filter, a limit below 20 is ignored.',
    shares: 'filter or limit',
    hooks: limits((limit, _text, { query }) => (query.has('status') ? Math.max(limit, 20) : limit)),
  },
  {
    id: 'list-filter-and-limit-one-more',
    requirement: 'list.status-and-limit',
    text: 'With status=sold, a limit gives one animal more.',
    shares: 'filter or limit',
    hooks: limits((limit, text, { query }) => (query.get('status') === 'sold' && text !== null ? limit + 1 : limit)),
  },
  {
    id: 'list-order-of-parameters',
    requirement: 'list.status-and-limit',
    text: 'A filter that follows a limit in the query is ignored.',
    shares: 'filter or limit',
    hooks: fitting((pet, status, { query }) => [...query.keys()][0] === 'limit' || pet.status === status),
  },
  {
    id: 'list-cached',
    requirement: 'list.status-and-limit',
    text: 'A list with a limit is kept for ten lists and given to whoever asks for the same limit, whatever the status.',
    hooks: {
      page: (rows, limit, exchange) => {
        const { notes, lists, pets } = exchange.world;
        if (!exchange.query.has('limit')) return base.page(rows, limit, exchange);
        const key = `list ${limit} ${Math.floor(lists / 10)}`;
        const ids =
          notes.get(key) ??
          base
            .page(rows, limit, exchange)
            .map((pet) => pet.id)
            .join();
        notes.set(key, ids);
        return ids.split(',').flatMap((id) => pets.get(id) ?? []);
      },
    },
  },
];
