/**
 * Faults of how such services are written and run: in-memory stores, queues, gateways, paid plans, feature flags,
 * filters of texts, and languages without types.
 */
import type { ServerResponse } from 'node:http';
import {
  attempt,
  base,
  statuses,
  type Exchange,
  type Hooks,
  type MutantResponse,
  type Operation,
  type Pet,
  type World,
} from '../server/hooks.ts';
import { Digits, type Json, type JsonObject } from '../server/json.ts';
import { found, pages, responses, setHeader, shown, stored, tokenOf } from '../table/changes.ts';
import type { Change, Kind } from '../table/changes.ts';
import { becomeError, chained, fault, numberOf, type Draw, type Family } from './family.ts';
import type { Random } from './random.ts';
import { fieldsOf, frameworkErrors, int64Of, isValid, places, sending, type Row } from './third-faults.ts';

const family = (name: string, draw: (random: Random) => Draw | undefined): Family => ({ name, draw });

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
const isBeyondAscii = (text: string): boolean => /[^\0-\x7f]/.test(text);

/** The bodies of errors that are no Error. */
const strangeErrors = frameworkErrors.filter(([text]) => text !== 'a problem document');

/** Kinds of animals that a part of a service cannot process. */
const unusualPets: readonly Row<(pet: Pet) => boolean>[] = [
  ['a name that is not ASCII', ({ name }) => isBeyondAscii(name)],
  ['a name of more than 60 characters', ({ name }) => name.length > 60],
  ['a name with a quotation mark', ({ name }) => name.includes('"')],
  ['a name with a control character', ({ name }) => /[\u0000-\u001f]/.test(name)],
  ['a negative categoryId', ({ categoryId }) => categoryId.startsWith('-')],
  ['a categoryId above 2^31', ({ categoryId }) => BigInt(categoryId) >= 2n ** 31n],
  ['a categoryId above 2^53', ({ categoryId }) => BigInt(categoryId) > 2n ** 53n],
];

/** Another source of credentials that is read before Authorization. */
function secondSource(random: Random): Draw {
  const name = random.pick(['X-API-Key', 'Api-Key', 'X-Auth-Token', 'X-Access-Token', 'X-Authorization']);
  const cookie = random.pick(['session', 'token', 'api_key', 'jwt']);
  const [what, read] = random.pick<Row<(exchange: Exchange) => string>>([
    [`the header ${name}`, (exchange) => header(exchange, name)],
    ['the header Proxy-Authorization', (exchange) => header(exchange, 'proxy-authorization')],
    [
      `the cookie ${cookie}`,
      (exchange) => new RegExp(`(?:^|; *)${cookie}=([^;]*)`).exec(header(exchange, 'cookie'))?.[1] ?? '',
    ],
  ]);
  const [where, sections, operation] = random.pick<readonly [string, string, Operation | undefined]>([
    ['A request', '4.1 4.2 4.3 4.4', undefined],
    ['A list', '4.1', 'list'],
    ['A create', '4.2', 'create'],
    ['A getPet', '4.3', 'get'],
  ]);
  return fault(`5 7 ${sections}`, `${where} with the key in Authorization is 401 if ${what} has another value.`, {
    admits: (exchange, secret) =>
      base.admits(exchange, secret) &&
      ((operation !== undefined && operation !== exchange.operation) ||
        read(exchange) === '' ||
        read(exchange).includes(secret)),
  });
}

/** The position of a header among those of the request. */
const positionOf = ({ rawHeaders }: Exchange, name: string): number =>
  rawHeaders.findIndex((one, i) => i % 2 === 0 && one.toLowerCase() === name) / 2;

/** The number of bytes of the headers before one. */
const bytesBefore = (exchange: Exchange, name: string): number =>
  exchange.rawHeaders.slice(0, 2 * positionOf(exchange, name)).join(': ').length;

/** Heads of which a gateway reads only a part. */
function longHead(random: Random): Draw {
  const n = random.pick([8, 10, 12, 16, 20, 24, 32]);
  const size = random.pick([1000, 1024, 1500, 2048, 4000]);
  const [when, isLost] = random.pick<Row<(exchange: Exchange, name: string) => boolean>>([
    [`after ${n} other headers`, (exchange, name) => positionOf(exchange, name) >= n],
    [`beyond the first ${size} bytes of the head`, (exchange, name) => bytesBefore(exchange, name) > size],
    [`among more than ${n} headers`, ({ rawHeaders }) => rawHeaders.length / 2 > n],
    [
      `after a header of more than ${size} characters`,
      (exchange, name) => exchange.rawHeaders.slice(0, 2 * positionOf(exchange, name)).some((one) => one.length > size),
    ],
  ]);
  const unread = (kind: Kind, name: string, code: number): Change =>
    responses(
      (response, exchange) => kind(response, exchange) && isLost(exchange, name),
      (response, exchange) => becomeError(response, exchange, code),
    );
  return random.pick<Draw>([
    fault('5', `Authorization is not read ${when}, so that the request is 401.`, {
      admits: (exchange, secret) => base.admits(exchange, secret) && !isLost(exchange, 'authorization'),
    }),
    fault(
      '4.2',
      `Content-Type is not read ${when}, so that a create is 415.`,
      unread(answers('create'), 'content-type', 415),
    ),
    fault(
      '4.2',
      `Content-Length is not read ${when}, so that a create is 411.`,
      unread(
        (response, exchange) => answers('create')(response, exchange) && header(exchange, 'content-length') !== '',
        'content-length',
        411,
      ),
    ),
  ]);
}

/** A key that a scanner has seen in a place where it must not be. */
function leakedKey(random: Random): Draw {
  const [what, leaked] = random.pick<Row<(exchange: Exchange, secret: string) => boolean>>([
    ['in the query', ({ search }, secret) => search.includes(secret)],
    ['in the path', ({ fullPath }, secret) => fullPath.includes(secret)],
    ['in the body of a create', ({ body }, secret) => body.includes(secret)],
    [
      'in the scheme Basic',
      ({ authorization }, secret) =>
        /^Basic /i.test(authorization) &&
        (authorization + Buffer.from(authorization.slice(6), 'base64').toString('latin1')).includes(secret),
    ],
    ['without a scheme', ({ authorization }, secret) => authorization === secret],
    [
      'in another case',
      (exchange, secret) => tokenOf(exchange) !== secret && tokenOf(exchange).toLowerCase() === secret.toLowerCase(),
    ],
    [
      'with more characters after it',
      (exchange, secret) => tokenOf(exchange).replace(secret, '') !== tokenOf(exchange) && tokenOf(exchange) !== secret,
    ],
    [
      'in another header than Authorization',
      ({ headers }, secret) =>
        Object.entries(headers).some(([name, value]) => name !== 'authorization' && String(value).includes(secret)),
    ],
  ]);
  const n = random.integer(2, 6);
  const seconds = random.pick([1, 2, 5, 10]);
  const byTime = random.pick([true, false]);
  const state = kept(() => new Map<string, { left: number; until: number }>());
  return fault(
    '5 7',
    `After the key was sent ${what}, it is 401 for ${byTime ? `${seconds} s` : `the next ${n} requests`}.`,
    {
      admits: (exchange, secret) => {
        const admitted = base.admits(exchange, secret);
        const revoked = state(exchange).get(secret);
        if (leaked(exchange, secret)) {
          state(exchange).set(secret, { left: n, until: exchange.now + seconds * 1000 });
          return admitted;
        }
        if (!admitted || revoked === undefined) return admitted;
        if (byTime) return exchange.now >= revoked.until;
        revoked.left -= 1;
        return revoked.left < 0;
      },
    },
  );
}

/** A key that only the client that used it first may use. */
function boundKey(random: Random): Draw {
  const name = random.pick(['User-Agent', 'Accept-Language', 'Accept', 'Accept-Encoding']);
  const n = random.integer(2, 6);
  const seconds = random.pick([1, 2, 5, 10]);
  const code = random.pick([401, 403]);
  const first = kept(() => ({ value: undefined as string | undefined }));
  const used = kept(() => new Map<number, number>());
  const refused = (isRefused: (exchange: Exchange) => boolean): Change =>
    responses(
      (response, exchange) => response.status !== 401 && isRefused(exchange),
      (response, exchange) => becomeError(response, exchange, code),
    );
  return random.pick<Draw>([
    fault(
      '5 7',
      `A request with the key is ${code} if its ${name} is not that of the first one.`,
      refused((exchange) => {
        const state = first(exchange);
        state.value ??= header(exchange, name);
        return header(exchange, name) !== state.value;
      }),
    ),
    fault(
      '5 7',
      `A request with the key is ${code} if its ${name} is not that of the one before.`,
      refused((exchange) => {
        const state = first(exchange);
        const before = state.value ?? header(exchange, name);
        state.value = header(exchange, name);
        return before !== state.value;
      }),
    ),
    fault(
      '5 7',
      `A request on a new connection is ${code} if ${n} others had the key in the last ${seconds} s.`,
      refused((exchange) => {
        const others = used(exchange);
        for (const [one, at] of others) if (exchange.now - at > seconds * 1000) others.delete(one);
        const isNew = !others.has(exchange.connection);
        if (isNew && others.size >= n) return true;
        others.set(exchange.connection, exchange.now);
        return false;
      }),
    ),
  ]);
}

/** Delays responses, and counts those that wait. */
function delayed(ms: number): { readonly waiting: (exchange: Exchange) => number; readonly write: Hooks['write'] } {
  const state = kept(() => ({ waiting: 0 }));
  return {
    waiting: (exchange) => state(exchange).waiting,
    write: (to, code, headers, body, exchange) => {
      state(exchange).waiting += 1;
      setTimeout(() => {
        state(exchange).waiting -= 1;
        base.write(to, code, headers, body, exchange);
      }, ms);
    },
  };
}

/** Instances that a platform starts while requests are in flight. */
function freshInstance(random: Random): Draw {
  const least = random.integer(1, 3);
  const n = random.integer(1, 6);
  const { waiting, write } = delayed(8);
  const isFresh = (exchange: Exchange): boolean => waiting(exchange) >= least;
  const fresh = kept(() => new Set<string>());
  const [text, sections, change] = random.pick<readonly [string, string, Change]>([
    [
      `it responds with 404 to a getPet of one of the latest ${n} animals`,
      '4.3 7',
      found((pet, _id, exchange) =>
        pet !== undefined && isFresh(exchange) && createdOf(exchange).slice(-n).includes(pet) ? undefined : pet,
      ),
    ],
    [
      'only it finds the animals that it creates',
      '4.2 4.3 7',
      {
        keep: (pet, exchange) => {
          if (isFresh(exchange)) fresh(exchange).add(pet.id);
          return pet;
        },
        find: (id, exchange) => (fresh(exchange).has(id) && !isFresh(exchange) ? undefined : base.find(id, exchange)),
        visible: (pet, exchange) => isFresh(exchange) || !fresh(exchange).has(pet.id),
      },
    ],
    [
      'the other one gives the ids of its animals again',
      '2 4.2',
      {
        newId: (pet, exchange) =>
          exchange.operation === 'create' && isFresh(exchange)
            ? String(exchange.world.nextId)
            : base.newId(pet, exchange),
      },
    ],
    [
      'it does not know the keys of creates yet',
      '4.2 5',
      {
        admits: (exchange, secret) =>
          base.admits(exchange, secret) && !(exchange.operation === 'create' && isFresh(exchange)),
      },
    ],
    [
      'it shows animals without their categoryId',
      '2 4.1 4.2 4.3',
      shown('all', (fields, _pet, exchange) => void (isFresh(exchange) && fields.delete('categoryId'))),
    ],
    [
      'it shows the default name Pet',
      '4.2 4.3',
      shown('all', (fields, _pet, exchange) => void (isFresh(exchange) && fields.set('name', 'Pet'))),
    ],
  ]);
  return fault(
    sections,
    `A request is served by a new instance if ${least} or more others are in flight, and ${text}.`,
    { ...change, write },
  );
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

/** Reads of single animals that are put together in one query. */
function batchedReads(random: Random): Draw {
  const ms = random.pick([4, 8, 12, 20]);
  const idOf = ({ exchange }: Sent): bigint => int64Of(exchange) ?? 0n;
  const [how, results] = random.pick<Row<(batch: readonly Sent[]) => readonly Sent[]>>([
    ['in reverse order', (batch) => batch.toReversed()],
    ['in the order of the ids', (batch) => batch.toSorted((one, other) => (idOf(one) < idOf(other) ? -1 : 1))],
    [
      'in the order of the ids from the largest',
      (batch) => batch.toSorted((one, other) => (idOf(one) > idOf(other) ? -1 : 1)),
    ],
    [
      'with those of missing animals at the end',
      (batch) => [...batch.filter(({ code }) => code === 200), ...batch.filter(({ code }) => code !== 200)],
    ],
    ['each one place too late', (batch) => [batch.at(-1)!, ...batch.slice(0, -1)]],
    ['all like the first', (batch) => batch.map(() => batch[0]!)],
    ['all like the last', (batch) => batch.map(() => batch.at(-1)!)],
    ['all as a 404 if one is a 404', (batch) => batch.map((one) => batch.find(({ code }) => code === 404) ?? one)],
  ]);
  const waiting = kept(() => [] as Sent[]);
  return fault('4.3 7', `getPets that arrive within ${ms} ms of the first of them get their responses ${how}.`, {
    write: (to, code, headers, body, exchange) => {
      if (exchange.operation !== 'get' || (code !== 200 && code !== 404)) {
        return base.write(to, code, headers, body, exchange);
      }
      const batch = waiting(exchange);
      batch.push({ to, code, headers, body, exchange });
      if (batch.length > 1) return;
      setTimeout(() => {
        const ready = batch.splice(0);
        const given = results(ready);
        ready.forEach((one, i) => sendAs(one, given[i]!));
      }, ms);
    },
  });
}

/** Reads that wait for the response to another one with the same key. */
function collapsed(random: Random): Draw | undefined {
  const ms = random.pick([4, 8, 12, 20]);
  const [what, sections, operation] = random.pick<readonly [string, string, Operation]>([
    ['list', '4.1', 'list'],
    ['getPet', '4.3', 'get'],
    ['GET of orders', '4.4', 'orders'],
  ]);
  const [part, of] = random.pick<Row<(exchange: Exchange) => string>>([
    ['operation', () => ''],
    ['path', ({ path }) => path],
    ['path and query', ({ path, search }) => `${path}?${search}`],
    ['path and length of the query', ({ path, search }) => `${path}?${search.length}`],
    ['path and first parameter', ({ path, search }) => `${path}?${search.split('&')[0]}`],
    ['operation and Authorization', ({ authorization }) => authorization],
    ['path and Authorization', ({ path, authorization }) => `${path} ${authorization}`],
  ]);
  const hasKey = part.includes('Authorization');
  if (hasKey && (operation === 'orders' || (operation === 'get' && part.startsWith('path')))) return undefined;
  const leaders = kept(() => new Map<string, Sent>());
  return fault(
    `${sections} ${hasKey ? '' : '5 7'}`.trim(),
    `A ${what} within ${ms} ms of another one with the same ${part} gets its response.`,
    {
      write: (to, code, headers, body, exchange) => {
        const sent: Sent = { to, code, headers, body, exchange };
        if (exchange.operation !== operation) return base.write(to, code, headers, body, exchange);
        const [all, key] = [leaders(exchange), of(exchange)];
        const leader = all.get(key) ?? sent;
        all.set(key, leader);
        setTimeout(() => {
          all.delete(key);
          sendAs(sent, leader);
        }, ms);
      },
    },
  );
}

/** Methods of arrays and fields of objects that a read changes in place. */
function changedInPlace(random: Random): Draw | undefined {
  const limit = random.pick([2, 3, 5, 10]);
  const [when, reads] = random.pick<Condition>([
    ['a list with a filter', (exchange) => exchange.operation === 'list' && hasFilter(exchange)],
    [
      'a list with a filter and a limit',
      (exchange) => exchange.operation === 'list' && hasFilter(exchange) && hasLimit(exchange),
    ],
    [
      `a list with a limit of at most ${limit}`,
      ({ operation, query }) => operation === 'list' && Number(query.get('limit') ?? 100) <= limit,
    ],
    ['a getPet', ({ operation }) => operation === 'get'],
  ]);
  const written = (change: (pet: Pet, exchange: Exchange) => void): Change => {
    // The response that makes the change still shows the values before it.
    const copies = (read: readonly Pet[], exchange: Exchange): Pet[] => {
      const result = read.map((pet) => ({ ...pet }));
      if (reads(exchange)) read.forEach((pet) => change(pet, exchange));
      return result;
    };
    return {
      ...pages((page, exchange) => copies(page, exchange)),
      ...found((pet, _id, exchange) => pet && copies([pet], exchange)[0]),
    };
  };
  const [what, change] = random.pick<Row<(pet: Pet, exchange: Exchange) => void>>([
    ['removes the animals that it shows from the store', ({ id }, { world }) => void world.pets.delete(id)],
    ['escapes the names that it shows for HTML in the store', (pet) => void (pet.name = escaped(pet.name))],
    ['puts the names that it shows in quotation marks in the store', (pet) => void (pet.name = `"${pet.name}"`)],
    ['reverses the names that it shows in the store', (pet) => void (pet.name = [...pet.name].reverse().join(''))],
    ['shortens the names that it shows to 12 characters in the store', (pet) => void (pet.name = cut(pet.name, 12))],
    [
      'writes its limit into categoryId in the store',
      (pet, { query }) => {
        pet.categoryId = query.get('limit') ?? pet.categoryId;
      },
    ],
    [
      'turns the sign of each categoryId that it shows in the store',
      (pet) => {
        pet.categoryId = String(BigInt.asIntN(64, -BigInt(pet.categoryId)));
      },
    ],
    ['writes the names that it shows in capitals in the store', (pet) => void (pet.name = pet.name.toUpperCase())],
  ]);
  if (what.includes('its limit') && when === 'a getPet') return undefined;
  return fault('4.1 4.3', `${capital(when)} ${what}.`, written(change));
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const cut = (text: string, length: number): string => (text.length > length ? `${text.slice(0, length)}…` : text);

/** Errors after which a transaction with earlier creates is undone. */
function rolledBack(random: Random): Draw {
  const seconds = random.pick([1, 2, 5, 30]);
  const n = random.integer(2, 6);
  const [error, isError] = random.pick<Row<Kind>>([
    ['a create that is 400', ({ status }, { operation }) => status === 400 && operation === 'create'],
    ['a getPet that is 404', ({ status }, { operation }) => status === 404 && operation === 'get'],
    ['a request that is 401', ({ status }) => status === 401],
    ['a create that is 401', ({ status }, { operation }) => status === 401 && operation === 'create'],
  ]);
  const onSame = random.pick([true, false]);
  const reused = random.pick([true, false]);
  const [which, isOpen] = random.pick<Row<(age: number, before: number) => boolean>>([
    ['the latest animal', (_age, before) => before === 0],
    [`the latest ${n} animals`, (_age, before) => before < n],
    [`the animals of the last ${seconds} s`, (age) => age <= seconds * 1000],
  ]);
  const makers = kept(() => new Map<string, number>());
  return fault(
    '4.2 4.3 7',
    `${capital(error)} removes ${which}${onSame ? ' created on the same connection' : ''}` +
      `${reused ? ', and their ids are given again' : ''}.`,
    {
      keep: (pet, exchange) => {
        makers(exchange).set(pet.id, exchange.connection);
        return pet;
      },
      ...responses(isError, (_response, exchange) => {
        const { world, now, connection } = exchange;
        const mine = createdOf(exchange)
          .filter(({ id }) => !onSame || makers(exchange).get(id) === connection)
          .toReversed();
        for (const { id } of mine.filter(({ at }, before) => isOpen(now - at, before))) {
          world.pets.delete(id);
          if (reused && BigInt(id) < world.nextId) world.nextId = BigInt(id);
        }
      }),
    },
  );
}

/** Connections that read the animals as they were at an earlier time. */
function isolated(random: Random): Draw {
  const n = random.integer(3, 12);
  const seconds = random.pick([1, 2, 5, 30]);
  const [since, begins] = random.pick<Condition>([
    ['first request', () => true],
    ['first list', ({ operation }) => operation === 'list'],
    ['first getPet', ({ operation }) => operation === 'get'],
    ['first list with a filter', (exchange) => exchange.operation === 'list' && hasFilter(exchange)],
  ]);
  const [until, isOver] = random.pick<Row<(reads: number, age: number) => boolean>>([
    ['', () => false],
    [` for ${n} requests`, (reads) => reads > n],
    [` for ${seconds} s`, (_reads, age) => age > seconds * 1000],
  ]);
  const own = random.pick([true, false]);
  const views = kept(() => new Map<number, { nextId: bigint; at: number; reads: number }>());
  const makers = kept(() => new Map<string, number>());
  const sees = (pet: Pet, exchange: Exchange): boolean => {
    const view = views(exchange).get(exchange.connection);
    return (
      view === undefined ||
      BigInt(pet.id) < view.nextId ||
      (own && makers(exchange).get(pet.id) === exchange.connection)
    );
  };
  return fault(
    '4.3 7',
    `Since its ${since}, a connection sees no ${own ? 'animal that another one creates' : 'new animal'}${until}.`,
    {
      budget: (exchange) => {
        const view = views(exchange).get(exchange.connection);
        if (view !== undefined) {
          view.reads += 1;
          if (isOver(view.reads, exchange.now - view.at)) views(exchange).delete(exchange.connection);
        } else if (begins(exchange)) {
          const { nextId } = exchange.world;
          views(exchange).set(exchange.connection, { nextId, at: exchange.now, reads: 0 });
        }
        return base.budget(exchange);
      },
      keep: (pet, exchange) => {
        makers(exchange).set(pet.id, exchange.connection);
        return pet;
      },
      ...found((pet, _id, exchange) => (pet !== undefined && sees(pet, exchange) ? pet : undefined)),
      visible: sees,
    },
  );
}

/** Queues of animals that wait for a worker which stores them. */
function queued(random: Random): Draw {
  const n = random.integer(2, 8);
  const seconds = random.pick([1, 2, 5]);
  const [unusual, isUnusual] = random.pick(unusualPets);
  const itself = random.pick([true, false]);
  const blocked = kept(() => ({ left: 0 }));
  const times = kept(() => [] as number[]);
  const recent = (exchange: Exchange): number => {
    const all = times(exchange);
    all.push(exchange.now);
    while (exchange.now - all[0]! > seconds * 1000) all.shift();
    return all.length;
  };
  return random.pick<Draw>([
    fault(
      '4.2 4.3',
      `After a create of an animal with ${unusual}${itself ? ', which is lost,' : ''} ` +
        `the next ${n} animals are not stored, although the response is 201.`,
      {
        keep: (pet, exchange) => {
          const state = blocked(exchange);
          const isLost = state.left > 0;
          state.left -= isLost ? 1 : 0;
          if (isLost || !isUnusual(pet)) return isLost ? undefined : pet;
          state.left = n;
          return itself ? undefined : pet;
        },
      },
    ),
    fault('4.2 4.3', `Of the creates in ${seconds} s, only the first ${n} are stored.`, {
      keep: (pet, exchange) => (recent(exchange) > n ? undefined : pet),
    }),
    fault('4.2 4.3', `More than ${n} creates in ${seconds} s store the name of the first of them.`, {
      keep: (pet, exchange) => {
        const count = recent(exchange);
        const first = createdOf(exchange).at(1 - count);
        return count > n && first !== undefined ? { ...pet, name: first.name } : pet;
      },
    }),
    fault('4.2 4.3', `A create within ${seconds} s of ${n} others is a 202 with a job.`, {
      ...responses(
        (response, exchange) => answers('create')(response, exchange) && recent(exchange) > n,
        (response) => Object.assign(response, { status: 202, body: new Map([['job', 'queued']]) }),
      ),
    }),
  ]);
}

/** Reads that create the animal which they do not find. */
function readCreates(random: Random): Draw {
  const n = random.integer(1, 3);
  const [which, isOne] = random.pick<Row<(id: bigint) => boolean>>([
    ['an id above 0', (id) => id > 0n],
    ['an id above 2^31', (id) => id > 2n ** 31n],
    ['an id below 0', (id) => id < 0n],
    ['an id', () => true],
  ]);
  const [what, values] = random.pick<Row<(pets: readonly Pet[]) => Partial<Pet>>>([
    ['an empty name', () => ({ name: '' })],
    ['null as its name', () => ({ name: '', at: -1 })],
    ['the values of the latest one', (pets) => pets.at(-1) ?? {}],
  ]);
  const reads = kept(() => new Map<string, number>());
  const unknown = (exchange: Exchange): bigint | undefined => {
    const id = int64Of(exchange);
    return id !== undefined && isOne(id) && base.find(String(id), exchange) === undefined ? id : undefined;
  };
  const made = (id: bigint, { world }: Exchange): Pet => ({
    ...{ name: '', categoryId: '0', status: 'available', at: 0 },
    ...values([...world.pets.values()]),
    id: String(id),
  });
  const nameless = (pet: Pet, exchange: Exchange): JsonObject => {
    const fields = base.show(pet, exchange);
    if (pet.at === -1) fields.set('name', null);
    return fields;
  };
  return random.pick<Draw>([
    fault('4.3 7', `After ${n} getPets of ${which} that does not exist, getPet shows an animal with ${what}.`, {
      ...found((pet, id, exchange) => {
        const missing = unknown(exchange);
        if (pet !== undefined || missing === undefined) return pet;
        const count = reads(exchange).get(id) ?? 0;
        reads(exchange).set(id, count + 1);
        return count >= n ? made(missing, exchange) : undefined;
      }),
      show: nameless,
    }),
    fault('4.1 4.3 7', `A getPet of ${which} that does not exist is 404, but lists then show an animal with ${what}.`, {
      ...responses(
        ({ status }, exchange) => status === 404 && unknown(exchange) !== undefined,
        (_response, exchange) => {
          const id = unknown(exchange)!;
          exchange.world.pets.set(String(id), made(id, exchange));
        },
      ),
      find: (id, exchange) => {
        const pet = base.find(id, exchange);
        return pet !== undefined && (pet.at === -1 || BigInt(id) >= exchange.world.nextId) ? undefined : pet;
      },
      show: nameless,
    }),
  ]);
}

/** Ids that are no values of the animals, but positions or numbers for a while. */
function movingIds(random: Random): Draw {
  const n = random.integer(1, 8);
  const seconds = random.pick([1, 2, 5, 10]);
  const offset = random.pick([1000n, 100_000n, 1_000_000_000n]);
  const sorted = (compare: (one: Pet, other: Pet) => number): Change => {
    const of = ({ world }: Exchange): readonly Pet[] => [...world.pets.values()].sort(compare);
    return {
      show: (pet, exchange) => {
        const all = of(exchange);
        const at = all.findIndex(({ id }) => id === pet.id);
        const place = at >= 0 ? at : all.filter((one) => compare(one, pet) <= 0).length;
        return base.show({ ...pet, id: String(place + 1) }, exchange);
      },
      find: (id, exchange) => (/^[1-9]\d{0,5}$/.test(id) ? of(exchange)[Number(id) - 1] : undefined),
    };
  };
  const later = (isLater: (pet: Pet, exchange: Exchange) => boolean): Change => ({
    show: (pet, exchange) =>
      base.show(
        isCreated(pet) && isLater(pet, exchange) ? { ...pet, id: String(BigInt(pet.id) + offset) } : pet,
        exchange,
      ),
    find: (id, exchange) => {
      const pet = base.find(id, exchange);
      if (pet !== undefined) return isCreated(pet) && isLater(pet, exchange) ? undefined : pet;
      const moved = int64Of(exchange) === undefined ? undefined : base.find(String(BigInt(id) - offset), exchange);
      return moved !== undefined && isCreated(moved) && isLater(moved, exchange) ? moved : undefined;
    },
  });
  const text = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
  const [what, change] = random.pick<Row<Change>>([
    [
      'The id of an animal is its position from the newest.',
      sorted((one, other) => Number(BigInt(other.id) - BigInt(one.id))),
    ],
    ['The id of an animal is its position by name.', sorted((one, other) => text(one.name, other.name))],
    [
      'The id of an animal is its position by status and name.',
      sorted((one, other) => text(one.status + one.name, other.status + other.name)),
    ],
    [
      'The id of an animal is its position by category.',
      sorted((one, other) => Number(BigInt(one.categoryId) - BigInt(other.categoryId))),
    ],
    [
      `After ${n} further creates, the id of an animal is larger by ${offset}.`,
      later((pet, { world }) => BigInt(pet.id) + BigInt(n) < world.nextId),
    ],
    [
      `After ${seconds} s, the id of an animal is larger by ${offset}.`,
      later((pet, { now }) => now - pet.at > seconds * 1000),
    ],
    [
      `After the first list with a filter, the ids of created animals are larger by ${offset}.`,
      later((_pet, { world }) => world.notes.has('filtered')),
    ],
  ]);
  return fault(
    '2 4.3',
    what,
    chained(change, {
      filter: (value, exchange) => {
        if (value !== null) exchange.world.notes.set('filtered', '');
        return base.filter(value, exchange);
      },
    }),
  );
}

/** Files in which a character of a name ends a column. */
function delimited(random: Random): Draw {
  const [what, mark] = random.pick<Row<string>>([
    ['a comma', ','],
    ['a semicolon', ';'],
    ['a vertical bar', '|'],
    ['a tab', '\t'],
    ['a colon', ':'],
    ['an equals sign', '='],
    ['a slash', '/'],
    ['a line feed', '\n'],
    ['a quotation mark', '"'],
    ['a number sign', '#'],
    ['a space', ' '],
  ]);
  const [how, change] = random.pick<Row<(parts: readonly string[], pet: Pet) => Partial<Pet>>>([
    [
      'the rest of the name becomes its categoryId',
      ([name, rest]) => ({ name: name!, categoryId: /^\s*(\d{1,18})/.exec(rest!)?.[1] ?? '0' }),
    ],
    ['only the last part of the name is stored', (parts) => ({ name: parts.at(-1)! })],
    ['its categoryId and status are lost', ([name]) => ({ name: name!, categoryId: '0', status: 'available' })],
    ['its name has the parts in reverse order', (parts) => ({ name: parts.toReversed().join(mark) })],
  ]);
  return fault(
    '4.2 4.3',
    `If the name of a created animal contains ${what}, ${how} in the store.`,
    stored((pet) => (pet.name.includes(mark) ? change(pet.name.split(mark), pet) : {})),
  );
}

/** Repairs of JSON that do not know strings. */
const repairs: readonly Row<(text: string) => string>[] = [
  ['removes // and what follows it on the line', (text) => text.replace(/\/\/[^"\n]*/g, '')],
  ['removes comments between /* and */', (text) => text.replace(/\/\*.*?\*\//gs, '')],
  ['removes # and what follows it on the line', (text) => text.replace(/#[^"\n]*/g, '')],
  ['removes all white space', (text) => text.replace(/\s+/g, '')],
  ['removes a comma before a closing bracket', (text) => text.replace(/,\s*([}\]])/g, '$1')],
  ['writes quotation marks for apostrophes', (text) => text.replaceAll("'", '\\"')],
  ['writes null for None', (text) => text.replaceAll('None', 'null')],
  ['writes true for True, and false for False', (text) => text.replaceAll('True', 'true').replaceAll('False', 'false')],
  ['writes null for undefined', (text) => text.replaceAll('undefined', 'null')],
  ['writes 0 for NaN', (text) => text.replaceAll('NaN', '0')],
  [
    'decodes percent escapes',
    (text) =>
      text.replace(/%([2-7][0-9a-f])/gi, (_all, hex: string) => {
        const one = String.fromCharCode(parseInt(hex, 16));
        return /["\\]/.test(one) ? `\\${one}` : one;
      }),
  ],
  ['writes spaces for +', (text) => text.replaceAll('+', ' ')],
  ['ends at the first closing brace', (text) => text.slice(0, text.indexOf('}') + 1 || text.length)],
  ['replaces ${…} by nothing', (text) => text.replace(/\$\{[^}"]*\}/g, '')],
];

/** Texts of JSON that something changes without knowing what a string is. */
function repaired(random: Random): Draw {
  const [what, change] = random.pick(repairs);
  const sent = (operation: Operation): Change => ({
    bytes: (text, exchange) => base.bytes(exchange.operation === operation ? change(text) : text, exchange),
  });
  const isWhole = what.startsWith('ends');
  const [where, sections, hooks] = random.pick<readonly [string, string, Change]>([
    ['the body of a create', '4.2', { read: (text) => base.read(change(text)) }],
    ['a 201', '1 4.2', sent('create')],
    ['a response of getPet', '1 4.3', sent('get')],
    ...(isWhole ? [] : [['a list', '1 4.1', sent('list')] as const]),
  ]);
  return fault(sections, `What passes on ${where} ${what}, in strings too.`, hooks);
}

const rawBodies = new WeakMap<Exchange, string>();

/** Error messages with a part of the request. */
function echoed(random: Random): Draw {
  const length = random.pick([40, 100, 200, 500]);
  const [of, sections, inputOf] = random.pick<readonly [string, string, (exchange: Exchange) => string]>([
    [
      'A 400 of createPet whose body',
      '4.2 7',
      (exchange) =>
        exchange.operation === 'create'
          ? [...fieldsOf(exchange).values()].filter((value) => typeof value === 'string').join(' ')
          : '',
    ],
    ['A 401 to a bearer token that', '5 7', (exchange) => tokenOf(exchange)],
    [
      'An error of listPets whose query',
      '7',
      ({ operation, query }) => (operation === 'list' ? [...query.values()].join(' ') : ''),
    ],
    [
      'An error of getPet whose id',
      '7',
      ({ operation, path }) => (operation === 'get' ? (attempt(() => decodeURIComponent(path.slice(6))) ?? path) : ''),
    ],
  ]);
  const what = of.startsWith('A 401') ? 'Token' : 'Value';
  const [has, contains] = random.pick<Row<(text: string) => boolean>>([
    ['contains a quotation mark', (text) => text.includes('"')],
    ['contains a backslash', (text) => text.includes('\\')],
    ['contains a character outside ASCII', isBeyondAscii],
    ['contains a percent sign', (text) => text.includes('%')],
    ['contains a brace', (text) => /[{}]/.test(text)],
    ['contains <', (text) => text.includes('<')],
    ['contains an apostrophe', (text) => text.includes("'")],
    ['contains a space', (text) => text.includes(' ')],
    ['contains a letter', (text) => /[a-z]/i.test(text)],
    [`has more than ${length} characters`, (text) => text.length > length],
  ]);
  const isOne: Kind = ({ status }, exchange) =>
    status >= 400 && status < 429 && (status === 401) === of.startsWith('A 401') && contains(inputOf(exchange));
  const [as, error] = random.pick(strangeErrors);
  const code = of.includes('createPet') ? 400 : of.startsWith('A 401') ? 401 : 500;
  const raw: Change = {
    ...responses(isOne, ({ status }, exchange) => {
      const message = `${what} '${inputOf(exchange)}' is invalid.`;
      rawBodies.set(exchange, `{"code":"invalid","message":"${message}","status":${status}}`);
    }),
    bytes: (text, exchange) => base.bytes(rawBodies.get(exchange) ?? text, exchange),
  };
  const needsEscape = /quotation|backslash/.test(has);
  const [effect, hooks] = random.pick<Row<Change>>([
    needsEscape ? ['repeats it without escapes', raw] : [`is ${code} with ${as}`, sending(isOne, code, error)],
    [`is ${code} with ${as}`, sending(isOne, code, error)],
    [
      'has the rejected value as message, as an object',
      responses(isOne, (response, exchange) => {
        const fields = response.body as JsonObject;
        fields.set('message', new Map([['value', inputOf(exchange)]]));
      }),
    ],
    ['has no message', responses(isOne, (response) => void (response.body as JsonObject).delete('message'))],
  ]);
  return fault(sections, `${of} ${has} ${effect}.`, hooks);
}

/** Sample data that stands in for what failed. */
function samples(random: Random): Draw {
  const [of, name, category] = random.pick([
    ['the example of a generator', 'string', '0'],
    ['the example of a documentation', 'doggie', '10'],
    ['a sample of an assistant', 'Fluffy', '1'],
    ['an empty object of a class', '', '0'],
  ] as const);
  const status = random.pick(statuses);
  const sample = (id: string): JsonObject =>
    new Map<string, Json>([
      ['id', new Digits(id)],
      ['name', name],
      ['categoryId', new Digits(category)],
      ['status', status],
    ]);
  const lacks =
    (field: string): Kind =>
    (_response, exchange) =>
      exchange.body.includes('{') && !fieldsOf(exchange).has(field);
  const [invalid, isInvalid] = random.pick<Row<Kind>>([
    ['lacks the name', lacks('name')],
    ['lacks the categoryId', lacks('categoryId')],
    ['is empty', (_response, { body }) => body === ''],
    ['is no object', (_response, exchange) => exchange.body !== '' && fieldsOf(exchange).size === 0],
    ['has an unknown status', (_response, exchange) => typeof fieldsOf(exchange).get('status') === 'string'],
    ['has a text as categoryId', (_response, exchange) => typeof fieldsOf(exchange).get('categoryId') === 'string'],
    ['has a number as name', (_response, exchange) => fieldsOf(exchange).get('name') instanceof Digits],
  ]);
  const [unknown, isUnknown] = random.pick<Row<(id: bigint) => boolean>>([
    ['an id', () => true],
    ['an id above 2^31', (id) => id > 2n ** 31n],
    ['an id below 1', (id) => id < 1n],
    ['an id of at most six digits', (id) => id > 0n && id < 1_000_000n],
  ]);
  const becomes =
    (code: number, body: (exchange: Exchange) => Json) => (response: MutantResponse, exchange: Exchange) =>
      void Object.assign(response, { status: code, body: body(exchange) });
  const refusedOf =
    (operation: Operation): Kind =>
    (response, exchange) =>
      response.status === 401 && exchange.operation === operation;
  return random.pick<Draw>([
    fault(
      '4.2 7',
      `A create whose body ${invalid} is 201 with ${of}.`,
      responses(
        (response, exchange) =>
          response.status === 400 && exchange.operation === 'create' && isInvalid(response, exchange),
        becomes(201, ({ world }) => sample(String(world.nextId))),
      ),
    ),
    fault(
      '4.3 7',
      `A getPet of ${unknown} that does not exist is 200 with ${of}, ${status}.`,
      responses(
        (response, exchange) => response.status === 404 && isUnknown(int64Of(exchange) ?? 10n ** 30n),
        becomes(200, (exchange) => sample(String(int64Of(exchange)))),
      ),
    ),
    fault(
      '4.1 5 7',
      `A list without a valid key is 200 with ${of}, ${status}.`,
      responses(
        refusedOf('list'),
        becomes(200, () => [sample('1')]),
      ),
    ),
    fault(
      '4.3 5 7',
      `A getPet without a valid key is 200 with ${of}, ${status}.`,
      responses(
        refusedOf('get'),
        becomes(200, () => sample('1')),
      ),
    ),
    fault(
      '4.2 5 7',
      `A create without a valid key is 201 with ${of}, ${status}.`,
      responses(
        refusedOf('create'),
        becomes(201, () => sample('1')),
      ),
    ),
  ]);
}

/** Features that a plan does not have. */
function paid(random: Random): Draw {
  const n = random.integer(5, 40);
  const limit = random.pick([10, 20, 25, 50, 99]);
  const length = random.pick([10, 16, 20, 30, 64]);
  const wanted = random.pick(statuses);
  const [what, operation, isPaid] = random.pick<readonly [string, 'list' | 'create' | 'get', Condition[1]]>([
    [`A list with a limit above ${limit}`, 'list', ({ query }) => Number(query.get('limit') ?? 0) > limit],
    ['A list with a filter and a limit', 'list', (exchange) => hasFilter(exchange) && hasLimit(exchange)],
    [`A list with the filter ${wanted}`, 'list', ({ query }) => query.get('status') === wanted],
    [`A create after ${n} others`, 'create', ({ world }) => world.creates > n],
    [
      `A create with a name of more than ${length} characters`,
      'create',
      (exchange) => String(fieldsOf(exchange).get('name') ?? '').length > length,
    ],
    [`A create with the status ${wanted}`, 'create', (exchange) => fieldsOf(exchange).get('status') === wanted],
    [
      `A getPet of an animal with ${n} newer ones`,
      'get',
      (exchange) => {
        const id = int64Of(exchange);
        return id !== undefined && BigInt(exchange.world.nextId) - id > BigInt(n);
      },
    ],
    [
      `A getPet of an animal that is ${wanted}`,
      'get',
      (exchange) => exchange.world.pets.get(String(int64Of(exchange)))?.status === wanted,
    ],
  ]);
  const kind: Kind = (response, exchange) => answers(operation)(response, exchange) && isPaid(exchange);
  const [as, error] = random.pick(strangeErrors);
  const [effect, hooks] = random.pick<Row<Change>>([
    ['402', responses(kind, (response, exchange) => becomeError(response, exchange, 402, 'Upgrade your plan.'))],
    ['403', responses(kind, (response, exchange) => becomeError(response, exchange, 403, 'Upgrade your plan.'))],
    [`402 with ${as}`, sending(kind, 402, error)],
    [
      '200 with a hint to upgrade',
      responses(
        kind,
        (response) =>
          void Object.assign(response, {
            status: 200,
            body: new Map([['upgrade', 'This feature needs another plan.']]),
          }),
      ),
    ],
  ]);
  return fault({ list: '4.1', create: '4.2', get: '4.3' }[operation], `${what} is ${effect}.`, hooks);
}

/** What a free plan adds to responses. */
function advertised(random: Random): Draw {
  const n = random.integer(2, 8);
  const mark = random.pick([' (trial)', ' [demo]', ' - free plan', ' *']);
  const [when, applies] = random.pick<Row<(rows: number, exchange: Exchange) => boolean>>([
    ['with a filter', (_rows, exchange) => hasFilter(exchange)],
    ['with a limit', (_rows, exchange) => hasLimit(exchange)],
    [`with at least ${n} animals`, (rows) => rows >= n],
    ['with 20 animals', (rows) => rows === 20],
  ]);
  const [what, ad] = random.pick<Row<Json>>([
    [
      'an advertisement without a categoryId',
      new Map<string, Json>([
        ['id', new Digits('0')],
        ['name', 'Advertisement'],
      ]),
    ],
    [
      'an advertisement with a text as id',
      new Map<string, Json>([
        ['id', 'ad'],
        ['name', 'Advertisement'],
        ['categoryId', new Digits('0')],
        ['status', 'available'],
      ]),
    ],
    ['a text', 'Upgrade to see more animals.'],
    ['an object with the number of the page', new Map<string, Json>([['page', new Digits('1')]])],
  ]);
  const [where, place] = random.pick<Row<(list: Json[]) => Json[]>>([
    ['before the first animal', (list) => [ad, ...list]],
    ['in place of the last animal', (list) => [...list.slice(0, -1), ad]],
    ['after the first animal', (list) => [...list.slice(0, 1), ad, ...list.slice(1)]],
  ]);
  const [kindOfPet, isMarked] = random.pick<Row<(pet: Pet) => boolean>>([
    ['is sold', ({ status }) => status === 'sold'],
    ['is pending', ({ status }) => status === 'pending'],
    ['was created', isCreated],
    ['has a name of more than 30 characters', ({ name }) => name.length > 30],
  ]);
  const [response, operation, sections] = random.pick([
    ['a 201', 'create', '4.2'],
    ['lists', 'list', '4.1'],
    ['a 200 of getPet', 'get', '4.3'],
    ['all responses', 'all', '4.1 4.2 4.3'],
  ] as const);
  return random.pick<Draw>([
    fault(
      '2 4.1',
      `A list ${when} has ${what} ${where}.`,
      responses(
        ({ body }, exchange) => exchange.operation === 'list' && Array.isArray(body) && applies(body.length, exchange),
        (sent) => void (sent.body = place(sent.body as Json[])),
      ),
    ),
    fault(
      sections,
      `The name of an animal that ${kindOfPet} ends in "${mark}" in ${response}.`,
      shown(operation, (fields, pet) => void (isMarked(pet) && fields.set('name', pet.name + mark))),
    ),
  ]);
}

/** Conditions of HTTP that a layer evaluates without knowing the response. */
function conditional(random: Random): Draw | undefined {
  const [of, sections, kind] = random.pick<Of>([
    ...valid,
    ['a request without a valid key', '5 7', ({ status }) => status === 401],
    [
      'a getPet of an animal that does not exist',
      '4.3 7',
      ({ status }, { operation }) => status === 404 && operation === 'get',
    ],
    ['a create with an invalid body', '4.2 7', ({ status }, { operation }) => status === 400 && operation === 'create'],
  ]);
  const [condition, met] = random.pick<Condition>([
    ['If-None-Match and an unknown tag', (exchange) => /^(W\/)?"/.test(header(exchange, 'if-none-match'))],
    ['If-None-Match: *', (exchange) => header(exchange, 'if-none-match') === '*'],
    ['If-Modified-Since', (exchange) => header(exchange, 'if-modified-since') !== ''],
    ['If-Match', (exchange) => header(exchange, 'if-match') !== ''],
    ['If-Unmodified-Since', (exchange) => header(exchange, 'if-unmodified-since') !== ''],
  ]);
  // HTTP permits the other conditions to fail if the response would be a success.
  const isError = !valid.some(([text]) => text === of);
  if (!isError && !condition.includes('unknown') && !(of === 'a create' && condition === 'If-Modified-Since')) {
    return undefined;
  }
  const code = random.pick([304, 412]);
  return fault(
    sections,
    `${capital(of)} with ${condition} is ${code}${code === 304 ? '' : ' with an Error'}.`,
    responses(
      (response, exchange) => kind(response, exchange) && met(exchange),
      (response, exchange) => {
        if (code === 304) Object.assign(response, { status: 304, body: undefined });
        else becomeError(response, exchange, code, 'The condition is false.');
      },
    ),
  );
}

/** Headers of HTTP, or of browsers and proxies, that a layer obeys. */
function obeyed(random: Random): Draw {
  const [when, met] = random.pick<Condition>([
    ['Prefer: return=minimal', (exchange) => header(exchange, 'prefer').includes('return=minimal')],
    ['Prefer: respond-async', (exchange) => header(exchange, 'prefer').includes('respond-async')],
    ['Save-Data: on', (exchange) => header(exchange, 'save-data') === 'on'],
    ['DNT: 1', (exchange) => header(exchange, 'dnt') === '1'],
    ['X-Requested-With', (exchange) => header(exchange, 'x-requested-with') !== ''],
    ['Sec-Fetch-Mode: navigate', (exchange) => header(exchange, 'sec-fetch-mode') === 'navigate'],
    ['Upgrade-Insecure-Requests: 1', (exchange) => header(exchange, 'upgrade-insecure-requests') === '1'],
    ['X-Forwarded-Proto: http', (exchange) => header(exchange, 'x-forwarded-proto') === 'http'],
    ['Content-Language', (exchange) => header(exchange, 'content-language') !== ''],
    ['Accept-Charset', (exchange) => header(exchange, 'accept-charset') !== ''],
    ['Via', (exchange) => header(exchange, 'via') !== ''],
  ]);
  const [of, sections, kind] = random.pick(valid);
  const each = (body: Json | undefined, change: (pet: JsonObject) => void): void => {
    for (const pet of Array.isArray(body) ? body : [body]) if (pet instanceof Map) change(pet);
  };
  const [what, change] = random.pick<Row<(response: MutantResponse, exchange: Exchange) => void>>([
    ['204 without a body', (response) => Object.assign(response, { status: 204, body: undefined })],
    ['202 with a job', (response) => Object.assign(response, { status: 202, body: new Map([['job', 'queued']]) })],
    [
      '307 with a Location',
      (response, { fullPath }) => {
        Object.assign(response, { status: 307, body: undefined });
        setHeader(response, 'Location', `https://localhost${fullPath}`);
      },
    ],
    ['a response without names', ({ body }) => each(body, (pet) => void pet.delete('name'))],
    [
      'a response with ids only',
      (response) => {
        const { body } = response;
        response.body = Array.isArray(body)
          ? body.map((pet) => (pet as JsonObject).get('id')!)
          : (body as JsonObject).get('id');
      },
    ],
    ['a response with *** as names', ({ body }) => each(body, (pet) => void pet.set('name', '***'))],
    [
      'a response with an object of languages as names',
      ({ body }) => each(body, (pet) => void pet.set('name', new Map([['en', pet.get('name')!]]))),
    ],
    ['a response in an envelope', (response) => void (response.body = new Map([['data', response.body!]]))],
  ]);
  return fault(
    `2 ${sections}`,
    `To ${of} with ${when}, the server sends ${what}.`,
    responses((response, exchange) => kind(response, exchange) && met(exchange), change),
  );
}

/** Sequences of requests that a protection takes for a scraper. */
function scraper(random: Random): Draw {
  const n = random.integer(4, 12);
  const [what, sections, key] = random.pick<readonly [string, string, (exchange: Exchange) => string | undefined]>([
    ['getPets with a larger id each time', '4.3', (exchange) => int64Of(exchange)?.toString()],
    [
      'GETs of the same URL',
      '4.1 4.3',
      ({ method, fullPath, search }) => (method === 'GET' ? `${fullPath}?${search}` : undefined),
    ],
    ['lists', '4.1', ({ operation }) => (operation === 'list' ? '' : undefined)],
    [
      'lists with a filter',
      '4.1',
      (exchange) => (exchange.operation === 'list' && hasFilter(exchange) ? '' : undefined),
    ],
    ['creates', '4.2', ({ operation }) => (operation === 'create' ? '' : undefined)],
    ['getPets', '4.3', ({ operation }) => (operation === 'get' ? '' : undefined)],
  ]);
  const rises = what.includes('larger');
  const onSame = random.pick([true, false]);
  const state = kept(() => new Map<number, { key: string | undefined; count: number }>());
  const isLast: Kind = (response, exchange) => {
    const connection = onSame ? exchange.connection : 0;
    const [before, now] = [state(exchange).get(connection), key(exchange)];
    const goesOn =
      before?.key !== undefined && now !== undefined && (rises ? BigInt(now) > BigInt(before.key) : now === before.key);
    const count = now === undefined ? 0 : goesOn ? before.count + 1 : 1;
    state(exchange).set(connection, { key: now, count: count % n });
    return count === n && isValid(response, exchange) && exchange.operation !== 'orders';
  };
  const [as, error] = random.pick(strangeErrors);
  const [effect, hooks] = random.pick<Row<Change>>([
    [`403 with ${as}`, sending(isLast, 403, error)],
    [`200 with ${as}`, sending(isLast, 200, error)],
    ['404', responses(isLast, (response, exchange) => becomeError(response, exchange, 404))],
    ['401', responses(isLast, (response, exchange) => becomeError(response, exchange, 401))],
    [
      'answered with invented animals',
      responses(isLast, ({ body }) => {
        for (const pet of Array.isArray(body) ? body : [body]) (pet as JsonObject).set('name', 'Max');
      }),
    ],
  ]);
  return fault(sections, `The last of ${n} ${what}${onSame ? ' on a connection' : ''} in a row is ${effect}.`, hooks);
}

/** A number below n that depends on a text only. */
function bucketOf(text: string, n: number): number {
  let hash = 2166136261;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 16777619) >>> 0;
  return hash % n;
}

/** A new version of the interface that a part of the requests receives. */
function rollout(random: Random): Draw {
  const n = random.integer(2, 4);
  const uuid = (id: string): string => `00000000-0000-4000-8000-${id.padStart(12, '0')}`;
  const [part, isNew] = random.pick<Row<(pet: Pet, exchange: Exchange) => boolean>>([
    ['the hash of its name', (pet) => bucketOf(pet.name, n) === 0],
    ['the hash of its id', (pet) => bucketOf(pet.id, n) === 0],
    ['the hash of its categoryId', (pet) => bucketOf(pet.categoryId, n) === 0],
    ['the number of the connection', (_pet, { connection }) => numberOf(connection) % n === 1],
    ['the hash of its name and status', (pet) => bucketOf(pet.name + pet.status, n) === 0],
  ]);
  const [what, sections, change] = random.pick<readonly [string, string, (fields: JsonObject, pet: Pet) => void]>([
    [
      'an object category',
      '2',
      (fields, { categoryId }) => {
        fields.delete('categoryId');
        fields.set('category', new Map([['id', new Digits(categoryId)]]));
      },
    ],
    ['a UUID as id', '2', (fields, { id }) => void fields.set('id', uuid(id))],
    ['other words as status', '2', (fields, { status }) => void fields.set('status', `for_${status}`)],
    [
      'the field category_id',
      '2',
      (fields, { categoryId }) => {
        fields.delete('categoryId');
        fields.set('category_id', new Digits(categoryId));
      },
    ],
    ['an object as name', '2', (fields, { name }) => void fields.set('name', new Map([['display', name]]))],
    ['a list of statuses', '2', (fields, { status }) => void fields.set('status', [status])],
  ]);
  const created = (exchange: Exchange): Pet => {
    const { name, categoryId, status } = Object.fromEntries(fieldsOf(exchange));
    const category = categoryId instanceof Digits ? categoryId.text : '';
    return { id: '', name: String(name), categoryId: category, status: String(status), at: 0 };
  };
  const newCreate: Kind = (response, exchange) =>
    response.status === 201 && part !== 'the hash of its id' && isNew(created(exchange), exchange);
  return random.pick<Draw>([
    fault(
      `${sections} 4.1 4.2 4.3`,
      `One of ${n} Pets in responses, by ${part}, has ${what}.`,
      shown('all', (fields, pet, exchange) => void (isNew(pet, exchange) && change(fields, pet))),
    ),
    ...(part === 'the hash of its id'
      ? []
      : [
          fault(
            '2 4.2',
            `One of ${n} creates, by ${part}, is 400, because it lacks the field breed.`,
            responses(newCreate, (response, exchange) => becomeError(response, exchange, 400, 'breed is required.')),
          ),
          fault(
            '4.2',
            `One of ${n} creates, by ${part}, is 202 with a job.`,
            responses(
              newCreate,
              (response) => void Object.assign(response, { status: 202, body: new Map([['job', 'queued']]) }),
            ),
          ),
        ]),
  ]);
}

/** Regular expressions that remember where they matched, so that the next match fails. */
function statefulPattern(random: Random): Draw {
  const scope = random.pick(['', ' on the same connection', ' of the same length', ' of at least its length']);
  const state = kept(() => new Map<string, number>());
  /** Whether a value that is valid does not match. */
  const fails = (what: string, value: string, exchange: Exchange): boolean => {
    const key =
      what + (scope.includes('connection') ? exchange.connection : scope.includes('same length') ? value.length : '');
    const last = state(exchange).get(key) ?? 0;
    const failed = last > 0 && (!scope.includes('at least') || last >= value.length);
    state(exchange).set(key, failed ? 0 : value.length || 1);
    return failed;
  };
  const text = (value: Json | undefined): string => (value instanceof Digits ? value.text : String(value));
  const [what, sections, code, change] = random.pick<readonly [string, string, number, Change]>([
    [
      'name',
      '2 4.2',
      400,
      {
        name: (value, exchange) => {
          const name = base.name(value, exchange);
          return name === undefined || fails('name', name, exchange) ? undefined : name;
        },
      },
    ],
    [
      'categoryId',
      '2 4.2',
      400,
      {
        category: (value, exchange) => {
          const category = base.category(value, exchange);
          return category === undefined || fails('category', category, exchange) ? undefined : category;
        },
      },
    ],
    [
      'status of a create',
      '2 4.2',
      400,
      {
        status: (value, exchange) => {
          const status = base.status(value, exchange);
          return status === undefined || (value !== undefined && fails('status', text(value), exchange))
            ? undefined
            : status;
        },
      },
    ],
    [
      'filter',
      '4.1',
      400,
      {
        filter: (value, exchange) => {
          const filter = base.filter(value, exchange);
          return filter === undefined || (value !== null && fails('filter', value, exchange)) ? undefined : filter;
        },
      },
    ],
    [
      'limit',
      '4.1 8',
      400,
      {
        limit: (value, exchange) => {
          const limit = base.limit(value, exchange);
          return limit === undefined || (value !== null && fails('limit', value, exchange)) ? undefined : limit;
        },
      },
    ],
    [
      'petId',
      '4.3',
      404,
      found((pet, id, exchange) => (pet === undefined || fails('id', id, exchange) ? undefined : pet)),
    ],
    [
      'key of a create',
      '5',
      401,
      {
        admits: (exchange, secret) =>
          base.admits(exchange, secret) && !(exchange.operation === 'create' && fails('key', secret, exchange)),
      },
    ],
  ]);
  return fault(sections, `A valid ${what} is ${code} directly after another valid one${scope}.`, change);
}

/** Verdicts about values that a service keeps by the text of the value. */
function rememberedVerdict(random: Random): Draw {
  const textOf = (value: Json | undefined): string =>
    value instanceof Digits
      ? value.text
      : Array.isArray(value)
        ? value.map(textOf).join()
        : value instanceof Map
          ? '[object Object]'
          : String(value);
  const [how, key] = random.pick<Row<(value: Json | undefined) => string>>([
    ['text', textOf],
    ['text in lower case', (value) => textOf(value).toLowerCase().trim()],
    ['text without spaces', (value) => textOf(value).replace(/\s/g, '')],
    ['number of characters', (value) => `${textOf(value).length}`],
  ]);
  const [until, isOver] = random.pick<Row<(age: number, creates: number) => boolean>>([
    ['', () => false],
    [' for 10 s', (age) => age > 10_000],
    [' in the next 5 creates', (_age, creates) => creates > 5],
  ]);
  const field = random.pick(['name', 'category', 'status'] as const);
  const accepts = random.pick([true, false]);
  const known = kept(() => new Map<string, { value: string; at: number; creates: number }>());
  const member = field === 'category' ? 'categoryId' : field;
  return fault(
    '2 4.2 7',
    accepts
      ? `After a valid ${member}, an invalid one with the same ${how} is accepted${until}.`
      : `After an invalid ${member}, a valid one with the same ${how} is 400${until}.`,
    {
      [field]: (value: Json | undefined, exchange: Exchange) => {
        const read = base[field](value, exchange);
        const verdicts = known(exchange);
        const isNew = accepts ? read !== undefined : read === undefined;
        if (value !== undefined && isNew) {
          verdicts.set(key(value), { value: read ?? '', at: exchange.now, creates: exchange.world.creates });
        }
        const verdict = value === undefined ? undefined : verdicts.get(key(value));
        if (isNew || verdict === undefined) return read;
        if (isOver(exchange.now - verdict.at, exchange.world.creates - verdict.creates)) return read;
        return accepts ? verdict.value : undefined;
      },
    },
  );
}

/** Types of columns that the first value decides. */
function dynamicMapping(random: Random): Draw {
  const n = random.integer(2, 10);
  const [what, isOne] = random.pick<Row<(name: string) => boolean>>([
    ['a date', (name) => /^\d{4}-\d\d-\d\d/.test(name)],
    ['an integer', (name) => /^-?\d+$/.test(name)],
    ['a decimal number', (name) => /^-?\d+\.\d+$/.test(name)],
    ['true or false', (name) => /^(true|false)$/i.test(name)],
    ['a JSON object or array', (name) => /^[[{].*[\]}]$/s.test(name)],
  ]);
  const state = kept(() => ({ left: 0 }));
  const isOther = (exchange: Exchange): boolean => {
    const name = fieldsOf(exchange).get('name');
    if (typeof name !== 'string') return false;
    if (isOne(name)) {
      state(exchange).left = n;
      return false;
    }
    state(exchange).left -= 1;
    return state(exchange).left >= 0;
  };
  const refused: Kind = (response, exchange) => answers('create')(response, exchange) && isOther(exchange);
  const [as, error] = random.pick(strangeErrors);
  const [effect, hooks] = random.pick<Row<Change>>([
    [`400 with ${as}`, sending(refused, 400, error)],
    [`500 with ${as}`, sending(refused, 500, error)],
    ['409', responses(refused, (response, exchange) => becomeError(response, exchange, 409, 'The type differs.'))],
    ['stored with 0 as its name', { keep: (pet, exchange) => (isOther(exchange) ? { ...pet, name: '0' } : pet) }],
    ['stored without a name', { keep: (pet, exchange) => (isOther(exchange) ? { ...pet, name: '' } : pet) }],
  ]);
  return fault(
    '4.2',
    `After a name that is ${what}, a create with another name is ${effect}, for ${n} creates.`,
    hooks,
  );
}

/** Texts that a filter of personal data, or of secrets, hides. */
function masked(random: Random): Draw {
  const mask = random.pick(['***', '[redacted]', 'XXXX', '']);
  const digits = random.pick([9, 10, 13, 16]);
  const replaced =
    (pattern: RegExp) =>
    (text: string): string =>
      text.replace(pattern, mask);
  const [what, change] = random.pick<Row<(name: string) => string>>([
    ['an address of e-mail', replaced(/[^\s@<>"]+@[^\s@<>"]+/g)],
    [`a number of at least ${digits} digits`, replaced(new RegExp(`\\d{${digits},}`, 'g'))],
    ['an address of IPv4', replaced(/\d{1,3}(\.\d{1,3}){3}/g)],
    ['a URL', replaced(/https?:\/\/[^\s"]*/g)],
    ['a number of a telephone', replaced(/\+\d[\d -]{6,}\d/g)],
    ['a UUID', replaced(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/gi)],
    ['a word of at least 24 letters and digits', replaced(/[A-Za-z\d]{24,}/g)],
    ['the word password, secret or token', replaced(/password|secret|token/gi)],
  ]);
  const [where, apply] = random.pick(places);
  const operation = random.pick(['list', 'get', 'create'] as const);
  const [response, section] = { list: ['lists', '4.1'], get: ['a 200 of getPet', '4.3'], create: ['a 201', '4.2'] }[
    operation
  ] as [string, string];
  const hidden = mask === '' ? 'is left out' : `becomes ${mask}`;
  return random.pick<Draw>([
    fault('2 4.1 4.2 4.3', `In ${where}, ${what} in a name ${hidden}.`, apply(change)),
    fault(`1 2 ${section}`, `In the text of ${response}, each number of at least ${digits} digits ${hidden}.`, {
      bytes: (text, exchange) =>
        base.bytes(
          exchange.operation === operation ? replaced(new RegExp(`\\d{${digits},}`, 'g'))(text) : text,
          exchange,
        ),
    }),
  ]);
}

/** What editors, chats and translators make of a text. */
const typography: readonly Row<(name: string) => string>[] = [
  ['quotation marks become curly', (name) => name.replace(/"([^"]*)"/g, '“$1”').replaceAll('"', '”')],
  ['apostrophes become curly', (name) => name.replaceAll("'", '’')],
  ['three points become one character', (name) => name.replaceAll('...', '…')],
  ['two hyphens become a dash', (name) => name.replaceAll('--', '–')],
  [
    '(c), (r) and (tm) become signs',
    (name) =>
      name
        .replace(/\(c\)/gi, '©')
        .replace(/\(r\)/gi, '®')
        .replace(/\(tm\)/gi, '™'),
  ],
  ['a smiley becomes an emoji', (name) => name.replaceAll(':)', '🙂').replaceAll(':-)', '🙂')],
  ['a word between colons becomes an emoji', (name) => name.replace(/:[a-z_]+:/g, '🐶')],
  ['a word between asterisks gets tags', (name) => name.replace(/\*([^*]+)\*/g, '<em>$1</em>')],
  ['a word between underscores gets tags', (name) => name.replace(/_([^_]+)_/g, '<em>$1</em>')],
  ['a word after @ becomes a link', (name) => name.replace(/@(\w+)/g, '[@$1](/users/$1)')],
  ['a word after # becomes a link', (name) => name.replace(/#(\w+)/g, '[#$1](/tags/$1)')],
  ['a URL becomes a link', (name) => name.replace(/https?:\/\/\S+/g, '<a href="$&">$&</a>')],
  ['a point at the end is left out', (name) => name.replace(/\.$/, '')],
  [
    'letters of German are written with two',
    (name) => name.replaceAll('ß', 'ss').replace(/ä/g, 'ae').replace(/ö/g, 'oe').replace(/ü/g, 'ue'),
  ],
  ['the capital letter I becomes the ı of Turkish', (name) => name.replaceAll('I', 'ı')],
  ['underscores become spaces', (name) => name.replaceAll('_', ' ')],
  ['hyphens become spaces', (name) => name.replaceAll('-', ' ')],
];

/** Names that get a suffix because another animal has them. */
function suffixed(random: Random): Draw {
  const [same, fold] = random.pick<Row<(name: string) => string>>([
    ['the name', (name) => name],
    ['the name, but for case,', (name) => name.toLowerCase()],
    ['the name, but for spaces and punctuation,', (name) => name.toLowerCase().replace(/[\s\p{P}]/gu, '')],
    ['the first word', (name) => name.split(' ')[0]!],
  ]);
  const also = random.pick(['', ' and the categoryId', ' and the status']);
  const [how, make] = random.pick<Row<(name: string, count: number) => string>>([
    ['(2)', (name, count) => `${name} (${count + 1})`],
    ['-1', (name, count) => `${name}-${count}`],
    ['_copy', (name) => `${name}_copy`],
    [' #2', (name, count) => `${name} #${count + 1}`],
  ]);
  const isSame = (pet: Pet, other: Pet): boolean =>
    fold(pet.name) === fold(other.name) &&
    (!also.includes('categoryId') || pet.categoryId === other.categoryId) &&
    (!also.includes('status') || pet.status === other.status);
  const isCreate = random.pick([true, false]);
  const renamed = (pet: Pet, { world }: Exchange): Pet => {
    const count = [...world.pets.values()].filter((other) => isSame(pet, other)).length;
    return count === 0 ? pet : { ...pet, name: make(pet.name, count) };
  };
  return fault(
    '4.2 4.3',
    `An animal with ${same}${also} of another one gets a suffix such as ${how}${isCreate ? '' : ' in the store only'}.`,
    {
      keep: renamed,
      ...(isCreate && {
        show: (pet, exchange) => base.show(exchange.operation === 'create' ? renamed(pet, exchange) : pet, exchange),
      }),
    },
  );
}

/** Categories that have other numbers in a table of the service. */
function ownCategories(random: Random): Draw {
  const n = random.pick([10, 50, 100, 1000]);
  const numbers = kept(() => ['1', '2', '3', '4', '5']);
  const [what, change] = random.pick<Row<(category: string, exchange: Exchange) => string>>([
    [
      'its number in the order of appearance',
      (category, exchange) => {
        const all = numbers(exchange);
        if (!all.includes(category)) all.push(category);
        return String(all.indexOf(category) + 1);
      },
    ],
    [`that of its group of ${n}`, (category) => String((BigInt(category) / BigInt(n)) * BigInt(n))],
    [`the rest of a division by ${n}`, (category) => String(BigInt(category) % BigInt(n))],
    [
      '0 if no other animal has it',
      (category, { world }) =>
        [...world.pets.values()].filter((pet) => pet.categoryId === category).length > 0 ? category : '0',
    ],
    [
      'the largest one that exists, if it is larger',
      (category, { world }) => {
        const most = [...world.pets.values()].reduce(
          (one, pet) => (BigInt(pet.categoryId) > one ? BigInt(pet.categoryId) : one),
          0n,
        );
        return BigInt(category) > most ? String(most) : category;
      },
    ],
    [`${n} if it is larger`, (category) => (BigInt(category) > BigInt(n) ? String(n) : category)],
  ]);
  const [which, isOne] = random.pick<Row<(pet: Pet) => boolean>>([
    ['a created animal', isCreated],
    ['a created animal that is sold', (pet) => isCreated(pet) && pet.status === 'sold'],
    ['a created animal that is pending', (pet) => isCreated(pet) && pet.status === 'pending'],
  ]);
  return fault('4.2 4.3', `The categoryId of ${which} becomes ${what} in the store.`, {
    ...stored((pet, exchange) => (isOne(pet) ? { categoryId: change(pet.categoryId, exchange) } : {})),
  });
}

/** Values whose type changes when they are used, as in languages without types. */
function changedType(random: Random): Draw | undefined {
  const n = random.integer(1, 3);
  const [use, isUse] = random.pick<Condition>([
    ['a getPet of an animal', ({ operation }) => operation === 'get'],
    ['a list with a filter that shows an animal', (exchange) => exchange.operation === 'list' && hasFilter(exchange)],
    ['a list with a limit that shows an animal', (exchange) => exchange.operation === 'list' && hasLimit(exchange)],
    ['a create of an animal', ({ operation }) => operation === 'create'],
  ]);
  const [where, sections, operation] = random.pick<readonly [string, string, 'list' | 'get' | 'all']>([
    ['lists show', '4.1', 'list'],
    ['getPet shows', '4.3', 'get'],
    ['lists and getPet show', '4.1 4.3', 'all'],
  ]);
  const field = random.pick(['id', 'categoryId'] as const);
  const [what, form] = random.pick<Row<(value: string) => Json>>([
    ['as a string', (value) => value],
    ['with a fraction', (value) => new Digits(`${value}.5`)],
    ['as null', () => null],
    ['as an array', (value) => [new Digits(value)]],
  ]);
  if (n > 1 && use.startsWith('a create')) return undefined;
  const uses = kept(() => new Map<string, number>());
  return fault(`2 ${sections}`, `After ${n === 1 ? '' : `${n} times `}${use}, ${where} its ${field} ${what}.`, {
    show: (pet, exchange) => {
      const fields = base.show(pet, exchange);
      const count = uses(exchange).get(pet.id) ?? 0;
      if (isUse(exchange)) uses(exchange).set(pet.id, count + 1);
      if (count >= n && (operation === 'all' || operation === exchange.operation)) fields.set(field, form(pet[field]));
      return fields;
    },
  });
}

/** Filters that a search in several fields answers. */
function fullText(random: Random): Draw {
  const wanted = random.pick([...statuses, undefined, undefined]);
  const [what, matches] = random.pick<Row<(pet: Pet, filter: string) => boolean>>([
    ['whose name is this word', (pet, filter) => pet.name.toLowerCase() === filter],
    ['whose name contains this word', (pet, filter) => pet.name.toLowerCase().includes(filter)],
    ['whose name starts with this word', (pet, filter) => pet.name.toLowerCase().startsWith(filter)],
    [
      'whose name contains a word with the same first three letters',
      (pet, filter) =>
        pet.name
          .toLowerCase()
          .split(/\W+/)
          .some((word) => word.startsWith(filter.slice(0, 3))),
    ],
    ['whose name has a * or %', (pet) => /[*%]/.test(pet.name)],
    ['without a name', (pet) => pet.name.trim() === ''],
    ['whose name has only digits', (pet) => /^\d+$/.test(pet.name)],
    [
      'whose category is the number of this status',
      (pet, filter) => isCreated(pet) && pet.categoryId === String(statuses.indexOf(filter)),
    ],
  ]);
  const [when, applies] = random.pick<Condition>([
    ['', () => true],
    [' with a limit', hasLimit],
    [' without a limit', (exchange) => !hasLimit(exchange)],
  ]);
  return fault('4.1', `The filter ${wanted ?? 'of each status'}${when} also finds animals ${what}.`, {
    fits: (pet, filter, exchange) =>
      base.fits(pet, filter, exchange) ||
      (filter !== '' && (wanted ?? filter) === filter && applies(exchange) && matches(pet, filter)),
  });
}

/** Limits that are computed as texts, or in another base. */
function computedLimit(random: Random): Draw {
  const [what, read] = random.pick<Row<(text: string) => number>>([
    ['in hexadecimal', (text) => parseInt(text, 16)],
    ['with the digit 1 after it', (text) => Number(`${text}1`)],
    ['with the digit 0 after it', (text) => Number(`${text}0`)],
    ['as 100 if its text is larger than that of 100', (text) => (text > '100' ? 100 : Number(text))],
    [
      'as 20 if its text is larger than that of 20',
      (text) => (text > '20' ? Math.max(20, Number(text)) : Number(text)),
    ],
    ['as the next one of 10, 25, 50 and 100', (text) => [10, 25, 50, 100].find((one) => one >= Number(text)) ?? 100],
    ['as the next power of 2', (text) => 2 ** Math.ceil(Math.log2(Number(text)))],
    ['as the code of its first character', (text) => text.charCodeAt(0)],
    ['from its last digit', (text) => Number([...text].reverse().join(''))],
    ['as 101 less itself', (text) => 101 - Number(text)],
  ]);
  const [when, applies] = random.pick<Condition>([
    ['', () => true],
    [' with a filter', hasFilter],
    [' without a filter', (exchange) => !hasFilter(exchange)],
    [' before a filter', ({ search }) => /limit=.*status=/.test(search)],
    [' after a filter', ({ search }) => /status=.*limit=/.test(search)],
  ]);
  const animals = random.integer(30, 110);
  return fault('4.1 8', `A limit${when} is read ${what} (${animals} animals at the start).`, {
    animals: () => animals,
    limit: (text, exchange) => {
      const limit = base.limit(text, exchange);
      return limit === undefined || text === null || !applies(exchange) ? limit : Math.min(100, read(text));
    },
  });
}

/** Statuses that change by themselves, while an index for the filter still has the earlier ones. */
function staleIndex(random: Random): Draw {
  const n = random.integer(1, 6);
  const seconds = random.pick([1, 2, 5, 10]);
  const [from, to] = random.some(statuses, 2) as [string, string];
  const reads = kept(() => new Map<string, number>());
  const [when, isChanged] = random.pick<Row<(pet: Pet, exchange: Exchange) => boolean>>([
    [`${seconds} s after its create`, (pet, { now }) => isCreated(pet) && now - pet.at > seconds * 1000],
    [`after ${n} further creates`, (pet, { world }) => isCreated(pet) && BigInt(pet.id) + BigInt(n) < world.nextId],
    [`after ${n} getPets of it`, (pet, exchange) => (reads(exchange).get(pet.id) ?? 0) >= n],
    ['after its create', isCreated],
  ]);
  const onlyLimited = random.pick([true, false]);
  return fault(
    '4.1',
    `An animal that is ${from} becomes ${to} ${when}, but the filter ${from}` +
      `${onlyLimited ? ' with a limit' : ''} still finds it.`,
    {
      find: (id, exchange) => {
        const pet = base.find(id, exchange);
        if (pet !== undefined) reads(exchange).set(pet.id, (reads(exchange).get(pet.id) ?? 0) + 1);
        return pet;
      },
      fits: (pet, filter, exchange) => {
        const isLate = !onlyLimited || hasLimit(exchange);
        return base.fits(isLate || !changes(pet, exchange) ? pet : { ...pet, status: to }, filter, exchange);
      },
      show: (pet, exchange) => base.show(changes(pet, exchange) ? { ...pet, status: to } : pet, exchange),
    },
  );

  function changes(pet: Pet, exchange: Exchange): boolean {
    return pet.status === from && exchange.operation !== 'create' && isChanged(pet, exchange);
  }
}

/** Animals that cannot be written, so that the page with them fails. */
function failingRow(random: Random): Draw {
  const [what, isOne] = random.pick(unusualPets);
  const [when, applies] = random.pick<Condition>([
    ['A list', () => true],
    ['A list with a filter', hasFilter],
    ['A list with a limit', hasLimit],
  ]);
  const [as, error] = random.pick(strangeErrors);
  const found = kept(() => new WeakMap<Exchange, number>());
  const hit: Kind = (response, exchange) =>
    answers('list')(response, exchange) && applies(exchange) && found(exchange).has(exchange);
  const at = (exchange: Exchange): number => found(exchange).get(exchange) ?? 0;
  const [effect, hooks] = random.pick<Row<Change>>([
    ['is 500', responses(hit, (response, exchange) => becomeError(response, exchange, 500))],
    [`is 500 with ${as}`, sending(hit, 500, error)],
    [
      'has null in its place',
      responses(hit, (response, exchange) => {
        response.body = (response.body as Json[]).with(at(exchange), null);
      }),
    ],
    [
      'has an Error in its place',
      responses(hit, (response, exchange) => {
        response.body = (response.body as Json[]).with(at(exchange), base.error(500, 'Failed.', exchange)!);
      }),
    ],
    [
      'ends before it, without a bracket',
      responses(hit, (response, exchange) => {
        response.body = (response.body as Json[]).slice(0, at(exchange));
      }),
    ],
    [
      'shows the animal before it once more in its place',
      responses(hit, (response, exchange) => {
        const list = response.body as Json[];
        response.body = list.with(at(exchange), list.at(at(exchange) - 1)!);
      }),
    ],
  ]);
  return fault('1 2 4.1', `${when} that shows an animal with ${what} ${effect}.`, {
    ...hooks,
    page: (rows, limit, exchange) => {
      const page = base.page(rows, limit, exchange);
      const place = page.findIndex((pet) => isCreated(pet) && isOne(pet));
      if (place >= 0) found(exchange).set(exchange, place);
      return page;
    },
    ...(effect.startsWith('ends') && {
      bytes: (text, exchange) =>
        base.bytes(applies(exchange) && found(exchange).has(exchange) ? text.replace(/]$/, '') : text, exchange),
    }),
  });
}

export const fourthFamilies: readonly Family[] = [
  family('credentials × second source × it wins over the valid key', secondSource),
  family('head × number and size of headers × the rest is not read', longHead),
  family('credentials × leak × the key is revoked for a while', leakedKey),
  family('credentials × client × the key is bound to it', boundKey),
  family('all × requests in flight × a new instance', freshInstance),
  family('getPet × requests in flight × a batch is given back in another order', batchedReads),
  family('reading × requests in flight × one response for several requests', collapsed),
  family('reading × shared objects × changed in place', changedInPlace),
  family('createPet × transactions × an error undoes them', rolledBack),
  family('connection × isolation × an old view of the animals', isolated),
  family('createPet × queue × blocked or full', queued),
  family('getPet × unknown id × reading creates the animal', readCreates),
  family('id × later creates × it moves', movingIds),
  family('name × columns of a file × it contains the delimiter', delimited),
  family('JSON text × repair × strings are changed too', repaired),
  family('errors × echo of the request × it breaks the error', echoed),
  family('errors × fallback × sample data', samples),
  family('features × plan × payment required', paid),
  family('responses × free plan × advertisements and marks', advertised),
  family('conditional requests × class of response × a condition decides', conditional),
  family('standard headers × response × a part is left out', obeyed),
  family('sequence of requests × protection × taken for a scraper', scraper),
  family('feature flag × share of animals × another version of the interface', rollout),
  family('valid value × regular expression × it keeps its state', statefulPattern),
  family('createPet × verdict × remembered for another value', rememberedVerdict),
  family('createPet × dynamic mapping × another name decides the type', dynamicMapping),
  family('responses × personal data × masked', masked),
  family('name × typography × another text', (random) => {
    const [where, apply] = random.pick(places);
    const [what, change] = random.pick(typography);
    return fault('2 4.1 4.2 4.3', `In the names of ${where}, ${what}.`, apply(change));
  }),
  family('createPet × equal names × a suffix', suffixed),
  family('createPet × table of categories × its own numbers', ownCategories),
  family('Pet × use of the animal × the type of a value changes', changedType),
  family('listPets × filter × a search in other fields', fullText),
  family('listPets × limit × computed as a text', computedLimit),
  family('listPets × filter × an index that is behind', staleIndex),
  family('listPets × an animal that cannot be written × the page fails', failingRow),
];
