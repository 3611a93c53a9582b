/** Sections 2 and 3: the fields of a Pet, and Pets. */
import { base, statuses } from '../server/hooks.ts';
import { Digits, writeJson, type Json } from '../server/json.ts';
import { pages, responses, shown, status, table, type Change, type Kind } from './changes.ts';

/** Sends some responses with another body, and the same status. */
const body = (kind: Kind, replaced: (body: Json | undefined) => Json | undefined): Change =>
  responses(kind, (response) => void (response.body = replaced(response.body)));

/** Replaces the body of lists. */
const listBody = (replaced: (rows: Json[]) => Json | undefined): Change =>
  responses(
    (response, { operation }) => operation === 'list' && Array.isArray(response.body),
    (response) => void (response.body = replaced(response.body as Json[])),
  );

export const petMutants = table([
  ['list-wrapped', 'pets.array', 'A list is an object: {"pets": [...]}.',
    listBody((rows) => new Map([['pets', rows]]))],
  ['list-one-unwrapped', 'pets.array', 'A list of one animal is that animal, without an array.',
    listBody((rows) => (rows.length === 1 ? rows[0] : rows))],
  ['list-null-row', 'pets.array', 'The tenth row of a list is null.',
    listBody((rows) => (rows.length >= 10 ? rows.with(9, null) : rows))],
  ['list-null', 'pets.array', 'Every list is null.', listBody(() => null)],
  ['list-null-if-empty', 'pets.array', 'An empty list is null; the server has no animals at the start.',
    { animals: () => 0, ...listBody((rows) => (rows.length === 0 ? null : rows)) }],
  ['list-null-filtered', 'pets.array', 'A list of pending animals is null.',
    body((_response, { query }) => query.get('status') === 'pending', () => null)],
  ['list-string', 'pets.array', 'A list is a string that contains the array.',
    listBody((rows) => writeJson(rows))],
  ['list-number', 'pets.array', 'A list is the number of its animals.',
    listBody((rows) => new Digits(String(rows.length)))],
  ['list-false-if-one', 'pets.array', 'A list with limit=1 is false.',
    body((response, { query }) => response.status === 200 && query.get('limit') === '1', () => false)],

  ['pet-id-string-list', 'pet.id', 'Ids are strings in lists.',
    shown('list', (fields, pet) => void fields.set('id', pet.id))],
  ['pet-id-string-create', 'pet.id', 'The id of a 201 is a string.',
    shown('create', (fields, pet) => void fields.set('id', pet.id))],
  ['pet-id-missing-get', 'pet.id', 'getPet shows no id.', shown('get', (fields) => void fields.delete('id'))],
  ['pet-id-beyond-int64', 'pet.id', 'Ids start at 2^63.',
    { newId: (pet, exchange) => String(2n ** 63n + BigInt(base.newId(pet, exchange))) }],

  ['pet-null-get', 'pet.id', 'getPet returns 200 and null.', body(status(200, 'get'), () => null)],
  ['pet-null-create', 'pet.id', 'createPet returns 201 and null.', body(status(201), () => null)],
  ['pet-array-create', 'pet.id', 'The body of a 201 is an array with one animal.',
    body(status(201), (pet = null) => [pet])],
  ['pet-true-get', 'pet.id', 'getPet returns 200 and true.', body(status(200, 'get'), () => true)],

  ['pet-name-null-list', 'pet.name', 'Lists show null as the name of a sold animal.',
    shown('list', (fields, pet) => void (pet.status === 'sold' && fields.set('name', null)))],
  ['pet-name-number-list', 'pet.name', 'Lists show a name of digits as a number.',
    shown('list', (fields, pet) => {
      if (/^[1-9]\d*$/.test(pet.name)) fields.set('name', new Digits(pet.name));
    })],
  ['pet-name-missing-get', 'pet.name', 'getPet shows no name.', shown('get', (fields) => void fields.delete('name'))],

  ['pet-category-string-get', 'pet.category', 'getPet shows the categoryId as a string.',
    shown('get', (fields, pet) => void fields.set('categoryId', pet.categoryId))],
  ['pet-category-zero-omitted', 'pet.category', 'getPet and lists leave out a categoryId of 0.',
    shown('all', (fields, pet, { operation }) => {
      if (pet.categoryId === '0' && operation !== 'create') fields.delete('categoryId');
    })],
  ['pet-category-object-list', 'pet.category', 'Lists show category {"id": ...} instead of categoryId.',
    shown('list', (fields, pet) => {
      fields.delete('categoryId');
      fields.set('category', new Map([['id', new Digits(pet.categoryId)]]));
    })],

  ['pet-status-capital-list', 'pet.status', 'Lists show statuses with a capital letter.',
    shown('list', (fields, { status }) => void fields.set('status', status.charAt(0).toUpperCase() + status.slice(1)))],
  ['pet-status-reserved-get', 'pet.status', 'getPet shows pending as reserved.',
    shown('get', (fields, pet) => void (pet.status === 'pending' && fields.set('status', 'reserved')))],
  ['pet-status-null-default', 'pet.status', 'An animal created without a status shows null.',
    {
      status: (value, exchange) => (value === undefined ? '' : base.status(value, exchange)),
      ...shown('all', (fields, pet) => void (pet.status === '' && fields.set('status', null))),
    }],
  ['list-filter-loses-status', 'pet.status', 'Filtered lists show the number of the status, as a string.',
    shown('list', (fields, pet, { query }) => {
      if (query.has('status')) fields.set('status', String(statuses.indexOf(pet.status)));
    })],

  ['list-row-65', 'pet.unique-id', 'Row 65 of a list repeats row 64.',
    pages((page) => (page.length > 64 ? page.with(64, page[63]!) : page))],
  ['list-duplicate', 'pet.unique-id', 'A page of more than ten animals repeats its first animal at the end.',
    pages((page) => (page.length > 10 ? page.with(-1, page[0]!) : page))],
  ['empty-one-id', 'pet.unique-id', 'Every new animal replaces animal 1; the server has no animals at the start.',
    { animals: () => 0, newId: () => '1' }],
]);
