/** Whether categories and ids are kept to the digit: sections 2 and 4.2. */
import { base } from '../hooks.ts';
import { Digits } from '../json.ts';
import { categories, kept, shown, type Fault } from './fault.ts';

/** A double's idea of an integer. */
const doubled = (text: string): bigint => BigInt(Number(text));

const categoryFaults: readonly Fault[] = [
  {
    id: 'category-double',
    requirement: 'create.category',
    text: 'Categories pass through a double.',
    shares: 'category double',
    hooks: categories((category) => BigInt.asIntN(64, doubled(String(category)))),
  },
  {
    id: 'category-double-negative',
    requirement: 'create.category',
    text: 'Negative categories pass through a double.',
    shares: 'category double',
    hooks: categories((category) => (category < 0n ? BigInt.asIntN(64, doubled(String(category))) : category)),
  },
  {
    id: 'category-double-store',
    requirement: 'create.stored',
    text: 'Categories pass through a double when they are kept.',
    shares: 'category double',
    hooks: kept((pet) => ({ categoryId: String(doubled(pet.categoryId)) })),
  },
  {
    id: 'category-double-list',
    requirement: 'animals.agree',
    text: 'A list shows categories through a double.',
    shares: 'category double',
    hooks: shown('list', (fields, pet) => void fields.set('categoryId', new Digits(String(doubled(pet.categoryId))))),
  },
  {
    id: 'category-float32',
    requirement: 'create.category',
    text: 'Categories up to 2^53 pass through a float of 32 bits.',
    hooks: categories((category) =>
      category > -(2n ** 53n) && category < 2n ** 53n ? BigInt(Math.fround(Number(category))) : category,
    ),
  },
  {
    id: 'category-int32',
    requirement: 'create.category',
    text: 'Categories from 2^31 to 2^32 turn negative.',
    shares: 'category width',
    hooks: categories((category) => (category >= 2n ** 31n && category <= 2n ** 32n ? BigInt.asIntN(32, category) : category)),
  },
  {
    id: 'category-int32-store',
    requirement: 'create.stored',
    text: 'Categories are kept in 32 bits.',
    shares: 'category width',
    hooks: kept((pet) => ({ categoryId: String(BigInt.asIntN(32, BigInt(pet.categoryId))) })),
  },
  {
    id: 'category-last-digit',
    requirement: 'create.category',
    text: 'The last digit of a category of 19 digits becomes 0.',
    shares: 'category digits',
    hooks: categories((category) => (String(category).replace('-', '').length === 19 ? category - (category % 10n) : category)),
  },
  {
    id: 'category-17-digits-get',
    requirement: 'create.stored',
    text: 'get shows 17 significant digits of a category.',
    shares: 'category digits',
    hooks: shown(
      'get',
      (fields, pet) =>
        void fields.set(
          'categoryId',
          new Digits(
            pet.categoryId.replace(/^(-?\d{17})(\d+)$/, (_all, first: string, rest: string) => first + '0'.repeat(rest.length)),
          ),
        ),
    ),
  },
  {
    id: 'category-max',
    requirement: 'create.category',
    text: 'The largest category, 2^63 - 1, becomes one less.',
    shares: 'category edge',
    hooks: categories((category) => (category === 2n ** 63n - 1n ? category - 1n : category)),
  },
  {
    id: 'category-min',
    requirement: 'create.category',
    text: 'The smallest category, -2^63, becomes one more.',
    shares: 'category edge',
    hooks: categories((category) => (category === -(2n ** 63n) ? category + 1n : category)),
  },
  {
    id: 'category-just-beyond-2-53',
    requirement: 'create.category',
    text: 'The category 2^53 + 1 becomes 2^53; all others are exact.',
    shares: 'category edge',
    hooks: categories((category) => (category === 2n ** 53n + 1n ? category - 1n : category)),
  },
  {
    id: 'category-zero',
    requirement: 'create.category',
    text: 'Category 0 becomes 1.',
    shares: 'category edge',
    hooks: categories((category) => (category === 0n ? 1n : category)),
  },
  {
    id: 'category-sign',
    requirement: 'create.category',
    text: 'Categories lose their minus sign.',
    hooks: categories((category) => (category < 0n ? -category : category)),
  },
  {
    id: 'category-thirtieth',
    requirement: 'create.stored',
    text: 'Every thirtieth animal is kept with a category one too high.',
    hooks: kept((pet, { world }) => (world.creates % 30 === 0 ? { categoryId: String(BigInt(pet.categoryId) + 1n) } : {})),
  },
];

const idFaults: readonly Fault[] = [
  {
    id: 'id-double-create',
    requirement: 'create.stored',
    text: 'Ids begin at 2^53, and a 201 shows them through a double.',
    shares: 'id double',
    hooks: {
      newId: (pet, exchange) => String(2n ** 53n + 2n * BigInt(base.newId(pet, exchange)) + 1n),
      ...shown('create', (fields, pet) => void fields.set('id', new Digits(String(doubled(pet.id))))),
    },
  },
  {
    id: 'id-double-list',
    requirement: 'pet.unique-id',
    text: 'Ids begin at 2^53, and a list shows them through a double.',
    shares: 'id double',
    hooks: {
      newId: (pet, exchange) => String(2n ** 53n + BigInt(base.newId(pet, exchange))),
      ...shown('list', (fields, pet) => void fields.set('id', new Digits(String(doubled(pet.id))))),
    },
  },
  {
    id: 'id-double-get',
    requirement: 'get.answers',
    text: 'Ids begin at 2^53, and get shows them through a double.',
    shares: 'id double',
    hooks: {
      newId: (pet, exchange) => String(2n ** 53n + 2n * BigInt(base.newId(pet, exchange)) + 1n),
      ...shown('get', (fields, pet) => void fields.set('id', new Digits(String(doubled(pet.id))))),
    },
  },
];

export const numberFaults: readonly Fault[] = [...categoryFaults, ...idFaults];
