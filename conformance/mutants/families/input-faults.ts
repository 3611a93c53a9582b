/** Faults in what a server accepts: credentials, connections, queries, bodies, names, numbers and ids. */
import { base, statuses, type Exchange, type MutantResponse, type Operation, type Pet } from '../server/hooks.ts';
import { Digits, type Json, type JsonObject } from '../server/json.ts';
import { categoryFrom, nameFrom, responses, setHeader, statusFrom, tokenOf, type Change } from '../table/changes.ts';
import { becomeError, fault, nameOf, type Family } from './family.ts';
import type { Random } from './random.ts';

const authSections = '5 7 4.1 4.2 4.3 4.4';

/** Where a fault occurs: for all operations, for one of them, or after something else on the connection. */
function place(random: Random): readonly [text: string, isThere: (exchange: Exchange) => boolean] {
  const operation = random.pick<Operation>(['list', 'create', 'get', 'orders']);
  return random.pick<readonly [string, (exchange: Exchange) => boolean]>([
    ['by every operation', () => true],
    ['by every operation', () => true],
    [`by ${nameOf(operation)}`, (exchange) => exchange.operation === operation],
    [
      'on a connection that has carried the valid key',
      ({ connection, world }) => world.notes.get(`valid ${connection}`) === 'yes',
    ],
  ]);
}

/** Accepts other credentials at a place. */
function accepts(
  isThere: (exchange: Exchange) => boolean,
  also: (exchange: Exchange, secret: string) => boolean,
): Change {
  return {
    admits: (exchange, secret) => {
      if (base.admits(exchange, secret)) {
        exchange.world.notes.set(`valid ${exchange.connection}`, 'yes');
        return true;
      }
      return isThere(exchange) && also(exchange, secret);
    },
  };
}

const decoded = (decode: (token: string) => string) => (token: string) => {
  try {
    return decode(token);
  } catch {
    return token;
  }
};

const undone: Family = {
  name: 'credentials × transformation × the server undoes it',
  draw: (random) => {
    const ending = random.pick([
      '.',
      ',',
      ';',
      '=',
      '==',
      '/',
      '\\',
      '&',
      '#',
      '%00',
      '\\n',
      '%0A',
      '!',
      '*',
      '-',
      '_',
    ]);
    const [open, close] = random.pick(['""', "''", '<>', '[]', '{}', '()', '``', '%%', '**']).split('');
    const beginning = random.pick(['Bearer ', 'token=', 'key=', 'key:', 'Token ', 'api_key=', ':', '=', '/', '.']);
    const separator = random.pick([',', ', ', ';', ' ', '&', '|', ':', '.', '#', '?', '/', '--', '%20']);
    const [text, undo] = random.pick<readonly [string, (token: string) => string]>([
      ['encoded in percent form', decoded(decodeURIComponent)],
      ['encoded twice in percent form', decoded((token) => decodeURIComponent(decodeURIComponent(token)))],
      ['in base64', (token) => Buffer.from(token, 'base64').toString('latin1')],
      ['in hexadecimal', (token) => Buffer.from(token, 'hex').toString('latin1')],
      [
        `between ${open} and ${close}`,
        (token) => (token.startsWith(open!) && token.endsWith(close!) ? token.slice(1, -1) : token),
      ],
      [`followed by ${ending}`, (token) => (token.endsWith(ending) ? token.slice(0, -ending.length) : token)],
      [
        `after a second ${JSON.stringify(beginning)}`,
        (token) => (token.startsWith(beginning) ? token.slice(beginning.length) : token),
      ],
      [`followed by ${JSON.stringify(separator)} and anything`, (token) => token.split(separator)[0] ?? ''],
      [`preceded by anything and ${JSON.stringify(separator)}`, (token) => token.split(separator).at(-1) ?? ''],
      ['with - instead of _', (token) => token.replaceAll('-', '_')],
      [
        'with character references of HTML',
        (token) => token.replace(/&#(\d+);/g, (_all, code: string) => String.fromCharCode(Number(code))),
      ],
      ['with escapes of JSON', decoded((token) => JSON.parse(`"${token}"`) as string)],
      ['with white space in it', (token) => token.replace(/\s+/g, '')],
      [
        'written twice',
        (token) => (token.slice(0, token.length / 2).repeat(2) === token ? token.slice(0, token.length / 2) : token),
      ],
      ['with full-width characters', (token) => Buffer.from(token, 'latin1').toString().normalize('NFKC')],
      ['with other characters than letters, digits and _ in it', (token) => token.replace(/\W/g, '')],
    ]);
    const [where, isThere] = place(random);
    return fault(
      authSections,
      `The key ${text} is accepted ${where}.`,
      accepts(isThere, (exchange, secret) => tokenOf(exchange) !== secret && undo(tokenOf(exchange)) === secret),
    );
  },
};

const partialComparison: Family = {
  name: 'credentials × comparison × not of every character',
  draw: (random) => {
    const length = random.integer(6, 20);
    const position = random.integer(1, 12);
    const [text, equal] = random.pick<readonly [string, (token: string, secret: string) => boolean]>([
      [
        `is compared in its first ${length} characters`,
        (token, secret) => token.slice(0, length) === secret.slice(0, length),
      ],
      [
        `is compared in its last ${length} characters`,
        (token, secret) => token.slice(-length) === secret.slice(-length),
      ],
      ['may be followed by other characters', (token, secret) => token.startsWith(secret)],
      ['may be preceded by other characters', (token, secret) => token.endsWith(secret)],
      [
        `may be cut after ${length} or more characters`,
        (token, secret) => token.length >= length && secret.startsWith(token),
      ],
      ['is compared without case', (token, secret) => token.toLowerCase() === secret.toLowerCase()],
      [
        'is compared without case in its first character',
        (token, secret) => token.slice(1) === secret.slice(1) && token[0]?.toLowerCase() === secret[0]?.toLowerCase(),
      ],
      [
        `may have any character at position ${position}`,
        (token, secret) =>
          token.length === secret.length &&
          token.slice(0, position - 1) === secret.slice(0, position - 1) &&
          token.slice(position) === secret.slice(position),
      ],
      [
        'may have any last character',
        (token, secret) => token.length === secret.length && token.slice(0, -1) === secret.slice(0, -1),
      ],
      ['only has to be as long', (token, secret) => token.length === secret.length],
      [
        'only has to have the same characters in any order',
        (token, secret) => [...token].sort().join() === [...secret].sort().join(),
      ],
      ['only has to contain the right one', (token, secret) => token.includes(secret)],
      [
        'may have two neighbouring characters swapped',
        (token, secret) =>
          [...secret].some(
            (_, i) => token === `${secret.slice(0, i)}${secret[i + 1] ?? ''}${secret[i]}${secret.slice(i + 2)}`,
          ),
      ],
      [
        `only has to have the right ending after position ${position}`,
        (token, secret) => token.slice(position) === secret.slice(position) && token.length === secret.length,
      ],
    ]);
    const [where, isThere] = place(random);
    return fault(
      authSections,
      `The token ${text} (${where}).`,
      accepts(isThere, (exchange, secret) => tokenOf(exchange) !== '' && equal(tokenOf(exchange), secret)),
    );
  },
};

const otherPlace: Family = {
  name: 'credentials × place × not only in Authorization',
  draw: (random) => {
    const header = random.pick(['X-API-Key', 'Api-Key', 'X-Auth-Token', 'X-Access-Token', 'X-Authorization', 'Token']);
    const parameter = random.pick(['api_key', 'apikey', 'key', 'access_token', 'token', 'auth']);
    const cookie = random.pick(['token', 'session', 'api_key', 'access_token', 'Authorization']);
    const [text, has] = random.pick<readonly [string, (exchange: Exchange, secret: string) => boolean]>([
      [
        `in the header ${header}`,
        ({ headers }, secret) => {
          const value = headers[header.toLowerCase()];
          return value === secret || value === `Bearer ${secret}`;
        },
      ],
      [`in the query parameter ${parameter}`, ({ query }, secret) => query.get(parameter) === secret],
      [`in the cookie ${cookie}`, ({ headers }, secret) => (headers.cookie ?? '').includes(`${cookie}=${secret}`)],
      ['as the password of Basic', ({ authorization }, secret) => basicOf(authorization).split(':')[1] === secret],
      ['as the user of Basic', ({ authorization }, secret) => basicOf(authorization).split(':')[0] === secret],
      ['in Proxy-Authorization', ({ headers }, secret) => headers['proxy-authorization'] === `Bearer ${secret}`],
    ]);
    const [where, isThere] = place(random);
    return fault(authSections, `The key ${text} is accepted ${where}.`, accepts(isThere, has));
  },
};

const basicOf = (authorization: string): string =>
  Buffer.from(/^Basic (.*)$/i.exec(authorization)?.[1] ?? '', 'base64').toString();

const otherScheme: Family = {
  name: 'credentials × scheme × not only bearer',
  draw: (random) => {
    const scheme = random.pick(['Basic', 'Token', 'ApiKey', 'Digest', 'JWT', 'Key', 'Api-Key', 'Apikey', 'OAuth']);
    const [text, matches] = random.pick<readonly [string, (authorization: string, secret: string) => boolean]>([
      ['without a scheme', (authorization, secret) => authorization === secret],
      [`with the scheme ${scheme}`, (authorization, secret) => authorization === `${scheme} ${secret}`],
      ['with any scheme', (authorization, secret) => /^\S+ (.*)$/.exec(authorization)?.[1] === secret],
      ['with no space after Bearer', (authorization, secret) => authorization === `Bearer${secret}`],
      ['with Bearer: instead of Bearer', (authorization, secret) => authorization === `Bearer: ${secret}`],
      ['with Bearer= instead of Bearer', (authorization, secret) => authorization === `Bearer=${secret}`],
      ['with words before Bearer', (authorization, secret) => authorization.endsWith(` Bearer ${secret}`)],
      [
        'with a scheme that begins with Bearer',
        (authorization, secret) => /^Bearer\S+ (.*)$/.exec(authorization)?.[1] === secret,
      ],
      ['with Bear instead of Bearer', (authorization, secret) => authorization === `Bear ${secret}`],
    ]);
    const [where, isThere] = place(random);
    return fault(
      authSections,
      `The key ${text} is accepted ${where}.`,
      accepts(isThere, ({ authorization }, secret) => matches(authorization, secret)),
    );
  },
};

const knownKey: Family = {
  name: 'credentials × constant × a forgotten key',
  draw: (random) => {
    const word = random.pick([
      'test',
      'null',
      'undefined',
      'admin',
      'demo',
      'special-key',
      'secret',
      'changeme',
      'guest',
      'true',
      '0',
      '1',
      '*',
      'token',
      'invalid',
    ]);
    const [where, isThere] = place(random);
    return fault(
      authSections,
      `The key ${word} is accepted ${where}.`,
      accepts(isThere, (exchange) => tokenOf(exchange) === word),
    );
  },
};

/** Kinds of wrong credentials. */
const wrongCredentials: readonly (readonly [text: string, matches: (exchange: Exchange) => boolean])[] = [
  ['without Authorization', ({ authorization }) => authorization === ''],
  ['with a bearer token that is no key', (exchange) => tokenOf(exchange) !== ''],
  ['with another scheme', ({ authorization }) => /^(?!Bearer)\S+ \S/i.test(authorization)],
  ['with a scheme and no token', ({ authorization }) => /^Bearer$/i.test(authorization)],
  ['with a token of more than 60 characters', (exchange) => tokenOf(exchange).length > 60],
  ['with a token of less than 8 characters', (exchange) => /^.{1,7}$/.test(tokenOf(exchange))],
  ['with a single word', ({ authorization }) => /^(?!Bearer$)\S+$/i.test(authorization)],
];

const openOperation: Family = {
  name: 'credentials × operation × not checked',
  draw: (random) => {
    const [credentials, matches] = random.pick(wrongCredentials);
    const [text, isThere] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      ['listPets', ({ operation }) => operation === 'list'],
      ['listPets with a filter', ({ operation, query }) => operation === 'list' && query.has('status')],
      ['listPets with a limit', ({ operation, query }) => operation === 'list' && query.has('limit')],
      ['createPet', ({ operation }) => operation === 'create'],
      ['getPet', ({ operation }) => operation === 'get'],
      ['GET /store/orders', ({ operation }) => operation === 'orders'],
    ]);
    return fault(authSections, `${text} works ${credentials}.`, accepts(isThere, matches));
  },
};

const stickyKey: Family = {
  name: 'connection × reuse × the last credentials stay in force',
  draw: (random) => {
    const [credentials, matches] = random.pick(wrongCredentials.slice(0, 5));
    const seconds = random.pick([2, 5, 30]);
    const ofKey = ({ connection }: Exchange) => `key ${connection}`;
    const [text, remembers] = random.pick<readonly [string, (exchange: Exchange) => string]>([
      ['On a connection', ofKey],
      [
        `Within ${seconds} s, and on a connection`,
        ({ connection, now }) => `key ${connection} ${Math.floor(now / 1_000 / seconds)}`,
      ],
      ['For one more request on a connection', ofKey],
      ['For the same path on a connection', ({ connection, path }) => `key ${connection} ${path}`],
    ]);
    return fault(authSections, `${text}, the last valid key also serves a request ${credentials}.`, {
      admits: (exchange, secret) => {
        const {
          world: { notes },
        } = exchange;
        const note = remembers(exchange);
        if (base.admits(exchange, secret)) {
          notes.set(note, secret);
          return true;
        }
        const admitted = notes.get(note) === secret && matches(exchange);
        if (text.startsWith('For one more') && admitted) notes.delete(note);
        return admitted;
      },
    });
  },
};

const brokenConnection: Family = {
  name: 'connection × reuse × a wrong key spoils it',
  draw: (random) => {
    const count = random.integer(1, 4);
    const status = random.pick([401, 403, 400]);
    const scope = random.pick(['connection', 'path']);
    const following = random.pick([1, 2, 5]);
    return fault(
      '5 4.1 4.2 4.3 7',
      `After ${count} requests without a valid key, the next ${following} valid ones ` +
        `on the same ${scope} get ${status}.`,
      {
        response: (response, exchange) => {
          const {
            world: { notes },
            connection,
            path,
          } = exchange;
          const note = `refused ${scope === 'path' ? path : connection}`;
          const refused = Number(notes.get(note) ?? 0);
          // More than the count: the rest are valid requests that have been refused since.
          if (response.status === 401) {
            notes.set(note, String(Math.min(count, refused + 1)));
          } else if (refused >= count && response.status !== 429) {
            if (refused + 1 >= count + following) notes.delete(note);
            else notes.set(note, String(refused + 1));
            becomeError(response, exchange, status);
          }
          return response;
        },
      },
    );
  },
};

const sharedCache: Family = {
  name: 'cache × credentials × not part of its key',
  draw: (random) => {
    const seconds = random.pick([1, 3, 10, 60]);
    const operation = random.pick<Operation>(['list', 'get', 'orders']);
    const [text, served, cached] = random.pick<readonly [string, number, number]>([
      ['a 200 is also sent to requests without a valid key', 401, 200],
      ['a 401 is also sent to requests with a valid key', 200, 401],
    ]);
    return fault(
      authSections,
      `A cache keeps responses of ${nameOf(operation)} for ${seconds} s by their URL, so that ${text}.`,
      {
        response: (response, exchange) => {
          if (exchange.operation !== operation) return response;
          const {
            world: { notes },
            now,
            fullPath,
            search,
          } = exchange;
          // The first plain list is never cached: a client must be able to begin.
          if (exchange.world.requests === 1) return response;
          const note = `cached ${fullPath}?${search}`;
          if (response.status === cached) notes.set(note, String(now));
          const at = Number(notes.get(note) ?? 0);
          if (response.status !== served || now > at + seconds * 1_000) return response;
          if (cached === 401) becomeError(response, exchange, 401);
          else Object.assign(response, { status: 200, body: bodyOf(exchange) });
          return response;
        },
      },
    );
  },
};

/** What an operation returns with a valid key. */
function bodyOf(exchange: Exchange): Json {
  const { operation, path, world } = exchange;
  if (operation === 'orders') return base.orders();
  if (operation === 'list') return [...world.pets.values()].slice(-20).map((pet) => base.show(pet, exchange));
  const pet = base.find(path.slice('/pets/'.length), exchange);
  return pet === undefined ? [] : base.show(pet, exchange);
}

const otherRefusal: Family = {
  name: '401 × kind of credentials × another status',
  draw: (random) => {
    const [credentials, matches] = random.pick(wrongCredentials);
    const to = random.pick([400, 403, 404, 407, 422, 500, 302]);
    const operation = random.pick<Operation | 'all'>(['all', 'all', 'list', 'create', 'get']);
    return fault(
      authSections,
      `A request ${credentials} gets ${to}${operation === 'all' ? '' : ` from ${nameOf(operation)}`}.`,
      responses(
        (response, exchange) =>
          response.status === 401 && matches(exchange) && (operation === 'all' || exchange.operation === operation),
        (response, exchange) => {
          becomeError(response, exchange, to);
          if (to === 302) response.headers.push(['Location', '/login']);
        },
      ),
    );
  },
};

const earlyCheck: Family = {
  name: 'credentials × order of checks × another check comes first',
  draw: (random) => {
    const [text, matches, to] = random.pick<readonly [string, (exchange: Exchange) => boolean, number]>([
      [
        'an unknown animal',
        (exchange) => exchange.operation === 'get' && base.find(exchange.path.slice(6), exchange) === undefined,
        404,
      ],
      [
        'an invalid body',
        ({ operation, body }) => operation === 'create' && !/"name"[^]*"categoryId"|"categoryId"[^]*"name"/.test(body),
        400,
      ],
      ['an empty body', ({ operation, body }) => operation === 'create' && body === '', 400],
      [
        'an invalid status',
        ({ operation, body }) => operation === 'create' && /"status":\s*"(?!available|pending|sold)/.test(body),
        400,
      ],
    ]);
    const status = random.pick([to, to, 500]);
    return fault(authSections, `A request without a valid key for ${text} gets ${status}.`, {
      response: (response, exchange) => {
        if (response.status === 401 && matches(exchange)) becomeError(response, exchange, status);
        return response;
      },
    });
  },
};

const tooMany: Family = {
  name: 'listPets × limit × more animals than asked for',
  draw: (random) => {
    const animals = random.integer(40, 130);
    const [from, to] = random.pick([
      [1, 1],
      [2, 9],
      [10, 19],
      [20, 20],
      [21, 50],
      [1, 100],
      [7, 7],
      [1, 19],
    ] as const);
    const more = random.integer(1, 4);
    const least = random.integer(5, 15);
    const standard = random.pick([21, 25, 30, 50, 100]);
    const [text, rows] = random.pick<readonly [string, (limit: number, exchange: Exchange) => number]>([
      [
        `A limit from ${from} to ${to} yields ${more} more`,
        (limit) => limit + (limit >= from && limit <= to ? more : 0),
      ],
      [`A page has at least ${least} animals`, (limit) => Math.max(limit, least)],
      [
        `Without a limit, a page has ${standard} animals`,
        (limit, { query }) => (query.has('limit') ? limit : standard),
      ],
      [`A limit below ${least} is ignored`, (limit) => (limit < least ? 20 : limit)],
      ['A limit is ignored with a filter', (limit, { query }) => (query.has('status') ? 100 : limit)],
      [`A filter adds ${more} animals to a page`, (limit, { query }) => limit + (query.has('status') ? more : 0)],
      ['A limit is rounded up to a multiple of 5', (limit) => Math.ceil(limit / 5) * 5],
      [
        'A limit with one digit is multiplied by 10',
        (limit, { query }) => (query.get('limit')?.length === 1 ? limit * 10 : limit),
      ],
    ]);
    return fault('4.1 8', `${text} (${animals} animals at the start).`, {
      animals: () => animals,
      page: (all, limit, exchange) => all.slice(0, rows(limit, exchange)),
    });
  },
};

const refusedLimit: Family = {
  name: 'listPets × limit × a valid one is refused',
  draw: (random) => {
    const [text, refuses] = random.pick<readonly [string, (limit: number, exchange: Exchange) => boolean]>([
      ['limit=100', (limit) => limit === 100],
      ['limit=1', (limit) => limit === 1],
      ['a limit above 50', (limit) => limit > 50],
      ['a limit below 10', (limit) => limit < 10],
      ['a limit with two digits', (limit) => limit > 9 && limit < 100],
      ['a limit and a filter together', (_limit, { query }) => query.has('status')],
      ['a limit with the filter sold', (_limit, { query }) => query.get('status') === 'sold'],
      ['a limit before the filter', (_limit, { search }) => /limit=.*&status=/.test(search)],
      ['a limit after the filter', (_limit, { search }) => /status=.*&limit=/.test(search)],
    ]);
    const to = random.pick([400, 404, 422, 500]);
    return fault(
      '4.1 8',
      `${to} is the response to ${text}.`,
      responses(
        (response, exchange) =>
          exchange.operation === 'list' &&
          response.status === 200 &&
          exchange.query.has('limit') &&
          refuses(Number(exchange.query.get('limit')), exchange),
        (response, exchange) => becomeError(response, exchange, to),
      ),
    );
  },
};

const ignoredFilter: Family = {
  name: 'listPets × combination of parameters × the filter is ignored',
  draw: (random) => {
    const wanted = random.pick(statuses);
    const least = random.pick([2, 5, 10, 20, 21, 50]);
    const [text, ignores] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      ['if limit comes first', ({ search }) => /limit=.*&status=/.test(search)],
      ['if it comes first', ({ search }) => /status=.*&limit=/.test(search)],
      ['if there is a limit', ({ query }) => query.has('limit')],
      [`if limit is at least ${least}`, ({ query }) => Number(query.get('limit')) >= least],
      [`if limit is less than ${least}`, ({ query }) => query.has('limit') && Number(query.get('limit')) < least],
      ['if limit is 100', ({ query }) => query.get('limit') === '100'],
      [`if it is ${wanted}`, ({ query }) => query.get('status') === wanted],
      [`if it is ${wanted} and there is a limit`, ({ query }) => query.get('status') === wanted && query.has('limit')],
      [
        `if it is ${wanted} and there is no limit`,
        ({ query }) => query.get('status') === wanted && !query.has('limit'),
      ],
      [
        'on a connection that carried a create before',
        ({ connection, world }) => world.notes.has(`created on ${connection}`),
      ],
      [
        'for a second list in the same second',
        ({ now, world }) => world.notes.get('listed') === String(Math.floor(now / 1_000)),
      ],
    ]);
    return fault('4.1', `The filter is ignored ${text}.`, {
      fits: (pet, status, exchange) => base.fits(pet, status, exchange) || ignores(exchange),
      page: (rows, limit, exchange) => {
        if (exchange.query.has('status')) exchange.world.notes.set('listed', String(Math.floor(exchange.now / 1_000)));
        return base.page(rows, limit, exchange);
      },
      keep: (pet, exchange) => {
        exchange.world.notes.set(`created on ${exchange.connection}`, 'yes');
        return pet;
      },
    });
  },
};

const querySpelling: Family = {
  name: 'listPets × spelling of the query × not understood',
  draw: (random) => {
    const [text, matches] = random.pick<readonly [string, (search: string) => boolean]>([
      ['a percent-encoded value', (search) => /=[^&]*%/.test(search)],
      ['a percent-encoded name', (search) => /(^|&)[^=&]*%/.test(search)],
      ['an & at the end', (search) => /=.*&$/.test(search)],
      ['an & at the begin', (search) => /^&.*=/.test(search)],
      ['two & in sequence', (search) => /=.*&&.*=/.test(search)],
      ['limit before status', (search) => /limit=.*&status=/.test(search)],
      ['status before limit', (search) => /status=.*&limit=/.test(search)],
    ]);
    const [result, change] = random.pick<readonly [string, (response: MutantResponse, exchange: Exchange) => void]>([
      ['is refused with 400', (response, exchange) => becomeError(response, exchange, 400)],
      ['results in 500', (response, exchange) => becomeError(response, exchange, 500)],
      ['results in 404', (response, exchange) => becomeError(response, exchange, 404)],
      [
        'is ignored with all its parameters',
        (response, exchange) => {
          const pets = [...exchange.world.pets.values()].reverse().slice(0, 20);
          response.body = pets.map((pet) => base.show(pet, exchange));
        },
      ],
    ]);
    // How a server responds to an empty parameter is open, but it may not ignore the others.
    if (text.includes('&') && !result.startsWith('is ignored')) return undefined;
    return fault('4.1 8', `A query with ${text} ${result}.`, {
      animals: () => 30,
      ...responses(
        (response, { operation, search }) => operation === 'list' && response.status === 200 && matches(search),
        change,
      ),
    });
  },
};

const emptyResult: Family = {
  name: 'listPets × nothing matches × not an empty page',
  draw: (random) => {
    const animals = random.integer(1, 2);
    const [text, change] = random.pick<readonly [string, (response: MutantResponse, exchange: Exchange) => void]>([
      [
        'all animals',
        (response, exchange) => {
          response.body = [...exchange.world.pets.values()].slice(-20).map((pet) => base.show(pet, exchange));
        },
      ],
      ['404', (response, exchange) => becomeError(response, exchange, 404)],
      [
        '204',
        (response) => {
          Object.assign(response, { status: 204, body: undefined });
          setHeader(response, 'Content-Type', undefined);
        },
      ],
      ['null', (response) => void (response.body = null)],
      ['an empty object', (response) => void (response.body = new Map())],
      ['an array with null', (response) => void (response.body = [null])],
      ['an array with an empty object', (response) => void (response.body = [new Map()])],
      ['an array in an array', (response) => void (response.body = [[]])],
      ['no body', (response) => void (response.body = undefined)],
      ['500', (response, exchange) => becomeError(response, exchange, 500)],
      ['an empty string', (response) => void (response.body = '')],
    ]);
    return fault('4.1 2 1', `A filter that no animal fits yields ${text} (${animals} at the start, all available).`, {
      animals: () => animals,
      ...responses(
        (response, { operation }) =>
          operation === 'list' && response.status === 200 && Array.isArray(response.body) && response.body.length === 0,
        change,
      ),
    });
  },
};

const bodyForm: Family = {
  name: 'createPet × form of the body × a valid one is misread',
  draw: (random) => {
    const media = ({ contentType }: Exchange) => contentType;
    const [text, matches] = random.pick<readonly [string, (text: string, exchange: Exchange) => boolean]>([
      ['in chunks', (_text, { headers }) => headers['transfer-encoding'] !== undefined],
      ['of the type application/json; charset=utf-8', (_text, exchange) => /;\s*charset/i.test(media(exchange))],
      ['whose type has upper-case letters', (_text, exchange) => /[A-Z]/.test(media(exchange).split(';')[0]!)],
      ['with white space before it', (text) => /^\s/.test(text)],
      ['with white space after it', (text) => /\s$/.test(text)],
      ['with a line break between its members', (text) => /[{,]\s*\n/.test(text)],
      ['with white space around colons', (text) => /"\s+:/.test(text)],
      ['with categoryId before name', (text) => /^\s*\{\s*"categoryId"/.test(text)],
      ['with status before name', (text) => /"status"[^]*"name"/.test(text)],
      ['with an escape in a name of a member', (text) => /"[^"]*\\u[^"]*"\s*:/.test(text)],
      ['with the status available', (text) => /"status"\s*:\s*"available"/.test(text)],
      ['with the status pending', (text) => /"status"\s*:\s*"pending"/.test(text)],
      ['without a status', (text) => !/"status"/.test(text)],
    ]);
    const to = random.pick([400, 415, 422, 500, 411]);
    // HTTP permits a server to require a Content-Length.
    if (text === 'in chunks' && to === 411) return undefined;
    return fault(to === 400 ? '4.2 1 2 7' : '4.2 1 2', `A valid body ${text} gets ${to}.`, {
      accepts: (_body, text, exchange) => {
        if (matches(text, exchange)) exchange.world.notes.set('misread', 'yes');
        return true;
      },
      response: (response, exchange) => {
        if (exchange.world.notes.delete('misread') && response.status === 201) becomeError(response, exchange, to);
        return response;
      },
      // What gets an error is not stored.
      keep: (pet, { world }) => (world.notes.has('misread') ? undefined : pet),
    });
  },
};

/** Where a changed value shows. */
function changedPets(random: Random, change: (pet: Pet) => Pet): readonly [text: string, hooks: Change] {
  const [text, operations] = random.pick<readonly [string, readonly Operation[]]>([
    ['everywhere', ['list', 'create', 'get']],
    ['in the store', ['list', 'get']],
    ['in lists', ['list']],
    ['by getPet', ['get']],
    ['in a 201', ['create']],
  ]);
  return [
    text,
    {
      show: (pet, exchange) =>
        base.show(operations.includes(exchange.operation) && pet.at > 0 ? change(pet) : pet, exchange),
    },
  ];
}

const changedName: Family = {
  name: 'name × class of characters × changed',
  draw: (random) => {
    const length = random.pick([16, 20, 32, 40, 50, 64, 100, 128, 255]);
    const [text, change] = random.pick<readonly [string, (name: string) => string]>([
      ['<, > and & are escaped as in HTML', (name) => name.replace(/[<>&]/g, (sign) => `&#${sign.charCodeAt(0)};`)],
      ['quotation marks are escaped as in HTML', (name) => name.replaceAll('"', '&quot;')],
      ['what looks like a tag is removed', (name) => name.replace(/<[^>]*>/g, '')],
      ['apostrophes are doubled', (name) => name.replaceAll("'", "''")],
      ['apostrophes get a backslash', (name) => name.replaceAll("'", "\\'")],
      ['backslashes are removed', (name) => name.replaceAll('\\', '')],
      ['backslashes are doubled', (name) => name.replaceAll('\\', '\\\\')],
      ['characters beyond the BMP become ?', (name) => name.replace(/[\u{10000}-\u{10ffff}]/gu, '?')],
      ['characters beyond the BMP are removed', (name) => name.replace(/[\u{10000}-\u{10ffff}]/gu, '')],
      ['characters beyond Latin-1 become ?', (name) => name.replace(/[^\u0000-\u00ff]/g, '?')],
      ['UTF-8 is read as Latin-1', (name) => Buffer.from(name).toString('latin1')],
      ['accents are removed', (name) => name.normalize('NFD').replace(/\p{M}/gu, '')],
      ['names are normalised to NFC', (name) => name.normalize('NFC')],
      ['names are normalised to NFD', (name) => name.normalize('NFD')],
      ['names are normalised to NFKC', (name) => name.normalize('NFKC')],
      ['white space at the ends is removed', (name) => name.trim()],
      ['white space in sequence becomes one space', (name) => name.replace(/\s+/g, ' ')],
      ['tabs and line breaks become spaces', (name) => name.replace(/[\t\r\n]/g, ' ')],
      ['line breaks become \\r\\n', (name) => name.replace(/\r?\n/g, '\r\n')],
      ['a name ends at U+0000', (name) => name.split('\0')[0]!],
      ['control characters are removed', (name) => name.replace(/\p{Cc}/gu, '')],
      ['zero-width characters are removed', (name) => name.replace(/[\u200b-\u200f\u2060\ufeff]/g, '')],
      ['U+2028 and U+2029 become line breaks', (name) => name.replace(/[\u2028\u2029]/g, '\n')],
      ['a no-break space becomes a space', (name) => name.replaceAll('\u00a0', ' ')],
      [
        'typographic quotation marks become plain ones',
        (name) => name.replace(/[\u201c\u201d]/g, '"').replace(/[\u2018\u2019]/g, "'"),
      ],
      ['the first letter becomes a capital', (name) => name.charAt(0).toUpperCase() + name.slice(1)],
      ['names become lower case', (name) => name.toLowerCase()],
      ['names become upper case', (name) => name.toUpperCase()],
      [`names are cut to ${length} characters`, (name) => [...name].slice(0, length).join('')],
      [`names are cut to ${length} bytes`, (name) => Buffer.from(name).subarray(0, length).toString()],
      ['percent forms are decoded', decoded(decodeURIComponent)],
      ['+ becomes a space', (name) => name.replaceAll('+', ' ')],
      ['character references of HTML are decoded', (name) => name.replace(/&amp;/g, '&').replace(/&lt;/g, '<')],
      ['leading zeros are removed', (name) => name.replace(/^0+(?=\d+$)/, '')],
      [
        'names that look like numbers are written as such',
        (name) => (/^[\d.eE+-]+$/.test(name) && Number.isFinite(Number(name)) ? String(Number(name)) : name),
      ],
      ['null, true and false become empty', (name) => (/^(null|true|false)$/i.test(name) ? '' : name)],
      ['an empty name becomes Unnamed', (name) => name || 'Unnamed'],
      ['{{ and }} are removed', (name) => name.replace(/\{\{|\}\}/g, '')],
      ['$ and what follows it is removed', (name) => name.replace(/\$\w*/g, '')],
      ['a leading =, +, - or @ gets an apostrophe', (name) => name.replace(/^[=+@-]/, "'$&")],
      ['a slash becomes %2F', (name) => name.replaceAll('/', '%2F')],
      ['commas become spaces', (name) => name.replaceAll(',', ' ')],
    ]);
    const [where, hooks] = changedPets(random, (pet) => ({ ...pet, name: change(pet.name) }));
    return fault('2 4.1 4.2 4.3', `In the names of created animals, ${text} ${where}.`, hooks);
  },
};

const changedCategory: Family = {
  name: 'categoryId × size × changed',
  draw: (random) => {
    const digits = random.pick([6, 8, 9, 10, 12, 15]);
    const value = random.pick([-1n, 0n, 2n ** 31n, 2n ** 32n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)]);
    const [text, change] = random.pick<readonly [string, (category: bigint) => bigint]>([
      ['categories of more than 32 bits wrap', (category) => BigInt.asIntN(32, category)],
      ['categories of more than 32 bits become unsigned', (category) => BigInt.asUintN(32, category)],
      ['categories beyond 2^31 become 2^31 - 1', (category) => (category >= 2n ** 31n ? 2n ** 31n - 1n : category)],
      ['categories beyond 2^53 are rounded', (category) => BigInt.asIntN(64, BigInt(Number(category)))],
      [
        'categories are rounded to single precision',
        (category) => BigInt.asIntN(64, BigInt(Math.fround(Number(category)))),
      ],
      ['negative categories lose their sign', (category) => (category < 0n ? -category : category)],
      ['negative categories become 0', (category) => (category < 0n ? 0n : category)],
      ['the category 0 becomes 1', (category) => category || 1n],
      [`categories are cut to ${digits} digits`, (category) => BigInt(String(category).slice(0, digits))],
      [
        `the category ${value} becomes ${value + (value > 0n ? -1n : 1n)}`,
        (category) => (category === value ? value + (value > 0n ? -1n : 1n) : category),
      ],
      ['categories of more than 16 bits wrap', (category) => BigInt.asIntN(16, category)],
      [
        'categories of more than 15 digits are written with zeros',
        (category) => (String(category).length > 15 ? BigInt(Number(Number(category).toPrecision(15))) : category),
      ],
    ]);
    const [where, hooks] = changedPets(random, (pet) => ({
      ...pet,
      categoryId: String(change(BigInt(pet.categoryId))),
    }));
    return fault('2 4.1 4.2 4.3', `In created animals, ${text} ${where}.`, hooks);
  },
};

/** Kinds of JSON values. */
const valueKinds: Readonly<Record<string, (value: Json | undefined) => boolean>> = {
  'a missing': (value) => value === undefined,
  null: (value) => value === null,
  true: (value) => value === true,
  false: (value) => value === false,
  'an array as': (value) => Array.isArray(value),
  'an object as': (value) => value instanceof Map,
  'a number as': (value) => value instanceof Digits,
  'a fraction as': (value) => value instanceof Digits && /^-?\d+\.\d*[1-9]\d*$/.test(value.text),
  'a string of digits as': (value) => typeof value === 'string' && /^-?\d+$/.test(value),
  'a string without digits as': (value) => typeof value === 'string' && value !== '' && !/\d/.test(value),
  'an empty string as': (value) => value === '',
  'a number beyond int64 as': (value) => value instanceof Digits && /^-?\d{19,}$/.test(value.text),
};

const acceptedBody: Family = {
  name: 'createPet × kind of a value × an invalid one is accepted',
  draw: (random) => {
    const kind = (...names: readonly string[]) => {
      const name = random.pick(names);
      return [name, valueKinds[name]!] as const;
    };
    const type = ['true', 'false', 'an array as', 'an object as', 'null'];
    const digits = (value: Json | undefined): bigint => {
      if (typeof value === 'string' && /^-?\d+$/.test(value)) return BigInt(value);
      if (value instanceof Digits) return BigInt(value.text.split('.')[0]!);
      return value === true ? 1n : 0n;
    };
    const text = (value: Json | undefined): string =>
      value instanceof Digits
        ? value.text
        : typeof value === 'boolean' || typeof value === 'string'
          ? String(value)
          : '';
    const field = random.pick(['name', 'categoryId', 'status']);
    if (field === 'name') {
      const [name, matches] = kind('a missing', 'a number as', ...type);
      return fault(
        '4.2 7 2',
        `createPet accepts ${name} name.`,
        nameFrom((value) => (matches(value) ? text(value) : undefined)),
      );
    }
    if (field === 'categoryId') {
      const [name, matches] = kind(
        'a missing',
        'a fraction as',
        'a string of digits as',
        'a string without digits as',
        'an empty string as',
        'a number beyond int64 as',
        ...type,
      );
      return fault(
        '4.2 7 2',
        `createPet accepts ${name} categoryId.`,
        categoryFrom((value) => (matches(value) ? digits(value) : undefined)),
      );
    }
    const becomes = random.pick(statuses);
    const [name, matches] = random.pick<readonly [string, (value: Json | undefined) => boolean]>([
      ...['a number as', 'an empty string as', 'a string without digits as', ...type].map(
        (name) => [name, valueKinds[name]!] as const,
      ),
      ['an upper-case', (value) => typeof value === 'string' && statuses.includes(value.toLowerCase())],
      ['a padded', (value) => typeof value === 'string' && statuses.includes(value.trim())],
      [
        'a beginning of a',
        (value) => typeof value === 'string' && statuses.some((status) => value !== '' && status.startsWith(value)),
      ],
      ['an array with a', (value) => Array.isArray(value) && value.length === 1],
    ]);
    // Whether null is an optional status that is missing is open.
    if (name === 'null') return undefined;
    return fault(
      '4.2 7 2',
      `createPet accepts ${name} status, as ${becomes}.`,
      statusFrom((value) => (matches(value) ? becomes : undefined)),
    );
  },
};

const missingAnimal: Family = {
  name: 'getPet × unknown id × not a 404',
  draw: (random) => {
    const [text, matches] = random.pick<readonly [string, (id: bigint, exchange: Exchange) => boolean]>([
      ['any unknown id', () => true],
      ['0', (id) => id === 0n],
      ['a negative id', (id) => id < 0n],
      ['an id beyond 2^31', (id) => id >= 2n ** 31n],
      ['an id beyond 2^53', (id) => id > 2n ** 53n],
      ['the greatest int64', (id) => id === 2n ** 63n - 1n],
      ['an id of ten digits or more', (id) => id > 999_999_999n],
      ['an id up to 1000000', (id) => id > 0n && id <= 1_000_000n],
    ]);
    const [result, change] = random.pick<readonly [string, (response: MutantResponse, exchange: Exchange) => void]>([
      ...[400, 403, 422, 500, 410, 501].map(
        (status) =>
          [
            String(status),
            (response: MutantResponse, exchange: Exchange) => becomeError(response, exchange, status),
          ] as const,
      ),
      ['200 and null', (response) => void Object.assign(response, { status: 200, body: null })],
      ['200 and {}', (response) => void Object.assign(response, { status: 200, body: new Map() })],
      ['200 and []', (response) => void Object.assign(response, { status: 200, body: [] })],
      ['200 and the Error', (response) => void (response.status = 200)],
      [
        '204',
        (response) => {
          Object.assign(response, { status: 204, body: undefined });
          setHeader(response, 'Content-Type', undefined);
        },
      ],
      [
        'the first animal',
        (response, exchange) => {
          const [first] = exchange.world.pets.values();
          if (first !== undefined) Object.assign(response, { status: 200, body: base.show(first, exchange) });
        },
      ],
      [
        'the latest animal',
        (response, exchange) => {
          const last = [...exchange.world.pets.values()].at(-1);
          if (last !== undefined) Object.assign(response, { status: 200, body: base.show(last, exchange) });
        },
      ],
      [
        'an animal with that id and without a name',
        (response, exchange) => {
          const id = new Digits(exchange.path.slice(6));
          const body: JsonObject = new Map<string, Json>([
            ['id', id],
            ['name', null],
            ['categoryId', null],
            ['status', null],
          ]);
          Object.assign(response, { status: 200, body });
        },
      ],
    ]);
    return fault(
      '4.3 7',
      `getPet of ${text} returns ${result}.`,
      responses((response, exchange) => {
        if (exchange.operation !== 'get' || response.status !== 404) return false;
        const id = exchange.path.slice('/pets/'.length);
        return /^-?\d{1,18}$|^9223372036854775807$/.test(id) && matches(BigInt(id), exchange);
      }, change),
    );
  },
};

const wrongAnimal: Family = {
  name: 'getPet × id × another animal',
  draw: (random) => {
    const modulus = random.integer(5, 9);
    const [text, idOf] = random.pick<readonly [string, (id: bigint, exchange: Exchange) => bigint]>([
      ['the next one, if its id is even', (id) => (id % 2n === 0n ? id + 1n : id)],
      ['the one before, if it was created', (id, { world }) => (world.pets.get(String(id))?.at ? id - 1n : id)],
      [`the one before, if its id is divisible by ${modulus}`, (id) => (id % BigInt(modulus) === 0n ? id - 1n : id)],
      ['the first one, if its id has two digits', (id) => (id >= 10n && id <= 99n ? 1n : id)],
      [
        'the one that was read before on the same connection',
        (id, { world, connection }) => {
          const before = world.notes.get(`read ${connection}`);
          world.notes.set(`read ${connection}`, String(id));
          return before !== undefined && before !== String(id) ? BigInt(before) : id;
        },
      ],
      ['the one with the first digit of its id', (id) => BigInt(String(id).slice(0, 1))],
    ]);
    return fault('4.3 2', `getPet returns ${text}.`, {
      find: (id, exchange) => {
        const known = base.find(id, exchange);
        return known === undefined ? undefined : (exchange.world.pets.get(String(idOf(BigInt(id), exchange))) ?? known);
      },
    });
  },
};

const clientHeaders: Family = {
  name: 'request × headers of clients × not served',
  draw: (random) => {
    const upper = random.pick(['AUTHORIZATION', 'CONTENT-TYPE', 'HOST', 'ACCEPT']);
    const [text, matches] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      [`the header name ${upper} in capitals`, ({ rawHeaders }) => rawHeaders.includes(upper)],
      ['Accept as browsers send it', ({ headers }) => /text\/html.*\*\/\*/.test(String(headers.accept ?? ''))],
      ['Accept: application/*', ({ headers }) => headers.accept === 'application/*'],
      ['Accept with a quality', ({ headers }) => /;\s*q=/.test(String(headers.accept ?? ''))],
      ['Accept with two media types', ({ headers }) => /,/.test(String(headers.accept ?? ''))],
      ['Origin', ({ headers }) => headers.origin !== undefined],
      ['a cookie', ({ headers }) => headers.cookie !== undefined],
      ['Accept-Language for a language', ({ headers }) => /^[a-z]/i.test(String(headers['accept-language'] ?? ''))],
      [
        'Content-Type without a body',
        ({ method, headers }) => method === 'GET' && headers['content-type'] !== undefined,
      ],
    ]);
    const [result, change] = random.pick<readonly [string, (response: MutantResponse, exchange: Exchange) => void]>([
      ['500', (response, exchange) => becomeError(response, exchange, 500)],
      ['403', (response, exchange) => becomeError(response, exchange, 403)],
      ['400', (response, exchange) => becomeError(response, exchange, 400)],
      ['406', (response, exchange) => becomeError(response, exchange, 406)],
      [
        'a page of HTML',
        (response) => {
          response.body = '<!doctype html><title>Pets</title>';
          setHeader(response, 'Content-Type', 'text/html');
        },
      ],
    ]);
    // Which origins a server allows is open, and HTTP permits a 406 to a language that it does not have.
    if (text === 'Origin' && result === '403') return undefined;
    if (text.startsWith('Accept-Language') && result === '406') return undefined;
    return fault(
      result === '400' ? '1 4.1 4.2 4.3 7' : '1 4.1 4.2 4.3',
      `A valid request with ${text} gets ${result}.`,
      responses((response, exchange) => response.status < 400 && matches(exchange), change),
    );
  },
};

const secondKey: Family = {
  name: 'credentials × time × still accepted or no longer',
  draw: (random) => {
    const count = random.integer(25, 120);
    const nth = random.integer(3, 12);
    const [text, admits] = random.pick<readonly [string, NonNullable<Change['admits']>]>([
      [
        `after ${count} requests, the key gets 401 for ten requests`,
        (exchange, secret) => base.admits(exchange, secret) && exchange.world.requests % (count + 10) <= count,
      ],
      [
        `every request with a number divisible by ${nth} needs no key`,
        (exchange, secret) => base.admits(exchange, secret) || exchange.world.requests % nth === 0,
      ],
      [
        `every request with a number divisible by ${nth + 5} gets 401`,
        (exchange, secret) => base.admits(exchange, secret) && exchange.world.requests % (nth + 5) !== 0,
      ],
      [
        `after ${nth} refusals in sequence, any key is accepted`,
        (exchange, secret) => {
          const { notes } = exchange.world;
          const valid = base.admits(exchange, secret);
          const refusals = valid ? 0 : Number(notes.get(`tried ${secret}`) ?? 0) + 1;
          notes.set(`tried ${secret}`, String(refusals));
          return valid || refusals > nth;
        },
      ],
    ]);
    return fault(authSections, `${text.charAt(0).toUpperCase()}${text.slice(1)}.`, { admits });
  },
};

export const inputFamilies: readonly Family[] = [
  undone,
  partialComparison,
  otherPlace,
  otherScheme,
  knownKey,
  openOperation,
  stickyKey,
  brokenConnection,
  sharedCache,
  otherRefusal,
  earlyCheck,
  secondKey,
  tooMany,
  refusedLimit,
  ignoredFilter,
  querySpelling,
  emptyResult,
  bodyForm,
  changedName,
  changedCategory,
  acceptedBody,
  missingAnimal,
  wrongAnimal,
  clientHeaders,
];
