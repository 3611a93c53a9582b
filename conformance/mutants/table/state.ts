/** Sections 2, 4 and 4.3: faults that show only across several responses. */
import { base, type Exchange, type Pet } from '../server/hooks.ts';
import { Digits } from '../server/json.ts';
import { changedStatus, failing, found, pages, responses, setHeader, shown, status, stored, table } from './changes.ts';

/** The page with the names of two neighbours swapped. */
function swapped(page: Pet[], at: number): Pet[] {
  const [one, other] = [page[at], page[at + 1]];
  if (one === undefined || other === undefined) return page;
  return page.with(at, { ...one, name: other.name }).with(at + 1, { ...other, name: one.name });
}

/** The id in the body of a create. */
const idIn = (body: string): string | undefined => /"id":(\d+)/.exec(body)?.[1];

const plusOne = (digits: string): string => String(BigInt(digits) + 1n);
const lastOf = (pets: ReadonlyMap<string, Pet>): Pet | undefined => [...pets.values()].at(-1);

/** Whether an animal has a name that differs from that in a body only in punctuation. */
function isTwin(pets: ReadonlyMap<string, Pet>, body: string): boolean {
  const [, name = ''] = /"name"\s*:\s*"([^"\\]*)"/.exec(body) ?? [];
  const letters = (text: string) => text.replace(/\p{P}/gu, '');
  return [...pets.values()].some((pet) => pet.name !== name && letters(pet.name) === letters(name) && name !== '');
}

/** Stores the animal of a refused create if its body has these members. */
function storeAnyway(exchange: Exchange, members: RegExp): void {
  const [, name] = /"name"\s*:\s*"([^"\\]*)"/.exec(exchange.body) ?? [];
  if (name === undefined || !members.test(exchange.body)) return;
  const pet: Pet = { id: '', name, categoryId: '1', status: 'available', at: exchange.now };
  pet.id = base.newId(pet, exchange);
  exchange.world.pets.set(pet.id, pet);
}

export const stateMutants = table([
  ['create-conflict', 'create.answers', 'A create gets 409 if its name differs from another one only in punctuation.',
    failing(({ status }, { world, body }) => status === 201 && isTwin(world.pets, body), 409, 'The name exists.')],
  ['list-row-more-few', 'list.status-and-limit', 'With 25 to 30 animals, a filtered list has one row more.',
    { page: (rows, limit, exchange) => {
      const { size } = exchange.world.pets;
      return base.page(rows, exchange.query.has('status') && size >= 25 && size <= 30 ? limit + 1 : limit, exchange);
    } }],
  ['create-400-stored', 'create.refused', 'A create with null as status gets 400, but is stored.',
    responses(status(400, 'create'), (_response, exchange) => storeAnyway(exchange, /"status"\s*:\s*null/))],
  ['create-401-stored', 'create.refused', 'A create without a valid key gets 401, but is stored.',
    responses(status(401, 'create'), (_response, exchange) => storeAnyway(exchange, /"categoryId"/))],
  ['get-next', 'get.answers', 'getPet returns the next animal if the id is a multiple of 3.',
    found((pet, id, exchange) =>
      pet !== undefined && BigInt(id) % 3n === 0n ? (base.find(plusOne(id), exchange) ?? pet) : pet)],
  ['get-name-of-next', 'get.answers', 'getPet shows the name of the next animal if the id is a multiple of 4.',
    found((pet, id, exchange) => {
      const next = pet && BigInt(id) % 4n === 0n ? base.find(plusOne(id), exchange) : undefined;
      return pet && next ? { ...pet, name: next.name } : pet;
    })],
  ['get-404-round', 'get.answers', 'getPet returns 404 if the id ends in 0.',
    found((pet, id) => (id.endsWith('0') ? undefined : pet))],
  ['get-203', 'get.answers', 'getPet returns 203.', changedStatus(status(200, 'get'), 203)],
  ['get-category-plus-one', 'get.answers', 'getPet shows the category of sold animals one too high.',
    shown('get', (fields, pet) => {
      if (pet.status === 'sold') fields.set('categoryId', new Digits(plusOne(pet.categoryId)));
    })],

  ['orders-404', 'orders.exists', 'listOrders returns 404.',
    failing(status(200, 'orders'), 404, 'There is no such path.')],
  ['orders-405', 'orders.exists', 'listOrders returns 405.',
    failing(status(200, 'orders'), 405, 'There is no such method.')],
  ['orders-501', 'orders.exists', 'listOrders returns 501.', failing(status(200, 'orders'), 501, 'Not implemented.')],

  ['id-reused', 'pet.unique-id', 'Every twentieth create gets the id of the previous one.',
    {
      newId: (pet, exchange) => {
        const { creates, nextId } = exchange.world;
        return creates > 0 && creates % 20 === 0 ? String(nextId - 1n) : base.newId(pet, exchange);
      },
    }],
  ['id-by-name', 'pet.unique-id', 'Two animals with the same name get the same id.',
    {
      newId: (pet, exchange) =>
        [...exchange.world.pets.values()].find((other) => other.name === pet.name)?.id ?? base.newId(pet, exchange),
    }],
  ['id-by-content', 'pet.unique-id', 'A create with the same fields as the previous one gets the same id.',
    {
      newId: (pet, exchange) => {
        const last = lastOf(exchange.world.pets);
        const same = last?.name === pet.name && last.categoryId === pet.categoryId && last.status === pet.status;
        return same ? last.id : base.newId(pet, exchange);
      },
    }],

  ['id-of-client', 'pet.unique-id', 'An id in the body becomes the id of the animal.',
    { newId: (pet, exchange) => idIn(exchange.body) ?? base.newId(pet, exchange) }],
  ['id-of-client-if-free', 'pet.unique-id', 'An id in the body is used if it is free, and assigned again later.',
    {
      newId: (pet, exchange) => {
        const id = idIn(exchange.body);
        return id === undefined || exchange.world.pets.has(id) ? base.newId(pet, exchange) : id;
      },
    }],
  ['id-of-client-overwrites', 'pet.unique-id', 'An id in the body replaces that animal; the 201 shows a new id.',
    { keep: (pet, { body, world }) => {
      const id = idIn(body);
      return id !== undefined && world.pets.has(id) ? { ...pet, id } : pet;
    } }],

  ['create-lost', 'create.stored', 'Every tenth animal is not stored.',
    { keep: (pet, { world }) => (world.creates % 10 === 0 ? undefined : pet) }],
  ['create-name-of-last', 'create.stored', 'Every twelfth animal is stored with the name of the previous one.',
    stored((_pet, { world }) => (world.creates % 12 === 0 ? { name: lastOf(world.pets)?.name ?? '' } : {}))],
  ['create-name-of-refused', 'create.name', 'The create after a rejected one gets the rejected name.',
    {
      name: (value, exchange) => {
        const { notes } = exchange.world;
        const rejected = notes.get('rejected');
        const name = base.name(value, exchange);
        // Deleted below when the create succeeds.
        if (name !== undefined) notes.set('rejected', name);
        return name === undefined ? undefined : (rejected ?? name);
      },
      ...responses(status(201), (_response, { world }) => void world.notes.delete('rejected')),
    }],

  ['create-renames-category', 'animals.agree', 'A create renames the previous animal if it has the same category.',
    {
      keep: (pet, { world }) => {
        const last = lastOf(world.pets);
        if (last !== undefined && last.categoryId === pet.categoryId) last.name = pet.name;
        return pet;
      },
    }],
  ['get-damages', 'animals.agree', 'The third getPet removes the last character of the name.',
    found((pet, id, { world }) => {
      if (pet === undefined) return undefined;
      const times = Number(world.notes.get(`got ${id}`) ?? 0);
      world.notes.set(`got ${id}`, String(times + 1));
      if (times === 2) pet.name = pet.name.slice(0, -1);
      return pet;
    })],
  ['create-twice', 'create.stored', 'A create adds two animals, of which the 201 shows one.',
    {
      keep: (pet, { world }) => {
        const copy = { ...pet, id: String(world.nextId++) };
        world.pets.set(copy.id, copy);
        return pet;
      },
    }],
  ['status-seventh-500', 'service.status', 'Every seventh getPet gets 500.',
    failing((_response, { operation, world: { notes } }) => {
      const count = Number(notes.get('gets') ?? 0) + Number(operation === 'get');
      notes.set('gets', String(count));
      return operation === 'get' && count % 7 === 0;
    }, 500, 'Failed.')],
  ['tag-of-first-list', 'list.limit-accepted', 'Every list has the same entity tag, and If-None-Match gets 304.',
    responses(status(200, 'list'), (response, { headers }) => {
      setHeader(response, 'ETag', '"list"');
      if (headers['if-none-match'] === '"list"') Object.assign(response, { status: 304, body: undefined });
    })],
  ['list-damages', 'animals.agree', 'A list with limit=100 changes the category of its first animal.',
    pages((page, _exchange, limit) => {
      const [first] = page;
      if (first !== undefined && limit === 100) first.categoryId = String((BigInt(first.categoryId) + 1n) % 1000n);
      return page;
    })],
  ['list-swapped-names', 'animals.agree', 'Lists swap the names of the fourth and the fifth animal.',
    pages((page) => swapped(page, 3))],
  ['list-swapped-names-tenth', 'animals.agree', 'Every tenth list swaps the names of the first two animals.',
    pages((page, { world }) => (world.lists % 10 === 0 ? swapped(page, 0) : page))],
  ['list-sold-as-pending', 'animals.agree', 'A list without a filter shows sold animals as pending.',
    shown('list', (fields, pet, { query }) => {
      if (pet.status === 'sold' && !query.has('status')) fields.set('status', 'pending');
    })],
  ['list-name-of-previous-filtered', 'animals.agree', 'A filter shows the name of the row before, from row 5 on.',
    pages((page, { query }) =>
      page.map((pet, at) =>
        query.has('status') && at >= 4 ? { ...pet, name: page[at - 1]?.name ?? pet.name } : pet))],
  ['list-empty-limit-3', 'animals.agree', 'A list with limit=3 is empty.',
    pages((page, _exchange, limit) => (limit === 3 ? [] : page))],
  ['list-category-of-previous', 'animals.agree', 'From row 20 on, a list shows the category of the row before.',
    pages((page) =>
      page.map((pet, at) => (at < 19 ? pet : { ...pet, categoryId: page[at - 1]?.categoryId ?? pet.categoryId })))],
]);
