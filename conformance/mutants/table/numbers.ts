/** Sections 2 and 4.2: categories and ids must be exact 64-bit integers. */
import { base, type Operation } from '../server/hooks.ts';
import { Digits } from '../server/json.ts';
import { categories, shown, stored, table, type Change } from './changes.ts';

/** The integer after it has been stored in a double. */
const doubled = (text: string): bigint => BigInt(Number(text));

/** Ids start at 2^53, and one operation shows them after they have been stored in a double. */
const doubledIds = (operation: Operation, id: (n: bigint) => bigint): Change => ({
  newId: (pet, exchange) => String(2n ** 53n + id(BigInt(base.newId(pet, exchange)))),
  ...shown(operation, (fields, pet) => void fields.set('id', new Digits(String(doubled(pet.id))))),
});

export const numberMutants = table([
  ['category-double', 'create.category', 'Categories are stored in a double.',
    categories((category) => BigInt.asIntN(64, doubled(String(category))))],
  ['category-double-negative', 'create.category', 'Negative categories are stored in a double.',
    categories((category) => (category < 0n ? BigInt.asIntN(64, doubled(String(category))) : category))],
  ['category-double-store', 'create.stored', 'Categories are exact in the 201, but stored in a double.',
    stored((pet) => ({ categoryId: String(doubled(pet.categoryId)) }))],
  ['category-double-list', 'animals.agree', 'Lists convert categories to a double.',
    shown('list', (fields, pet) => void fields.set('categoryId', new Digits(String(doubled(pet.categoryId)))))],
  ['category-double-filtered', 'animals.agree', 'Filtered lists convert categories to a double.',
    shown('list', (fields, pet, { query }) => {
      if (query.has('status')) fields.set('categoryId', new Digits(String(doubled(pet.categoryId))));
    })],
  ['category-float32', 'create.category', 'Categories below 2^53 are stored in a 32-bit float.',
    categories((category) =>
      category > -(2n ** 53n) && category < 2n ** 53n ? BigInt(Math.fround(Number(category))) : category)],

  ['category-int32', 'create.category', 'Categories from 2^31 to 2^32 become negative.',
    categories((category) =>
      category >= 2n ** 31n && category <= 2n ** 32n ? BigInt.asIntN(32, category) : category)],
  ['category-int32-store', 'create.stored', 'Categories are stored in 32 bits.',
    stored((pet) => ({ categoryId: String(BigInt.asIntN(32, BigInt(pet.categoryId))) }))],

  ['category-last-digit', 'create.category', 'The last digit of a 19-digit category becomes 0.',
    categories((category) =>
      String(category).replace('-', '').length === 19 ? category - (category % 10n) : category)],
  ['category-17-digits-get', 'create.stored', 'getPet shows 17 significant digits of a category.',
    shown('get', (fields, pet) => {
      const rounded = pet.categoryId.replace(/(?<=^-?\d{17})\d+$/, (rest) => '0'.repeat(rest.length));
      fields.set('categoryId', new Digits(rounded));
    })],

  ['category-max', 'create.category', 'The largest category, 2^63 - 1, becomes one less.',
    categories((category) => (category === 2n ** 63n - 1n ? category - 1n : category))],
  ['category-min', 'create.category', 'The smallest category, -2^63, becomes one more.',
    categories((category) => (category === -(2n ** 63n) ? category + 1n : category))],
  ['category-just-beyond-2-53', 'create.category', 'Category 2^53 + 1 becomes 2^53.',
    categories((category) => (category === 2n ** 53n + 1n ? category - 1n : category))],
  ['category-zero', 'create.category', 'Category 0 becomes 1.',
    categories((category) => (category === 0n ? 1n : category))],
  ['category-sign', 'create.category', 'Categories lose their minus sign.',
    categories((category) => (category < 0n ? -category : category))],
  ['category-thirtieth', 'create.stored', 'Every thirtieth animal is stored with a category that is one too high.',
    stored((pet, { world }) => (world.creates % 30 === 0 ? { categoryId: String(BigInt(pet.categoryId) + 1n) } : {}))],

  ['id-double-create', 'create.stored', 'Ids start at 2^53, and a 201 converts them to a double.',
    doubledIds('create', (n) => 2n * n + 1n)],
  ['id-double-list', 'pet.unique-id', 'Ids start at 2^53, and lists convert them to a double.',
    doubledIds('list', (n) => n)],
  ['id-double-get', 'get.answers', 'Ids start at 2^53, and getPet converts them to a double.',
    doubledIds('get', (n) => 2n * n + 1n)],
]);
