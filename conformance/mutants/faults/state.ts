/** What shows only across several answers: sections 2, 4 and 4.3. */
import { base, type Pet } from '../hooks.ts';
import { Digits } from '../json.ts';
import { answers, kept, shown, type Fault } from './fault.ts';

/** The same rows, of which two neighbours have each other's names. */
function swapped(page: Pet[], at: number): Pet[] {
  const [one, other] = [page[at], page[at + 1]];
  if (one === undefined || other === undefined) return page;
  return page.with(at, { ...one, name: other.name }).with(at + 1, { ...other, name: one.name });
}

export const stateFaults: readonly Fault[] = [
  {
    id: 'get-next',
    requirement: 'get.answers',
    text: 'get gives the animal after the one asked for, if the id is a multiple of 3.',
    shares: 'wrong animal',
    hooks: {
      find: (id, exchange) => {
        const found = base.find(id, exchange);
        if (found === undefined || BigInt(id) % 3n !== 0n) return found;
        return base.find(String(BigInt(id) + 1n), exchange) ?? found;
      },
    },
  },
  {
    id: 'get-name-of-next',
    requirement: 'get.answers',
    text: 'get shows the id asked for, but the name of the animal after it if the id is a multiple of 4.',
    shares: 'wrong animal',
    hooks: {
      find: (id, exchange) => {
        const found = base.find(id, exchange);
        const next = found && BigInt(id) % 4n === 0n ? base.find(String(BigInt(id) + 1n), exchange) : undefined;
        return found && next ? { ...found, name: next.name } : found;
      },
    },
  },
  {
    id: 'get-404-round',
    requirement: 'get.answers',
    text: 'An animal whose id ends in 0 cannot be got.',
    hooks: { find: (id, exchange) => (id.endsWith('0') ? undefined : base.find(id, exchange)) },
  },
  {
    id: 'get-203',
    requirement: 'get.answers',
    text: 'get answers 203.',
    hooks: answers(
      (answer, { operation }) => operation === 'get' && answer.status === 200,
      (answer) => void (answer.status = 203),
    ),
  },
  {
    id: 'get-category-plus-one',
    requirement: 'get.answers',
    text: 'get shows a category one too high for animals that are sold.',
    shares: 'wrong animal',
    hooks: shown(
      'get',
      (fields, pet) => void (pet.status === 'sold' && fields.set('categoryId', new Digits(String(BigInt(pet.categoryId) + 1n)))),
    ),
  },
  {
    id: 'orders-404',
    requirement: 'orders.exists',
    text: 'There are no orders: 404.',
    shares: 'orders',
    hooks: answers(
      (answer, { operation }) => operation === 'orders' && answer.status === 200,
      (answer, exchange) => Object.assign(answer, { status: 404, body: base.error(404, 'There is no such path.', exchange) }),
    ),
  },
  {
    id: 'orders-405',
    requirement: 'orders.exists',
    text: 'Orders cannot be got: 405.',
    shares: 'orders',
    hooks: answers(
      (answer, { operation }) => operation === 'orders' && answer.status === 200,
      (answer, exchange) => Object.assign(answer, { status: 405, body: base.error(405, 'There is no such method.', exchange) }),
    ),
  },
  {
    id: 'orders-501',
    requirement: 'orders.exists',
    text: 'Orders are not implemented: 501.',
    shares: 'orders',
    hooks: answers(
      (answer, { operation }) => operation === 'orders' && answer.status === 200,
      (answer, exchange) => Object.assign(answer, { status: 501, body: base.error(501, 'Not implemented.', exchange) }),
    ),
  },
  {
    id: 'id-reused',
    requirement: 'pet.unique-id',
    text: 'Every twentieth create gets the id of the one before it.',
    shares: 'id again',
    hooks: {
      newId: (pet, exchange) =>
        exchange.world.creates > 0 && exchange.world.creates % 20 === 0
          ? String(exchange.world.nextId - 1n)
          : base.newId(pet, exchange),
    },
  },
  {
    id: 'id-by-name',
    requirement: 'pet.unique-id',
    text: 'Two animals of the same name get the same id.',
    shares: 'id again',
    hooks: {
      newId: (pet, exchange) =>
        [...exchange.world.pets.values()].find((other) => other.name === pet.name)?.id ?? base.newId(pet, exchange),
    },
  },
  {
    id: 'id-by-content',
    requirement: 'pet.unique-id',
    text: 'A create with the same fields as the one before it gets the same animal.',
    shares: 'id again',
    hooks: {
      newId: (pet, exchange) => {
        const last = [...exchange.world.pets.values()].at(-1);
        const same = last?.name === pet.name && last.categoryId === pet.categoryId && last.status === pet.status;
        return same ? last.id : base.newId(pet, exchange);
      },
    },
  },
  {
    id: 'create-lost',
    requirement: 'create.stored',
    text: 'Every tenth animal is not kept.',
    hooks: { keep: (pet, { world }) => (world.creates % 10 === 0 ? undefined : pet) },
  },
  {
    id: 'create-name-of-last',
    requirement: 'create.stored',
    text: 'Every twelfth animal is kept with the name of the one before it.',
    hooks: kept((_pet, { world }) => (world.creates % 12 === 0 ? { name: [...world.pets.values()].at(-1)?.name ?? '' } : {})),
  },
  {
    id: 'create-name-of-refused',
    requirement: 'create.name',
    text: 'The create after a refused one gets the name that was refused.',
    hooks: {
      name: (value, exchange) => {
        const { notes } = exchange.world;
        const refused = notes.get('refused');
        const name = base.name(value, exchange);
        // Taken off again below when the create succeeds.
        if (name !== undefined) notes.set('refused', name);
        return name === undefined ? undefined : (refused ?? name);
      },
      ...answers(
        (answer) => answer.status === 201,
        (_answer, { world }) => void world.notes.delete('refused'),
      ),
    },
  },
  {
    id: 'create-renames-category',
    requirement: 'animals.agree',
    text: 'A create renames the animal before it if both have the same category.',
    hooks: {
      keep: (pet, { world }) => {
        const last = [...world.pets.values()].at(-1);
        if (last !== undefined && last.categoryId === pet.categoryId) last.name = pet.name;
        return pet;
      },
    },
  },
  {
    id: 'get-damages',
    requirement: 'animals.agree',
    text: 'An animal that was got twice loses the last character of its name.',
    hooks: {
      find: (id, exchange) => {
        const found = base.find(id, exchange);
        if (found === undefined) return undefined;
        const times = Number(exchange.world.notes.get(`got ${id}`) ?? 0);
        exchange.world.notes.set(`got ${id}`, String(times + 1));
        if (times === 2) found.name = found.name.slice(0, -1);
        return found;
      },
    },
  },
  {
    id: 'list-damages',
    requirement: 'animals.agree',
    text: 'A list with a limit of 100 leaves its first animal with another category.',
    hooks: {
      page: (rows, limit, exchange) => {
        const page = base.page(rows, limit, exchange);
        const [first] = page;
        if (first !== undefined && limit === 100) first.categoryId = String((BigInt(first.categoryId) + 1n) % 1000n);
        return page;
      },
    },
  },
  {
    id: 'list-swapped-names',
    requirement: 'animals.agree',
    text: "In a list, the fourth and the fifth animal have each other's names.",
    shares: 'list names',
    hooks: { page: (rows, limit, exchange) => swapped(base.page(rows, limit, exchange), 3) },
  },
  {
    id: 'list-swapped-names-tenth',
    requirement: 'animals.agree',
    text: "In every tenth list, the first two animals have each other's names.",
    shares: 'list names',
    hooks: {
      page: (rows, limit, exchange) => {
        const page = base.page(rows, limit, exchange);
        return exchange.world.lists % 10 === 0 ? swapped(page, 0) : page;
      },
    },
  },
  {
    id: 'list-sold-as-pending',
    requirement: 'animals.agree',
    text: 'A list without a filter shows sold animals as pending.',
    hooks: shown(
      'list',
      (fields, pet, { query }) => void (pet.status === 'sold' && !query.has('status') && fields.set('status', 'pending')),
    ),
  },
  {
    id: 'list-category-of-previous',
    requirement: 'animals.agree',
    text: 'In a list, animals from the twentieth on have the category of the one before.',
    shares: 'list names',
    hooks: {
      page: (rows, limit, exchange) =>
        base
          .page(rows, limit, exchange)
          .map((pet, at, page) => (at < 19 ? pet : { ...pet, categoryId: page[at - 1]?.categoryId ?? pet.categoryId })),
    },
  },
];
