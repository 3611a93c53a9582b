/** Faults in what a server remembers and returns: animals, ids, pages, errors, JSON and media types. */
import { base, statuses, type Exchange, type MutantResponse, type Operation, type Pet } from '../server/hooks.ts';
import { Digits, type Json, type JsonObject } from '../server/json.ts';
import { responses, setHeader, type Change } from '../table/changes.ts';
import { becomeError, errorClasses, everyNth, fault, nameOf, numberOf, successClasses, type Family } from './family.ts';
import type { Random } from './random.ts';

/** The Pet objects of a response. */
function petsOf({ body }: MutantResponse): readonly JsonObject[] {
  const rows = Array.isArray(body) ? body : [body];
  return rows.filter((row) => row instanceof Map);
}

const pageEdge: Family = {
  name: 'listPets × edge of a page × a row too many or twice',
  draw: (random) => {
    const row = random.integer(2, 9);
    const least = random.integer(2, 12);
    const [text, change] = random.pick<readonly [string, (page: Pet[], rows: readonly Pet[], limit: number) => Pet[]]>([
      [
        'the last row of a full page stands there twice',
        (page, _rows, limit) => (page.length === limit && limit > 1 ? [...page.slice(0, -1), page.at(-2)!] : page),
      ],
      [
        'a page that does not hold all rows has one row more than its limit',
        (page, rows, limit) => (rows.length > limit ? rows.slice(0, limit + 1) : page),
      ],
      [
        `row ${row} repeats the row before`,
        (page) => (page.length >= row ? [...page.slice(0, row - 1), page[row - 2]!, ...page.slice(row)] : page),
      ],
      [
        `a page of ${least} or more rows repeats its first row at the end`,
        (page) => (page.length >= least && page.length > 1 ? [...page.slice(0, -1), page[0]!] : page),
      ],
      [
        'a page with exactly as many rows as fit the filter repeats its first row',
        (page, rows, limit) => (rows.length === limit && limit > 1 ? [...page.slice(0, -1), page[0]!] : page),
      ],
      [
        'the rows of a limit above 10 are taken from two pages that overlap',
        (page, _rows, limit) => (limit > 10 && page.length > 10 ? [...page.slice(0, 10), ...page.slice(9, -1)] : page),
      ],
      [
        'with an odd limit, one row more is returned',
        (page, rows, limit) => (limit % 2 === 1 ? rows.slice(0, limit + 1) : page),
      ],
    ]);
    const filtered = random.pick([true, false]);
    return fault('4.1 2 8', `In lists${filtered ? ' with a filter' : ''}, ${text}.`, {
      animals: () => 40,
      page: (rows, limit, exchange) => {
        const page = base.page(rows, limit, exchange);
        return filtered && !exchange.query.has('status') ? page : change(page, rows, limit);
      },
    });
  },
};

/** Something that is wrong in a Pet object. */
function wrongField(random: Random): readonly [text: string, change: (fields: JsonObject) => void] {
  const field = random.pick(['id', 'name', 'categoryId']);
  const other = random.pick(['_id', 'ID', 'category_id', 'categoryID', 'petName', 'Name', 'pet_id']);
  const textOf = (value: Json | undefined): string => (value instanceof Digits ? value.text : String(value));
  const unknown = random.pick(['active', 'reserved', 'new', 'unavailable']);
  const renamed = /name/i.test(other) ? 'name' : /cat/.test(other) ? 'categoryId' : 'id';
  return random.pick<readonly [string, (fields: JsonObject) => void]>([
    [`${field} is missing`, (fields) => void fields.delete(field)],
    [`${field} is null`, (fields) => void fields.set(field, null)],
    ['id is a string', (fields) => void fields.set('id', textOf(fields.get('id')))],
    ['categoryId is a string', (fields) => void fields.set('categoryId', textOf(fields.get('categoryId')))],
    ['id has a fraction', (fields) => void fields.set('id', new Digits(`${textOf(fields.get('id'))}.5`))],
    [
      'categoryId has a fraction',
      (fields) => void fields.set('categoryId', new Digits(`${textOf(fields.get('categoryId'))}.5`)),
    ],
    ['name is an object', (fields) => void fields.set('name', new Map([['en', fields.get('name') ?? null]]))],
    ['name is an array', (fields) => void fields.set('name', [fields.get('name') ?? null])],
    [
      'categoryId is an object',
      (fields) => void fields.set('categoryId', new Map([['id', fields.get('categoryId') ?? null]])),
    ],
    ['status is in capitals', (fields) => void fields.set('status', String(fields.get('status')).toUpperCase())],
    [
      'status is a number',
      (fields) => void fields.set('status', new Digits(String(statuses.indexOf(String(fields.get('status')))))),
    ],
    ['status is an object', (fields) => void fields.set('status', new Map([['name', fields.get('status') ?? null]]))],
    [`status is ${unknown}`, (fields) => void fields.set('status', unknown)],
    [
      `${renamed} is called ${other}`,
      (fields) => {
        fields.set(other, fields.get(renamed) ?? null);
        fields.delete(renamed);
      },
    ],
    [
      'id is beyond int64',
      (fields) => void fields.set('id', new Digits(`9${textOf(fields.get('id')).padStart(19, '9')}`)),
    ],
    ['name is a boolean', (fields) => void fields.set('name', true)],
  ]);
}

const wrongRow: Family = {
  name: 'listPets × position in the page × a field is wrong',
  draw: (random) => {
    const row = random.integer(2, 11);
    const [text, change] = wrongField(random);
    const [where, isThere] = random.pick<readonly [string, (i: number, count: number) => boolean]>([
      [`row ${row}`, (i) => i === row - 1],
      ['the last row', (i, count) => i === count - 1],
      [`each row after row ${row}`, (i) => i >= row],
      [`every row with a number divisible by ${row}`, (i) => (i + 1) % row === 0],
      ['the first row', (i) => i === 0],
    ]);
    const filtered = random.pick([true, false]);
    return fault(
      '2 4.1',
      `In ${where} of lists${filtered ? ' with a filter' : ''}, ${text}.`,
      responses(
        (response, { operation, query }) =>
          operation === 'list' && response.status === 200 && (!filtered || query.has('status')),
        (response) => {
          const pets = petsOf(response);
          pets.forEach((pet, i) => isThere(i, pets.length) && change(pet));
        },
      ),
    );
  },
};

const wrongPet: Family = {
  name: 'Pet × kind of animal × a field is wrong',
  draw: (random) => {
    const [text, change] = wrongField(random);
    const status = random.pick(statuses);
    const modulus = random.integer(2, 6);
    const [which, matches] = random.pick<readonly [string, (pet: Pet) => boolean]>([
      [`with the status ${status}`, (pet) => pet.status === status],
      ['with a long name', (pet) => pet.name.length > 40],
      ['with a negative category', (pet) => pet.categoryId.startsWith('-')],
      ['with a category of more than nine digits', (pet) => pet.categoryId.length > 9],
      ['that was created', (pet) => pet.at > 0],
      [`whose id is divisible by ${modulus}`, (pet) => Number(pet.id) % modulus === 0],
      ['with other characters than those of ASCII', (pet) => /[^\0-\x7f]/.test(pet.name)],
      ['with the category 0', (pet) => pet.categoryId === '0'],
      ['that was there at the start', (pet) => pet.at === 0],
    ]);
    const operation = random.pick<Operation>(['list', 'create', 'get']);
    // Animals of the start are never in a 201.
    const shows = which.endsWith('at the start') && operation === 'create' ? 'get' : operation;
    return fault('2 4.1 4.2 4.3', `In ${nameOf(shows)}, ${text} for an animal ${which}.`, {
      show: (pet, exchange) => {
        const fields = base.show(pet, exchange);
        if (exchange.operation === shows && matches(pet)) change(fields);
        return fields;
      },
    });
  },
};

const wrongCreated: Family = {
  name: 'createPet × 201 × not the created animal',
  draw: (random) => {
    const status = random.pick(statuses);
    const others = statuses.filter((other) => other !== status);
    const wrong = random.pick(others);
    const nth = random.integer(1, 4);
    const to = random.pick([200, 202, 303, 409, 500]);
    const [text, change] = random.pick<readonly [string, (response: MutantResponse, exchange: Exchange) => void]>([
      [`has the status ${to}`, (response) => void (response.status = to)],
      [
        'has the status 204 and no body',
        (response) => {
          Object.assign(response, { status: 204, body: undefined });
          setHeader(response, 'Content-Type', undefined);
        },
      ],
      ['has no body', (response) => void (response.body = undefined)],
      ['has an array with the animal', (response) => void (response.body = [response.body ?? null])],
      ['has the animal in data', (response) => void (response.body = new Map([['data', response.body ?? null]]))],
      ['has the animal in pet', (response) => void (response.body = new Map([['pet', response.body ?? null]]))],
      [
        'has only the id',
        (response) => {
          const id = petsOf(response)[0]?.get('id') ?? null;
          response.body = new Map([['id', id]]);
        },
      ],
      ['has what was sent, without an id', (response) => petsOf(response)[0]?.delete('id')],
      [
        'has the id of the next animal',
        (response, { world }) => petsOf(response)[0]?.set('id', new Digits(String(world.nextId))),
      ],
      [
        'has the id of the animal before',
        (response) => {
          const pet = petsOf(response)[0];
          pet?.set('id', new Digits(String(BigInt((pet.get('id') as Digits).text) - 1n)));
        },
      ],
      ['has the id 0', (response) => petsOf(response)[0]?.set('id', new Digits('0'))],
      [
        `shows ${wrong} for an animal that was created as ${status}`,
        (response) => {
          const pet = petsOf(response)[0];
          if (pet?.get('status') === status) pet.set('status', wrong);
        },
      ],
      [
        'has the name of the animal before',
        (response, { world }) => {
          const before = [...world.pets.values()].at(-2);
          if (before !== undefined) petsOf(response)[0]?.set('name', before.name);
        },
      ],
      [
        'has categoryId and id swapped',
        (response) => {
          const pet = petsOf(response)[0];
          const [id, category] = [pet?.get('id') ?? null, pet?.get('categoryId') ?? null];
          pet?.set('id', category).set('categoryId', id);
        },
      ],
      ['has an empty object', (response) => void (response.body = new Map())],
    ]);
    return fault(
      '4.2 2 1',
      `A 201${nth === 1 ? '' : `, every ${nth}. time,`} ${text}.`,
      responses(
        everyNth((response, { operation }) => operation === 'create' && response.status === 201, nth, '201'),
        change,
      ),
    );
  },
};

/** Creates that arrive while another one is being served. */
const concurrentCreate: Family = {
  name: 'createPet × concurrency × ids, names or animals are mixed up',
  draw: (random) => {
    const ms = random.integer(2, 10);
    const isTogether = (exchange: Exchange): boolean => {
      const {
        now,
        connection,
        world: { notes },
      } = exchange;
      const [at = 0, other = 0] = (notes.get('create') ?? '').split(',').map(Number);
      notes.set('create', `${now},${connection}`);
      return now <= at + ms && other !== connection;
    };
    const previous = (pet: Pet, exchange: Exchange): Pet | undefined =>
      [...exchange.world.pets.values()].filter(({ id }) => id !== pet.id).at(-1);
    const [text, hooks] = random.pick<readonly [string, Change]>([
      [
        'gets the id of the other',
        {
          newId: (pet, exchange) =>
            pet.at > 0 && isTogether(exchange) ? String(exchange.world.nextId - 1n) : base.newId(pet, exchange),
        },
      ],
      [
        'is stored with the name of the other',
        {
          keep: (pet, exchange) => ({
            ...pet,
            name: isTogether(exchange) ? (previous(pet, exchange)?.name ?? pet.name) : pet.name,
          }),
        },
      ],
      [
        'is stored with the category of the other',
        {
          keep: (pet, exchange) => ({
            ...pet,
            categoryId: isTogether(exchange) ? (previous(pet, exchange)?.categoryId ?? pet.categoryId) : pet.categoryId,
          }),
        },
      ],
      ['is not stored', { keep: (pet, exchange) => (isTogether(exchange) ? undefined : pet) }],
      [
        'removes the other',
        {
          keep: (pet, exchange) => {
            const other = previous(pet, exchange);
            if (isTogether(exchange) && other !== undefined) exchange.world.pets.delete(other.id);
            return pet;
          },
        },
      ],
      [
        'gets the 201 of the other',
        {
          response: (response, exchange) => {
            if (response.status !== 201) return response;
            const other = isTogether(exchange) ? [...exchange.world.pets.values()].at(-2) : undefined;
            if (other !== undefined) response.body = base.show(other, exchange);
            return response;
          },
        },
      ],
    ]);
    return fault(
      /not stored|removes/.test(text) ? '2 4.1 4.2 4.3 7' : '2 4.1 4.2 4.3',
      `A create within ${ms} ms of another one, on another connection, ${text}.`,
      hooks,
    );
  },
};

const concurrentReads: Family = {
  name: 'reading × concurrency × parameters of another request',
  draw: (random) => {
    const ms = random.integer(2, 10);
    /** The value of a note of another connection in the last milliseconds. */
    const other = (
      note: string,
      value: string,
      { now, connection, world: { notes } }: Exchange,
    ): string | undefined => {
      const [at, before, known] = JSON.parse(notes.get(note) ?? '[0,0,""]') as [number, number, string];
      notes.set(note, JSON.stringify([now, connection, value]));
      return now <= at + ms && before !== connection && known !== value ? known : undefined;
    };
    const [text, sections, hooks] = random.pick<readonly [string, string, Change]>([
      [
        'A list gets the filter',
        '4.1',
        {
          filter: (text, exchange) => {
            const own = base.filter(text, exchange);
            return own === undefined ? own : (other('filter', own, exchange) ?? own);
          },
        },
      ],
      [
        'A list gets the limit',
        '4.1 8',
        {
          animals: () => 60,
          limit: (text, exchange) => {
            const own = base.limit(text, exchange);
            return own === undefined ? own : Number(other('limit', String(own), exchange) ?? own);
          },
        },
      ],
      [
        'getPet gets the id',
        '4.3 2',
        {
          find: (id, exchange) => {
            const own = base.find(id, exchange);
            return own === undefined ? own : (exchange.world.pets.get(other('id', own.id, exchange) ?? '') ?? own);
          },
        },
      ],
      [
        'An unknown animal is that',
        '4.3 7',
        {
          find: (id, exchange) => {
            const own = base.find(id, exchange);
            const known = other('id', own?.id ?? 'none', exchange);
            return own ?? exchange.world.pets.get(known ?? '');
          },
        },
      ],
      [
        'A wrong key becomes the valid one',
        '5 7 4.1 4.2 4.3 4.4',
        {
          admits: (exchange, secret) => {
            const valid = base.admits(exchange, secret);
            return other(`key ${secret}`, String(valid), exchange) === 'true' || valid;
          },
        },
      ],
    ]);
    return fault(sections, `${text} of a request on another connection that arrived at most ${ms} ms before.`, hooks);
  },
};

const lostAnimal: Family = {
  name: 'created animal × time × lost later',
  draw: (random) => {
    const seconds = random.integer(1, 30);
    const count = random.integer(2, 12);
    const status = random.pick(statuses);
    const age = (pet: Pet, { now }: Exchange): boolean => pet.at > 0 && now > pet.at + seconds * 1_000;
    const bump = ({ world: { notes } }: Exchange, note: string): number => {
      const seen = Number(notes.get(note) ?? 0) + 1;
      notes.set(note, String(seen));
      return seen;
    };
    const [text, gone] = random.pick<readonly [string, (pet: Pet, exchange: Exchange) => boolean]>([
      [`${seconds} s after its create`, age],
      [
        `after ${count} further creates`,
        (pet, { world }) => pet.at > 0 && BigInt(pet.id) + BigInt(count) < world.nextId,
      ],
      [`after ${count} reads`, (pet, exchange) => pet.at > 0 && bump(exchange, `reads of ${pet.id}`) > count],
      ['after one read', (pet, exchange) => pet.at > 0 && bump(exchange, `reads of ${pet.id}`) > 1],
      [`if its status is ${status}`, (pet) => pet.at > 0 && pet.status === status],
      [
        'on another connection than that of its create',
        (pet, { connection, world }) => pet.at > 0 && world.notes.get(`creator of ${pet.id}`) !== String(connection),
      ],
      [
        'on connections of the other of two processes',
        (pet, { connection, world }) =>
          pet.at > 0 &&
          (numberOf(Number(world.notes.get(`creator of ${pet.id}`))) + numberOf(connection)) % 2 === 1,
      ],
      [`if there are more than ${12 + count} animals`, (pet, { world }) => pet.at > 0 && world.pets.size > 12 + count],
      ['if its id is odd', (pet) => pet.at > 0 && Number(pet.id) % 2 === 1],
    ]);
    const to = random.pick([404, 404, 404, 410, 500]);
    return fault('4.3 7', `getPet of a created animal returns ${to} ${text}.`, {
      keep: (pet, { world, connection }) => {
        world.notes.set(`creator of ${pet.id}`, String(connection));
        return pet;
      },
      find: (id, exchange) => {
        const pet = base.find(id, exchange);
        if (pet === undefined || !gone(pet, exchange)) return pet;
        exchange.world.notes.set('gone', 'yes');
        return undefined;
      },
      response: (response, exchange) => {
        if (exchange.world.notes.delete('gone') && response.status === 404) becomeError(response, exchange, to);
        return response;
      },
    });
  },
};

const repeatedId: Family = {
  name: 'id × uniqueness × given twice or changed',
  draw: (random) => {
    const modulus = random.integer(14, 24);
    const nth = random.integer(2, 6);
    const own = (pet: Pet, exchange: Exchange, note: string, start: bigint): string => {
      if (pet.at === 0) return base.newId(pet, exchange);
      const { notes } = exchange.world;
      const next = BigInt(notes.get(note) ?? start) + 1n;
      notes.set(note, String(next));
      return String(next);
    };
    const [text, hooks] = random.pick<readonly [string, Change]>([
      ['Each status has ids of its own', { newId: (pet, exchange) => own(pet, exchange, `id ${pet.status}`, 1_000n) }],
      [
        'Each category has ids of its own',
        { newId: (pet, exchange) => own(pet, exchange, `id ${pet.categoryId}`, 1_000n) },
      ],
      [
        'Each connection has ids of its own',
        {
          newId: (pet, exchange) => own(pet, exchange, `id ${exchange.connection}`, 1_000n),
        },
      ],
      [
        'Ids are the time in seconds',
        {
          newId: (pet, exchange) =>
            pet.at === 0 ? base.newId(pet, exchange) : String(Math.floor(exchange.now / 1_000)),
        },
      ],
      [
        'Ids are the time in tenths of a second',
        {
          newId: (pet, exchange) => (pet.at === 0 ? base.newId(pet, exchange) : String(Math.floor(exchange.now / 100))),
        },
      ],
      [
        `Ids begin again after ${modulus}`,
        {
          newId: (pet, exchange) => String(((BigInt(base.newId(pet, exchange)) - 1n) % BigInt(modulus)) + 1n),
        },
      ],
      [
        `Every ${nth}. create gets the id of the one before`,
        {
          newId: (pet, { world }) =>
            pet.at > 0 && world.creates % nth === 0 ? String(world.nextId - 1n) : String(world.nextId++),
        },
      ],
      [
        'Equal names get equal ids',
        {
          newId: (pet, exchange) => {
            if (pet.at === 0) return base.newId(pet, exchange);
            const known = [...exchange.world.pets.values()].find(({ name }) => name === pet.name);
            return known?.id ?? base.newId(pet, exchange);
          },
        },
      ],
      [
        'A list rounds ids beyond 2^53',
        {
          newId: (_pet, { world }) => String(2n ** 60n + 3n * world.nextId++),
          show: (pet, exchange) => {
            const fields = base.show(pet, exchange);
            if (exchange.operation === 'list') fields.set('id', new Digits(String(BigInt(Number(pet.id)))));
            return fields;
          },
        },
      ],
      [
        'Lists with a filter show the row number as id',
        {
          response: (response, { operation, query }) => {
            if (operation === 'list' && query.has('status')) {
              petsOf(response).forEach((pet, i) => pet.set('id', new Digits(String(i + 1))));
            }
            return response;
          },
        },
      ],
      [
        'getPet shows another id than the one that was asked for',
        {
          show: (pet, exchange) => {
            const fields = base.show(pet, exchange);
            if (exchange.operation === 'get') fields.set('id', new Digits(String(BigInt(pet.id) + BigInt(nth))));
            return fields;
          },
        },
      ],
    ]);
    return fault('2 4.2 4.3 4.1', `${text}.`, hooks);
  },
};

const wrongFilter: Family = {
  name: 'listPets × filter × another set of animals',
  draw: (random) => {
    const [wanted, other] = random.some(statuses, 2) as [string, string];
    const row = random.integer(3, 10);
    const stale = random.pick([20, 60]);
    const [text, hooks] = random.pick<readonly [string, Change]>([
      [
        `The filter ${wanted} also returns animals that are ${other}`,
        {
          fits: (pet, status, exchange) =>
            base.fits(pet, status, exchange) || (status === wanted && pet.status === other),
        },
      ],
      [
        `The filter ${wanted} returns animals that are ${other}`,
        {
          fits: (pet, status) => status === '' || pet.status === (status === wanted ? other : status),
        },
      ],
      [
        `The filter ${wanted} returns all animals that are not ${wanted}`,
        {
          fits: (pet, status, exchange) =>
            status === wanted ? pet.status !== wanted : base.fits(pet, status, exchange),
        },
      ],
      [
        `The filter ${wanted} returns nothing`,
        {
          fits: (pet, status, exchange) => status !== wanted && base.fits(pet, status, exchange),
        },
      ],
      [
        `Pages of the filter ${wanted} are filled with other animals`,
        {
          page: (rows, limit, exchange) =>
            exchange.query.get('status') === wanted
              ? [...rows, ...[...exchange.world.pets.values()].filter((pet) => !rows.includes(pet))].slice(0, limit)
              : base.page(rows, limit, exchange),
        },
      ],
      [
        `After row ${row}, the filter is not applied`,
        {
          page: (rows, limit, exchange) => {
            const page = base.page(rows, limit, exchange);
            const rest = [...exchange.world.pets.values()].filter((pet) => !page.includes(pet));
            return exchange.query.has('status') && page.length > row
              ? [...page.slice(0, row), ...rest].slice(0, page.length)
              : page;
          },
          animals: () => 60,
        },
      ],
      [
        `For an animal that was created, the filter ${wanted} uses its category`,
        {
          fits: (pet, status, exchange) =>
            status === wanted && pet.at > 0
              ? Number(BigInt(pet.categoryId) % 2n) === 1
              : base.fits(pet, status, exchange),
        },
      ],
      [
        `A list with the filter ${wanted} shows the status ${other}`,
        {
          show: (pet, exchange) => {
            const fields = base.show(pet, exchange);
            if (exchange.operation === 'list' && exchange.query.get('status') === wanted) fields.set('status', other);
            return fields;
          },
        },
      ],
      [
        `A filter returns what the last one of another status returned within ${stale} s`,
        {
          filter: (text, exchange) => {
            const own = base.filter(text, exchange);
            if (own === undefined || own === '') return own;
            const { notes } = exchange.world;
            const [at = '0', known = own] = (notes.get('filter') ?? '').split(',').filter((part) => part !== '');
            if (exchange.now <= Number(at) + stale * 1_000) return known;
            notes.set('filter', `${exchange.now},${own}`);
            return own;
          },
        },
      ],
    ]);
    return fault('4.1', `${text}.`, hooks);
  },
};

const repeatedCreate: Family = {
  name: 'createPet × repetition × not a new animal',
  draw: (random) => {
    const seconds = random.pick([1, 5, 60]);
    const same = (pet: Pet, other: Pet, by: string): boolean =>
      other.at > 0 &&
      (by === 'name' || other.categoryId === pet.categoryId) &&
      (by === 'categoryId' || other.name === pet.name) &&
      (by !== 'everything' || other.status === pet.status);
    const by = random.pick(['name', 'categoryId', 'everything']);
    const within = random.pick([true, false]);
    const find = (pet: Pet, { world, now }: Exchange): Pet | undefined =>
      [...world.pets.values()].find(
        (other) => other.id !== pet.id && same(pet, other, by) && (!within || now <= other.at + seconds * 1_000),
      );
    const [text, hooks] = random.pick<readonly [string, Change]>([
      [
        'returns the first animal again',
        { newId: (pet, exchange) => find(pet, exchange)?.id ?? base.newId(pet, exchange) },
      ],
      [
        'replaces the first animal',
        {
          keep: (pet, exchange) => {
            const first = find(pet, exchange);
            if (first !== undefined) exchange.world.pets.delete(first.id);
            return pet;
          },
        },
      ],
      ['is not stored', { keep: (pet, exchange) => (find(pet, exchange) === undefined ? pet : undefined) }],
      [
        'changes the name of the first animal',
        {
          keep: (pet, exchange) => {
            const first = find(pet, exchange);
            if (first !== undefined) first.name = `${first.name} (2)`;
            return pet;
          },
        },
      ],
      [
        'is stored with another name',
        {
          keep: (pet, exchange) => (find(pet, exchange) === undefined ? pet : { ...pet, name: `${pet.name} (2)` }),
        },
      ],
    ]);
    const equal = by === 'everything' ? 'an equal body' : `the same ${by}`;
    const when = within ? ` within ${seconds} s` : '';
    return fault(
      /not stored|replaces/.test(text) ? '2 4.1 4.2 4.3 7' : '2 4.1 4.2 4.3',
      `A second create with ${equal}${when} ${text}.`,
      hooks,
    );
  },
};

const changedLater: Family = {
  name: 'created animal × later requests × its values change',
  draw: (random) => {
    const count = random.integer(1, 6);
    const cut = random.integer(3, 8);
    type Trigger = readonly [string, (pet: Pet, exchange: Exchange) => boolean];
    const [when, happens] = random.pick<Trigger>([
      [`after ${count} further creates`, (pet, { world }) => BigInt(pet.id) + BigInt(count) < world.nextId],
      [`after ${count} s`, (pet, { now }) => now > pet.at + count * 1_000],
      [
        'from the second list on',
        (pet, { world }) => Number(world.notes.get(`lists before ${pet.id}`) ?? 0) + 1 < world.lists,
      ],
      [
        'on another connection',
        (pet, { connection, world }) => world.notes.get(`creator of ${pet.id}`) !== String(connection),
      ],
    ]);
    const [text, change] = random.pick<readonly [string, (pet: Pet, exchange: Exchange) => Partial<Pet>]>([
      [`its name is cut to ${cut} characters`, (pet) => ({ name: pet.name.slice(0, cut) })],
      ['its name is empty', () => ({ name: '' })],
      ['its category is 0', () => ({ categoryId: '0' })],
      [
        'its category is that of the latest animal',
        (pet, { world }) => ({ categoryId: [...world.pets.values()].at(-1)?.categoryId ?? pet.categoryId }),
      ],
      [
        'its name is that of the latest animal',
        (pet, { world }) => ({ name: [...world.pets.values()].at(-1)?.name ?? pet.name }),
      ],
    ]);
    const operation = random.pick<Operation>(['list', 'get']);
    return fault('2 4.1 4.2 4.3', `In ${nameOf(operation)}, ${when}, ${text}.`, {
      keep: (pet, { world, connection }) => {
        world.notes.set(`creator of ${pet.id}`, String(connection));
        world.notes.set(`lists before ${pet.id}`, String(world.lists));
        return pet;
      },
      show: (pet, exchange) => {
        const changes = pet.at > 0 && exchange.operation === operation && happens(pet, exchange);
        return base.show(changes ? { ...pet, ...change(pet, exchange) } : pet, exchange);
      },
    });
  },
};

const mediaType: Family = {
  name: 'headers × Content-Type × another media type',
  draw: (random) => {
    const { text, kind, sections } = random.pick([
      ...successClasses,
      ...errorClasses,
      {
        text: 'GET /store/orders',
        kind: (_response: unknown, { operation }: Exchange) => operation === 'orders',
        sections: '4.4',
      },
    ]);
    const type = random.pick([
      'text/html',
      'text/html; charset=utf-8',
      'text/plain',
      'text/json',
      'application/problem+json',
      'application/vnd.api+json',
      'application/octet-stream',
      'application/x-json',
      'application/hal+json',
      'application/javascript',
      'text/plain; charset=utf-8',
      'json',
      '',
      undefined,
    ]);
    return fault(
      `1 ${sections}`,
      `Content-Type is ${type === undefined ? 'missing' : JSON.stringify(type)} in ${text}.`,
      responses(kind, (response) => setHeader(response, 'Content-Type', type)),
    );
  },
};

const wrongError: Family = {
  name: 'Error × field × missing or of another type',
  draw: (random) => {
    const { text: where, kind, sections } = random.pick(errorClasses);
    const field = random.pick(['code', 'message', 'status']);
    const to = random.pick([0, 200, 500, 400, 404, 401, 403]);
    const [text, change] = random.pick<
      readonly [string, (error: JsonObject, response: MutantResponse) => Json | undefined]
    >([
      [
        `${field} is missing`,
        (error) => {
          error.delete(field);
          return error;
        },
      ],
      [`${field} is null`, (error) => error.set(field, null)],
      ['code is a number', (error, { status }) => error.set('code', new Digits(String(status)))],
      ['code is an array', (error) => error.set('code', [error.get('code') ?? null])],
      ['message is an array', (error) => error.set('message', [error.get('message') ?? null])],
      ['message is an object', (error) => error.set('message', new Map([['en', error.get('message') ?? null]]))],
      ['message is a boolean', (error) => error.set('message', false)],
      ['status is a string', (error, { status }) => error.set('status', String(status))],
      ['status is its text', (error) => error.set('status', 'error')],
      [
        `status is ${to}, or 418`,
        (error, { status }) => error.set('status', new Digits(String(status === to ? 418 : to))),
      ],
      ['status has a fraction', (error, { status }) => error.set('status', new Digits(`${status}.5`))],
      ['everything is in error', (error) => new Map([['error', error]])],
      ['everything is in an array', (error) => [error]],
      ['everything is in errors', (error) => new Map([['errors', [error]]])],
      ['there is only the message', (error) => error.get('message')],
      ['the body is null', () => null],
      ['the body is empty', () => undefined],
      [
        'the fields are those of RFC 9457',
        (error, { status }) =>
          new Map<string, Json>([
            ['type', 'about:blank'],
            ['title', error.get('message') ?? ''],
            ['status', new Digits(String(status))],
          ]),
      ],
      [
        'message is called detail',
        (error) => {
          error.set('detail', error.get('message') ?? null).delete('message');
          return error;
        },
      ],
      [
        'code is called error',
        (error) => {
          error.set('error', error.get('code') ?? null).delete('code');
          return error;
        },
      ],
    ]);
    return fault(
      `2 1 ${sections}`,
      `In ${where}, ${text}.`,
      responses(
        (response, exchange) => kind(response, exchange) && response.body instanceof Map,
        (response) => void (response.body = change(response.body as JsonObject, response)),
      ),
    );
  },
};

const wrongStatus: Family = {
  name: 'error × cause × another status',
  draw: (random) => {
    const bodyOf = ({ body }: Exchange): Record<string, unknown> | undefined => {
      try {
        const value: unknown = JSON.parse(body);
        return typeof value === 'object' && value !== null && !Array.isArray(value)
          ? (value as Record<string, unknown>)
          : undefined;
      } catch {
        return undefined;
      }
    };
    const missing = (exchange: Exchange, field: string): boolean => {
      const body = bodyOf(exchange);
      return body !== undefined && !(field in body);
    };
    const typed = (exchange: Exchange, field: string, type: string): boolean => {
      const value = bodyOf(exchange)?.[field];
      return value !== undefined && value !== null && typeof value !== type;
    };
    const [text, matches] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      ['a body without name', (exchange) => missing(exchange, 'name')],
      ['a body without categoryId', (exchange) => missing(exchange, 'categoryId')],
      ['a body with a name that is no string', (exchange) => typed(exchange, 'name', 'string')],
      ['a body with a categoryId that is no number', (exchange) => typed(exchange, 'categoryId', 'number')],
      ['a body with an unknown status', (exchange) => typeof bodyOf(exchange)?.status === 'string'],
      ['a body with a status that is no string', (exchange) => typed(exchange, 'status', 'string')],
      ['a body with null', (exchange) => Object.values(bodyOf(exchange) ?? {}).includes(null)],
      ['an empty object', (exchange) => Object.keys(bodyOf(exchange) ?? { no: 1 }).length === 0],
      [
        'a body with a fraction as categoryId',
        (exchange) => {
          const category = bodyOf(exchange)?.categoryId;
          return typeof category === 'number' && !Number.isInteger(category);
        },
      ],
      ['a body with a categoryId beyond int64', (exchange) => Number(bodyOf(exchange)?.categoryId) >= 2 ** 63],
      ['an array', ({ body }) => /^\s*\[/.test(body)],
    ]);
    const to = random.pick([422, 500, 409, 200, 404, 415, 503, 413]);
    return fault(
      '4.2 7',
      `createPet with ${text} gets ${to} instead of 400.`,
      responses(
        (response, exchange) => exchange.operation === 'create' && response.status === 400 && matches(exchange),
        (response, exchange) => becomeError(response, exchange, to),
      ),
    );
  },
};

const brokenJson: Family = {
  name: 'JSON × content × malformed',
  draw: (random) => {
    const escaped = (text: string): string =>
      text.replace(/\\u([0-9a-f]{4})/g, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)));
    const { text: where, kind, sections } = random.pick([...successClasses, ...errorClasses]);
    // The class of a response is known before its bytes are written.
    const marks: Change = {
      response: (response, exchange) => {
        exchange.world.notes.set('malformed', kind(response, exchange) ? 'yes' : 'no');
        return response;
      },
    };
    type Row = readonly [text: string, change: (text: string) => string | Uint8Array];
    const [text, change] = random.pick<Row>([
      ['has a comma before its end', (text) => text.replace(/[\]}]$/, ',$&')],
      ['lacks its last character', (text) => text.slice(0, -1)],
      ['has a BOM', (text) => `\ufeff${text}`],
      ['has a prefix against inclusion', (text) => `)]}',\n${text}`],
      ['has a warning of PHP before it', (text) => `<br />\n<b>Warning</b>: Undefined index in index.php\n${text}`],
      ['is there twice', (text) => text + text],
      ['is JSON in a JSON string', (text) => JSON.stringify(text)],
      ['has single quotation marks', (text) => text.replaceAll('"', "'")],
      ['is the text of a Python object', (text) => text.replaceAll('"', "'").replaceAll('null', 'None')],
      ['is the call of a function', (text) => `callback(${text});`],
      ['has no quotation marks around names', (text) => text.replace(/"(\w+)":/g, '$1:')],
      ['is cut in the middle', (text) => text.slice(0, Math.ceil(text.length / 2))],
      ['is [object Object]', () => '[object Object]'],
      ['is XML', (text) => `<pet>${text.replace(/[<&]/g, ' ')}</pet>`],
      ['is followed by a stack trace', (text) => `${text}\n    at handler (/srv/app.js:12:3)`],
    ]);
    const [content, changeContent] = random.pick<Row>([
      ['a name with a quotation mark or a backslash is not escaped', (text) => text.replace(/\\(["\\])/g, '$1')],
      ['control characters are not escaped', (text) => escaped(text.replace(/\\n/g, '\n').replace(/\\t/g, '\t'))],
      ['characters beyond ASCII are written in Latin-1', (text) => Buffer.from(text, 'latin1')],
      [
        'characters beyond ASCII are cut from the length of the body',
        (text) => Buffer.from(text).subarray(0, text.length),
      ],
      [
        'characters beyond ASCII are written as \\x',
        (text) => text.replace(/[\u0080-\uffff]/g, (unit) => `\\x${unit.charCodeAt(0).toString(16)}`),
      ],
      ['line breaks in names are written as they are', (text) => text.replaceAll('\\n', '\n')],
    ]);
    const byContent = random.integer(1, 5) <= 2;
    const hooks: Change = {
      bytes: (text, { world }) => {
        const sent =
          byContent || world.notes.get('malformed') === 'yes' ? (byContent ? changeContent : change)(text) : text;
        return typeof sent === 'string' ? Buffer.from(sent) : sent;
      },
    };
    return byContent
      ? fault('1 2 4.1 4.2 4.3', `In every body, ${content}.`, hooks)
      : fault(`1 2 ${sections}`, `The body of ${where} ${text}.`, { ...hooks, ...marks });
  },
};

const intermittent: Family = {
  name: 'response × repetition × wrong every few times',
  draw: (random) => {
    const nth = random.integer(3, 9);
    const operation = random.pick<Operation>(['list', 'create', 'get']);
    const [field, wrong] = wrongField(random);
    const header = random.pick(['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']);
    const [text, sections, change] = random.pick<
      readonly [string, string, (response: MutantResponse, exchange: Exchange) => void]
    >([
      [field, '2 4.1 4.2 4.3', (response) => petsOf(response).forEach(wrong)],
      [`${header} is missing`, '8', (response) => setHeader(response, header, undefined)],
      ['the media type is text/html', '1', (response) => setHeader(response, 'Content-Type', 'text/html')],
      ['the body is empty', '1 4.1 4.2 4.3', (response) => void (response.body = undefined)],
      [
        'the body is that of another animal, or null in a list',
        '4.1 4.2 4.3 2',
        (response, exchange) => {
          const first = [...exchange.world.pets.values()][0];
          if (first !== undefined && !Array.isArray(response.body)) response.body = base.show(first, exchange);
          else response.body = null;
        },
      ],
      ['names are empty', '2 4.1 4.2 4.3', (response) => petsOf(response).forEach((pet) => pet.set('name', ''))],
    ]);
    return fault(
      sections,
      `In every ${nth}. successful response of ${nameOf(operation)}, ${text}.`,
      responses(
        everyNth(
          (response, exchange) => exchange.operation === operation && response.status < 300,
          nth,
          'intermittent',
        ),
        change,
      ),
    );
  },
};

const missingOrders: Family = {
  name: 'GET /store/orders × existence × not there',
  draw: (random) => {
    const to = random.pick([404, 405, 501, 410, 401]);
    const [text, matches] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      ['always', () => true],
      [
        'on a connection that was used before',
        ({ connection, world }) => world.notes.get('orders') === String(connection),
      ],
      ['at every second request', ({ world }) => world.requests % 2 === 0],
    ]);
    return fault(
      to === 401 ? '1 4.4 5 7' : '1 4.4',
      `GET /store/orders gets ${to} ${text}.`,
      responses(
        (response, exchange) => {
          const chosen = exchange.operation === 'orders' && response.status === 200 && matches(exchange);
          exchange.world.notes.set('orders', String(exchange.connection));
          return chosen;
        },
        (response, exchange) => becomeError(response, exchange, to),
      ),
    );
  },
};

const staleCache: Family = {
  name: 'getPet × cache × of another request',
  draw: (random) => {
    const seconds = random.pick([2, 5, 20, 60]);
    const digits = random.pick([1, 2]);
    const [text, sections, hooks] = random.pick<readonly [string, string, Change]>([
      [
        `getPet of one animal returns the one that was read within ${seconds} s before`,
        '4.3 2',
        {
          find: (id, exchange) => {
            const {
              world: { notes, pets },
              now,
            } = exchange;
            const [at = 0, known = ''] = (notes.get('cached pet') ?? '0,').split(',');
            const own = base.find(id, exchange);
            if (own === undefined || now <= Number(at) + seconds * 1_000) return own && (pets.get(known) ?? own);
            notes.set('cached pet', `${now},${own.id}`);
            return own;
          },
        },
      ],
      [
        `a 404 of getPet is cached for ${seconds} s for all ids with the same last ${digits} digits`,
        '4.3 7',
        {
          find: (id, exchange) => {
            const {
              world: { notes },
              now,
            } = exchange;
            const note = `missing ${id.slice(-digits)}`;
            if (now <= Number(notes.get(note) ?? 0) + seconds * 1_000) return undefined;
            const own = base.find(id, exchange);
            if (own === undefined) notes.set(note, String(now));
            return own;
          },
        },
      ],
      [
        `an unknown id returns what getPet returned within ${seconds} s before`,
        '4.3 7',
        {
          find: (id, exchange) => {
            const {
              world: { notes, pets },
              now,
            } = exchange;
            const own = base.find(id, exchange);
            const [at = 0, known = ''] = (notes.get('cached pet') ?? '0,').split(',');
            if (own !== undefined) notes.set('cached pet', `${now},${own.id}`);
            return own ?? (now <= Number(at) + seconds * 1_000 ? pets.get(known) : undefined);
          },
        },
      ],
      [
        `a list is cached for ${seconds} s without its parameters`,
        '4.1 8',
        {
          animals: () => 60,
          response: (response, exchange) => {
            if (exchange.operation !== 'list' || response.status !== 200) return response;
            const {
              world: { notes },
              now,
            } = exchange;
            // Only lists with parameters are cached, so that a client can begin.
            const [at = 0, ids = ''] = (notes.get('cached list') ?? '0,').split(',');
            if (exchange.search !== '' && now <= Number(at) + seconds * 1_000) {
              response.body = ids.split(' ').flatMap((id) => {
                const pet = exchange.world.pets.get(id);
                return pet === undefined ? [] : [base.show(pet, exchange)];
              });
            } else {
              const shown = petsOf(response).map((pet) => (pet.get('id') as Digits).text);
              notes.set('cached list', `${now},${shown.join(' ')}`);
            }
            return response;
          },
        },
      ],
    ]);
    return fault(sections, `${text.charAt(0).toUpperCase()}${text.slice(1)}.`, hooks);
  },
};

export const stateFamilies: readonly Family[] = [
  pageEdge,
  wrongRow,
  wrongPet,
  wrongCreated,
  concurrentCreate,
  concurrentReads,
  lostAnimal,
  repeatedId,
  wrongFilter,
  repeatedCreate,
  changedLater,
  mediaType,
  wrongError,
  wrongStatus,
  brokenJson,
  intermittent,
  missingOrders,
  staleCache,
];
