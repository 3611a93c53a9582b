/**
 * Faults of services that have grown: migrations, shards, column stores, pools of objects, pipelines, caches of
 * verdicts, idle connections, and checks that are skipped.
 */
import { gzipSync } from 'node:zlib';
import type { ServerResponse } from 'node:http';
import {
  base,
  statuses,
  type Exchange,
  type Hooks,
  type MutantResponse,
  type Operation,
  type Pet,
  type World,
} from '../server/hooks.ts';
import { Digits, writeJson, type Json, type JsonObject } from '../server/json.ts';
import { found, pages, responses, setHeader, shown, tokenOf } from '../table/changes.ts';
import type { Change, Kind } from '../table/changes.ts';
import { becomeError, chained, fault as faultOf, type Draw, type Family } from './family.ts';
import type { Random } from './random.ts';
import { fieldsOf, frameworkErrors, isValid, sending, type Row } from './third-faults.ts';

const family = (name: string, draw: (random: Random) => Draw | undefined): Family => ({ name, draw });

/** Sections that a fault violates besides those of its operation, by what its text says. */
const furtherSections: readonly Row<RegExp>[] = [
  ['1 2 7', / with (an HTML page|plain text|an empty body|a body with the field)/],
  ['5 7', /\b401\b/],
  ['7', /\b(400|405|408|409|416|426|500|505|507)\b|does not exist/],
  ['4.3 7', /not (found|stored)|does not find|finds no/],
  ['2 4.1', /stored (as|in|with)|in the store|in the column/],
];

function fault(sections: string, text: string, hooks: Change): Draw {
  const further = furtherSections.flatMap(([more, pattern]) => (pattern.test(text) ? [more] : []));
  return faultOf([...new Set([sections, ...further].join(' ').split(' '))].join(' '), text, hooks);
}

/** State that a fault keeps for each server. */
function kept<T>(make: () => T): (exchange: { readonly world: World }) => T {
  const states = new WeakMap<World, T>();
  return ({ world }) => {
    const state = states.get(world) ?? make();
    states.set(world, state);
    return state;
  };
}

type Condition = Row<(exchange: Exchange) => boolean>;
type Of = readonly [text: string, sections: string, kind: Kind];

const answers =
  (operation: Operation): Kind =>
  (response, exchange) =>
    isValid(response, exchange) && exchange.operation === operation;

const errorOf =
  (operation: Operation, code: number): Kind =>
  (response, exchange) =>
    response.status === code && exchange.operation === operation;

/** Valid requests of one operation. */
const valid: readonly Of[] = [
  ['a list', '4.1', answers('list')],
  ['a create', '4.2', answers('create')],
  ['a getPet', '4.3', answers('get')],
];

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const isCreated = ({ at }: Pet): boolean => at > 0;
const createdOf = ({ world }: Exchange): readonly Pet[] => [...world.pets.values()].filter(isCreated);
const header = (exchange: Exchange, name: string): string => String(exchange.headers[name.toLowerCase()] ?? '');
const hasFilter = ({ query }: Exchange): boolean => query.has('status');
const hasLimit = ({ query }: Exchange): boolean => query.has('limit');
const hasBoth = (exchange: Exchange): boolean => hasFilter(exchange) && hasLimit(exchange);
const isBearer = ({ authorization }: Exchange): boolean => /^Bearer \S/.test(authorization);

/** Lists that have more than a plain one. */
const someLists: readonly Condition[] = [
  ['with a filter', hasFilter],
  ['with a limit', hasLimit],
  ['with a filter and a limit', hasBoth],
];

/** Credentials that are not valid. */
const badCredentials: readonly Condition[] = [
  ['without Authorization', ({ authorization }) => authorization === ''],
  ['with a wrong bearer token', isBearer],
  ['with another scheme', (exchange) => exchange.authorization !== '' && !isBearer(exchange)],
];

/** The bodies of errors that are no Error. */
const strangeErrors = frameworkErrors.filter(([text]) => text !== 'a problem document');

const wait = (ms: number, act: () => void): void => void setTimeout(act, ms);

/** Bodies that are sent as they are, instead of JSON. */
const rawBodies = new WeakMap<Exchange, Uint8Array>();
const rawBytes: Hooks['bytes'] = (text, exchange) => rawBodies.get(exchange) ?? base.bytes(text, exchange);

/** Forms of a Pet in an earlier version of the table. */
const oldForms: readonly Row<(fields: JsonObject, pet: Pet) => void>[] = [
  [
    'the number of its status',
    (fields, { status }) => void fields.set('status', new Digits(String(statuses.indexOf(status)))),
  ],
  ['its status in capitals', (fields, { status }) => void fields.set('status', status.toUpperCase())],
  ['the first letter of its status', (fields, { status }) => void fields.set('status', status.charAt(0))],
  ['its categoryId as a string', (fields, { categoryId }) => void fields.set('categoryId', categoryId)],
  ['no categoryId', (fields) => void fields.delete('categoryId')],
  ['null as its categoryId', (fields) => void fields.set('categoryId', null)],
  [
    'title in place of name',
    (fields, { name }) => {
      fields.delete('name');
      fields.set('title', name);
    },
  ],
  ['its name in Base64', (fields, { name }) => void fields.set('name', Buffer.from(name).toString('base64'))],
];

/** Rows that are brought into the new form when they are read, but after they are shown. */
function lazilyMigrated(random: Random): Draw | undefined {
  const n = random.integer(1, 2);
  const [which, isOld] = random.pick<Row<(pet: Pet) => boolean>>([
    ['an animal that was there at the start', (pet) => !isCreated(pet)],
    ['a created animal', isCreated],
    ['an animal that is pending', ({ status }) => status === 'pending'],
    ['an animal that is sold', ({ status }) => status === 'sold'],
  ]);
  const [reads, sections, isRead] = random.pick<readonly [string, string, Condition[1]]>([
    ['getPet', '4.3', ({ operation }) => operation === 'get'],
    ['a list with a filter', '4.1', (exchange) => exchange.operation === 'list' && hasFilter(exchange)],
    ['a list with a limit', '4.1', (exchange) => exchange.operation === 'list' && hasLimit(exchange)],
  ]);
  const [what, change] = random.pick(oldForms);
  // The names of the animals at the start are not known.
  if (what.includes('Base64') && which.includes('start')) return undefined;
  const counts = kept(() => new Map<string, number>());
  return fault(`2 ${sections}`, `The first ${n === 1 ? 'time' : `${n} times`}, ${reads} shows ${which} with ${what}.`, {
    show: (pet, exchange) => {
      const fields = base.show(pet, exchange);
      if (!isRead(exchange) || !isOld(pet)) return fields;
      const count = counts(exchange).get(pet.id) ?? 0;
      counts(exchange).set(pet.id, count + 1);
      if (count < n) change(fields, pet);
      return fields;
    },
  });
}

/** What is sent in response to a request. */
interface Sent {
  readonly to: ServerResponse;
  readonly code: number;
  readonly headers: readonly string[];
  readonly body: Uint8Array;
  readonly exchange: Exchange;
}

/** Sends the status and the body of another response. */
function sendAs({ to, headers, exchange }: Sent, { code, body }: Pick<Sent, 'code' | 'body'>): void {
  const length = headers.indexOf('Content-Length') + 1;
  base.write(to, code, headers.with(length, String(body.length)), body, exchange);
}

/** Requests that a client sends before it has the response to the one before. */
function pipelined(random: Random): Draw {
  const ms = random.pick([4, 8, 12]);
  const depth = random.pick([1, 1, 2]);
  const waiting = kept(() => new Map<number, Sent[]>());
  const before = (exchange: Exchange): readonly Sent[] => waiting(exchange).get(exchange.connection) ?? [];
  const isPipelined = (exchange: Exchange): boolean => before(exchange).length >= depth;
  /** Keeps each response for a moment, and then sends what `as` returns for all that wait on the connection. */
  const holding = (as: (all: readonly Sent[], at: number) => Pick<Sent, 'code' | 'body'>): Pick<Hooks, 'write'> => ({
    write: (to, code, headers, body, exchange) => {
      const all = waiting(exchange);
      const mine = all.get(exchange.connection) ?? [];
      all.set(exchange.connection, mine);
      mine.push({ to, code, headers, body, exchange });
      if (mine.length > 1) return;
      wait(ms, () => {
        all.delete(exchange.connection);
        mine.forEach((one, i) => sendAs(one, as(mine, i)));
      });
    },
  });
  const same = holding((all, at) => all[at]!);
  const [of, section, kind] = random.pick(valid);
  const late: Kind = (response, exchange) => kind(response, exchange) && isPipelined(exchange);
  const whose = depth === 1 ? 'the one before' : `${depth} others`;
  const when = `that is sent before the response to ${whose} on its connection`;
  return random.pick<Draw>([
    fault('5 7', `A request without a valid key ${when} is served if the last of these has the key.`, {
      ...same,
      admits: (exchange, secret) =>
        base.admits(exchange, secret) ||
        (isPipelined(exchange) && base.admits(before(exchange).at(-1)!.exchange, secret)),
    }),
    fault('5', `A request with the key ${when} is 401 if the last of these is 401.`, {
      ...same,
      admits: (exchange, secret) =>
        base.admits(exchange, secret) && !(isPipelined(exchange) && before(exchange).at(-1)!.code === 401),
    }),
    fault(section, `${capital(of)} ${when} gets the response to the first of them.`, {
      ...holding((all, at) =>
        at >= depth && kind({ status: all[at]!.code, headers: [], body: null }, all[at]!.exchange) ? all[0]! : all[at]!,
      ),
    }),
    fault('4.1 4.2 4.3', `Responses to ${depth + 1} or more requests at once on a connection come in reverse order.`, {
      ...holding((all, at) => (all.length > depth ? all.at(-1 - at)! : all[at]!)),
    }),
    fault(section, `${capital(of)} ${when} is 400.`, {
      ...same,
      ...responses(late, (response, exchange) => becomeError(response, exchange, 400)),
    }),
    fault('8', `The response to ${of} ${when} has no rate limit headers.`, {
      ...same,
      ...responses(late, (response) => {
        response.headers = response.headers.filter(([name]) => !name.startsWith('X-RateLimit-'));
      }),
    }),
  ]);
}

/** Parts of a token. */
function partOf(random: Random): Row<(token: string) => string> {
  const n = random.pick([4, 6, 8, 10]);
  return random.pick<Row<(token: string) => string>>([
    [`first ${n} characters`, (token) => token.slice(0, n)],
    [`last ${n} characters`, (token) => token.slice(-n)],
    ['number of characters', (token) => String(token.length)],
    ['characters in any order', (token) => [...token].sort().join('')],
    ['sum of its bytes', (token) => String([...Buffer.from(token)].reduce((sum, byte) => sum + byte, 0))],
    ['text in lower case', (token) => token.toLowerCase()],
    ['text without digits', (token) => token.replace(/\d/g, '')],
  ]);
}

/** Verdicts about tokens that a cache keeps by a part of the token. */
function cachedVerdicts(random: Random): Draw {
  const [part, key] = partOf(random);
  const n = random.integer(1, 5);
  const [scope, scopeOf] = random.pick<Row<(exchange: Exchange) => string>>([
    ['', () => ''],
    [' on the same connection', ({ connection }) => String(connection)],
    [' for the same path', ({ path }) => path],
    [' of the same method', ({ method }) => method],
  ]);
  const accepts = random.pick([true, false]);
  const left = kept(() => new Map<string, number>());
  const isNear = (exchange: Exchange, secret: string): boolean =>
    isBearer(exchange) && tokenOf(exchange) !== secret && key(tokenOf(exchange)) === key(secret);
  const [first, are] = n === 1 ? ['the next request', 'is'] : [`the next ${n} requests`, 'are'];
  return fault(
    '5 7',
    accepts
      ? `After a request with the key, ${first}${scope} may have another token with the same ${part}.`
      : `After a wrong token with the same ${part} as the key, ${first}${scope} with the key ${are} 401.`,
    {
      admits: (exchange, secret) => {
        const name = `${secret} ${scopeOf(exchange)}`;
        const count = left(exchange).get(name) ?? 0;
        const [isRight, near] = [base.admits(exchange, secret), isNear(exchange, secret)];
        if (accepts ? isRight : near) left(exchange).set(name, n);
        else if (count > 0) left(exchange).set(name, count - 1);
        return accepts ? isRight || (near && count > 0) : isRight && count === 0;
      },
    },
  );
}

/** The credentials of another request that is being served, as in a variable that all threads share. */
function sharedIdentity(random: Random): Draw {
  const ms = random.pick([6, 10, 15]);
  const least = random.integer(1, 3);
  const inFlight = kept(() => new Set<Exchange>());
  const [scope, isSame] = random.pick<Row<(one: Exchange, other: Exchange) => boolean>>([
    ['request', () => true],
    ['request of the same operation', (one, other) => one.operation === other.operation],
    ['request with the same path', (one, other) => one.path === other.path],
    ['create', (_one, other) => other.operation === 'create'],
    ['list', (_one, other) => other.operation === 'list'],
  ]);
  const [credentials, isBad] = random.pick(badCredentials);
  const others = (exchange: Exchange): readonly Exchange[] =>
    [...inFlight(exchange)].filter((other) => other.connection !== exchange.connection && isSame(exchange, other));
  const write: Hooks['write'] = (to, code, headers, body, exchange) => {
    inFlight(exchange).add(exchange);
    wait(ms, () => {
      inFlight(exchange).delete(exchange);
      base.write(to, code, headers, body, exchange);
    });
  };
  const many = least === 1 ? `another ${scope}` : `${least} other ${scope.replace(/^(\w+)/, '$1s')}`;
  return random.pick<Draw>([
    fault('5 7', `A request ${credentials} is served while ${many} with the key ${least === 1 ? 'is' : 'are'}.`, {
      write,
      admits: (exchange, secret) =>
        base.admits(exchange, secret) ||
        (isBad(exchange) && others(exchange).filter((other) => base.admits(other, secret)).length >= least),
    }),
    fault('5', `A request with the key is 401 while ${many} ${credentials} ${least === 1 ? 'is' : 'are'} served.`, {
      write,
      admits: (exchange, secret) =>
        base.admits(exchange, secret) &&
        others(exchange).filter((other) => isBad(other) && !base.admits(other, secret)).length < least,
    }),
  ]);
}

/** Lists that are put together from the shards of the table. */
function sharded(random: Random): Draw {
  const n = random.integer(2, 4);
  const animals = random.integer(30, 70);
  const sum = (text: string): number => [...text].reduce((total, one) => total + one.codePointAt(0)!, 0);
  const [by, shardOf] = random.pick<Row<(pet: Pet) => number>>([
    ['id', ({ id }) => Number(BigInt.asUintN(62, BigInt(id)) % BigInt(n))],
    ['categoryId', ({ categoryId }) => Number(BigInt.asUintN(62, BigInt(categoryId)) % BigInt(n))],
    ['the letters of its name', ({ name }) => sum(name) % n],
  ]);
  const [when, applies] = random.pick(someLists);
  const at = random.integer(0, n - 1);
  const shards = (rows: readonly Pet[]): Pet[][] =>
    Array.from({ length: n }, (_none, shard) => rows.filter((pet) => shardOf(pet) === shard));
  const empty = random.pick<Row<Json>>([
    ['null', null],
    ['an empty object', new Map()],
    ['an empty array', []],
    ['the text timeout', 'timeout'],
  ]);
  const few = kept(() => new WeakSet<Exchange>());
  const lists = `With ${n} shards by ${by}, a list ${when}`;
  return random.pick<Draw>([
    fault('4.1 8', `${lists} has up to its limit of animals from each shard (${animals} animals at the start).`, {
      animals: () => animals,
      page: (rows, limit, exchange) =>
        applies(exchange) ? shards(rows).flatMap((part) => part.slice(0, limit)) : base.page(rows, limit, exchange),
    }),
    fault('4.1', `With ${n} shards by ${by}, shard ${at} does not receive the filter of a list ${when}.`, {
      fits: (pet, filter, exchange) =>
        base.fits(pet, filter, exchange) || (applies(exchange) && isCreated(pet) && shardOf(pet) === at),
    }),
    fault('2 4.1', `${lists} shows the ids that the animals have in their shards.`, {
      show: (pet, exchange) =>
        base.show(
          exchange.operation === 'list' && applies(exchange)
            ? { ...pet, id: String(BigInt(pet.id) / BigInt(n) + 1n) }
            : pet,
          exchange,
        ),
    }),
    fault('2 4.1', `${lists} has ${empty[0]} at its end for each shard of which it shows no animal.`, {
      page: (rows, limit, exchange) => {
        const page = base.page(rows, limit, exchange);
        if (applies(exchange) && shards(page).some((part) => part.length === 0)) few(exchange).add(exchange);
        return page;
      },
      ...responses(
        (response, exchange) => answers('list')(response, exchange) && few(exchange).has(exchange),
        (response) => void (response.body as Json[]).push(empty[1]),
      ),
    }),
  ]);
}

/** Places in which a Pet object, or a buffer, is used again. */
const reuses: readonly (readonly [
  text: string,
  sections: string,
  operation: Operation,
  scopeOf: (exchange: Exchange) => string,
])[] = [
  ['In lists', '4.1', 'list', ({ world }) => `row ${world.requests}`],
  ['In a 200 of getPet', '4.3', 'get', () => 'get'],
  ['In a 200 of getPet on the same connection', '4.3', 'get', ({ connection }) => `get ${connection}`],
  ['In a 201', '4.2', 'create', () => 'create'],
  ['In a 201 on the same connection', '4.2', 'create', ({ connection }) => `create ${connection}`],
];

/** Objects of a pool, in which a value that counts as empty does not replace the one before. */
function pooledObjects(random: Random): Draw | undefined {
  const [where, sections, operation, scopeOf] = random.pick(reuses);
  type Case = readonly [text: string, field: 'name' | 'categoryId' | 'status', isEmpty: (pet: Pet) => boolean];
  const [what, field, isEmpty] = random.pick<Case>([
    ['an empty name', 'name', ({ name }) => name === ''],
    ['a name of white space', 'name', ({ name }) => name !== '' && name.trim() === ''],
    ['the name 0', 'name', ({ name }) => name === '0'],
    ['the categoryId 0', 'categoryId', ({ categoryId }) => categoryId === '0'],
    ['a negative categoryId', 'categoryId', ({ categoryId }) => categoryId.startsWith('-')],
    ['the categoryId 1', 'categoryId', (pet) => isCreated(pet) && pet.categoryId === '1'],
    ['the status available', 'status', ({ status }) => status === 'available'],
  ]);
  // Section 3 leaves open how a status changes later.
  if (field === 'status' && operation !== 'create') return undefined;
  const last = kept(() => new Map<string, Pet>());
  return fault(`2 ${sections}`, `${where}, an animal with ${what} has the ${field} of the one shown before it.`, {
    show: (pet, exchange) => {
      if (exchange.operation !== operation) return base.show(pet, exchange);
      const before = last(exchange).get(scopeOf(exchange));
      const now = before !== undefined && isEmpty(pet) ? { ...pet, [field]: before[field] } : { ...pet };
      last(exchange).set(scopeOf(exchange), now);
      return base.show(now, exchange);
    },
  });
}

/** Buffers that keep the end of a longer text. */
function usedBuffer(random: Random): Draw {
  const [where, sections, operation, scopeOf] = random.pick(reuses);
  const n = random.pick([12, 16, 20, 24, 32]);
  const [which, isOne] = random.pick<Row<(name: string, before: string) => boolean>>([
    [`of more than ${n} characters`, (_name, before) => before.length > n],
    [`that is longer by at least ${n} characters`, (name, before) => before.length >= name.length + n],
    ['that is not ASCII', (_name, before) => /[^\0-\x7f]/.test(before)],
    ['with the same first two characters', (name, before) => name.slice(0, 2) === before.slice(0, 2)],
  ]);
  const [how, join] = random.pick<Row<(name: string, before: string) => string>>([
    ['has the rest of that', (name, before) => name + before.slice(name.length)],
    ['has the last character of that', (name, before) => name + before.slice(-1)],
    ['is filled up with spaces to its length', (name, before) => name.padEnd(before.length)],
    ['is filled up with U+0000 to its length', (name, before) => name.padEnd(before.length, '\0')],
  ]);
  const last = kept(() => new Map<string, string>());
  return fault(`2 ${sections}`, `${where}, a name that follows a longer one ${which} ${how}.`, {
    show: (pet, exchange) => {
      const fields = base.show(pet, exchange);
      if (exchange.operation !== operation) return fields;
      const before = last(exchange).get(scopeOf(exchange)) ?? '';
      last(exchange).set(scopeOf(exchange), pet.name);
      if (before.length > pet.name.length && isOne(pet.name, before)) fields.set('name', join(pet.name, before));
      return fields;
    },
  });
}

/** Values that are stored once, in a table with a weak hash. */
function dictionary(random: Random): Draw {
  const ends = ({ name }: Pet): string => `${name.length} ${name.slice(0, 1)} ${name.slice(-1)}`;
  const bytes = ({ name }: Pet): number => [...Buffer.from(name)].reduce((sum, byte) => sum + byte, 0);
  const [what, field, hash] = random.pick<readonly [string, 'name' | 'categoryId', (pet: Pet) => string]>([
    ['length, first and last character', 'name', ends],
    ['characters in another order', 'name', ({ name }) => [...name].sort().join('')],
    ['sum of the bytes', 'name', (pet) => String(bytes(pet))],
    ['first ten characters and length', 'name', ({ name }) => `${name.length} ${name.slice(0, 10)}`],
    ['last ten characters and length', 'name', ({ name }) => `${name.length} ${name.slice(-10)}`],
    ['low eight bits', 'categoryId', ({ categoryId }) => String(BigInt.asUintN(8, BigInt(categoryId)))],
    ['low 32 bits', 'categoryId', ({ categoryId }) => String(BigInt.asUintN(32, BigInt(categoryId)))],
    ['absolute value', 'categoryId', ({ categoryId }) => categoryId.replace('-', '')],
    ['last three digits and length', 'categoryId', ({ categoryId }) => `${categoryId.length} ${categoryId.slice(-3)}`],
    ['value as a double', 'categoryId', ({ categoryId }) => String(Number(categoryId))],
  ]);
  const seconds = random.pick([5, 30, undefined]);
  const [which, isOther] = random.pick<Row<(pet: Pet, other: Pet) => boolean>>([
    ['animal', () => true],
    ['animal of the same category', (pet, other) => pet.categoryId === other.categoryId],
    ['animal with another status', (pet, other) => pet.status !== other.status],
  ]);
  const isCategory = field === 'categoryId';
  const age = seconds === undefined ? '' : ` of the last ${seconds} s`;
  return fault(
    '4.2 4.3',
    `The ${field} of a created animal is stored as that of an earlier created ${isCategory ? 'animal' : which}${age} ` +
      `with the same ${what}.`,
    {
      keep: (pet, exchange) => {
        const other = createdOf(exchange).find(
          (one) =>
            hash(one) === hash(pet) &&
            (isCategory || isOther(pet, one)) &&
            (seconds === undefined || exchange.now - one.at <= seconds * 1000),
        );
        return { ...pet, [field]: other?.[field] ?? pet[field] };
      },
    },
  );
}

/** Lists that pass through a file with one compressed column for each field. */
function columnar(random: Random): Draw {
  const n = random.integer(2, 3);
  const k = random.integer(4, 12);
  const bits = random.pick([8, 16, 32]);
  const same = (rows: readonly Pet[], i: number, field: 'name' | 'categoryId'): boolean =>
    i > n && rows.slice(i - n, i).every((row) => row[field] === rows[i - 1]![field]);
  const shared = (one: string, other: string): number => {
    let length = 0;
    while (length < one.length && one[length] === other[length]) length += 1;
    return length;
  };
  const [what, change] = random.pick<Row<(pet: Pet, i: number, rows: readonly Pet[]) => Partial<Pet>>>([
    [
      `after ${n} equal categoryIds, the next row has it too`,
      (_pet, i, rows) => (same(rows, i, 'categoryId') ? { categoryId: rows[i - 1]!.categoryId } : {}),
    ],
    [
      `after ${n} equal names, the next row has it too`,
      (_pet, i, rows) => (same(rows, i, 'name') ? { name: rows[i - 1]!.name } : {}),
    ],
    [
      `a categoryId whose difference to that of the row before exceeds ${bits} bits wraps around`,
      ({ categoryId }, i, rows) => {
        const before = BigInt(rows[i - 1]?.categoryId ?? categoryId);
        return { categoryId: String(before + BigInt.asIntN(bits, BigInt(categoryId) - before)) };
      },
    ],
    [
      `the ${k + 1}th different name and all later ones become the first name`,
      ({ name }, i, rows) => {
        const names = [...new Set(rows.slice(0, i + 1).map((row) => row.name))];
        return names.indexOf(name) >= k ? { name: rows[0]!.name } : {};
      },
    ],
    [
      `a name loses what it has in common with the row before at its start, from ${k} characters on`,
      ({ name }, i, rows) => {
        const length = shared(name, rows[i - 1]?.name ?? '');
        return length >= k ? { name: name.slice(length) } : {};
      },
    ],
    [
      'a categoryId has at most as many decimal digits as that of the first row or four, the lowest',
      ({ categoryId }, _i, rows) => ({
        categoryId: categoryId.slice(-Math.max(4, rows[0]!.categoryId.length)).replace(/^0+(?=\d)/, ''),
      }),
    ],
  ]);
  const [when, applies] = random.pick(someLists);
  return fault(
    '4.1 2',
    `In a list ${when}, ${what}.`,
    pages((page, exchange) =>
      applies(exchange) ? page.map((pet, i) => ({ ...pet, ...change(pet, i, page) })) : page,
    ),
  );
}

/** Lists that are read and written in batches. */
function batches(random: Random): Draw {
  const size = random.pick([4, 5, 8, 10, 16, 25, 32]);
  const animals = size * random.integer(2, 3) + random.integer(1, 5);
  const [when, applies] = random.pick(someLists);
  const kind: Kind = (response, exchange) =>
    answers('list')(response, exchange) && applies(exchange) && (response.body as Json[]).length > size;
  const split = (rows: readonly Json[]): Json[][] =>
    Array.from({ length: Math.ceil(rows.length / size) }, (_none, i) => rows.slice(i * size, (i + 1) * size));
  const joined = (between: string): Change => ({
    ...responses(kind, ({ body }, exchange) => {
      const parts = split(body as Json[]).map((rows) => rows.map(writeJson).join());
      rawBodies.set(exchange, Buffer.from(`[${parts.join(between)}]`));
    }),
    bytes: rawBytes,
  });
  const rows = (change: (row: JsonObject, before: JsonObject) => Json | undefined): Change =>
    responses(kind, (response) => {
      const list = response.body as JsonObject[];
      response.body = list.map((row, i) => (i > 0 && i % size === 0 ? (change(row, list[i - 1]!) ?? row) : row));
    });
  const [what, change] = random.pick<Row<Change>>([
    ['there is no comma', joined('')],
    ['there are two commas', joined(',,')],
    ['the array ends and another one begins', joined('][')],
    ['there is a line feed in place of the comma', joined('\n')],
    ['the row before is repeated in place of the next one', rows((_row, before) => before)],
    ['the next row has the name of the one before', rows((row, before) => void row.set('name', before.get('name')!))],
    ['the next row has no categoryId', rows((row) => void row.delete('categoryId'))],
    ['the next row is null', rows(() => null)],
    [
      'the rest is in further arrays',
      responses(kind, (response) => {
        const [first = [], ...others] = split(response.body as Json[]);
        response.body = [...first, ...others];
      }),
    ],
  ]);
  return fault('1 2 4.1', `In a list ${when}, after each ${size} rows ${what} (${animals} animals at the start).`, {
    ...change,
    animals: () => animals,
  });
}

/** Clients of an earlier time, for which a service still has another behaviour. */
function oldClients(random: Random): Draw {
  const agent = random.pick(['curl/', 'python-requests/', 'okhttp/', 'Go-http-client/', 'Java/', 'PostmanRuntime/']);
  const isOld = (exchange: Exchange): boolean => header(exchange, 'user-agent').startsWith(agent);
  const when = `a client whose User-Agent begins with ${agent}`;
  const errors: readonly Of[] = [
    ['a 404 of getPet', '4.3 7', errorOf('get', 404)],
    ['a 400 of createPet', '4.2 7', errorOf('create', 400)],
    ['a 401', '5 7', ({ status }) => status === 401],
  ];
  const [of, sections, kind] = random.pick(valid);
  const [error, errorSections, isError] = random.pick(errors);
  const to =
    (of: Kind): Kind =>
    (response, exchange) =>
      of(response, exchange) && isOld(exchange);
  const each = (body: Json | undefined, change: (pet: JsonObject) => void): void => {
    for (const pet of Array.isArray(body) ? body : [body]) if (pet instanceof Map) change(pet);
  };
  const [what, change] = random.pick<Row<(response: MutantResponse) => void>>([
    ['has its ids as strings', ({ body }) => each(body, (pet) => void pet.set('id', (pet.get('id') as Digits).text))],
    ['has true or false as status', ({ body }) => each(body, (pet) => pet.set('status', pet.get('status') === 'sold'))],
    ['is in a member result', (response) => void (response.body = new Map([['result', response.body!]]))],
    ['has no categoryId', ({ body }) => each(body, (pet) => void pet.delete('categoryId'))],
    ['has the type text/json', (response) => setHeader(response, 'Content-Type', 'text/json')],
    ['has no body', (response) => void (response.body = undefined)],
  ]);
  const [form, wrong] = random.pick<Row<(response: MutantResponse) => void>>([
    ['is sent with 200', (response) => void (response.status = 200)],
    ['has no code', ({ body }) => each(body, (fields) => void fields.delete('code'))],
    ['has a number as code', ({ body, status }) => each(body, (fields) => fields.set('code', new Digits(`${status}`)))],
    ['has a member error in place of message', ({ body }) => each(body, renamed)],
  ]);
  return random.pick<Draw>([
    fault(`1 2 ${sections}`, `The response to ${of} by ${when} ${what}.`, responses(to(kind), change)),
    fault(`2 ${errorSections}`, `${capital(error)} to ${when} ${form}.`, responses(to(isError), wrong)),
    fault(
      '4.2',
      `A create by ${when} is 200.`,
      responses(to(answers('create')), (response) => void (response.status = 200)),
    ),
  ]);
}

function renamed(error: JsonObject): void {
  error.set('error', error.get('message') ?? '');
  error.delete('message');
}

/** Headers about the connection, which a proxy takes as a request for something else. */
function connectionHeaders(random: Random): Draw {
  const [when, met] = random.pick<Condition>([
    ['Upgrade: h2c', (exchange) => header(exchange, 'upgrade').includes('h2c')],
    ['TE: trailers', (exchange) => header(exchange, 'te').includes('trailers')],
    ['Connection: close', (exchange) => header(exchange, 'connection').toLowerCase() === 'close'],
    ['Keep-Alive', (exchange) => header(exchange, 'keep-alive') !== ''],
    ['Proxy-Connection', (exchange) => header(exchange, 'proxy-connection') !== ''],
    ['Max-Forwards: 0', (exchange) => header(exchange, 'max-forwards') === '0'],
    ['Forwarded', (exchange) => header(exchange, 'forwarded') !== ''],
  ]);
  const [of, sections, kind] = random.pick(valid);
  const hit: Kind = (response, exchange) => kind(response, exchange) && met(exchange);
  const [as, error] = random.pick(strangeErrors);
  const n = random.pick([1, 2, 8]);
  const short = kept(() => new WeakSet<Exchange>());
  const [what, hooks] = random.pick<Row<Change>>([
    [`is 426 with ${as}`, sending(hit, 426, error)],
    [`is 505 with ${as}`, sending(hit, 505, error)],
    [`is 400 with ${as}`, sending(hit, 400, error)],
    ['is 401', responses(hit, (response, exchange) => becomeError(response, exchange, 401))],
    [
      `lacks the last ${n === 1 ? 'byte' : `${n} bytes`} of the body`,
      {
        ...responses(hit, (_response, exchange) => void short(exchange).add(exchange)),
        bytes: (text, exchange) => {
          const bytes = base.bytes(text, exchange);
          return short(exchange).has(exchange) ? bytes.subarray(0, -n) : bytes;
        },
      },
    ],
  ]);
  return fault(`1 ${sections}`, `The response to ${of} with the header ${when} ${what}.`, hooks);
}

/** Responses to other requests for a URL, which a cache also keeps for its GETs. */
function otherRequests(random: Random): Draw {
  const seconds = random.pick([1, 2, 5, 10]);
  const n = random.integer(1, 4);
  const byTime = random.pick([true, false]);
  const method = random.pick(['HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH']);
  type Keep = (response: MutantResponse, bytes: Uint8Array) => Pick<Sent, 'code' | 'body'>;
  const empty: Keep = () => ({ code: 200, body: new Uint8Array() });
  const [what, effect, isOther, keep] = random.pick<readonly [string, string, Kind, Keep]>([
    [`the method ${method} for a URL`, 'an empty 200', (_response, exchange) => exchange.method === method, empty],
    [
      `the method ${method} for a URL`,
      'its response',
      (_response, exchange) => exchange.method === method,
      ({ status }, body) => ({ code: status, body }),
    ],
    [
      'a GET with Range',
      'its first 10 bytes',
      (response, exchange) => isValid(response, exchange) && /^bytes=/.test(header(exchange, 'range')),
      (_response, bytes) => ({ code: 200, body: bytes.subarray(0, 10) }),
    ],
    [
      'a GET with Accept-Encoding: gzip',
      'its body in gzip, without Content-Encoding',
      (response, exchange) => isValid(response, exchange) && /gzip/.test(header(exchange, 'accept-encoding')),
      (_response, bytes) => ({ code: 200, body: gzipSync(bytes) }),
    ],
    [
      'a GET with If-None-Match',
      'a 304',
      (response, exchange) => isValid(response, exchange) && header(exchange, 'if-none-match') !== '',
      () => ({ code: 304, body: new Uint8Array() }),
    ],
    [
      'a create that is 400',
      'its 400',
      errorOf('create', 400),
      (_response, body) => ({ code: 400, body }),
    ],
    [
      'a create that is 401',
      'its 401',
      errorOf('create', 401),
      (_response, body) => ({ code: 401, body }),
    ],
  ]);
  const cache = kept(() => new Map<string, Pick<Sent, 'code' | 'body'> & { at: number; left: number }>());
  const isTrigger = kept(() => new WeakMap<Exchange, MutantResponse>());
  const long = byTime ? `for ${seconds} s` : n === 1 ? 'once' : `${n} times`;
  return fault(
    '4.1 4.3',
    `After ${what}, GETs of the same URL get ${effect} ${long}.`,
    {
      response: (response, exchange) => {
        if (isOther(response, exchange)) isTrigger(exchange).set(exchange, response);
        return response;
      },
      write: (to, code, headers, body, exchange) => {
        const url = `${exchange.fullPath}?${exchange.search}`;
        const response = isTrigger(exchange).get(exchange);
        if (response !== undefined) {
          cache(exchange).set(url, { ...keep(response, body), at: exchange.now, left: n });
          return base.write(to, code, headers, body, exchange);
        }
        const hit = cache(exchange).get(url);
        const isFresh = hit !== undefined && (byTime ? exchange.now - hit.at < seconds * 1000 : hit.left > 0);
        if (!isFresh || exchange.method !== 'GET' || code !== 200) {
          return base.write(to, code, headers, body, exchange);
        }
        hit.left -= 1;
        return sendAs({ to, code, headers, body, exchange }, hit);
      },
    },
  );
}

/** Creates that fail, and what is wrong with them. */
const failures: readonly (readonly [text: string, isOne: Kind])[] = [
  ['a create without a name', (response, exchange) => failed(response, exchange) && !fieldsOf(exchange).has('name')],
  [
    'a create without a categoryId',
    (response, exchange) => failed(response, exchange) && !fieldsOf(exchange).has('categoryId'),
  ],
  [
    'a create with an unknown status',
    (response, exchange) => failed(response, exchange) && typeof fieldsOf(exchange).get('status') === 'string',
  ],
  [
    'a create with a string as categoryId',
    (response, exchange) => failed(response, exchange) && typeof fieldsOf(exchange).get('categoryId') === 'string',
  ],
  ['a create that is 401', (response, exchange) => errorOf('create', 401)(response, exchange)],
];

function failed(response: MutantResponse, exchange: Exchange): boolean {
  return errorOf('create', 400)(response, exchange) && fieldsOf(exchange).size > 0;
}

/** Columns that a failed create has filled in part, so that they are no longer in step. */
function outOfStep(random: Random): Draw | undefined {
  const [what, isFailure] = random.pick(failures);
  const field = random.pick(['name', 'categoryId'] as const);
  if (what.includes(`without a ${field}`) || (field === 'categoryId' && what.includes('as categoryId'))) {
    return undefined;
  }
  const n = random.pick([3, 5, undefined]);
  const [scope, scopeOf] = random.pick<Row<(exchange: Exchange) => string>>([
    ['', () => ''],
    [' on the same connection', ({ connection }) => String(connection)],
  ]);
  const columns = kept(() => new Map<string, { values: string[]; left: number }>());
  return fault(
    '4.2 4.3',
    `${capital(what)} leaves its ${field} in the column, so that ${n === undefined ? 'all' : `${n}`} later animals` +
      `${scope} get the ${field} of the one before.`,
    {
      ...responses(isFailure, (_response, exchange) => {
        const value = fieldsOf(exchange).get(field);
        const text = value instanceof Digits ? value.text : value;
        if (typeof text !== 'string' || (field === 'categoryId' && !/^-?\d{1,18}$/.test(text))) return;
        columns(exchange).set(scopeOf(exchange), { values: [text], left: n ?? Infinity });
      }),
      keep: (pet, exchange) => {
        const column = columns(exchange).get(scopeOf(exchange));
        if (column === undefined || column.left <= 0) return pet;
        column.left -= 1;
        column.values.push(pet[field]);
        return { ...pet, [field]: column.values.shift()! };
      },
    },
  );
}

/** What a failed create leaves for the next one. */
function leftByFailure(random: Random): Draw {
  const [what, isFailure] = random.pick(failures);
  const n = random.integer(1, 4);
  const ms = random.pick([100, 500, 2000]);
  const [scope, isNext] = random.pick<Row<(left: { at: number; connection: number }, exchange: Exchange) => boolean>>([
    ['', () => true],
    [' on another connection', (left, { connection }) => left.connection !== connection],
    [` within ${ms} ms`, (left, { now }) => now - left.at <= ms],
  ]);
  const state = kept(() => ({ left: undefined as { at: number; connection: number; count: number } | undefined }));
  const affected = kept(() => new WeakSet<Exchange>());
  /** Whether a valid create is one of those that are affected. */
  const isAffected = (exchange: Exchange): boolean => {
    if (affected(exchange).has(exchange)) return true;
    const { left } = state(exchange);
    if (left === undefined || left.count === 0 || !isNext(left, exchange)) return false;
    left.count -= 1;
    affected(exchange).add(exchange);
    return true;
  };
  const noting: Change = responses(isFailure, (_response, { world, now, connection }) => {
    state({ world }).left = { at: now, connection, count: n };
  });
  const hit: Kind = (response, exchange) => answers('create')(response, exchange) && isAffected(exchange);
  const [effect, hooks] = random.pick<Row<Change>>([
    ['400, although the animal is stored', responses(hit, (response, at) => becomeError(response, at, 400))],
    ['201 with an Error', responses(hit, (response, at) => becomeError(response, at, 201))],
    [
      '201 with the id of the animal before',
      {
        ...responses(hit, ({ body }) => {
          const id = BigInt(((body as JsonObject).get('id') as Digits).text);
          (body as JsonObject).set('id', new Digits(String(id - 1n)));
        }),
      },
    ],
    ['201, but not stored', { keep: (pet, exchange) => (isAffected(exchange) ? undefined : pet) }],
    [
      '201, but stored with the categoryId 0',
      { keep: (pet, exchange) => (isAffected(exchange) ? { ...pet, categoryId: '0' } : pet) },
    ],
  ]);
  const next = n === 1 ? 'the next create' : `each of the next ${n} creates`;
  return fault('4.2 4.3', `After ${what}, ${next}${scope} is ${effect}.`, chained(noting, hooks));
}

/** Tables of ids that grow when they are full. */
function growingTable(random: Random): Draw {
  const n = random.integer(5, 9);
  const size = random.pick([8, 16, 32]);
  const [when, isFull] = random.pick<Row<(count: number) => boolean>>([
    [`a multiple of ${n}`, (count) => count % n === 0],
    ['a power of 2', (count) => (count & (count - 1)) === 0],
    [`three quarters of a multiple of ${size}`, (count) => count % size === (size / 4) * 3],
    [`a prime number above ${size}`, (count) => count > size && isPrime(count)],
  ]);
  const [what, change] = random.pick<Row<(pet: Pet, exchange: Exchange) => Pet | undefined>>([
    ['the newest animal', (pet, exchange) => (pet.id === createdOf(exchange).at(-1)?.id ? undefined : pet)],
    [
      'each third created animal',
      (pet, exchange) => (isCreated(pet) && createdOf(exchange).indexOf(pet) % 3 === 1 ? undefined : pet),
    ],
    ['an animal that was there at the start', (pet) => (isCreated(pet) ? pet : undefined)],
  ]);
  const other = random.pick([true, false]);
  const [where, section, hooks] = random.pick<readonly [string, string, Change]>([
    [
      'getPet does not find',
      '4.3 7',
      found((pet, _id, exchange) =>
        pet === undefined || !isFull(exchange.world.pets.size) ? pet : change(pet, exchange),
      ),
    ],
    [
      `getPet shows the ${other ? 'oldest' : 'second oldest'} one in place of`,
      '4.3',
      found((pet, _id, exchange) =>
        pet === undefined || !isFull(exchange.world.pets.size)
          ? pet
          : (change(pet, exchange) ?? [...exchange.world.pets.values()][other ? 0 : 1]),
      ),
    ],
  ]);
  return fault(section, `While the number of animals is ${when}, ${where} ${what}.`, hooks);
}

function isPrime(n: number): boolean {
  for (let factor = 2; factor * factor <= n; factor += 1) if (n % factor === 0) return false;
  return n > 1;
}

/** Texts whose length is a whole number of blocks. */
function wholeBlocks(random: Random): Draw {
  const n = random.pick([8, 12, 16, 24, 32]);
  const [what, isWhole] = random.pick<Condition>([
    ['the bytes of its body', ({ body }) => Buffer.byteLength(body) % n === 0],
    ['the bytes of its name', (exchange) => wholeName(exchange, n, Buffer.byteLength)],
    ['the characters of its name', (exchange) => wholeName(exchange, n, (name) => name.length)],
  ]);
  const hit: Kind = (response, exchange) => answers('create')(response, exchange) && isWhole(exchange);
  const [as, error] = random.pick(strangeErrors);
  const named = (change: (name: string) => string): Change => ({
    keep: (pet, exchange) => (isWhole(exchange) ? { ...pet, name: change(pet.name) } : pet),
  });
  // Section 2 leaves open which names are valid, so that a name may be refused with 400.
  const refused: readonly Row<Change>[] = what.includes('name')
    ? []
    : [['it is 400', responses(hit, (response, exchange) => becomeError(response, exchange, 400))]];
  const [effect, hooks] = random.pick<Row<Change>>([
    ...refused,
    [`it is 408 with ${as}`, sending(hit, 408, error)],
    ['the name is stored without its last character', named((name) => name.slice(0, -1))],
    ['the name is stored with U+0000 at its end', named((name) => `${name}\0`)],
    [`the name is stored with ${n} spaces at its end`, named((name) => name + ' '.repeat(n))],
    ['the name is stored twice', named((name) => name + name)],
    ['the 201 has no body', responses(hit, (response) => void (response.body = undefined))],
  ]);
  return fault('2 4.2 4.3', `If the number of ${what} is a multiple of ${n}, a create fails: ${effect}.`, hooks);
}

function wholeName(exchange: Exchange, n: number, sizeOf: (name: string) => number): boolean {
  const name = fieldsOf(exchange).get('name');
  return typeof name === 'string' && name !== '' && sizeOf(name) % n === 0;
}

/** Bodies of responses whose length is a whole number of blocks. */
function wholeResponses(random: Random): Draw {
  const n = random.pick([4, 8, 12, 16, 32]);
  const [of, sections, isOne] = random.pick<readonly [string, string, Condition[1]]>([
    ['a 201', '4.2', ({ operation, method }) => operation === 'create' && method === 'POST'],
    ['a 200 of getPet', '4.3', ({ operation }) => operation === 'get'],
    ['a list with a limit', '4.1', (exchange) => exchange.operation === 'list' && hasLimit(exchange)],
    ['a list with a filter', '4.1', (exchange) => exchange.operation === 'list' && hasFilter(exchange)],
  ]);
  const [what, change] = random.pick<Row<(body: Buffer) => Uint8Array>>([
    ['lacks its last byte', (body) => body.subarray(0, -1)],
    [`lacks its last ${n} bytes`, (body) => body.subarray(0, -n)],
    ['is followed by U+0000', (body) => Buffer.concat([body, Buffer.alloc(1)])],
    [`is followed by its last ${n} bytes again`, (body) => Buffer.concat([body, body.subarray(-n)])],
    ['is empty', () => new Uint8Array()],
  ]);
  return fault(`1 ${sections}`, `The body of ${of} ${what} if its number of bytes is a multiple of ${n}.`, {
    bytes: (text, exchange) => {
      const body = Buffer.from(base.bytes(text, exchange));
      return isOne(exchange) && !text.includes('"code"') && body.length % n === 0 ? change(body) : body;
    },
  });
}

/** Values from other places, which a binder prefers to those of the body. */
function overwritten(random: Random): Draw {
  const isName = random.pick([true, false]);
  const field = isName ? 'name' : 'categoryId';
  const inner =
    (outer: string, name: string) =>
    (exchange: Exchange): Json | undefined => {
      const value = fieldsOf(exchange).get(outer);
      return value instanceof Map ? value.get(name) : undefined;
    };
  const member =
    (name: string) =>
    (exchange: Exchange): Json | undefined =>
      fieldsOf(exchange).get(name);
  const digits = (text: string | null): Json | undefined => (text === null ? undefined : new Digits(text));
  const [outer, alias, shortName] = [
    random.pick(['pet', 'data', 'attributes', '$set', 'input']),
    random.pick(isName ? ['title', 'displayName', 'name_en', 'petName'] : ['categoryID', 'category', 'catId', 'type']),
    random.pick(isName ? ['label', 'text'] : ['id', 'categoryId']),
  ];
  const [from, read] = random.pick<Row<(exchange: Exchange) => Json | undefined>>([
    [
      `the query parameter ${field}`,
      ({ query }) => (isName ? (query.get('name') ?? undefined) : digits(query.get(field))),
    ],
    [`the member ${field} of a member ${outer}`, inner(outer, field)],
    [`a member ${alias}`, member(alias)],
    [`a member ${isName ? 'names' : 'category'} with ${shortName}`, inner(isName ? 'names' : 'category', shortName)],
    [`a member ${field}[]`, member(`${field}[]`)],
  ]);
  const valueOf = (exchange: Exchange): string | undefined =>
    exchange.operation !== 'create'
      ? undefined
      : isName
        ? base.name(read(exchange), exchange)
        : base.category(read(exchange), exchange);
  const over = (pet: Pet, exchange: Exchange): Pet => ({ ...pet, [field]: valueOf(exchange) ?? pet[field] });
  const inStore = random.pick([true, false]);
  return fault(
    '2 4.2 4.3',
    `In a create, ${from} overwrites the ${field}${inStore ? ' in the store' : ', also in the 201'}.`,
    {
      keep: over,
      ...(!inStore && { show: (pet, exchange) => base.show(over(pet, exchange), exchange) }),
    },
  );
}

/** Connections, or a whole service, after a pause. */
function paused(random: Random, whole: boolean): Draw {
  const seconds = whole ? random.pick([1, 2, 3]) : random.pick([1, 2, 3, 5]);
  const n = whole ? random.integer(1, 4) : 1;
  const last = kept(() => new Map<number, { at: number; left: number }>());
  const affected = kept(() => new WeakSet<Exchange>());
  const bodies = kept(() => new Map<number, Json | undefined>());
  const placeOf = ({ connection }: Exchange): number => (whole ? 0 : connection);
  /** Is called for each request, before anything else. */
  const arrives = (exchange: Exchange): void => {
    const state = last(exchange).get(placeOf(exchange)) ?? { at: exchange.now, left: 0 };
    if (exchange.now - state.at >= seconds * 1000) state.left = n;
    if (state.left > 0) affected(exchange).add(exchange);
    last(exchange).set(placeOf(exchange), { at: exchange.now, left: Math.max(0, state.left - 1) });
  };
  const noted = kept(() => new WeakSet<Exchange>());
  const isLate = (exchange: Exchange): boolean => {
    if (!noted(exchange).has(exchange)) arrives(exchange);
    noted(exchange).add(exchange);
    return affected(exchange).has(exchange);
  };
  const [of, sections, kind] = random.pick(valid);
  const hit: Kind = (response, exchange) => isLate(exchange) && kind(response, exchange);
  const [as, error] = random.pick(strangeErrors);
  const note: Change = {
    admits: (exchange, secret) => {
      isLate(exchange);
      return base.admits(exchange, secret);
    },
  };
  const effects: readonly (readonly [effect: string, sections: string, hooks: Change])[] = [
    [`${of} is 401`, `5 ${sections}`, responses(hit, (response, exchange) => becomeError(response, exchange, 401))],
    [`${of} is 500 with ${as}`, sections, sending(hit, 500, error)],
    [`${of} is 408 with ${as}`, sections, sending(hit, 408, error)],
    [
      'a create is 201, but not stored',
      '4.2 4.3',
      { keep: (pet, exchange) => (isLate(exchange) ? undefined : pet) },
    ],
    [
      `${of} has no rate limit headers`,
      '8',
      responses(hit, (response) => {
        response.headers = response.headers.filter(([name]) => !name.startsWith('X-RateLimit-'));
      }),
    ],
    ...(whole
      ? ([
          [
            'getPet finds no created animal',
            '4.3 7',
            found((pet, _id, exchange) => (pet && isCreated(pet) && isLate(exchange) ? undefined : pet)),
          ],
          [
            'a Pet has no categoryId',
            '2 4.1 4.2 4.3',
            shown('all', (fields, _pet, exchange) => void (isLate(exchange) && fields.delete('categoryId'))),
          ],
          [
            'any token is accepted',
            '5 7',
            {
              admits: (exchange: Exchange, secret: string) =>
                (isLate(exchange) && isBearer(exchange)) || base.admits(exchange, secret),
            },
          ],
        ] as const)
      : ([
          [
            'a GET gets the response to the last one',
            '4.1 4.3',
            responses(
              (response, exchange) => response.status === 200 && exchange.method === 'GET',
              (response, exchange) => {
                const all = bodies(exchange);
                const before = all.get(exchange.connection);
                all.set(exchange.connection, response.body);
                if (isLate(exchange) && before !== undefined) response.body = before;
              },
            ),
          ],
          [
            'it needs no key if the connection had one before',
            '5 7',
            {
              admits: (exchange: Exchange, secret: string) => {
                const late = isLate(exchange);
                const { notes } = exchange.world;
                const known = `paused ${exchange.connection} ${secret}`;
                const had = notes.has(known);
                if (base.admits(exchange, secret)) notes.set(known, '');
                return base.admits(exchange, secret) || (late && had);
              },
            },
          ],
        ] as const)),
  ];
  const [effect, of2, hooks] = random.pick(effects);
  const when = whole
    ? `${n === 1 ? 'the first request' : `the first ${n} requests`} after ${seconds} s without requests`
    : `the first request after a pause of ${seconds} s on a connection`;
  return fault(of2, `For ${when}: ${effect}.`, { ...note, ...hooks });
}

/** Ranges of bodies that have no ranges. */
function ranged(random: Random): Draw {
  const of: readonly Of[] = [
    ['a create', '4.2', answers('create')],
    ['a request without a valid key', '5 7', ({ status }) => status === 401],
    ['a getPet of an animal that does not exist', '4.3 7', errorOf('get', 404)],
    ['a create with an invalid body', '4.2 7', errorOf('create', 400)],
  ];
  const [form, isUnit] = random.pick<Row<RegExp>>([
    ['Range: bytes=0-9', /^bytes=0-9$/],
    ['a Range of bytes', /^bytes=/],
    ['a Range of another unit', /^(?!bytes)\w+=/],
    ['any Range', /./],
  ]);
  // HTTP permits a 206 only for a GET that would be 200.
  const [what, sections, kind] = random.pick(of);
  const hit: Kind = (response, exchange) => kind(response, exchange) && isUnit.test(header(exchange, 'range'));
  const [effect, hooks] = random.pick<Row<Change>>([
    ['206 with the first 10 bytes', partial(hit, 206)],
    ['206 with the whole body', responses(hit, (response) => void (response.status = 206))],
    ['416', responses(hit, (response, exchange) => becomeError(response, exchange, 416))],
    ['200 with the first 10 bytes', partial(hit, 200)],
  ]);
  return fault(`1 ${sections}`, `To ${what} with ${form}, the response is ${effect}.`, hooks);
}

function partial(kind: Kind, code: number): Change {
  return {
    ...responses(kind, (response, exchange) => {
      response.status = code;
      rawBodies.set(exchange, base.bytes(writeJson(response.body!), exchange).subarray(0, 10));
    }),
    bytes: rawBytes,
  };
}

/** Columns of a page that a second query reads, whose rows are matched by their position. */
function secondQuery(random: Random): Draw {
  const field = random.pick(['name', 'categoryId'] as const);
  const n = random.pick([3, 5, 8, 10]);
  const compare = (one: Pet, other: Pet): number =>
    field === 'name'
      ? Number(one.name > other.name) - Number(one.name < other.name)
      : Number(BigInt(one.categoryId) > BigInt(other.categoryId)) -
        Number(BigInt(one.categoryId) < BigInt(other.categoryId));
  const values = (rows: readonly Pet[]): string[] => rows.map((row) => row[field]);
  const [what, read] = random.pick<Row<(rows: readonly Pet[]) => readonly string[]>>([
    ['has each value only once', (rows) => [...new Set(values(rows))]],
    ['is sorted by its value', (rows) => values(rows.toSorted(compare))],
    ['is in the order of the ids', (rows) => values(rows.toSorted((a, b) => Number(BigInt(a.id) - BigInt(b.id))))],
    [
      `has the ids in groups of ${n}, the last of which comes first`,
      (rows) => {
        const start = Math.floor((rows.length - 1) / n) * n;
        return values([...rows.slice(start), ...rows.slice(0, start)]);
      },
    ],
    ['lacks rows with an empty or zero value', (rows) => values(rows).filter((value) => value !== '' && value !== '0')],
    [
      'lacks further rows with the value of the first one',
      (rows) => values(rows).filter((value, i, [first]) => i === 0 || value !== first),
    ],
  ]);
  const [when, applies] = random.pick<Row<(exchange: Exchange, rows: number) => boolean>>([
    ['with a filter and a limit', hasBoth],
    [`with a filter and more than ${n} rows`, (exchange, rows) => hasFilter(exchange) && rows > n],
    [`with a limit and more than ${n} rows`, (exchange, rows) => hasLimit(exchange) && rows > n],
    ['with a limit of at most 3', ({ query }) => Number(query.get('limit') ?? 4) <= 3],
  ]);
  return fault(
    '4.1 2',
    `In a list ${when}, the ${field} comes from a second query by position, which ${what}.`,
    pages((page, exchange) => {
      if (!applies(exchange, page.length) || page.length === 0) return page;
      const column = read(page);
      return page.map((pet, i) => ({ ...pet, [field]: column[i] ?? column.at(-1) ?? pet[field] }));
    }),
  );
}

/** Serializers that write an equal value only once. */
function references(random: Random): Draw {
  const [same, isSame] = random.pick<Row<(one: JsonObject, other: JsonObject) => boolean>>([
    ['name', (one, other) => one.get('name') === other.get('name')],
    ['categoryId', (one, other) => textOf(one.get('categoryId')) === textOf(other.get('categoryId'))],
    [
      'name and categoryId',
      (one, other) =>
        one.get('name') === other.get('name') && textOf(one.get('categoryId')) === textOf(other.get('categoryId')),
    ],
  ]);
  const field = same === 'categoryId' ? 'categoryId' : 'name';
  const [what, write] = random.pick<Row<(row: JsonObject, at: number) => Json>>([
    [`a reference as ${field}`, (row, at) => new Map(row).set(field, new Map([['$ref', `$[${at}].${field}`]]))],
    [`null as ${field}`, (row) => new Map(row).set(field, null)],
    [`# and the number of that row as ${field}`, (row, at) => new Map(row).set(field, `#${at}`)],
    ['a reference as the whole row', (_row, at) => new Map([['$ref', `${at + 1}`]])],
    ['only its id', (row) => new Map([['id', row.get('id')!]])],
    ['the alias *1 as the whole row', () => '*1'],
  ]);
  const [when, applies] = random.pick<Condition>([
    ['', () => true],
    ...someLists.map(([text, isOne]): Condition => [` ${text}`, isOne]),
  ]);
  const onlyNext = random.pick([true, false]);
  const sameRow = (rows: readonly JsonObject[], at: number): number =>
    rows.findIndex((row, i) => i < at && (!onlyNext || i === at - 1) && isSame(row, rows[at]!));
  const isNamed = ({ body }: MutantResponse): boolean => Array.isArray(body) && body.length > 1;
  return fault(
    '2 4.1',
    `A created animal in a list${when} with the ${same} of ${onlyNext ? 'the row' : 'any row'} before has ${what}.`,
    responses(
      (response, exchange) => answers('list')(response, exchange) && applies(exchange) && isNamed(response),
      (response, { world }) => {
        const rows = response.body as JsonObject[];
        response.body = rows.map((row, i) => {
          const at = sameRow(rows, i);
          return at >= 0 && world.pets.get(textOf(row.get('id')))?.at ? write(row, at) : row;
        });
      },
    ),
  );
}

const textOf = (value: Json | undefined): string => (value instanceof Digits ? value.text : '');

/** Stores that have room for a number of bytes. */
function fullStore(random: Random): Draw {
  const bytes = random.pick([600, 1000, 1500, 2000]);
  const least = random.pick([100, 150, 200]);
  const sizeOf = ({ name }: Pet): number => Buffer.byteLength(name);
  const total = (exchange: Exchange): number => createdOf(exchange).reduce((sum, pet) => sum + sizeOf(pet), 0);
  const isFull = (exchange: Exchange): boolean => total(exchange) > bytes;
  const isLong = (exchange: Exchange): boolean =>
    createdOf(exchange).some((pet) => sizeOf(pet) >= least) && isFull(exchange);
  const [when, met] = random.pick<Condition>([
    [`the names of created animals have more than ${bytes} bytes`, isFull],
    [`they do, and one of them has at least ${least} bytes`, isLong],
  ]);
  const text = when.startsWith('they')
    ? `the names of created animals have more than ${bytes} bytes, one of them at least ${least},`
    : `${when},`;
  const [as, error] = random.pick(strangeErrors);
  const shortest = random.pick([12, 20, 30]);
  const hit: Kind = (response, exchange) =>
    answers('create')(response, exchange) &&
    met(exchange) &&
    String(fieldsOf(exchange).get('name')).length >= shortest;
  const longest = (exchange: Exchange): Pet | undefined =>
    createdOf(exchange).toSorted((one, other) => sizeOf(other) - sizeOf(one))[0];
  const [effect, sections, hooks] = random.pick<readonly [string, string, Change]>([
    [`a create with a name of at least ${shortest} characters is 507 with ${as}`, '4.2', sending(hit, 507, error)],
    [`a create with a name of at least ${shortest} characters is 500 with ${as}`, '4.2', sending(hit, 500, error)],
    [
      'a new animal is stored without its name',
      '4.2 4.3',
      { keep: (pet, exchange) => (met(exchange) ? { ...pet, name: '' } : pet) },
    ],
    [
      'getPet does not find the animal with the longest name',
      '4.3 7',
      found((pet, _id, exchange) =>
        pet !== undefined && met(exchange) && pet.id === longest(exchange)?.id ? undefined : pet,
      ),
    ],
    [
      `getPet shows only the first ${least / 5} bytes of a longer name`,
      '4.3',
      shown('get', (fields, { name }, exchange) => {
        if (met(exchange)) fields.set('name', Buffer.from(name).subarray(0, least / 5).toString());
      }),
    ],
  ]);
  return fault(sections, `If ${text} ${effect}.`, hooks);
}

/** Parts of the table with room for a number of animals. */
function fullPart(random: Random): Draw {
  const n = random.integer(6, 12);
  const [what, partOfPet] = random.pick<Row<(pet: Pet) => string>>([
    ['the same categoryId', ({ categoryId }) => categoryId],
    ['the same categoryId and status', ({ categoryId, status }) => `${categoryId} ${status}`],
    ['the same name', ({ name }) => name],
    ['the same first letter', ({ name }) => name.slice(0, 1)],
    ['a name of the same length', ({ name }) => String(name.length)],
    ['no status in the body', () => ''],
  ]);
  const unstated = kept(() => new Set<string>());
  const isCounted = (pet: Pet, exchange: Exchange): boolean =>
    !what.startsWith('no status') || unstated(exchange).has(pet.id);
  const others = (pet: Pet, exchange: Exchange): readonly Pet[] =>
    createdOf(exchange).filter(
      (one) => one.id !== pet.id && isCounted(one, exchange) && partOfPet(one) === partOfPet(pet),
    );
  const note = (pet: Pet, exchange: Exchange): boolean => {
    if (!fieldsOf(exchange).has('status')) unstated(exchange).add(pet.id);
    return isCounted(pet, exchange) && others(pet, exchange).length >= n;
  };
  const full = kept(() => new WeakSet<Exchange>());
  const [as, error] = random.pick(strangeErrors);
  const isRefused: Kind = (response, exchange) => answers('create')(response, exchange) && full(exchange).has(exchange);
  const [effect, sections, keep] = random.pick<
    readonly [string, string, (pet: Pet, exchange: Exchange) => Pet | undefined]
  >([
    [
      `is 409 with ${as}`,
      '4.2',
      (_pet, exchange) => {
        full(exchange).add(exchange);
        return undefined;
      },
    ],
    [
      'removes the oldest of them',
      '4.2 4.3 7',
      (pet, exchange) => {
        exchange.world.pets.delete(others(pet, exchange)[0]!.id);
        return pet;
      },
    ],
    ['is 201, but not stored', '4.2 4.3 7', () => undefined],
    ['is stored in the category 0', '4.2 4.3', (pet) => ({ ...pet, categoryId: '0' })],
    [
      'is stored with the name of the oldest of them and a number',
      '4.2 4.3',
      (pet, exchange) => ({ ...pet, name: `${others(pet, exchange)[0]!.name} ${n + 1}` }),
    ],
  ]);
  return fault(sections, `A create of an animal with ${what} as ${n} others ${effect}.`, {
    keep: (pet, exchange) => (note(pet, exchange) ? keep(pet, exchange) : pet),
    ...(effect.startsWith('is 409') && sending(isRefused, 409, error)),
  });
}

/** Headers of a request that are in two lines, as HTTP permits for lists. */
function twoLines(random: Random): Draw {
  const name = random.pick(['Accept', 'Accept-Language', 'Accept-Encoding', 'Cache-Control', 'Via', 'Forwarded']);
  const times = ({ rawHeaders }: Exchange): number =>
    rawHeaders.filter((one, i) => i % 2 === 0 && one.toLowerCase() === name.toLowerCase()).length;
  const [of, sections, kind] = random.pick(valid);
  const hit: Kind = (response, exchange) => kind(response, exchange) && times(exchange) > 1;
  const [as, error] = random.pick(strangeErrors);
  const [what, hooks] = random.pick<Row<Change>>([
    [`is 500 with ${as}`, sending(hit, 500, error)],
    [`is 400 with ${as}`, sending(hit, 400, error)],
    ['is 401', responses(hit, (response, exchange) => becomeError(response, exchange, 401))],
    ['has the type text/plain', responses(hit, (response) => setHeader(response, 'Content-Type', 'text/plain'))],
    ['has no Content-Type', responses(hit, (response) => setHeader(response, 'Content-Type', undefined))],
    [
      'has no rate limit headers',
      responses(hit, (response) => {
        response.headers = response.headers.filter(([one]) => !one.startsWith('X-RateLimit-'));
      }),
    ],
  ]);
  const also = what.includes('rate limit') ? '8' : what.includes('ype') ? `1 ${sections}` : sections;
  return fault(also, `The response to ${of} with two lines of ${name} ${what}.`, hooks);
}

/** Requests with a method that the path does not have, which change what follows. */
function refusedMethod(random: Random): Draw {
  const method = random.pick(['HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH']);
  const onSame = random.pick([true, false]);
  const n = random.integer(1, 3);
  const state = kept(() => new Map<number, number>());
  const noted = kept(() => new WeakMap<Exchange, boolean>());
  /** Whether a request is one of the n after one with the method. */
  const isAfter = (exchange: Exchange): boolean => {
    const known = noted(exchange).get(exchange);
    if (known !== undefined) return known;
    const place = onSame ? exchange.connection : 0;
    const left = state(exchange).get(place) ?? 0;
    const isMethod = exchange.method === method;
    state(exchange).set(place, isMethod ? n : Math.max(0, left - 1));
    noted(exchange).set(exchange, !isMethod && left > 0);
    return !isMethod && left > 0;
  };
  const [of, sections, kind] = random.pick(valid);
  const hit: Kind = (response, exchange) => isAfter(exchange) && kind(response, exchange);
  const note: Change = {
    admits: (exchange, secret) => {
      isAfter(exchange);
      return base.admits(exchange, secret);
    },
  };
  const [credentials, isBad] = random.pick(badCredentials);
  const [effect, also, hooks] = random.pick<readonly [string, string, Change]>([
    [
      `a request ${credentials} is served`,
      '5 7',
      { admits: (exchange, secret) => (isAfter(exchange) && isBad(exchange)) || base.admits(exchange, secret) },
    ],
    [
      `the response to ${of} has no body`,
      `1 ${sections}`,
      responses(hit, (response) => void (response.body = undefined)),
    ],
    [`${of} is 405`, sections, responses(hit, (response, exchange) => becomeError(response, exchange, 405))],
    [
      `${of} is 204`,
      sections,
      responses(hit, (response) => void Object.assign(response, { status: 204, body: undefined })),
    ],
    [
      'a create is 201, but not stored',
      '4.2 4.3',
      { keep: (pet, exchange) => (isAfter(exchange) ? undefined : pet) },
    ],
  ]);
  const next = n === 1 ? 'the next request' : `the next ${n} requests`;
  return fault(
    also,
    `After a request with the method ${method}, for ${next}${onSame ? ' on the connection' : ''}: ${effect}.`,
    { ...note, ...hooks },
  );
}

/** Situations in which the body of a create is not checked. */
function unchecked(random: Random): Draw {
  const bytes = random.pick([500, 1000, 2000]);
  const n = random.integer(2, 5);
  const ms = random.pick([50, 500, 2000]);
  const last = kept(() => ({ at: -Infinity, valid: 0, connection: 0 }));
  const [when, isHere] = random.pick<Condition>([
    [`of more than ${bytes} bytes`, ({ body }) => body.length > bytes],
    ['in chunks', (exchange) => header(exchange, 'transfer-encoding') !== ''],
    ['with a charset in its type', ({ contentType }) => /charset/i.test(contentType)],
    ['with capitals in its type', ({ contentType }) => /[A-Z]/.test(contentType)],
    ['with a query', ({ search }) => search !== ''],
    ['with line feeds', ({ body }) => body.includes('\n')],
    ['with a member that NewPet does not have', (exchange) => [...fieldsOf(exchange).keys()].some(isUnknown)],
    [
      `within ${ms} ms of a valid one on another connection`,
      (exchange) => exchange.now - last(exchange).at <= ms && last(exchange).connection !== exchange.connection,
    ],
    [`after ${n} valid ones in a row`, (exchange) => last(exchange).valid >= n],
  ]);
  const [what, isOne, fill] = random.pick<readonly [string, (exchange: Exchange) => boolean, Partial<Pet>]>([
    ['a name', (exchange) => !fieldsOf(exchange).has('name'), { name: '' }],
    ['a categoryId', (exchange) => !fieldsOf(exchange).has('categoryId'), { categoryId: '0' }],
    [
      'a valid status',
      (exchange) => !statuses.includes(String(fieldsOf(exchange).get('status') ?? 'sold')),
      { status: 'available' },
    ],
    [
      'a number as categoryId',
      (exchange) => !(fieldsOf(exchange).get('categoryId') instanceof Digits),
      { categoryId: '0' },
    ],
    ['a string as name', (exchange) => typeof fieldsOf(exchange).get('name') !== 'string', { name: 'null' }],
  ]);
  const affects = (exchange: Exchange): boolean =>
    exchange.operation === 'create' && fieldsOf(exchange).size > 0 && isOne(exchange) && isHere(exchange);
  const filling = <T>(own: T | undefined, exchange: Exchange, value: T | undefined): T | undefined =>
    own ?? (value !== undefined && affects(exchange) ? value : undefined);
  return fault('4.2 7', `A create ${when} is 201, even without ${what}.`, {
    name: (value, exchange) => filling(base.name(value, exchange), exchange, fill.name),
    category: (value, exchange) => filling(base.category(value, exchange), exchange, fill.categoryId),
    status: (value, exchange) => filling(base.status(value, exchange), exchange, fill.status),
    ...responses(
      (_response, { operation }) => operation === 'create',
      ({ status }, { world, now, connection }) => {
        const state = last({ world });
        if (status === 201) Object.assign(state, { at: now, connection, valid: state.valid + 1 });
        else state.valid = 0;
      },
    ),
  });
}

const isUnknown = (name: string): boolean => !['name', 'categoryId', 'status'].includes(name);

/** Parts of harmless words that a list of bad words has. */
const badParts: readonly (readonly [part: string, word: string])[] = [
  ['hell', 'Hello or Shelly'],
  ['ass', 'Cassie or Bass'],
  ['tit', 'Titus or Tito'],
  ['dam', 'Adam or Damon'],
  ['crap', 'Scrappy'],
  ['kill', 'Killian or Skilla'],
  ['drug', 'Drugi'],
  ['sex', 'Essex'],
  ['dick', 'Dickens'],
  ['cock', 'Peacock'],
];

/** Names that a filter of bad words changes, because they contain one. */
function badWords(random: Random): Draw {
  const words = random.some(badParts, 3);
  const pattern = new RegExp(words.map(([part]) => part).join('|'), 'gi');
  const [what, change] = random.pick<Row<(part: string) => string>>([
    ['asterisks', (part) => '*'.repeat(part.length)],
    ['its first letter and asterisks', (part) => part.charAt(0) + '*'.repeat(part.length - 1)],
    ['the word beep', () => 'beep'],
    ['nothing', () => ''],
  ]);
  const [where, apply] = random.pick<Row<Change>>([
    ['in the store', { keep: (pet) => ({ ...pet, name: pet.name.replace(pattern, change) }) }],
    ['in all responses', shown('all', (fields, { name }) => void fields.set('name', name.replace(pattern, change)))],
    ['in lists', shown('list', (fields, { name }) => void fields.set('name', name.replace(pattern, change)))],
  ]);
  const examples = words.map(([part, word]) => `${part} (${word})`).join(', ');
  return fault('2 4.1 4.2 4.3', `In a name, ${examples} becomes ${what} ${where}.`, apply);
}

/** Animals that are read together with their category, whose columns have the same names. */
function joinedCategory(random: Random): Draw {
  const n = random.integer(3, 9);
  const [which, isOne] = random.pick<Row<(pet: Pet, exchange: Exchange) => boolean>>([
    [`has a categoryId from 1 to ${n}`, ({ categoryId }) => /^\d$/.test(categoryId) && isWithin(categoryId, n)],
    [
      `has a categoryId above ${n} that is the id of another animal`,
      ({ categoryId, id }, { world }) =>
        categoryId !== id && world.pets.has(categoryId) && !isWithin(categoryId, n),
    ],
    [`has a categoryId above ${100 * n}`, ({ categoryId }) => BigInt(categoryId) > 100n * BigInt(n)],
    [
      'is the only one in its category',
      ({ categoryId, id }, { world }) =>
        ![...world.pets.values()].some((one) => one.id !== id && one.categoryId === categoryId),
    ],
  ]);
  const [where, sections, isThere] = random.pick<readonly [string, string, Condition[1]]>([
    ['a list with a filter', '4.1', (exchange) => exchange.operation === 'list' && hasFilter(exchange)],
    ['a list with a limit', '4.1', (exchange) => exchange.operation === 'list' && hasLimit(exchange)],
    ['a 200 of getPet', '4.3', ({ operation }) => operation === 'get'],
    ['a 201', '4.2', ({ operation }) => operation === 'create'],
  ]);
  const [what, change] = random.pick<Row<(fields: JsonObject, pet: Pet, exchange: Exchange) => void>>([
    ['the id of its category as id', (fields, { categoryId }) => void fields.set('id', new Digits(categoryId))],
    ['the name of its category', (fields, { categoryId }) => void fields.set('name', `Category ${categoryId}`)],
    ['its own id as categoryId', (fields, { id }) => void fields.set('categoryId', new Digits(id))],
    ['active as status', (fields) => void fields.set('status', 'active')],
    ['null as name', (fields) => void fields.set('name', null)],
    ['null as categoryId', (fields) => void fields.set('categoryId', null)],
  ]);
  return fault(`2 ${sections}`, `In ${where}, a created animal that ${which} has ${what}.`, {
    show: (pet, exchange) => {
      const fields = base.show(pet, exchange);
      if (isThere(exchange) && isCreated(pet) && isOne(pet, exchange)) change(fields, pet, exchange);
      return fields;
    },
  });
}

const isWithin = (category: string, n: number): boolean => BigInt(category) >= 1n && BigInt(category) <= BigInt(n);

/** Rows that a client has already received, which are only sent in part. */
function shownAgain(random: Random): Draw {
  const seconds = random.pick([1, 2, 5, 30]);
  const n = random.integer(1, 3);
  const [scope, scopeOf] = random.pick<Row<(exchange: Exchange) => string>>([
    ['on the same connection', ({ connection }) => String(connection)],
    ['with the same query', ({ search }) => search],
    [`within ${seconds} s`, () => ''],
    ['for the same filter', ({ query }) => query.get('status') ?? ''],
  ]);
  const [what, change] = random.pick<Row<(row: JsonObject) => Json>>([
    ['only its id', (row) => new Map([['id', row.get('id')!]])],
    ['only the number of its id', (row) => row.get('id')!],
    [
      'its id and unchanged: true',
      (row) =>
        new Map<string, Json>([
          ['id', row.get('id')!],
          ['unchanged', true],
        ]),
    ],
    ['no name', (row) => new Map([...row].filter(([name]) => name !== 'name'))],
    ['null as categoryId', (row) => new Map(row).set('categoryId', null)],
  ]);
  const [when, applies] = random.pick(someLists);
  const seen = kept(() => new Map<string, { at: number; count: number }>());
  const times = n === 1 ? 'before' : `${n} times before`;
  return fault(
    '2 4.1',
    `A list ${when} has ${what} in place of a created animal that such a list showed ${times} ${scope}.`,
    responses(
      (response, exchange) => answers('list')(response, exchange) && applies(exchange),
      (response, exchange) => {
        response.body = (response.body as JsonObject[]).map((row) => {
          const id = textOf(row.get('id'));
          if (!exchange.world.pets.get(id)?.at) return row;
          const key = `${scopeOf(exchange)} ${id}`;
          const before = seen(exchange).get(key);
          const isOld = before !== undefined && scope.startsWith('within') && exchange.now - before.at > seconds * 1000;
          const count = before === undefined || isOld ? 0 : before.count;
          seen(exchange).set(key, { at: exchange.now, count: count + 1 });
          return count >= n ? change(row) : row;
        });
      },
    ),
  );
}

/** Animals that wait in a buffer until something else writes it to the store. */
function writeBuffer(random: Random): Draw {
  const n = random.integer(2, 5);
  const length = random.pick([16, 24, 40]);
  const [which, isBuffered] = random.pick<Row<(pet: Pet) => boolean>>([
    ['is sold', ({ status }) => status === 'sold'],
    ['is pending', ({ status }) => status === 'pending'],
    [`has a name of more than ${length} characters`, ({ name }) => name.length > length],
    ['has a categoryId above 100', ({ categoryId }) => BigInt(categoryId) > 100n],
    ['has a name that is not ASCII', ({ name }) => /[^\0-\x7f]/.test(name)],
  ]);
  const pending = kept(() => new Set<string>());
  const [until, flushes] = random.pick<Row<(exchange: Exchange, response: MutantResponse) => boolean>>([
    ['the next create', (exchange, { status }) => exchange.operation === 'create' && status === 201],
    ['the next list with a filter', (exchange) => exchange.operation === 'list' && hasFilter(exchange)],
    ['the next error', (_exchange, { status }) => status >= 400],
    [`${n} of these wait`, (exchange) => pending(exchange).size >= n],
  ]);
  const waits = (id: string, exchange: Exchange): boolean => pending(exchange).has(id);
  return fault('4.3 7', `An animal that ${which} is not found by getPet after its create until ${until}.`, {
    ...responses(
      () => true,
      (response, exchange) => {
        const { body, status } = response;
        const id = status === 201 && body instanceof Map ? textOf(body.get('id')) : '';
        // The 404 for the animal itself is no reason to write it.
        const isOwn = exchange.operation === 'get' && waits(exchange.path.slice('/pets/'.length), exchange);
        if (!until.endsWith('wait') && !isOwn && flushes(exchange, response)) pending(exchange).clear();
        const pet = exchange.world.pets.get(id);
        if (pet !== undefined && isBuffered(pet)) pending(exchange).add(id);
        if (until.endsWith('wait') && flushes(exchange, response)) pending(exchange).clear();
      },
    ),
    ...found((pet, _id, exchange) => (pet !== undefined && waits(pet.id, exchange) ? undefined : pet)),
    visible: (pet, exchange) => !waits(pet.id, exchange),
  });
}

/** Words that have a meaning in a language, and in objects that are used as tables. */
const words: readonly Row<RegExp>[] = [
  ['constructor, toString or valueOf', /^(constructor|toString|valueOf)$/],
  ['hasOwnProperty, __proto__ or prototype', /^(hasOwnProperty|__proto__|prototype)$/],
  ['length, size or count', /^(length|size|count)$/],
  ['then or catch', /^(then|catch)$/],
  ['class, new, delete or default', /^(class|new|delete|default)$/i],
  ['available, pending or sold', /^(available|pending|sold)$/],
  ['id, name, status or categoryId', /^(id|name|status|categoryId)$/],
  ['all, any, me or self', /^(all|any|me|self)$/i],
];

/** Names that are such words. */
function meaningfulWords(random: Random): Draw {
  const [which, pattern] = random.pick(words);
  const has = (exchange: Exchange): boolean => pattern.test(String(fieldsOf(exchange).get('name')));
  const [as, error] = random.pick(strangeErrors);
  const hit: Kind = (response, exchange) => answers('create')(response, exchange) && has(exchange);
  const [effect, sections, hooks] = random.pick<readonly [string, string, Change]>([
    [`a create is 500 with ${as}`, '4.2', sending(hit, 500, error)],
    [
      'it is shown as an empty object',
      '2 4.1 4.2 4.3',
      shown('all', (fields, { name }) => void (pattern.test(name) && fields.set('name', new Map()))),
    ],
    [
      'it is left out of lists and getPet',
      '2 4.1 4.3',
      shown('all', (fields, { name }, { operation }) => {
        if (operation !== 'create' && pattern.test(name)) fields.delete('name');
      }),
    ],
    [
      'its animal is not found by getPet',
      '4.3 7',
      found((pet) => (pet !== undefined && isCreated(pet) && pattern.test(pet.name) ? undefined : pet)),
    ],
    [
      'it is stored with an underscore before it',
      '4.2 4.3',
      { keep: (pet) => (pattern.test(pet.name) ? { ...pet, name: `_${pet.name}` } : pet) },
    ],
    [
      'a list with its animal has an Error in place of the array',
      '4.1',
      responses(
        (response, exchange) =>
          answers('list')(response, exchange) &&
          (response.body as JsonObject[]).some((row) => pattern.test(String(row.get('name')))),
        (response, exchange) => void (response.body = base.error(500, 'Failed.', exchange)),
      ),
    ],
  ]);
  return fault(sections, `If a name is ${which}, ${effect}.`, hooks);
}

/** Ids that are also searched in another field. */
function otherField(random: Random): Draw {
  const n = random.pick([10, 20, 50]);
  const [what, matches] = random.pick<Row<(pet: Pet, id: string) => boolean>>([
    ['its name', ({ name }, id) => name === id],
    ['the end of its name, after a space', (pet, id) => isCreated(pet) && pet.name.endsWith(` ${id}`)],
    ['its categoryId', (pet, id) => isCreated(pet) && pet.categoryId === id],
    ['its categoryId with the sign turned', (pet, id) => isCreated(pet) && pet.categoryId === `-${id}`],
    ['the length of its name', (pet, id) => isCreated(pet) && String(pet.name.length) === id],
  ]);
  const [when, applies] = random.pick<Row<(pet: Pet | undefined, id: string) => boolean>>([
    ['an animal that exists', (pet) => pet !== undefined],
    ['an animal that does not exist', (pet) => pet === undefined],
    [`an id above ${n}`, (_pet, id) => BigInt(id) > BigInt(n)],
    [`an id up to ${n}`, (_pet, id) => BigInt(id) <= BigInt(n)],
  ]);
  return fault('4.3', `getPet of ${when} shows another one, if the id is ${what}.`, {
    ...found((pet, id, { world }) => {
      if (!/^-?\d{1,19}$/.test(id) || !applies(pet, id)) return pet;
      return [...world.pets.values()].find((other) => other.id !== id && matches(other, id)) ?? pet;
    }),
  });
}

/** Bodies that arrive in pieces, such as the chunks of HTTP. */
function pieces(random: Random): Draw {
  const n = random.integer(2, 6);
  const size = random.pick([1, 2, 4, 8]);
  const bytes = size === 1 ? 'one byte' : `${size} bytes`;
  const [when, applies] = random.pick<Row<(chunks: readonly Buffer[]) => boolean>>([
    ['in pieces', (chunks) => chunks.length > 1],
    [`in more than ${n} pieces`, (chunks) => chunks.length > n],
    [`in pieces, one of them of at most ${bytes}`, (chunks) => chunks.some(({ length }) => length <= size)],
  ]);
  const parts = (change: (chunks: readonly Buffer[]) => readonly (Buffer | string)[]): Hooks['join'] => {
    return (chunks) =>
      chunks.length > 1 && applies(chunks)
        ? Buffer.concat(change(chunks).map((part) => Buffer.from(part)))
        : base.join(chunks);
  };
  const between = (mark: string): Hooks['join'] =>
    parts((chunks) => chunks.flatMap((chunk, i) => (i === 0 ? [chunk] : [mark, chunk])));
  const [what, join] = random.pick<Row<Hooks['join']>>([
    ['each piece is decoded by itself', parts((chunks) => chunks.map((chunk) => chunk.toString()))],
    [
      'white space at the ends of the pieces is lost',
      parts((chunks) => chunks.map(trimmed)),
    ],
    [`the pieces after the first ${n} are lost`, parts((chunks) => chunks.slice(0, n))],
    ['only the first one is read', parts((chunks) => chunks.slice(0, 1))],
    ['only the last one is read', parts((chunks) => chunks.slice(-1))],
    [
      'equal pieces are read only once',
      parts((chunks) => chunks.filter((chunk, i) => chunks.findIndex((one) => one.equals(chunk)) === i)),
    ],
    ['a line feed stands between them', between('\n')],
    ['U+0000 stands between them', between('\0')],
    ['they are put together in reverse order', parts((chunks) => chunks.toReversed())],
    [`pieces of at most ${bytes} are lost`, parts((chunks) => chunks.filter(({ length }) => length > size))],
  ]);
  return fault('2 4.2 4.3 7', `If the body of a create comes ${when}, ${what}.`, { join });
}

const trimmed = (chunk: Buffer): Buffer => Buffer.from(chunk.toString('latin1').trim(), 'latin1');

export const fifthFamilies: readonly Family[] = [
  family('Pet × rows in an old form × migrated only after the first read', lazilyMigrated),
  family('connection × pipelining × requests are mixed up', pipelined),
  family('credentials × cache of verdicts × its key is a part of the token', cachedVerdicts),
  family('credentials × requests in flight × those of another request', sharedIdentity),
  family('listPets × shards × merged wrongly', sharded),
  family('Pet × pool of objects × an empty value leaves the one before', pooledObjects),
  family('name × buffer that is used again × the rest of a longer one', usedBuffer),
  family('createPet × dictionary of values × a weak hash', dictionary),
  family('listPets × columns × compressed wrongly', columnar),
  family('listPets × batches of rows × their boundary', batches),
  family('User-Agent × old clients × another form of the interface', oldClients),
  family('headers of the connection × proxy × taken for another request', connectionHeaders),
  family('cache × other requests for the URL × their response is kept for GETs', otherRequests),
  family('createPet × columns × out of step after a failed create', outOfStep),
  family('createPet × failed create × the next ones suffer', leftByFailure),
  family('getPet × table of ids × while it grows', growingTable),
  family('createPet × length in blocks × a whole number of them', wholeBlocks),
  family('responses × length in blocks × a whole number of them', wholeResponses),
  family('createPet × other places × they overwrite the values of the body', overwritten),
  family('connection × pause × the next request fails', (random) => paused(random, false)),
  family('service × pause × cold when it wakes up', (random) => paused(random, true)),
  family('Range × responses without ranges × a part is sent', ranged),
  family('listPets × second query for a column × joined by position', secondQuery),
  family('listPets × equal values × a reference in place of the value', references),
  family('store × bytes of all names × it is full', fullStore),
  family('createPet × animals with an equal value × there is room for some only', fullPart),
  family('headers of requests × two lines × not one list', twoLines),
  family('all × method that the path does not have × the requests after it', refusedMethod),
  family('createPet × situation × the body is not checked', unchecked),
  family('name × parts of words × taken for a bad word', badWords),
  family('Pet × join with the categories × columns with the same name', joinedCategory),
  family('listPets × rows that were shown before × only a part of them', shownAgain),
  family('createPet × write buffer × written only by a later event', writeBuffer),
  family('name × words with a meaning in a language × a key of an object', meaningfulWords),
  family('getPet × id × also searched in another field', otherField),
  family('createPet × pieces of the body × put together wrongly', pieces),
];
