/** Later faults in what a server accepts, stores and returns, but not in how it limits. */
import { deflateSync, gzipSync } from 'node:zlib';
import {
  attempt,
  base,
  statuses,
  type Exchange,
  type MutantResponse,
  type Operation,
  type Pet,
} from '../server/hooks.ts';
import { Digits, readJson, type Json, type JsonObject } from '../server/json.ts';
import { pages, responses, setHeader, shown, type Change, type Kind } from '../table/changes.ts';
import { becomeError, chained, errorClasses, fault, nameOf, successClasses, type Family } from './family.ts';

const petOperations: readonly Operation[] = ['list', 'create', 'get'];
const rateHeaders: readonly string[] = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
/** A plain list is the first request of everybody, and has to succeed. */
const isPlainList = ({ operation, search }: Exchange): boolean => operation === 'list' && search === '';

/** Something that can be true of a request, in words that follow those for the request. */
type Condition = readonly [text: string, holds: (exchange: Exchange) => boolean];

/** Counts up, and returns the number. */
function countUp({ notes }: Exchange['world'], name: string): number {
  const count = Number(notes.get(name) ?? 0) + 1;
  notes.set(name, String(count));
  return count;
}

function remember(exchange: Exchange, name: string, value: string): void {
  exchange.world.notes.set(name, value);
}

const recalled = ({ world }: Exchange, name: string): string | undefined => world.notes.get(name);

/** The body as a JSON value; undefined if it is none. */
const jsonOf = ({ body }: Exchange): Json | undefined => attempt(() => readJson(body));

/** The members of the body; none if it is not an object. */
function membersOf(exchange: Exchange): JsonObject {
  const value = jsonOf(exchange);
  return value instanceof Map ? value : new Map();
}

const succeeded: Kind = ({ status }) => status < 300;
const ofOperation = ({ operation }: Exchange, wanted: Operation): boolean => operation === wanted;

// Rows, pages and sizes

const rowCount: Family = {
  name: 'Pets × number of rows × not an array for one number',
  draw: (random) => {
    const rows = random.pick([1, 1, 2, 3, 4, 5, 10, 20]);
    const [text, form] = random.pick<readonly [string, (list: readonly Json[]) => Json]>([
      ['the last Pet alone', (list) => list.at(-1)!],
      ['an object with the indexes as names', (list) => new Map(list.map((row, i) => [String(i), row]))],
      ['an object with an array', (list) => new Map<string, Json>([['items', [...list]]])],
      ['an array in an array', (list) => [[...list]]],
      ['the number of rows', (list) => new Digits(String(list.length))],
    ]);
    return fault('4.1 2', `A list whose number of rows is ${rows} is ${text}.`, {
      ...responses(
        ({ body }, exchange) => ofOperation(exchange, 'list') && Array.isArray(body) && body.length === rows,
        (response) => void (response.body = form(response.body as Json[])),
      ),
    });
  },
};

const responseSize: Family = {
  name: 'responses × size in bytes × cut by a buffer',
  draw: (random) => {
    const buffer = random.pick([1_000, 1_024, 1_200, 1_460, 1_500, 2_000, 2_048, 3_000, 4_096]);
    const operation = random.pick<Operation>(['list', 'create', 'get']);
    const [text, cut] = random.pick<readonly [string, (text: string) => string]>([
      ['cut after them', (body) => body.slice(0, buffer)],
      ['sent without them', (body) => body.slice(buffer)],
      ['sent with "\\r\\n" after them', (body) => `${body.slice(0, buffer)}"\r\n"${body.slice(buffer)}`],
    ]);
    return fault('4.1 4.2 4.3 1 2', `A body of ${nameOf(operation)} of more than ${buffer} characters is ${text}.`, {
      bytes: (body, exchange) =>
        Buffer.from(ofOperation(exchange, operation) && body.length > buffer ? cut(body) : body),
    });
  },
};

const animalCount: Family = {
  name: 'listPets × number of animals × a wrong page from some number on',
  draw: (random) => {
    const count = random.pick([14, 16, 18, 20, 21, 25, 30, 32, 40]);
    const factor = random.pick([4, 5, 7, 8]);
    const [when, isThere] = random.pick<readonly [string, (animals: number) => boolean]>([
      [`more than ${count} animals`, (animals) => animals > count],
      [`${count} to ${count + 5} animals`, (animals) => animals >= count && animals <= count + 5],
      [`a number of animals above 12 that is a multiple of ${factor}`, (n) => n > 12 && n % factor === 0],
    ]);
    const [text, change] = random.pick<readonly [string, (page: Pet[], rows: Pet[]) => Pet[]]>([
      ['has its last row twice', (page) => [...page.slice(-1), ...page.slice(1)]],
      ['has its first row twice', (page) => (page.length > 1 ? [page[0]!, ...page.slice(0, -1)] : page)],
      ['has one row more than its limit', (page, rows) => rows.slice(0, page.length + 1)],
    ]);
    const filtered = random.pick([true, false]);
    return fault('4.1 2 8', `With ${when}, a list${filtered ? ' with a filter' : ''} ${text}.`, {
      page: (rows, limit, exchange) => {
        const page = base.page(rows, limit, exchange);
        const applies = isThere(exchange.world.pets.size) && (!filtered || exchange.query.has('status'));
        return applies ? change(page, rows) : page;
      },
    });
  },
};

const searchedPart: Family = {
  name: 'getPet × number of animals × only a part of them is searched',
  draw: (random) => {
    const count = random.pick([10, 15, 16, 20, 24, 25, 30, 32]);
    const oldest = random.pick([true, false]);
    const [status, text] = random.pick<readonly [number, string]>([
      [404, 'is a 404'],
      [500, 'is a 500'],
      [200, 'has the last animal of the others instead'],
    ]);
    return fault(
      status === 200 ? '4.3 7 2' : '4.3 7',
      `getPet of an animal that is not among the ${count} ${oldest ? 'oldest' : 'newest'} ${text}.`,
      {
        animals: () => (oldest ? 12 : 40),
        find: (id, exchange) => {
          const pets = [...exchange.world.pets.values()];
          const part = oldest ? pets.slice(0, count) : pets.slice(-count);
          const pet = base.find(id, exchange);
          const lost = pet !== undefined && !part.includes(pet);
          if (lost && status === 500) remember(exchange, 'lost', String(exchange.world.requests));
          return !lost ? pet : status === 200 ? part.at(-1) : undefined;
        },
        ...responses(
          (_response, exchange) => recalled(exchange, 'lost') === String(exchange.world.requests),
          (response, exchange) => becomeError(response, exchange, 500),
        ),
      },
    );
  },
};

const unusualRow: Family = {
  name: 'Pets × one unusual row × it changes how the other rows are shown',
  draw: (random) => {
    const [cause, isUnusual] = random.pick<readonly [string, (pet: Pet) => boolean]>([
      ['a categoryId above 2^53', (pet) => BigInt(pet.categoryId) > 2n ** 53n],
      ['a negative categoryId', (pet) => pet.categoryId.startsWith('-')],
      ['a name that is not ASCII', (pet) => /[^\0-\x7f]/.test(pet.name)],
      ['a name of more than 50 characters', (pet) => pet.name.length > 50],
      ['a name with a quotation mark', (pet) => pet.name.includes('"')],
      ['a categoryId of 0', (pet) => pet.categoryId === '0'],
    ]);
    const [text, change] = random.pick<readonly [string, (fields: JsonObject, pet: Pet) => void]>([
      ['categoryId as a string', (fields, pet) => fields.set('categoryId', pet.categoryId)],
      ['id as a string', (fields, pet) => fields.set('id', pet.id)],
      ['no name', (fields) => void fields.delete('name')],
      ['null as status', (fields) => fields.set('status', null)],
      ['a fraction as categoryId', (fields, pet) => fields.set('categoryId', new Digits(`${pet.categoryId}.5e0`))],
    ]);
    return fault('4.1 2', `If a row of a list has ${cause}, the other rows have ${text}.`, {
      page: (rows, limit, exchange) => {
        const page = base.page(rows, limit, exchange);
        remember(exchange, 'unusual', page.some(isUnusual) ? 'yes' : 'no');
        return page;
      },
      ...shown('list', (fields, pet, exchange) => {
        if (recalled(exchange, 'unusual') === 'yes' && !isUnusual(pet)) change(fields, pet);
      }),
    });
  },
};

/** What a comparison of names ignores. */
const collations: readonly (readonly [text: string, fold: (name: string) => string])[] = [
  ['case', (name) => name.toLowerCase()],
  ['accents', (name) => name.normalize('NFD').replace(/\p{M}/gu, '')],
  ['spaces at the end', (name) => name.trimEnd()],
  ['spaces at the ends', (name) => name.trim()],
  ['what follows the eighth character', (name) => name.slice(0, 8)],
  ['what follows the sixteenth character', (name) => name.slice(0, 16)],
  ['punctuation', (name) => name.replace(/[\p{P}\p{S}]/gu, '')],
  ['digits', (name) => name.replace(/\d/g, '')],
  ['the compatible forms of characters', (name) => name.normalize('NFKC')],
  ['invisible characters', (name) => name.replace(/[\p{Cf}\p{Cc}]/gu, '')],
  ['characters above U+FFFF', (name) => name.replace(/[\u{10000}-\u{10ffff}]/gu, '')],
];

const uniqueIndex: Family = {
  name: 'createPet × collation of names × a unique index',
  draw: (random) => {
    const [unseen, fold] = random.pick(collations);
    const same = (name: string, { world }: Exchange) =>
      [...world.pets.values()].find((pet) => pet.at > 0 && pet.name !== name && fold(pet.name) === fold(name));
    const clash = (exchange: Exchange) => {
      const name = base.name(membersOf(exchange).get('name'), exchange);
      return name === undefined ? undefined : same(name, exchange);
    };
    const [text, hooks] = random.pick<readonly [string, Change]>([
      ['is a 409', refusing(clash, 409)],
      ['is a 500', refusing(clash, 500)],
      [
        'gets the id of the other animal',
        { newId: (pet, exchange) => same(pet.name, exchange)?.id ?? base.newId(pet, exchange) },
      ],
      [
        'is stored with the name of the other animal',
        { keep: (pet, exchange) => ({ ...pet, name: same(pet.name, exchange)?.name ?? pet.name }) },
      ],
    ]);
    return fault(
      '4.2 2 4.1 4.3',
      `A create whose name differs from that of a created animal only in ${unseen} ${text}.`,
      hooks,
    );
  },
};

/** Responds to some valid creates with an error, and stores nothing. */
function refusing(isRefused: (exchange: Exchange) => unknown, status: number): Change {
  return {
    keep: (pet, exchange) => {
      if (!isRefused(exchange)) return pet;
      remember(exchange, 'refused', String(exchange.world.requests));
      return undefined;
    },
    ...responses(
      ({ status: sent }, exchange) => sent === 201 && recalled(exchange, 'refused') === String(exchange.world.requests),
      (response, exchange) => becomeError(response, exchange, status),
    ),
  };
}

const joinedRows: Family = {
  name: 'listPets × animals with equal values × a join repeats a row',
  draw: (random) => {
    const keys: readonly (readonly [string, (pet: Pet) => string])[] = [
      ...collations.map(
        ([text, fold]) => [`names that differ at most in ${text}`, (pet: Pet) => fold(pet.name)] as const,
      ),
      ['the same name', (pet) => pet.name],
      ['the same name and categoryId', (pet) => JSON.stringify([pet.name, pet.categoryId])],
      ['the same name and status', (pet) => JSON.stringify([pet.name, pet.status])],
      ['the same categoryId above 5', (pet) => (Number(pet.categoryId) > 5 ? pet.categoryId : pet.id)],
    ];
    const [text, keyOf] = random.pick(keys);
    const filtered = random.pick([true, false]);
    const place = filtered ? 'A list with a filter' : 'A list';
    return fault('4.1 2', `${place} shows one of two created animals that have ${text} twice, and not the other one.`, {
      ...pages((page, exchange) => {
        if (filtered && !exchange.query.has('status')) return page;
        return page.map(
          (pet) => page.find((other) => pet.at > 0 && other.at > 0 && keyOf(other) === keyOf(pet)) ?? pet,
        );
      }),
    });
  },
};

const queryCache: Family = {
  name: 'listPets × cache × its key has too little of the query',
  draw: (random) => {
    const step = random.pick([5, 8, 10, 16]);
    const [text, keyOf] = random.pick<readonly [string, (exchange: Exchange) => string]>([
      ['only the filter', ({ query }) => `${query.get('status')}`],
      ['only the limit', ({ query }) => `${query.get('limit')}`],
      ['only the length of the query', ({ search }) => `${search.length}`],
      ['only the first parameter', ({ search }) => search.split('&')[0]!],
      ['only the last parameter', ({ search }) => search.split('&').at(-1)!],
      ['only the characters of the query in alphabetical order', ({ search }) => [...search].sort().join('')],
      ['only the first 8 characters of the query', ({ search }) => search.slice(0, 8)],
      [
        `the filter, and only the limit modulo ${step}`,
        ({ query }) => `${query.get('status')} ${Number(query.get('limit')) % step}`,
      ],
      [
        `the filter, and only the limit divided by ${step}`,
        ({ query }) => `${query.get('status')} ${Math.floor(Number(query.get('limit')) / step)}`,
      ],
      [
        'the filter, and only the first digit of the limit',
        ({ query }) => `${query.get('status')} ${query.get('limit')?.[0]}`,
      ],
    ]);
    const seconds = random.pick([2, 5, 10, 30]);
    const [lifetime, mark] = random.pick<readonly [string, (exchange: Exchange) => string]>([
      [`for ${seconds} s`, ({ now }) => String(Math.floor(now / 1_000 / seconds))],
      ['until the next create', ({ world }) => String(world.creates)],
      ['until the next create, per connection', ({ world, connection }) => `${world.creates} ${connection}`],
    ]);
    return fault('4.1 8', `Lists with parameters are cached ${lifetime}, and the key of the cache has ${text}.`, {
      page: (rows, limit, exchange) => {
        if (isPlainList(exchange)) return base.page(rows, limit, exchange);
        const key = `cache ${mark(exchange)} ${keyOf(exchange)}`;
        const cached = recalled(exchange, key);
        const page = base.page(rows, limit, exchange);
        if (cached === undefined) remember(exchange, key, page.map(({ id }) => id).join());
        return cached === undefined ? page : cached.split(',').flatMap((id) => exchange.world.pets.get(id) ?? []);
      },
    });
  },
};

// Ids and where they are read

const idSize: Family = {
  name: 'id × size × a part of the server has a smaller type',
  draw: (random) => {
    const [text, start, convert] = random.pick<readonly [string, bigint, (id: bigint) => bigint]>([
      ['around 2^31 as an int32', 2n ** 31n - 9n, (id) => BigInt.asIntN(32, id)],
      ['around 2^32 as a uint32', 2n ** 32n - 9n, (id) => BigInt.asUintN(32, id)],
      ['around 2^53 as a double', 2n ** 53n - 9n, (id) => BigInt(Number(id))],
      ['around 10^16 as a double', 10n ** 16n - 9n, (id) => BigInt(Number(id))],
      ['around 2^62 as a double', 2n ** 62n - 9n, (id) => BigInt(Number(id))],
      ['around 2^24 as a float', 2n ** 24n - 9n, (id) => BigInt(Math.fround(Number(id)))],
      ['around 2^16 as a uint16', 2n ** 16n - 9n, (id) => BigInt.asUintN(16, id)],
      ['around 100,000 with five digits', 99_991n, (id) => id % 100_000n],
    ]);
    const [place, hooks] = random.pick<readonly [string, Change]>([
      ...(['list', 'create', 'get'] as const).map(
        (operation) =>
          [
            `in responses of ${nameOf(operation)}`,
            shown(operation, (fields, { id }) => fields.set('id', new Digits(String(convert(BigInt(id)))))),
          ] as const,
      ),
      [
        'by getPet when it reads the path',
        { find: (id, exchange) => base.find(/^\d{1,19}$/.test(id) ? String(convert(BigInt(id))) : id, exchange) },
      ],
    ]);
    return fault('2 4.3 4.1 4.2', `Ids are treated ${text} ${place}.`, {
      newId: (pet, exchange) => String(start + BigInt(base.newId(pet, exchange))),
      ...hooks,
    });
  },
};

const idSource: Family = {
  name: 'getPet × source of the id × not the path',
  draw: (random) => {
    const [text, read] = random.pick<readonly [string, (exchange: Exchange) => string | undefined]>([
      ...['id', 'petId', 'pet_id', '_id', 'pk', 'pet'].map(
        (name) => [`the query parameter ${name}`, ({ query }: Exchange) => query.get(name) ?? undefined] as const,
      ),
      ...['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Uri'].map(
        (name) =>
          [
            `the path in ${name}`,
            ({ headers }: Exchange) => /\/pets\/(\d+)$/.exec(String(headers[name.toLowerCase()]))?.[1],
          ] as const,
      ),
      ['the member id of a body', (exchange) => digitsOf(membersOf(exchange).get('id'))],
      ['the member petId of a body', (exchange) => digitsOf(membersOf(exchange).get('petId'))],
    ]);
    // The request has no body, so what one means is open.
    if (text.endsWith('of a body')) return undefined;
    return fault('4.3 2 7', `getPet takes the id from ${text}, if there is one, and not from the path.`, {
      find: (id, exchange) => base.find(read(exchange) ?? id, exchange),
    });
  },
};

const digitsOf = (value: Json | undefined): string | undefined => (value instanceof Digits ? value.text : undefined);

const idInBody: Family = {
  name: 'createPet × id in the body × it is used',
  draw: (random) => {
    const member = random.pick(['id', 'id', '_id', 'petId', 'Id', 'ID']);
    const given = (exchange: Exchange) => {
      const text = digitsOf(membersOf(exchange).get(member));
      return text !== undefined && /^\d{1,18}$/.test(text) ? String(BigInt(text)) : undefined;
    };
    const [text, hooks] = random.pick<readonly [string, Change]>([
      ['becomes the id of the animal', { newId: (pet, exchange) => given(exchange) ?? base.newId(pet, exchange) }],
      [
        'names the animal that is replaced',
        {
          newId: (pet, exchange) => {
            const id = given(exchange);
            return id !== undefined && exchange.world.pets.has(id) ? id : base.newId(pet, exchange);
          },
        },
      ],
      [
        'stands in the 201, but not in the store',
        shown('create', (fields, pet, exchange) => fields.set('id', new Digits(given(exchange) ?? pet.id))),
      ],
      [
        'names an animal that is lost',
        {
          keep: (pet, exchange) => {
            exchange.world.pets.delete(given(exchange) ?? '');
            return pet;
          },
        },
      ],
    ]);
    return fault(
      text.endsWith('is lost') ? '2 4.1 4.2 4.3 7' : '2 4.1 4.2 4.3',
      `The member ${member} in the body of a create ${text}.`,
      hooks,
    );
  },
};

const notFoundByValue: Family = {
  name: 'getPet × values of the animal × a 404',
  draw: (random) => {
    const digit = random.integer(0, 9);
    const [text, isLost] = random.pick<readonly [string, (pet: Pet, exchange: Exchange) => boolean]>([
      ['a negative categoryId', (pet) => pet.categoryId.startsWith('-')],
      ['a categoryId above 2^31', (pet) => Number(pet.categoryId) >= 2 ** 31],
      ['a categoryId of 0', (pet) => pet.categoryId === '0'],
      ['a categoryId above 5', (pet) => Number(pet.categoryId) > 5],
      [
        `an id above 12 that ends in ${digit}`,
        (pet) => pet.id.length > 1 && Number(pet.id) > 12 && pet.id.endsWith(String(digit)),
      ],
      ['the status sold', (pet) => pet.status === 'sold'],
      ['the status pending, and created later', (pet) => pet.status === 'pending' && pet.at > 0],
      ['a name that is not ASCII', (pet) => /[^\0-\x7f]/.test(pet.name)],
      ['a name of more than 64 characters', (pet) => pet.name.length > 64],
      ['a name with a space at an end', (pet) => pet.name !== pet.name.trim()],
      ['a name with a slash', (pet) => pet.name.includes('/')],
      [
        'a name that another animal has',
        (pet, { world }) => [...world.pets.values()].some((one) => one !== pet && one.name === pet.name),
      ],
    ]);
    return fault('4.3 7', `getPet responds with 404 to an animal with ${text}.`, {
      find: (id, exchange) => {
        const pet = base.find(id, exchange);
        return pet !== undefined && isLost(pet, exchange) ? undefined : pet;
      },
    });
  },
};

const removedEarly: Family = {
  name: 'getPet × deprecation × removed before its date',
  draw: (random) => {
    const quota = random.pick([10, 15, 20, 25, 30, 40]);
    const seconds = random.pick([5, 6, 7, 10]);
    const [when, isRemoved] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      [`after ${quota} requests`, ({ world }) => countUp(world, 'getPets') > quota],
      [`in one of ${seconds} seconds`, ({ now }) => Math.floor(now / 1_000) % seconds === 0],
      [
        'of animals that clients have created',
        (exchange) => (base.find(exchange.path.slice(6), exchange)?.at ?? 0) > 0,
      ],
      [
        'after a list with a filter on the connection',
        ({ world, connection }) => world.notes.has(`filtered ${connection}`),
      ],
      ['with an Origin', ({ headers }) => headers['origin'] !== undefined],
      ['without Accept', ({ headers }) => headers['accept'] === undefined],
    ]);
    const [how, change] = random.pick<readonly [string, (response: MutantResponse, exchange: Exchange) => void]>([
      ['responds with 410', (response, exchange) => becomeError(response, exchange, 410, 'Removed.')],
      ['responds with 404', (response, exchange) => becomeError(response, exchange, 404)],
      [
        'redirects to the list',
        (response, exchange) => {
          becomeError(response, exchange, 301);
          setHeader(response, 'Location', '/v1/pets');
        },
      ],
      [
        'responds with a list, as its replacement does',
        (response) => void (response.body = response.body instanceof Map ? [response.body] : []),
      ],
    ]);
    return fault('4.3 9 7 2', `getPet ${when} ${how}.`, {
      response: (response, exchange) => {
        if (exchange.operation === 'list' && exchange.query.has('status'))
          remember(exchange, `filtered ${exchange.connection}`, 'yes');
        if (exchange.operation === 'get' && response.status === 200 && isRemoved(exchange)) change(response, exchange);
        return response;
      },
    });
  },
};

// Bodies and their members

/** Kinds of invalid values of a field, of which a body can have several. */
type Invalid = readonly [field: string, kind: string, is: (value: Json | undefined) => boolean];

const isMissing = (value: Json | undefined): boolean => value === undefined;
const isNull = (value: Json | undefined): boolean => value === null;
const isInt64 = (value: Json | undefined): boolean => base.category(value, {} as Exchange) !== undefined;
const invalidValues: readonly Invalid[] = [
  ['name', 'missing', isMissing],
  ['name', 'null', isNull],
  ['name', 'of another type', (value) => value !== undefined && value !== null && typeof value !== 'string'],
  ['categoryId', 'missing', isMissing],
  ['categoryId', 'null', isNull],
  ['categoryId', 'a number but not an int64', (value) => value instanceof Digits && !isInt64(value)],
  ['categoryId', 'a string', (value) => typeof value === 'string'],
  ['status', 'an unknown string', (value) => typeof value === 'string' && !statuses.includes(value)],
  ['status', 'of another type', (value) => value !== undefined && value !== null && typeof value !== 'string'],
];
const isInvalid = ([field, , is]: Invalid, exchange: Exchange): boolean =>
  jsonOf(exchange) instanceof Map && is(membersOf(exchange).get(field));

/** Whether the body is an object whose fields are valid, except some. */
function isValidBut(exchange: Exchange, ...fields: readonly string[]): boolean {
  const members = membersOf(exchange);
  const valid: Record<string, boolean> = {
    name: base.name(members.get('name'), exchange) !== undefined,
    categoryId: isInt64(members.get('categoryId')),
    status: base.status(members.get('status'), exchange) !== undefined,
  };
  return jsonOf(exchange) instanceof Map && Object.keys(valid).every((field) => valid[field] || fields.includes(field));
}

const twoInvalid: Family = {
  name: 'createPet × two invalid fields at once × not a 400',
  draw: (random) => {
    const one = random.pick(invalidValues);
    const other = random.pick(invalidValues.filter(([field]) => field !== one[0]));
    const [text, change] = random.pick<readonly [string, (response: MutantResponse, exchange: Exchange) => void]>([
      ['is a 500', (response, exchange) => becomeError(response, exchange, 500)],
      ['is a 404', (response, exchange) => becomeError(response, exchange, 404)],
      [
        'is a 201',
        (response, exchange) => {
          const pet = { id: '', name: '', categoryId: '0', status: 'available', at: exchange.now };
          pet.id = base.newId(pet, exchange);
          exchange.world.pets.set(pet.id, pet);
          Object.assign(response, { status: 201, body: base.show(pet, exchange) });
        },
      ],
    ]);
    const [first, second] = [one, other].map(([field, kind]) => `${field} ${kind}`).sort();
    return fault('4.2 7', `A create with two invalid fields, ${first} and ${second}, ${text}.`, {
      ...responses(
        ({ status }, exchange) =>
          status === 400 && ofOperation(exchange, 'create') && isInvalid(one, exchange) && isInvalid(other, exchange),
        change,
      ),
    });
  },
};

const storedNevertheless: Family = {
  name: 'createPet × 400 × the animal is stored nevertheless',
  draw: (random) => {
    const invalid = random.pick(invalidValues);
    const [field, kind] = invalid;
    const [form, value] = random.pick<readonly [string, Json]>([
      ['null', null],
      ['false', false],
      ['an empty object', new Map()],
    ]);
    return fault(
      '4.2 4.1 2',
      `A create with ${field} ${kind} is a 400, but lists show its animal, with ${form} as ${field}.`,
      {
        response: (response, exchange) => {
          if (response.status !== 400 || !ofOperation(exchange, 'create') || !isInvalid(invalid, exchange))
            return response;
          if (!isValidBut(exchange, field)) return response;
          const members = membersOf(exchange);
          const pet: Pet = {
            id: '',
            name: base.name(members.get('name'), exchange) ?? '',
            categoryId: base.category(members.get('categoryId'), exchange) ?? '0',
            status: base.status(members.get('status'), exchange) ?? 'available',
            at: exchange.now,
          };
          pet.id = base.newId(pet, exchange);
          remember(exchange, `partial ${pet.id}`, 'yes');
          exchange.world.pets.set(pet.id, pet);
          return response;
        },
        ...shown('all', (fields, { id }, exchange) => {
          if (recalled(exchange, `partial ${id}`) !== undefined) fields.set(field, value);
        }),
      },
    );
  },
};

const storedWithoutKey: Family = {
  name: 'createPet × 401 × the animal is stored nevertheless',
  draw: (random) => {
    const [credentials, are] = random.pick<readonly [string, (authorization: string) => boolean]>([
      ['without Authorization', (authorization) => authorization === ''],
      ['with a wrong bearer token', (authorization) => /^Bearer \S/.test(authorization)],
      ['with another scheme', (authorization) => authorization !== '' && !/^bearer\b/i.test(authorization)],
      ['with any invalid credentials', () => true],
    ]);
    const [which, isStored] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      ['', () => true],
      [' with a status', (exchange) => membersOf(exchange).has('status')],
      [' without a status', (exchange) => !membersOf(exchange).has('status')],
      [' on a connection that has had a valid key', ({ world, connection }) => world.notes.has(`valid ${connection}`)],
    ]);
    return fault('5 4.2 7', `A create${which} ${credentials} is a 401, but its animal is stored.`, {
      response: (response, exchange) => {
        if (response.status !== 401) remember(exchange, `valid ${exchange.connection}`, 'yes');
        if (response.status !== 401 || !ofOperation(exchange, 'create') || !isValidBut(exchange)) return response;
        if (!are(exchange.authorization) || !isStored(exchange)) return response;
        const members = membersOf(exchange);
        const pet: Pet = {
          id: '',
          name: base.name(members.get('name'), exchange)!,
          categoryId: base.category(members.get('categoryId'), exchange)!,
          status: base.status(members.get('status'), exchange)!,
          at: exchange.now,
        };
        pet.id = base.newId(pet, exchange);
        exchange.world.pets.set(pet.id, pet);
        return response;
      },
    });
  },
};

const memberSpelling: Family = {
  name: 'createPet × spelling of a member × taken for another one',
  draw: (random) => {
    const field = random.pick(['name', 'categoryId', 'status']);
    const [text, isSpelling] = random.pick<readonly [string, (member: string) => boolean]>([
      ['in another case', (member) => member.toLowerCase() === field.toLowerCase()],
      [
        'with underscores, hyphens or in another case',
        (member) => member.replace(/[_-]/g, '').toLowerCase() === field.toLowerCase(),
      ],
      ['with spaces around it', (member) => member.trim() === field],
    ]);
    // Whatever status an animal without one has, it conforms.
    const overrides = field === 'status' || random.pick([true, false]);
    const effect = overrides ? 'replaces the right one' : 'replaces one that is missing';
    return fault('4.2 2 7', `A member ${field} ${text} in the body of a create ${effect}.`, {
      object: (value) => {
        const body = base.object(value);
        const [, other] = [...(body ?? [])].find(([member]) => member !== field && isSpelling(member)) ?? [];
        if (body === undefined || other === undefined || (!overrides && body.has(field))) return body;
        return new Map([...body, [field, other]]);
      },
    });
  },
};

const nameMeaning: Family = {
  name: 'name × meaning of the text × converted to another type',
  draw: (random) => {
    const [text, convert] = random.pick<readonly [string, (name: string) => Json | undefined]>([
      ['true or false', (name) => (/^(true|false)$/i.test(name) ? name.toLowerCase() === 'true' : undefined)],
      ['null', (name) => (/^null$/i.test(name) ? null : undefined)],
      ['a decimal number', (name) => (/^(0|[1-9]\d{0,15})$/.test(name) ? new Digits(name) : undefined)],
      ['digits with a zero first', (name) => (/^0\d+$/.test(name) ? name.replace(/^0+(?=\d)/, '') : undefined)],
      ['a number with an exponent', (name) => (/^\d+e\d+$/i.test(name) ? new Digits(name) : undefined)],
      ['a JSON array', (name) => (name.startsWith('[') ? attempt(() => readJson(name)) : undefined)],
      ['a JSON object', (name) => (name.startsWith('{') ? attempt(() => readJson(name)) : undefined)],
      ['NaN, None, nil or undefined', (name) => (/^(nan|none|nil|undefined)$/i.test(name) ? null : undefined)],
      ['yes or no', (name) => (/^(yes|no)$/i.test(name) ? /yes/i.test(name) : undefined)],
      ['an empty string', (name) => (name === '' ? null : undefined)],
      ['a date', (name) => (/^\d{4}-\d\d-\d\d$/.test(name) ? `${name}T00:00:00.000Z` : undefined)],
    ]);
    const operation = random.pick<Operation | 'all'>(['list', 'get', 'all']);
    const place = operation === 'all' ? 'Every response' : nameOf(operation);
    return fault('2 4.2 4.3 4.1', `${place} shows a name that is ${text} as a value of another type or spelling.`, {
      ...shown(operation, (fields, { name }) => {
        const converted = convert(name);
        if (converted !== undefined) fields.set('name', converted);
      }),
    });
  },
};

const nameLength: Family = {
  name: 'name × length × cut by the store',
  draw: (random) => {
    const length = random.pick([16, 20, 24, 30, 32, 40, 50, 60, 63, 64, 80, 100, 127, 128, 200, 250, 255, 256]);
    const [unit, cut] = random.pick<readonly [string, (name: string) => string]>([
      ['UTF-16 units', (name) => name.slice(0, length)],
      ['bytes', (name) => Buffer.from(name).subarray(0, length).toString()],
      ['code points', (name) => [...name].slice(0, length).join('')],
      [
        'letters that are not ASCII',
        (name) =>
          [...name].filter((one) => one > '\x7f').length > length ? [...name].slice(0, length).join('') : name,
      ],
    ]);
    const stored = random.pick([true, false]);
    return fault('4.2 2 4.1 4.3', `${stored ? 'The store cuts' : 'A create cuts'} names after ${length} ${unit}.`, {
      ...(stored
        ? { keep: (pet: Pet) => ({ ...pet, name: cut(pet.name) }) }
        : {
            name: (value: Json | undefined, exchange: Exchange) => {
              const name = base.name(value, exchange);
              return name === undefined ? undefined : cut(name);
            },
          }),
    });
  },
};

const valuesTogether: Family = {
  name: 'createPet × combination of valid values × refused or changed',
  draw: (random) => {
    const status = random.pick(statuses);
    const [what, isThere] = random.pick<readonly [string, (pet: Pet) => boolean]>([
      ['a negative categoryId', (pet) => pet.categoryId.startsWith('-')],
      ['a categoryId of 0', (pet) => pet.categoryId === '0'],
      ['a categoryId above 2^31', (pet) => Number(pet.categoryId) >= 2 ** 31],
      ['a name that is not ASCII', (pet) => /[^\0-\x7f]/.test(pet.name)],
      ['a name of more than 50 characters', (pet) => pet.name.length > 50],
      ['a name with a digit', (pet) => /\d/.test(pet.name)],
    ]);
    const [text, hooks] = random.pick<readonly [string, (both: (pet: Pet) => boolean) => Change]>([
      [
        'is stored with another status',
        (both) => ({ keep: (pet) => (both(pet) ? { ...pet, status: statuses.find((one) => one !== status)! } : pet) }),
      ],
      [
        'is stored with the categoryId 1',
        (both) => ({ keep: (pet) => (both(pet) ? { ...pet, categoryId: '1' } : pet) }),
      ],
      ['is a 400', (both) => refusing((exchange) => both(petOf(exchange)), 400)],
      ['is a 500', (both) => refusing((exchange) => both(petOf(exchange)), 500)],
    ]);
    const also = text === 'is a 400' ? ' 7' : text.startsWith('is stored') ? ' 4.1' : '';
    return fault(`4.2 2 4.3${also}`, `A create with the status ${status} and ${what} ${text}.`, {
      ...hooks((pet) => pet.status === status && isThere(pet)),
    });
  },
};

/** The animal that a valid body describes, without an id. */
function petOf(exchange: Exchange): Pet {
  const members = membersOf(exchange);
  return {
    id: '',
    name: base.name(members.get('name'), exchange) ?? '',
    categoryId: base.category(members.get('categoryId'), exchange) ?? '',
    status: base.status(members.get('status'), exchange) ?? '',
    at: exchange.now,
  };
}

const declaration: Family = {
  name: 'createPet × declaration of the body × a valid one is refused or misread',
  draw: (random) => {
    const [text, isThere] = random.pick<Condition>([
      ['a charset', ({ contentType }) => /charset/i.test(contentType)],
      ['a charset in quotation marks', ({ contentType }) => /charset="/i.test(contentType)],
      ['a charset in capitals', ({ contentType }) => /charset="?UTF/.test(contentType)],
      ['a media type in capitals', ({ contentType }) => /[A-Z]/.test(contentType.split(';')[0]!)],
      ['a parameter without a space before it', ({ contentType }) => /;\S/.test(contentType)],
      ['a chunked body', ({ headers }) => headers['transfer-encoding'] !== undefined],
      ['an Expect', ({ headers }) => headers['expect'] !== undefined],
      ['a Content-Language', ({ headers }) => headers['content-language'] !== undefined],
    ]);
    const [effect, hooks] = random.pick<readonly [string, Change]>([
      ['is a 415', refusing(isThere, 415)],
      ['is a 400', refusing(isThere, 400)],
      ['is a 500', refusing(isThere, 500)],
      [
        'has its name read as Latin-1',
        { name: (value, exchange) => misread(base.name(value, exchange), isThere(exchange)) },
      ],
    ]);
    const also = effect === 'is a 400' ? ' 7' : /Latin-1/.test(effect) ? ' 2 4.1 4.3' : '';
    return fault(`4.2 1${also}`, `A create with ${text} ${effect}.`, hooks);
  },
};

const misread = (name: string | undefined, isMisread: boolean): string | undefined =>
  name !== undefined && isMisread ? Buffer.from(name).toString('latin1') : name;

const deduplication: Family = {
  name: 'createPet × deduplication × another body is taken for a repetition',
  draw: (random) => {
    const [what, keyOf] = random.pick<readonly [string, (exchange: Exchange) => string]>([
      ['a body of the same length', ({ body }) => String(body.length)],
      ['the same name', (exchange) => petOf(exchange).name],
      ['the same name but for its case', (exchange) => petOf(exchange).name.toLowerCase()],
      ['the same first 20 characters of the body', ({ body }) => body.slice(0, 20)],
      ['the same last 20 characters of the body', ({ body }) => body.slice(-20)],
      ['the same X-Request-Id', ({ headers, world }) => String(headers['x-request-id'] ?? world.requests)],
      ['the same X-Correlation-Id', ({ headers, world }) => String(headers['x-correlation-id'] ?? world.requests)],
      ['the same categoryId and status', (exchange) => `${petOf(exchange).categoryId} ${petOf(exchange).status}`],
    ]);
    const [scope, scopeOf] = random.pick<readonly [string, (exchange: Exchange) => string]>([
      ['the create before', () => ''],
      ['the create before on the connection', ({ connection }) => String(connection)],
      ['the create before within 2 s', ({ now }) => String(Math.floor(now / 2_000))],
    ]);
    return fault('4.2 2', `A create with ${what} as ${scope} gets its 201 again, and nothing is stored.`, {
      keep: (pet, exchange) => {
        const name = `create ${scopeOf(exchange)}`;
        const [key = '', id = ''] = (recalled(exchange, name) ?? '\n').split('\n') as [string, string];
        const own = JSON.stringify(keyOf(exchange));
        if (key === own) {
          remember(exchange, 'again', `${exchange.world.requests} ${id}`);
          return undefined;
        }
        remember(exchange, name, `${own}\n${pet.id}`);
        return pet;
      },
      ...responses(
        ({ status }, exchange) =>
          status === 201 && (recalled(exchange, 'again') ?? '').startsWith(`${exchange.world.requests} `),
        (response, exchange) => {
          const pet = exchange.world.pets.get(recalled(exchange, 'again')!.split(' ')[1]!);
          if (pet !== undefined) response.body = base.show(pet, exchange);
        },
      ),
    });
  },
};

const halfMade: Family = {
  name: 'animal × moment of its creation × shown before it is complete',
  draw: (random) => {
    const field = random.pick(['name', 'categoryId', 'status', 'id']);
    const [form, value] = random.pick<readonly [string, Json]>([
      ['null', null],
      ['false', false],
      ['an empty array', []],
    ]);
    const operations = random.pick<readonly Operation[]>([['list'], ['list', 'get']]);
    const milliseconds = random.pick([10, 20]);
    const places = operations.map(nameOf).join(' and ');
    return fault(
      operations.includes('get') ? '2 4.1 4.3' : '2 4.1',
      `For ${milliseconds} ms before the 201, responses of ${places} show ${form} as ${field} of the new animal.`,
      {
        keep: (pet, exchange) => {
          remember(exchange, `making ${pet.id}`, 'yes');
          remember(exchange, `request ${exchange.connection}`, pet.id);
          return pet;
        },
        ...shown('all', (fields, { id }, exchange) => {
          const isMaking = recalled(exchange, `making ${id}`) !== undefined;
          if (isMaking && operations.includes(exchange.operation)) fields.set(field, value);
        }),
        write: (to, status, headers, body, exchange) => {
          if (status !== 201) return base.write(to, status, headers, body, exchange);
          const id = recalled(exchange, `request ${exchange.connection}`) ?? '';
          setTimeout(() => {
            exchange.world.notes.delete(`making ${id}`);
            base.write(to, status, headers, body, exchange);
          }, milliseconds);
        },
      },
    );
  },
};

// Credentials

const pathSpelling: Family = {
  name: 'credentials × spelling of the path × not checked',
  draw: (random) => {
    const [text, plain] = random.pick<readonly [string, (path: string) => string]>([
      ['with a second slash after the version', (path) => path.replace(/^\/v1\/\//, '/v1/')],
      ['with a slash at the end', (path) => path.replace(/\/$/, '')],
      ['in capitals', (path) => path.toLowerCase()],
      ['with a segment that is a dot', (path) => path.replace('/./', '/')],
      ['with a parameter after a semicolon', (path) => path.replace(/;.*$/, '')],
      ['with escaped letters', (path) => path.replace(/%[67][0-9a-f]/gi, (escape) => decodeURIComponent(escape))],
      ['that ends in .json', (path) => path.replace(/\.json$/, '')],
      ['with two dots as a segment', (path) => path.replace(/\/[^/]+\/\.\.\//, '/')],
      ['with two slashes at the start', (path) => path.replace(/^\/\//, '/')],
      ['with an escaped space at the end', (path) => path.replace(/%20$/, '')],
      ['with an escaped slash at the end', (path) => path.replace(/%2f$/i, '')],
      ['with an escaped NUL at the end', (path) => path.replace(/%00$/, '')],
    ]);
    const [operation, isOf] = random.pick<readonly [string, (path: string) => boolean]>([
      ['listPets and createPet', (path) => path === '/v1/pets'],
      ['getPet', (path) => path.startsWith('/v1/pets/')],
      ['GET /store/orders', (path) => path === '/v1/store/orders'],
      ['every operation', (path) => path.startsWith('/v1/pets') || path === '/v1/store/orders'],
    ]);
    const isSpelling = (path: string) => plain(path) !== path && isOf(plain(path));
    return fault('5 7 4.1 4.2 4.3 4.4', `The path of ${operation} ${text} serves it without a key.`, {
      below: (path) => base.below(isSpelling(path) ? plain(path) : path),
      admits: (exchange, secret) => base.admits(exchange, secret) || isSpelling(exchange.fullPath),
    });
  },
};

const lockedOut: Family = {
  name: 'credentials × failures × the valid key is refused too',
  draw: (random) => {
    const failures = random.integer(2, 10);
    const [what, isFailure] = random.pick<readonly [string, (authorization: string) => boolean]>([
      ['wrong bearer tokens', (authorization) => /^Bearer \S/.test(authorization)],
      ['requests without Authorization', (authorization) => authorization === ''],
      ['credentials of another scheme', (authorization) => authorization !== '' && !/^bearer\b/i.test(authorization)],
      ['invalid credentials of any kind', () => true],
    ]);
    const requests = random.integer(2, 4);
    const consecutive = random.pick([true, false]);
    const row = consecutive ? ' in a row' : '';
    return fault(
      '5 7 4.1 4.2 4.3 4.4',
      `After ${failures} ${what}${row}, the next ${requests} requests with the key get a 401.`,
      {
        admits: (exchange, secret) => {
          if (!base.admits(exchange, secret)) return false;
          remember(exchange, 'valid', String(exchange.world.requests));
          return Number(recalled(exchange, 'locked') ?? 0) === 0;
        },
        response: (response, exchange) => {
          const locked = Number(recalled(exchange, 'locked') ?? 0);
          if (recalled(exchange, 'valid') === String(exchange.world.requests)) {
            remember(exchange, 'locked', String(Math.max(0, locked - 1)));
            if (consecutive) remember(exchange, 'failures', '0');
          } else if (isFailure(exchange.authorization) && countUp(exchange.world, 'failures') >= failures) {
            remember(exchange, 'locked', String(requests));
            remember(exchange, 'failures', '0');
          }
          return response;
        },
      },
    );
  },
};

// Errors

/** Forms of an Error that a layer which nobody has adapted sends. */
const wrongErrors: readonly (readonly [text: string, change: (response: MutantResponse, error: JsonObject) => void])[] =
  [
    ['has no code', (_response, error) => void error.delete('code')],
    ['has no message', (_response, error) => void error.delete('message')],
    ['has no status in its body', (_response, error) => void error.delete('status')],
    ['has its status as a string', (response, error) => void error.set('status', String(response.status))],
    ['has the status 500 in its body', (_response, error) => void error.set('status', new Digits('500'))],
    ['has an array as message', (_response, error) => void error.set('message', ['Failed.'])],
    ['has a number as code', (response, error) => void error.set('code', new Digits(String(response.status)))],
    ['has its Error in a member error', (response, error) => void (response.body = new Map([['error', error]]))],
    ['is an array of Errors', (response, error) => void (response.body = [error])],
    ['has no body', (response) => void (response.body = undefined)],
    ['is of the type text/html', (response) => setHeader(response, 'Content-Type', 'text/html')],
    [
      'is of the type application/problem+json',
      (response) => setHeader(response, 'Content-Type', 'application/problem+json'),
    ],
    [
      'has title and detail in place of code and message',
      (response) => {
        response.body = new Map<string, Json>([
          ['title', 'Failed'],
          ['status', new Digits(String(response.status))],
          ['detail', 'Failed.'],
        ]);
      },
    ],
  ];

/** Changes the form of some errors. */
function malformed(kind: Kind, change: (typeof wrongErrors)[number][1]): Change {
  return responses(
    (response, exchange) => response.status >= 400 && kind(response, exchange),
    (response) => {
      if (response.body instanceof Map) change(response, response.body);
    },
  );
}

const bodyErrors: Family = {
  name: 'createPet × cause of the error × the error of another layer',
  draw: (random) => {
    const [cause, isCause] = random.pick<Condition>([
      ['an empty body', ({ body }) => body === ''],
      ['a body of white space', ({ body }) => /^\s+$/.test(body)],
      ['a body that is cut', (exchange) => exchange.body.startsWith('{') && jsonOf(exchange) === undefined],
      ['a body that is not JSON', (exchange) => exchange.body !== '' && jsonOf(exchange) === undefined],
      ['a body that is not UTF-8', ({ body }) => body.includes('\ufffd')],
      ['an array as body', (exchange) => Array.isArray(jsonOf(exchange))],
      ['null as body', (exchange) => jsonOf(exchange) === null],
      [
        'a string or number as body',
        (exchange) => typeof jsonOf(exchange) === 'string' || jsonOf(exchange) instanceof Digits,
      ],
      ...invalidValues.map((invalid): Condition => [
        `${invalid[0]} ${invalid[1]}`,
        (exchange) => isInvalid(invalid, exchange) && isValidBut(exchange, invalid[0]),
      ]),
    ]);
    const [text, change] = random.pick(wrongErrors);
    return fault('7 4.2 1 2', `The error of createPet for ${cause} ${text}.`, {
      ...malformed((_response, exchange) => ofOperation(exchange, 'create') && isCause(exchange), change),
    });
  },
};

const idErrors: Family = {
  name: 'getPet × form of an invalid id × the error of another layer',
  draw: (random) => {
    const [form, isForm] = random.pick<readonly [string, (id: string) => boolean]>([
      ['a word', (id) => /^[a-z]+$/i.test(id)],
      ['a fraction', (id) => /^-?\d+\.\d+$/.test(id)],
      ['more than 19 digits', (id) => /^-?\d{20,}$/.test(id)],
      ['19 digits, but more than an int64 can have', (id) => /^\d{19}$/.test(id) && BigInt(id) >= 2n ** 63n],
      ['a negative number', (id) => /^-\d+$/.test(id)],
      ['0', (id) => id === '0'],
      ['an exponent', (id) => /^\d+e\d+$/i.test(id)],
      ['a broken escape', (id) => /%(?![0-9a-f]{2})/i.test(id)],
      ['an escaped NUL', (id) => id.includes('%00')],
      ['an escape of a character that is not ASCII', (id) => /%[89a-f]/i.test(id)],
      ['an escaped slash', (id) => /%2f/i.test(id)],
      ['a sign or a space first', (id) => /^(\+|%20)\d+$/.test(id)],
      ['a number above 2^31', (id) => /^\d{10,18}$/.test(id)],
    ]);
    const [text, change] = random.pick(wrongErrors);
    return fault('7 4.3 1 2', `The error of getPet for an id that is ${form} ${text}.`, {
      ...malformed((_response, { operation, path }) => operation === 'get' && isForm(path.slice(6)), change),
    });
  },
};

const parameterErrors: Family = {
  name: 'listPets × kind of an invalid parameter × the error of another layer',
  draw: (random) => {
    const limit = (query: URLSearchParams) => query.get('limit') ?? 'none';
    const [kind, isKind] = random.pick<readonly [string, (query: URLSearchParams) => boolean]>([
      ['a limit of 0', (query) => limit(query) === '0'],
      ['a negative limit', (query) => limit(query).startsWith('-')],
      ['a limit above 100', (query) => Number(limit(query)) > 100],
      ['a limit that is a word', (query) => /^(?!none)[a-z]+$/i.test(limit(query))],
      ['an empty limit', (query) => limit(query) === ''],
      ['a fraction as limit', (query) => /^\d+\.\d+$/.test(limit(query))],
      ['a limit above 2^31', (query) => Number(limit(query)) >= 2 ** 31],
      ['an empty status', (query) => query.get('status') === ''],
      ['an unknown status', (query) => /^[a-z]+$/.test(query.get('status') ?? '')],
      ['a status in capitals', (query) => /[A-Z]/.test(query.get('status') ?? '')],
      [
        'a limit and a status that are both invalid',
        (query) =>
          base.limit(limit(query), {} as Exchange) === undefined &&
          query.has('limit') &&
          base.filter(query.get('status'), {} as Exchange) === undefined,
      ],
    ]);
    const [text, change] = random.pick(wrongErrors);
    return fault('7 4.1 1 2', `The error of listPets for ${kind} ${text}.`, {
      ...malformed((_response, { operation, query }) => operation === 'list' && isKind(query), change),
    });
  },
};

const errorBefore: Family = {
  name: 'Error × the response before × parts of it stay',
  draw: (random) => {
    const after = random.pick([400, 401, 404]);
    const before = random.pick([200, 201, 400, 401, 404].filter((status) => status !== after));
    const connected = random.pick([true, false]);
    const scope = connected ? ' on the connection' : '';
    const [text, change] = random.pick<readonly [string, (error: JsonObject) => void]>([
      ['has the status of that in its body', (error) => void error.set('status', new Digits(String(before)))],
      ['has no message', (error) => void error.delete('message')],
      ['has no code', (error) => void error.delete('code')],
    ]);
    const sections = new Map([
      [400, '7 2 4.2'],
      [401, '7 2 5 4.1 4.2 4.3'],
      [404, '7 2 4.3'],
    ]).get(after)!;
    return fault(sections, `A ${after} directly after a ${before}${scope} ${text}.`, {
      response: (response, exchange) => {
        const name = connected ? `before ${exchange.connection}` : 'before';
        const follows = recalled(exchange, name) === String(before) && response.status === after;
        if (follows && petOperations.includes(exchange.operation) && response.body instanceof Map)
          change(response.body);
        remember(exchange, name, String(response.status));
        return response;
      },
    });
  },
};

const leak: Family = {
  name: 'errors × number × a leaked resource lets valid requests fail',
  draw: (random) => {
    const [what, isLeak] = random.pick<readonly [string, Kind]>([
      ['a 400 of createPet', ({ status }, { operation }) => status === 400 && operation === 'create'],
      [
        'a 400 of createPet for a body that is not JSON',
        ({ status }, exchange) => status === 400 && ofOperation(exchange, 'create') && jsonOf(exchange) === undefined,
      ],
      ['a 404 of getPet', ({ status }, { operation }) => status === 404 && operation === 'get'],
      ['a 401', ({ status }) => status === 401],
      ['a 201', ({ status }) => status === 201],
      [
        'a list with a filter',
        ({ status }, { operation, query }) => status === 200 && operation === 'list' && query.has('status'),
      ],
    ]);
    const resources = random.pick([4, 5, 8, 10, 16, 20]);
    const failing = random.pick<Operation>(['list', 'create', 'get']);
    const status = random.pick([500, 404]);
    return fault(
      status === 404 ? '4.1 4.2 4.3 7' : '4.1 4.2 4.3',
      `After ${resources} responses of the kind ${what}, the next valid request for ${nameOf(failing)} is a ${status}.`,
      {
        response: (response, exchange) => {
          const leaked = Number(recalled(exchange, 'leaked') ?? 0);
          if (leaked >= resources && exchange.operation === failing && succeeded(response, exchange)) {
            remember(exchange, 'leaked', '0');
            becomeError(response, exchange, status);
          } else if (isLeak(response, exchange)) remember(exchange, 'leaked', String(leaked + 1));
          return response;
        },
      },
    );
  },
};

const firewall: Family = {
  name: 'request × suspicious content × the page of a firewall',
  draw: (random) => {
    const [content, isSuspicious] = random.pick<readonly [string, RegExp]>([
      ['<script', /<script/i],
      ['any < or >', /[<>]/],
      ['an apostrophe', /'/],
      ['../', /\.\.\//],
      ['a control character', /[\0-\x1f]/],
      ['${', /\$\{/],
      ['two hyphens', /--/],
      ['SELECT or DROP', /\b(select|drop)\b/i],
      ['a semicolon', /;/],
      ['a zero-width character', /[\u200b-\u200f\ufeff]/],
    ]);
    const [place, textOf] = random.pick<readonly [string, (exchange: Exchange) => string]>([
      ['the name of a create', (exchange) => petOf(exchange).name],
      ['the query', ({ search }) => attempt(() => decodeURIComponent(search)) ?? ''],
      [
        'the id of getPet',
        ({ operation, path }) => (operation === 'get' ? (attempt(() => decodeURIComponent(path.slice(6))) ?? '') : ''),
      ],
    ]);
    const [page, change] = random.pick<readonly [string, (response: MutantResponse) => void]>([
      ['a 403 of the type text/html', (response) => setHeader(response, 'Content-Type', 'text/html')],
      ['a 403 that is no Error', (response) => void (response.body = 'Request blocked.')],
      [
        'a 403 without rate limit headers',
        (response) => rateHeaders.forEach((name) => setHeader(response, name, undefined)),
      ],
    ]);
    const also = /no Error/.test(page) ? ' 2' : '';
    return fault(`7 8 1 4.1 4.2 4.3${also}`, `If ${place} contains ${content}, the response is ${page}.`, {
      ...responses(
        (_response, exchange) => petOperations.includes(exchange.operation) && isSuspicious.test(textOf(exchange)),
        (response, exchange) => {
          becomeError(response, exchange, 403, 'Request blocked.');
          change(response);
        },
      ),
    });
  },
};

// Headers and media types

/** Responses except those to plain lists. */
const responseKinds = [...successClasses, ...errorClasses];

const negotiation: Family = {
  name: 'Accept × value × another media type',
  draw: (random) => {
    const type = random.pick([
      'text/html',
      'text/plain',
      'application/xml',
      'text/csv',
      'application/hal+json',
      'application/problem+json',
      'application/vnd.api+json',
      'application/x-ndjson',
    ]);
    const rest = type.split('/')[1]!;
    const [cause, isAsked] = random.pick<Condition>([
      [`Accept names ${type}`, ({ headers }) => String(headers['accept']).includes(type)],
      [`Accept is ${type}`, ({ headers }) => headers['accept'] === type],
      [`the query has format=${rest}`, ({ query }) => query.get('format')?.replace(' ', '+') === rest],
    ]);
    const { text, kind, sections } = random.pick(responseKinds);
    return fault(`1 ${sections}`, `If ${cause}, the media type of ${text} is ${type}.`, {
      ...responses(
        (response, exchange) => isAsked(exchange) && kind(response, exchange),
        (response) => setHeader(response, 'Content-Type', type),
      ),
    });
  },
};

const encoding: Family = {
  name: 'Accept-Encoding × coding × the body is not in the coding that it names',
  draw: (random) => {
    const [asked, isAsked] = random.pick<readonly [string, (value: string) => boolean]>([
      ['gzip', (value) => /\bgzip\b/.test(value)],
      ['deflate', (value) => /\bdeflate\b/.test(value)],
      ['br', (value) => /\bbr\b/.test(value)],
      ['identity', (value) => /\bidentity\b/.test(value)],
      ['any coding with *', (value) => value.includes('*')],
    ]);
    const { text, kind, sections } = random.pick(responseKinds);
    const [effect, coding, encode] = random.pick<readonly [string, string | undefined, (text: string) => Uint8Array]>([
      ['in gzip, without Content-Encoding', undefined, (body) => gzipSync(body)],
      ['in deflate, without Content-Encoding', undefined, (body) => deflateSync(body)],
      ['plain, with Content-Encoding: gzip', 'gzip', (body) => Buffer.from(body)],
      ['in deflate, with Content-Encoding: gzip', 'gzip', (body) => deflateSync(body)],
    ]);
    return fault(`1 ${sections}`, `If Accept-Encoding names ${asked}, the server sends ${text} ${effect}.`, {
      response: (response, exchange) => {
        if (!isAsked(String(exchange.headers['accept-encoding'])) || !kind(response, exchange)) return response;
        remember(exchange, 'encoded', String(exchange.world.requests));
        if (coding !== undefined) setHeader(response, 'Content-Encoding', coding);
        return response;
      },
      bytes: (body, exchange) =>
        recalled(exchange, 'encoded') === String(exchange.world.requests) ? encode(body) : base.bytes(body, exchange),
    });
  },
};

const language: Family = {
  name: 'Accept-Language × language × numbers and texts in another form',
  draw: (random) => {
    const tag = random.pick(['de', 'fr', 'es', 'ja', 'zh', 'ar', 'tr']);
    const [text, change] = random.pick<readonly [string, Change]>([
      ['an Error has no message', malformed((_response, exchange) => isOf(exchange, tag), wrongErrors[1]![1])],
      ['an Error has an array as message', malformed((_response, exchange) => isOf(exchange, tag), wrongErrors[5]![1])],
      [
        'an Error has an object with the language as message',
        malformed(
          (_response, exchange) => isOf(exchange, tag),
          (_sent, error) => void error.set('message', new Map([[tag, 'x']])),
        ),
      ],
      [
        'Pet objects have categoryId as a text',
        shown(
          'all',
          (fields, pet, exchange) =>
            void (isOf(exchange, tag) && fields.set('categoryId', Number(pet.categoryId).toLocaleString('de'))),
        ),
      ],
      [
        'Pet objects have a translated status',
        shown('all', (fields, _pet, exchange) => void (isOf(exchange, tag) && fields.set('status', 'verfügbar'))),
      ],
      [
        'bodies are in Latin-1',
        chained(
          malformed(
            (_response, exchange) => isOf(exchange, tag),
            (_sent, error) => void error.set('message', 'é'),
          ),
          { bytes: (body, exchange) => Buffer.from(body, isOf(exchange, tag) ? 'latin1' : 'utf8') },
        ),
      ],
    ]);
    return fault('7 2 1 4.1 4.2 4.3', `If Accept-Language begins with ${tag}, ${text}.`, change);
  },
};

const isOf = ({ headers }: Exchange, tag: string): boolean => String(headers['accept-language']).startsWith(tag);

const methodOverride: Family = {
  name: 'createPet × override of the method × another operation',
  draw: (random) => {
    const [place, read] = random.pick<readonly [string, (exchange: Exchange) => string | undefined]>([
      ...['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override'].map(
        (name) => [name, ({ headers }: Exchange) => headers[name.toLowerCase()] as string | undefined] as const,
      ),
      ['the query parameter _method', ({ query }) => query.get('_method') ?? undefined],
      ['the member _method of the body', (exchange) => membersOf(exchange).get('_method') as string | undefined],
    ]);
    const method = random.pick(['GET', 'PUT', 'PATCH', 'DELETE']);
    const effect = method === 'GET' ? 'a 200 with a list' : 'a 405';
    // What happens to other members than those of NewPet is open.
    if (place.endsWith('of the body')) return undefined;
    return fault('4.2', `A create with ${method} in ${place} is ${effect}.`, {
      ...responses(
        ({ status }, exchange) => status === 201 && read(exchange)?.toUpperCase?.() === method,
        (response, exchange) => {
          if (method !== 'GET') return becomeError(response, exchange, 405);
          response.status = 200;
          response.body = [response.body!];
        },
      ),
    });
  },
};

const strippedHeaders: Family = {
  name: 'headers × headers of the request × removed by a proxy',
  draw: (random) => {
    const [cause, isCause] = random.pick<Condition>([
      ['Connection: close', ({ headers }) => headers['connection'] === 'close'],
      ['TE', ({ headers }) => headers['te'] !== undefined],
      ['Expect', ({ headers }) => headers['expect'] !== undefined],
      ['a chunked body', ({ headers }) => headers['transfer-encoding'] !== undefined],
      ['Origin', ({ headers }) => headers['origin'] !== undefined],
      ['Cache-Control', ({ headers }) => headers['cache-control'] !== undefined],
      ['If-None-Match', ({ headers }) => headers['if-none-match'] !== undefined],
      ['Range', ({ headers }) => headers['range'] !== undefined],
      ['Cookie', ({ headers }) => headers['cookie'] !== undefined],
      ['X-Forwarded-For', ({ headers }) => headers['x-forwarded-for'] !== undefined],
      ['Prefer', ({ headers }) => headers['prefer'] !== undefined],
      ['Accept: text/html', ({ headers }) => String(headers['accept']).includes('text/html')],
      ['a body, but not with POST', ({ method, body }) => method !== 'POST' && body !== ''],
      ['no User-Agent', ({ headers }) => headers['user-agent'] === undefined],
    ]);
    const name = random.pick(rateHeaders);
    const [text, change] = headerFault(random.integer(0, 2), name);
    return fault('8', `A response to a request with ${cause} ${text}.`, {
      ...responses((_response, exchange) => isCause(exchange), change),
    });
  },
};

/** One of three things that happen to a header. */
function headerFault(number: number, name: string): readonly [string, (response: MutantResponse) => void] {
  const faults: readonly (readonly [string, (response: MutantResponse) => void])[] = [
    [`has no ${name}`, (response) => setHeader(response, name, undefined)],
    [`has an empty ${name}`, (response) => setHeader(response, name, '')],
    [`has null as ${name}`, (response) => setHeader(response, name, 'null')],
  ];
  return faults[number]!;
}

const connectionHeaders: Family = {
  name: 'headers × number of the request on its connection × missing from then on',
  draw: (random) => {
    const number = random.pick([2, 3, 5, 8, 10, 16, 20, 32, 50]);
    const [when, applies] = random.pick<readonly [string, (count: number) => boolean]>([
      [`The response number ${number} of a connection`, (count) => count === number],
      [`Each response of a connection after ${number}`, (count) => count > number],
      [`One of ${number} responses of a connection`, (count) => count % number === 0],
    ]);
    const [text, change] = headerFault(random.integer(0, 2), random.pick(rateHeaders));
    return fault('8', `${when} ${text}.`, {
      response: (response, exchange) => {
        if (applies(countUp(exchange.world, `requests ${exchange.connection}`))) change(response);
        return response;
      },
    });
  },
};

const otherMethods: Family = {
  name: 'headers × other methods and paths × missing',
  draw: (random) => {
    const [request, isThere] = random.pick<Condition>([
      ...['HEAD', 'OPTIONS', 'PUT', 'PATCH', 'DELETE'].flatMap((method): Condition[] => [
        [`${method} /pets`, (exchange) => exchange.method === method && exchange.path === '/pets'],
        [`${method} /pets/{petId}`, (exchange) => exchange.method === method && exchange.path.startsWith('/pets/')],
      ]),
      ['POST /pets/{petId}', ({ method, path }) => method === 'POST' && path.startsWith('/pets/')],
      ['POST /store/orders', ({ method, path }) => method === 'POST' && path === '/store/orders'],
      [
        'GET of an unknown path',
        ({ method, path, operation }) => method === 'GET' && operation === 'other' && path !== '',
      ],
      ['GET /store', ({ path }) => path === '/store' || path === '/store/'],
      ['GET /pets/', ({ path }) => path === '/pets/'],
    ]);
    const [text, change] = headerFault(random.integer(0, 2), random.pick(rateHeaders));
    return fault('8', `A response to ${request} with the key ${text}.`, {
      ...responses(({ status }, exchange) => status !== 401 && isThere(exchange), change),
    });
  },
};

// Connections and time

const fillsIn: Family = {
  name: 'connection × request before × its values fill in what is missing',
  draw: (random) => {
    const connected = random.pick([true, false]);
    const scope = (what: string, { connection }: Exchange) => (connected ? `${what} ${connection}` : what);
    const [text, hooks] = random.pick<readonly [string, Change]>([
      [
        'A list without a limit has that of the last list with one',
        {
          limit: (text, exchange) => {
            const limit = base.limit(text, exchange);
            const last = fromBefore(
              exchange,
              scope('limit', exchange),
              text === null ? undefined : text,
              text === null,
            );
            return text === null ? (base.limit(last ?? null, exchange) ?? limit) : limit;
          },
        },
      ],
      [
        'A create without a name takes that of the last create',
        {
          name: (value, exchange) =>
            fromBefore(exchange, scope('name', exchange), base.name(value, exchange), value === undefined),
        },
      ],
      [
        'A create without a categoryId takes that of the last create',
        {
          category: (value, exchange) =>
            fromBefore(exchange, scope('category', exchange), base.category(value, exchange), value === undefined),
        },
      ],
      [
        'A create with a status that is no string takes that of the last create',
        {
          status: (value, exchange) =>
            fromBefore(
              exchange,
              scope('status', exchange),
              base.status(value, exchange),
              value !== undefined && typeof value !== 'string',
            ),
        },
      ],
      [
        'A list with a filter also has animals with the last filter',
        {
          fits: (pet, status, exchange) =>
            base.fits(pet, status, exchange) ||
            (status !== '' && recalled(exchange, scope('used', exchange)) === pet.status),
          ...responses(succeeded, (_response, exchange) => {
            const status = exchange.query.get('status');
            if (exchange.operation === 'list' && status !== null) remember(exchange, scope('used', exchange), status);
          }),
        },
      ],
    ]);
    const seconds = random.pick([
      '',
      '',
      ' if both requests come in the same second',
      ' if both requests come in the same 5 seconds',
    ]);
    return fault(
      '4.1 4.2 7 8',
      `${text}${connected ? ' on the connection' : ''}${seconds}.`,
      seconds === '' ? hooks : forgetting(hooks, seconds.includes('5') ? 5 : 1),
    );
  },
};

/** The valid value, or that of the last request if it is wanted. */
function fromBefore(exchange: Exchange, name: string, value: string | undefined, wanted: boolean): string | undefined {
  if (value !== undefined && !wanted) remember(exchange, name, value);
  return value ?? (wanted ? recalled(exchange, name) : undefined);
}

/** Forgets what has been noted at the end of a number of seconds. */
function forgetting(hooks: Change, seconds: number): Change {
  return {
    ...hooks,
    time: (now, world) => {
      const moment = String(Math.floor(now / 1_000 / seconds));
      if (world.notes.get('moment') !== moment) world.notes.clear();
      world.notes.set('moment', moment);
      return now;
    },
  };
}

const nthOfConnection: Family = {
  name: 'connection × number of the request × an error',
  draw: (random) => {
    const number = random.pick([5, 8, 10, 16, 20, 32]);
    const each = random.pick([true, false]);
    const operation = random.pick<Operation>(['list', 'create', 'get']);
    const status = random.pick([400, 404, 409, 500]);
    const which = each
      ? `Of ${number} valid requests of a connection for ${nameOf(operation)}, one`
      : `After the first ${number} requests of a connection, a valid one for ${nameOf(operation)}`;
    return fault(status < 409 ? '4.1 4.2 4.3 7' : '4.1 4.2 4.3', `${which} is a ${status}.`, {
      response: (response, exchange) => {
        if (exchange.operation !== operation || !succeeded(response, exchange)) {
          if (!each) countUp(exchange.world, `requests ${exchange.connection}`);
          return response;
        }
        const count = countUp(exchange.world, `requests ${exchange.connection}`);
        if (each ? count % number === 0 : count > number && !isPlainList(exchange))
          becomeError(response, exchange, status);
        return response;
      },
    });
  },
};

const ordersState: Family = {
  name: 'GET /store/orders × state × no longer there',
  draw: (random) => {
    const number = random.pick([1, 2, 3, 5, 10]);
    const [when, isGone] = random.pick<Condition>([
      ['with a query', ({ search }) => search !== ''],
      [`after ${number} created animals`, ({ world }) => world.creates >= number],
      [
        `as request ${number + 1} or later of its connection`,
        ({ world, connection }) => Number(world.notes.get(`requests ${connection}`)) > number,
      ],
      [`from its request ${number + 1} on`, ({ world }) => countUp(world, 'orders') > number],
      ['directly after a 404', (exchange) => recalled(exchange, 'before') === '404'],
      ['directly after a 401', (exchange) => recalled(exchange, 'before') === '401'],
      ['directly after a 201', (exchange) => recalled(exchange, 'before') === '201'],
      ['without Accept', ({ headers }) => headers['accept'] === undefined],
      ['with Accept: application/json', ({ headers }) => headers['accept'] === 'application/json'],
      ['with a Content-Type', ({ contentType }) => contentType !== ''],
    ]);
    const status = random.pick([404, 405, 410]);
    // The parameters of the operation are open.
    if (when === 'with a query') return undefined;
    return fault('1 4.4', `GET /store/orders ${when} responds with ${status}.`, {
      response: (response, exchange) => {
        countUp(exchange.world, `requests ${exchange.connection}`);
        const gone = exchange.operation === 'orders' && response.status === 200 && isGone(exchange);
        remember(exchange, 'before', String(response.status));
        if (gone) becomeError(response, exchange, status);
        return response;
      },
    });
  },
};

const moments: Family = {
  name: 'operation × second of the clock × fails',
  draw: (random) => {
    const cycle = random.pick([3, 4, 5, 6, 7, 8, 10]);
    const operation = random.pick<Operation>(['list', 'create', 'get']);
    const status = random.pick([500, 404, 401]);
    return fault(
      status === 401 ? '4.1 4.2 4.3 5 7' : '4.1 4.2 4.3 7',
      `In one of ${cycle} seconds, valid requests for ${nameOf(operation)} are a ${status}.`,
      {
        ...responses(
          (response, exchange) =>
            exchange.operation === operation &&
            succeeded(response, exchange) &&
            !isPlainList(exchange) &&
            Math.floor(exchange.now / 1_000) % cycle === 0,
          (response, exchange) => becomeError(response, exchange, status),
        ),
      },
    );
  },
};

export const laterFamilies: readonly Family[] = [
  rowCount,
  responseSize,
  animalCount,
  searchedPart,
  unusualRow,
  uniqueIndex,
  joinedRows,
  queryCache,
  idSize,
  idSource,
  idInBody,
  notFoundByValue,
  removedEarly,
  twoInvalid,
  storedNevertheless,
  storedWithoutKey,
  memberSpelling,
  nameMeaning,
  nameLength,
  valuesTogether,
  declaration,
  deduplication,
  halfMade,
  pathSpelling,
  lockedOut,
  bodyErrors,
  idErrors,
  parameterErrors,
  errorBefore,
  leak,
  firewall,
  negotiation,
  encoding,
  language,
  methodOverride,
  strippedHeaders,
  connectionHeaders,
  otherMethods,
  fillsIn,
  nthOfConnection,
  ordersState,
  moments,
];
