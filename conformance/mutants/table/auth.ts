/** Section 5: authentication, and section 9: the path. */
import { attempt, base, type Exchange, type Operation } from '../server/hooks.ts';
import { Digits, readJson, type Json } from '../server/json.ts';
import {
  alsoAdmits, changedStatus, failing, responses, setHeader, status, table, tokenOf, type Change,
} from './changes.ts';

const middle = (text: string): number => text.length >> 1;
const without = (text: string, at: number): string => text.slice(0, at) + text.slice(at + 1);
const sorted = (text: string): string => [...text].sort().join('');

/** Whether a body has what createPet requires. */
const isNewPet = (body: string): boolean => /"name"/.test(body) && /"categoryId"/.test(body);

/** Whether a token has the secret's length, and the same text after `part` has been applied to both. */
const sameIn = (token: string, secret: string, part: (text: string) => string): boolean =>
  token.length === secret.length && part(token) === part(secret);

/** Serves other spellings of paths without a key. `plain` makes a usual path of a spelling. */
function unchecked(plain: (path: string) => string, only?: Operation): Change {
  const isOther = ({ fullPath }: Exchange) => plain(fullPath) !== fullPath && base.below(plain(fullPath)) !== undefined;
  return {
    below: (path) => base.below(plain(path)),
    admits: (exchange, secret) =>
      base.admits(exchange, secret) || (isOther(exchange) && (only === undefined || exchange.operation === only)),
  };
}

export const authMutants = table([
  ['auth-valid-orders', 'auth.valid', 'listOrders rejects every key.',
    { admits: (exchange, secret) => exchange.operation !== 'orders' && base.admits(exchange, secret) }],
  ['auth-fiftieth-refused', 'auth.valid', 'Every fiftieth request gets 401, even with a valid key.',
    { admits: (exchange, secret) => exchange.world.requests % 50 !== 0 && base.admits(exchange, secret) }],

  ['auth-missing-list', 'auth.missing', 'listPets needs no Authorization header.',
    alsoAdmits(({ operation, authorization }) => operation === 'list' && authorization === '')],
  ['auth-missing-create', 'auth.missing', 'createPet needs no Authorization header.',
    alsoAdmits(({ operation, authorization }) => operation === 'create' && authorization === '')],
  ['auth-missing-get', 'auth.missing', 'getPet needs no Authorization header.',
    alsoAdmits(({ operation, authorization }) => operation === 'get' && authorization === '')],
  ['auth-missing-orders', 'auth.missing', 'listOrders needs no Authorization header.',
    alsoAdmits(({ operation, authorization }) => operation === 'orders' && authorization === '')],
  ['auth-missing-403', 'auth.missing', 'Without an Authorization header, createPet returns 403.',
    responses(
      (response, exchange) => status(401, 'create')(response, exchange) && exchange.authorization === '',
      (response) => {
        response.status = 403;
        if (response.body instanceof Map) response.body.set('status', new Digits('403'));
      },
    )],
  ['auth-missing-after-404', 'auth.missing', 'Without an Authorization header, getPet returns 404 for an unknown id.',
    failing(
      (response, exchange) =>
        status(401, 'get')(response, exchange) && exchange.authorization === '' &&
        !exchange.world.pets.has(exchange.path.slice('/pets/'.length)),
      404, 'There is no such animal.')],

  ['auth-path-slash', 'auth.path', 'A path with a slash at its end needs no key.',
    unchecked((path) => path.replace(/\/$/, ''))],
  ['auth-path-dots', 'auth.path', 'A path with dot segments needs no key.',
    unchecked((path) => path.replace(/\/x\/\.\.|\/\.(?=\/)/, ''))],
  ['auth-path-escapes', 'auth.path', 'createPet needs no key if its path has escaped letters.',
    unchecked((path) => path.replace('%70', 'p'), 'create')],

  // The space after the scheme is lost in HTTP, which trims header values.
  ['auth-empty-all', 'auth.empty', 'An empty bearer token is accepted.',
    alsoAdmits(({ authorization }) => authorization === 'Bearer')],
  ['auth-empty-orders', 'auth.empty', 'listOrders accepts an empty bearer token.',
    alsoAdmits(({ operation, authorization }) => operation === 'orders' && authorization === 'Bearer')],

  ['auth-basic-user', 'auth.other-scheme', 'The Basic scheme is accepted, with the key as user and no password.',
    alsoAdmits(({ authorization }, secret) =>
      authorization === `Basic ${Buffer.from(`${secret}:`).toString('base64')}`)],
  ['auth-any-scheme', 'auth.other-scheme', 'Any scheme is accepted.',
    { admits: ({ authorization }, secret) => authorization.split(' ')[1] === secret }],
  ['auth-basic-password', 'auth.other-scheme', 'The Basic scheme is accepted, with the key as password of any user.',
    alsoAdmits(({ authorization }, secret) => {
      const [scheme, encoded = ''] = authorization.split(' ');
      return scheme === 'Basic' && Buffer.from(encoded, 'base64').toString().split(':')[1] === secret;
    })],
  ['auth-basic-bare-get', 'auth.other-scheme', 'getPet accepts the Basic scheme with the bare key.',
    alsoAdmits(({ operation, authorization }, secret) => operation === 'get' && authorization === `Basic ${secret}`)],

  ['auth-no-scheme-all', 'auth.no-scheme', 'The key without a scheme is accepted.',
    alsoAdmits(({ authorization }, secret) => authorization === secret)],
  ['auth-no-scheme-orders', 'auth.no-scheme', 'listOrders accepts the key without a scheme.',
    alsoAdmits(({ operation, authorization }, secret) => operation === 'orders' && authorization === secret)],

  ['auth-body-first', 'auth.invalid-request', 'createPet validates the body before the key.',
    failing((response, { operation, body }) => response.status === 401 && operation === 'create' && !isNewPet(body),
      400, 'The body is invalid.')],
  ['auth-json-first', 'auth.invalid-request', 'createPet parses the body before it looks for a key.',
    failing((response, { operation, body }) =>
      response.status === 401 && operation === 'create' && attempt(() => readJson(body)) === undefined,
      400, 'The body is not JSON.')],
  ['auth-json-crash', 'auth.invalid-request', 'Without a valid key, a body that is not JSON gets 500.',
    failing((response, { operation, body }) =>
      response.status === 401 && operation === 'create' && attempt(() => readJson(body)) === undefined,
      500, 'Internal error.')],
  ['auth-type-first', 'auth.invalid-request', 'createPet checks the media type before the key.',
    failing((response, { operation, contentType }) =>
      response.status === 401 && operation === 'create' && !contentType.startsWith('application/json'),
      415, 'Send JSON.')],
  ['auth-parameters-first', 'auth.invalid-request', 'listPets validates limit before the key.',
    failing((response, exchange) => response.status === 401 && exchange.operation === 'list' &&
      base.limit(exchange.query.get('limit'), exchange) === undefined, 422, 'limit is invalid.')],
  ['auth-filter-before-validity', 'auth.invalid-request', 'listPets validates status before it compares the key.',
    failing((response, exchange) => response.status === 401 && exchange.operation === 'list' &&
      tokenOf(exchange) !== '' && base.filter(exchange.query.get('status'), exchange) === undefined,
      400, 'status is invalid.')],
  ['auth-id-before-validity', 'auth.invalid-request', 'getPet looks for the animal before it compares the key.',
    failing((response, exchange) => response.status === 401 && exchange.operation === 'get' &&
      tokenOf(exchange) !== '' && base.find(exchange.path.slice('/pets/'.length), exchange) === undefined,
      404, 'There is no such animal.')],
  ['auth-id-type-first', 'auth.invalid-request', 'getPet checks before the key that the id is a number.',
    failing((response, { operation, path }) =>
      response.status === 401 && operation === 'get' && !/^\/pets\/-?\d+$/.test(path), 400, 'The id is invalid.')],

  ['auth-x-api-key', 'auth.elsewhere', 'The key is accepted in X-API-Key.',
    alsoAdmits(({ headers }, secret) => headers['x-api-key'] === secret)],
  ['auth-cookie', 'auth.elsewhere', 'The key is accepted in a cookie.',
    alsoAdmits(({ headers }, secret) => String(headers.cookie).includes(`token=${secret}`))],
  ['auth-api-key-orders', 'auth.elsewhere', 'listOrders accepts the key in Api-Key.',
    alsoAdmits(({ operation, headers }, secret) => operation === 'orders' && headers['api-key'] === secret)],
  ['auth-x-authorization', 'auth.elsewhere', 'listOrders accepts the key in X-Authorization.',
    alsoAdmits(({ operation, headers }, secret) =>
      operation === 'orders' && headers['x-authorization'] === `Bearer ${secret}`)],

  ['auth-comma', 'auth.near-miss', 'Text after a comma is ignored.',
    alsoAdmits((exchange, secret) => tokenOf(exchange).split(',')[0] === secret)],
  ['auth-second-word', 'auth.near-miss', 'Text after a space is ignored.',
    alsoAdmits((exchange, secret) => tokenOf(exchange).split(' ')[0] === secret)],
  ['auth-any-word', 'auth.near-miss', 'The key is accepted anywhere in the token.',
    alsoAdmits((exchange, secret) => tokenOf(exchange).includes(secret))],
  ['auth-quoted', 'auth.near-miss', 'Quotation marks around the key are ignored.',
    alsoAdmits((exchange, secret) => tokenOf(exchange) === `"${secret}"`)],

  ...[3, 8, 17, 22, 26].map((at) =>
    [`auth-character-${at}`, 'auth.changed', `The character ${at} of the key is not compared.`,
      {
        admits: (exchange: Exchange, secret: string) =>
          sameIn(tokenOf(exchange), secret, (text) => without(text, at)),
      },
    ] as const),

  ['auth-changed-get', 'auth.changed', 'getPet compares the length and the first two thirds of the key.',
    alsoAdmits((exchange, secret) => exchange.operation === 'get' &&
      sameIn(tokenOf(exchange), secret, (text) => text.slice(0, Math.floor((text.length * 2) / 3))))],
  ['auth-first-half', 'auth.changed', 'Only the length and the first half of the key are compared.',
    { admits: (exchange, secret) => sameIn(tokenOf(exchange), secret, (text) => text.slice(0, middle(text))) }],

  ['auth-cut-all', 'auth.cut', 'A key without its last character is accepted.',
    alsoAdmits((exchange, secret) => tokenOf(exchange) === secret.slice(0, -1))],
  ['auth-cut-create', 'auth.cut', 'createPet accepts every prefix of the key longer than half of it.',
    alsoAdmits((exchange, secret) => exchange.operation === 'create' &&
      tokenOf(exchange).length > middle(secret) && secret.startsWith(tokenOf(exchange)))],

  ['auth-lengthened-all', 'auth.lengthened', 'Text after the key is ignored.',
    { admits: (exchange, secret) => tokenOf(exchange).startsWith(secret) }],
  ['auth-lengthened-list', 'auth.lengthened', 'listPets ignores one character after the key.',
    alsoAdmits((exchange, secret) => exchange.operation === 'list' && tokenOf(exchange).slice(0, -1) === secret)],

  ['auth-query-api-key', 'auth.query', 'The key is accepted in ?api_key=.',
    alsoAdmits(({ query }, secret) => query.get('api_key') === secret)],
  ['auth-query-access-token', 'auth.query', 'listOrders accepts the key in ?access_token=.',
    alsoAdmits(({ operation, query }, secret) => operation === 'orders' && query.get('access_token') === secret)],

  ['auth-first-16', 'auth.near-miss', 'Only the first 16 characters of the key are compared.',
    { admits: (exchange, secret) => tokenOf(exchange).slice(0, 16) === secret.slice(0, 16) }],
  ['auth-case', 'auth.near-miss', 'Keys are compared without regard to case.',
    { admits: (exchange, secret) => tokenOf(exchange).toLowerCase() === secret.toLowerCase() }],
  ['auth-middle', 'auth.changed', 'The character in the middle of the key is not compared.',
    { admits: (exchange, secret) => sameIn(tokenOf(exchange), secret, (text) => without(text, middle(text))) }],
  ['auth-first', 'auth.changed', 'The first character of the key is not compared.',
    { admits: (exchange, secret) => sameIn(tokenOf(exchange), secret, (text) => text.slice(1)) }],
  ['auth-last-create', 'auth.changed', 'createPet does not compare the last character of the key.',
    alsoAdmits((exchange, secret) => exchange.operation === 'create' &&
      sameIn(tokenOf(exchange), secret, (text) => text.slice(0, -1)))],
  ['auth-sum', 'auth.near-miss', 'A token with the characters of the key in another order is accepted.',
    { admits: (exchange, secret) => sorted(tokenOf(exchange)) === sorted(secret) }],
  ['auth-ends-with', 'auth.near-miss', 'Text before the key is ignored.',
    { admits: (exchange, secret) => tokenOf(exchange).endsWith(secret) }],

  ['auth-connection', 'auth.missing', 'A connection that has carried the key needs it no more.',
    {
      admits: (exchange, secret) => {
        const { authorization, connection, world } = exchange;
        const note = `connection ${connection} ${secret}`;
        if (base.admits(exchange, secret)) world.notes.set(note, 'yes');
        return base.admits(exchange, secret) || (authorization === '' && world.notes.has(note));
      },
    }],
  ['auth-second-time', 'auth.invalid-request', 'A wrong key is accepted when it is sent again.',
    {
      admits: (exchange, secret) => {
        const { authorization, world } = exchange;
        const wrong = `wrong ${authorization} ${secret}`;
        const isKnown = tokenOf(exchange) !== '' && world.notes.has(wrong);
        world.notes.set(wrong, 'yes');
        return base.admits(exchange, secret) || isKnown;
      },
    }],
  ['auth-orders-prefix', 'auth.changed', 'listOrders compares the length and the first five characters of the key.',
    alsoAdmits((exchange, secret) => exchange.operation === 'orders' &&
      sameIn(tokenOf(exchange), secret, (text) => text.slice(0, 5)))],
  ['auth-403-after-20', 'auth.changed', 'After 20 requests without a valid key, the next ones get 403.',
    changedStatus(
      ({ status }, { world: { notes } }) => {
        if (status === 401) notes.set('wrong', String(Number(notes.get('wrong') ?? 0) + 1));
        return status === 401 && Number(notes.get('wrong')) > 20;
      },
      403)],
  ['auth-valid-after-wrong', 'auth.valid', 'The request after five with a wrong key gets 401, even with the valid key.',
    {
      admits: (exchange, secret) => {
        const { notes } = exchange.world;
        const wrong = Number(notes.get('in a row') ?? 0);
        const isValid = base.admits(exchange, secret);
        notes.set('in a row', String(isValid ? 0 : wrong + 1));
        return isValid && wrong < 5;
      },
    }],

  ['auth-session', 'auth.elsewhere', 'The cookie that a response to the key has set replaces the key.',
    {
      ...alsoAdmits(({ headers }) => /\bsession=7f3a\b/.test(String(headers['cookie']))),
      ...responses(
        ({ status }) => status < 300,
        (response) => setHeader(response, 'Set-Cookie', 'session=7f3a; HttpOnly')),
    }],
  ['auth-prototype', 'auth.near-miss', 'A name that every object has is accepted as a key.',
    alsoAdmits((exchange) => tokenOf(exchange) in {})],
  ['auth-user-header', 'auth.missing', 'The user that a header names needs no key.',
    alsoAdmits(({ headers }) => headers['x-forwarded-user'] !== undefined)],
  ['version-moved', 'version.path', 'The operations are under /v2, and /v1 redirects there.',
    {
      below: (path) => (/^\/v[12]\//.test(path) ? path.slice(3) : undefined),
      ...responses(
        (_response, { fullPath }) => fullPath.startsWith('/v1/'),
        (response, { fullPath, query }) => {
          response.status = 308;
          setHeader(response, 'Location', `/v2${fullPath.slice(3)}${query.size > 0 ? `?${query}` : ''}`);
          response.body = new Map<string, Json>();
        },
      ),
    }],
]);
