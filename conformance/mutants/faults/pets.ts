/** What a Pet, and Pets, look like: sections 2 and 3. */
import { base, statuses } from '../hooks.ts';
import { Digits, type Json } from '../json.ts';
import { answers, shown, type Fault } from './fault.ts';

export const petFaults: readonly Fault[] = [
  {
    id: 'list-wrapped',
    requirement: 'pets.array',
    text: 'The list is an object {"pets": [...]}.',
    hooks: answers(
      (answer, { operation }) => operation === 'list' && answer.status === 200,
      (answer) => void (answer.body = new Map([['pets', answer.body ?? null]])),
    ),
  },
  {
    id: 'list-one-unwrapped',
    requirement: 'pets.array',
    text: 'A list of one animal is the animal, without an array.',
    hooks: answers(
      (answer, { operation }) => operation === 'list' && Array.isArray(answer.body) && answer.body.length === 1,
      (answer) => void (answer.body = Array.isArray(answer.body) ? answer.body[0] : undefined),
    ),
  },
  {
    id: 'list-null-row',
    requirement: 'pets.array',
    text: 'The tenth row of a list is null.',
    hooks: answers(
      (answer, { operation }) => operation === 'list' && Array.isArray(answer.body) && answer.body.length >= 10,
      (answer) => void (answer.body = Array.isArray(answer.body) ? answer.body.with(9, null) : undefined),
    ),
  },
  {
    id: 'pet-id-string-list',
    requirement: 'pet.id',
    text: 'The ids of a list are strings.',
    shares: 'id type',
    hooks: shown('list', (fields, pet) => void fields.set('id', pet.id)),
  },
  {
    id: 'pet-id-string-create',
    requirement: 'pet.id',
    text: 'The id of a 201 is a string.',
    shares: 'id type',
    hooks: shown('create', (fields, pet) => void fields.set('id', pet.id)),
  },
  {
    id: 'pet-id-missing-get',
    requirement: 'pet.id',
    text: 'get shows no id.',
    hooks: shown('get', (fields) => void fields.delete('id')),
  },
  {
    id: 'pet-id-beyond-int64',
    requirement: 'pet.id',
    text: 'Ids begin at 2^63.',
    hooks: { newId: (pet, exchange) => String(2n ** 63n + BigInt(base.newId(pet, exchange))) },
  },
  {
    id: 'pet-name-null-list',
    requirement: 'pet.name',
    text: 'A list shows null as the name of a sold animal.',
    hooks: shown('list', (fields, pet) => void (pet.status === 'sold' && fields.set('name', null))),
  },
  {
    id: 'pet-name-missing-get',
    requirement: 'pet.name',
    text: 'get shows no name.',
    hooks: shown('get', (fields) => void fields.delete('name')),
  },
  {
    id: 'pet-category-string-get',
    requirement: 'pet.category',
    text: 'get shows the categoryId as a string.',
    hooks: shown('get', (fields, pet) => void fields.set('categoryId', pet.categoryId)),
  },
  {
    id: 'pet-category-object-list',
    requirement: 'pet.category',
    text: 'A list shows category {"id": ...} in place of categoryId.',
    hooks: shown('list', (fields, pet) => {
      fields.delete('categoryId');
      fields.set('category', new Map<string, Json>([['id', new Digits(pet.categoryId)]]));
    }),
  },
  {
    id: 'pet-status-capital-list',
    requirement: 'pet.status',
    text: 'A list shows statuses with a capital letter.',
    shares: 'status shown',
    hooks: shown('list', (fields, pet) => void fields.set('status', pet.status.charAt(0).toUpperCase() + pet.status.slice(1))),
  },
  {
    id: 'pet-status-reserved-get',
    requirement: 'pet.status',
    text: 'get shows pending as reserved.',
    shares: 'status shown',
    hooks: shown('get', (fields, pet) => void (pet.status === 'pending' && fields.set('status', 'reserved'))),
  },
  {
    id: 'pet-status-null-default',
    requirement: 'pet.status',
    text: 'An animal that was created without a status shows null.',
    shares: 'status shown',
    hooks: {
      status: (value, exchange) => (value === undefined ? '' : base.status(value, exchange)),
      ...shown('all', (fields, pet) => void (pet.status === '' && fields.set('status', null))),
    },
  },
  {
    id: 'list-duplicate',
    requirement: 'pet.unique-id',
    text: 'A page of more than ten animals lists its first one a second time, at its end.',
    hooks: {
      page: (rows, limit, exchange) => {
        const page = base.page(rows, limit, exchange);
        const [first] = page;
        return first !== undefined && page.length > 10 ? page.with(-1, first) : page;
      },
    },
  },
  {
    id: 'empty-one-id',
    requirement: 'pet.unique-id',
    text: 'Every animal has id 1, in place of the one before it, on a server that began without animals.',
    animals: 0,
    hooks: { newId: () => '1' },
  },
  {
    id: 'list-filter-loses-status',
    requirement: 'pet.status',
    text: 'A filtered list shows the number of the status, as a string.',
    shares: 'status shown',
    hooks: shown(
      'list',
      (fields, pet, { query }) => void (query.has('status') && fields.set('status', String(statuses.indexOf(pet.status)))),
    ),
  },
];
