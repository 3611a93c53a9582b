/** Sections 1 and 7: Error bodies, content types and JSON; section 4.3: animals that do not exist. */
import { base, statuses } from '../server/hooks.ts';
import { Digits, type Json } from '../server/json.ts';
import {
  changedStatus, errors, failing, found, noting, of, responses, setHeader, status, table, type Change, type Kind,
} from './changes.ts';

const integer = (value: number): Digits => new Digits(String(value));

/** Sends some responses with another Content-Type, or with none. */
const contentType = (kind: Kind, value: string | undefined): Change =>
  responses(kind, (response) => setHeader(response, 'Content-Type', value));

/** Looks for an id truncated to some bits. */
const wrapping = (bits: number): Change => ({
  find: (id, exchange) => base.find(/^-?\d+$/.test(id) ? String(BigInt.asUintN(bits, BigInt(id))) : id, exchange),
});

/** Replaces the Errors with a status. */
const replacing = (wanted: number, replaced: (error: Json) => Json): Change => ({
  error: (status, message, exchange) => {
    const error = base.error(status, message, exchange);
    return status === wanted && error !== undefined ? replaced(error) : error;
  },
});

/** Sends 500 instead of some responses. */
const crash = (kind: Kind): Change => failing(kind, 500, 'Internal error.');
const listWith = (name: string, value: RegExp): Kind =>
  (_response, { operation, query }) => operation === 'list' && value.test(query.get(name) ?? '1');
const getWith = (id: RegExp): Kind =>
  (_response, { operation, path }) => operation === 'get' && id.test(path.slice('/pets/'.length));
const createWith = (text: string): Kind =>
  (_response, { operation, body }) => operation === 'create' && body.includes(text);

/** Replaces some responses by the page of a firewall. */
const asFirewall = (kind: Kind, sent: number): Change =>
  responses(kind, (response) => {
    const headers: [string, string][] = [['Content-Type', 'text/html']];
    Object.assign(response, { status: sent, headers, body: new Digits('<h1>Refused</h1>') });
  });

export const errorMutants = table([
  ['limit-word-500', 'service.status', 'limit=abc gets 500.', crash(listWith('limit', /^[a-z]/))],
  ['limit-negative-500', 'service.status', 'A negative limit gets 500.', crash(listWith('limit', /^-/))],
  ['limit-empty-500', 'service.status', 'An empty limit gets 500.', crash(listWith('limit', /^$/))],
  ['limit-large-502', 'service.status', 'A limit beyond 32 bits gets 502.',
    failing(listWith('limit', /^\d{10}/), 502, 'Bad gateway.')],
  ['limit-word-503', 'service.status', 'limit=abc gets 503.', failing(listWith('limit', /^[a-z]/), 503, 'Try again.')],
  ['filter-unknown-500', 'service.status', 'An unknown filter gets 500.', crash(listWith('status', /^as/))],
  ['filter-empty-500', 'service.status', 'An empty filter gets 500.', crash(listWith('status', /^$/))],
  ['id-word-500', 'service.status', 'A petId that is not a number gets 500.', crash(getWith(/[a-z]/))],
  ['id-negative-500', 'service.status', 'A negative petId gets 500.', crash(getWith(/^-/))],
  ['id-large-500', 'service.status', 'A petId of 20 digits gets 500.', crash(getWith(/^\d{20}$/))],
  ['id-beyond-500', 'service.status', 'The petId 2^63 gets 500.', crash(getWith(/^9223372036854775808$/))],
  ['id-fraction-500', 'service.status', 'A petId with a fraction gets 500.', crash(getWith(/\./))],
  ['id-long-500', 'service.status', 'A petId of 400 digits gets 500.', crash(getWith(/^\d{400}$/))],
  ['name-nul-500', 'service.status', 'A name with U+0000 gets 500.', crash(createWith('\\u0000'))],
  ['name-surrogate-500', 'service.status', 'A name with a lone surrogate gets 500.', crash(createWith('\\ud83d of'))],
  ['name-prototype-500', 'service.status', 'The names __proto__ and constructor get 500.',
    crash(createWith('__proto__'))],
  ['name-long-500', 'service.status', 'A name of 256 characters gets 500.',
    crash((_response, { operation, body }) => operation === 'create' && /"name":"[^"]{256}/.test(body))],
  ['category-double-500', 'service.status', 'The categoryId 1e400 gets 500.', crash(createWith('1e400'))],
  ['limit-twice-500', 'service.status', 'A limit that is given twice gets 500.',
    crash((_response, { query }) => query.getAll('limit').length > 1)],
  ['id-string-500', 'service.status', 'An id in the body that is no number gets 500.', crash(createWith('"id":"'))],
  ['id-taken-500', 'service.status', 'An id in the body that an animal has gets 500.',
    crash((_response, { operation, body, world }) =>
      operation === 'create' && world.pets.has(/"id":(\d+)/.exec(body)?.[1] ?? ''))],
  ['category-unknown-500', 'service.status', 'A categoryId that no animal had at the start gets 500.',
    crash((response, { operation, body }) =>
      operation === 'create' && response.status === 201 && !/"categoryId":\s*[1-5](\D|$)/.test(body))],
  ['body-deep-500', 'service.status', 'A deeply nested body gets 500.', crash(createWith('[[[[[[[['))],
  ['error-empty-401', 'error.object', 'A 401 of listOrders has no body.',
    responses(status(401, 'orders'), (response) => void (response.body = undefined))],
  ['error-string-404', 'error.object', 'The body of a 404 is a JSON string.',
    { error: (status, message, exchange) => (status === 404 ? message : base.error(status, message, exchange)) }],
  ['error-array-400', 'error.object', 'The body of a 400 is an array with one Error.',
    replacing(400, (error) => [error])],
  ['error-null-401', 'error.object', 'The body of a 401 is null.', replacing(401, () => null)],
  ['error-null-404', 'error.object', 'The body of a 404 is null.', replacing(404, () => null)],
  ['error-null-400', 'error.object', 'The body of a 400 is null.', replacing(400, () => null)],
  ['error-number-401', 'error.object', 'The body of a 401 is the number 401.', replacing(401, () => integer(401))],

  ['error-code-missing-401', 'error.code', 'A 401 has no code.', errors(401, (error) => void error.delete('code'))],
  ['error-code-number-404', 'error.code', 'The code of a 404 is a number.',
    errors(404, (error) => void error.set('code', integer(404)))],
  ['error-wrapped-400', 'error.code', 'A 400 wraps its Error in {"error": ...}.',
    replacing(400, (error) => new Map([['error', error]]))],

  ['error-message-missing-400', 'error.message', 'A 400 has no message.',
    errors(400, (error) => void error.delete('message'))],
  ['error-message-null-404', 'error.message', 'The message of a 404 is null.',
    errors(404, (error) => void error.set('message', null))],
  ['error-message-list-401-create', 'error.message', 'The message of a 401 of createPet is an array of strings.',
    errors(401, (error) => void error.set('message', ['The API key is invalid.']), 'create')],

  ['error-status-missing-400', 'error.status', 'The Error of a 400 has no status.',
    errors(400, (error) => void error.delete('status'))],
  ['error-status-404-says-400', 'error.status', 'The status in the Error of a 404 is 400.',
    errors(404, (error) => void error.set('status', integer(400)))],
  ['error-status-422-value', 'error.status', 'The status in the Error of a 400 is 422 if a value is invalid.',
    {
      ...noting('status', (value) => typeof value === 'string' && !statuses.includes(value), 'value'),
      ...responses(status(400, 'create'), ({ body }, { world }) => {
        if (world.notes.delete('value') && body instanceof Map) body.set('status', integer(422));
      }),
    }],
  ['error-status-string-401', 'error.status', 'The status in the Error of a 401 is a string.',
    errors(401, (error) => void error.set('status', '401'))],
  ['error-status-403-get', 'error.status', 'The status in the Error of a 401 of getPet is 403.',
    errors(401, (error) => void error.set('status', integer(403)), 'get')],

  ['type-html-401', 'service.json', 'A 401 has Content-Type: text/html.', contentType(status(401), 'text/html')],
  ['type-problem-404', 'service.json', 'A 404 has Content-Type: application/problem+json.',
    contentType(status(404), 'application/problem+json')],
  ['type-text-400', 'service.json', 'A 400 has Content-Type: text/plain.', contentType(status(400), 'text/plain')],
  ['type-missing-201', 'service.json', 'A 201 has no Content-Type.', contentType(status(201), undefined)],
  ['content-type-twice', 'service.json', 'A 404 has two Content-Type headers with the same value.',
    responses(status(404), (response) => void response.headers.push(['Content-Type', 'application/json']))],
  ['type-orders', 'service.json', 'listOrders has Content-Type: application/jsonp.',
    contentType(of('orders'), 'application/jsonp')],
  ['json-trailing-comma', 'service.json', 'A list of more than three animals has a trailing comma.',
    {
      bytes: (text, exchange) => {
        const long = exchange.operation === 'list' && text.split('"name"').length > 4;
        return base.bytes(long ? text.replace(/\]$/, ',]') : text, exchange);
      },
    }],
  ['json-latin-1', 'service.json', 'Bodies are in Latin-1 if they have no character beyond U+00FF.',
    { bytes: (text) => Buffer.from(text, /^[\0-\xff]*$/.test(text) ? 'latin1' : 'utf8') }],
  ['json-orders-nan', 'service.json', 'listOrders contains NaN.',
    { orders: () => [new Map<string, Json>([['id', integer(1)], ['total', new Digits('NaN')]])] }],

  ['get-404-as-200', 'get.not-found', 'getPet returns 200 and an Error for an unknown id.',
    changedStatus(status(404, 'get'), 200)],
  ['get-404-as-400', 'get.not-found', 'getPet returns 400 for an unknown id.',
    failing(status(404, 'get'), 400, 'No such animal.')],
  ['get-404-as-last', 'get.not-found', 'getPet returns the last animal for an id beyond it.',
    found((pet, id, { world }) => {
      const last = [...world.pets.values()].at(-1);
      return pet ?? (last !== undefined && /^\d+$/.test(id) && BigInt(id) > BigInt(last.id) ? last : undefined);
    })],
  ['get-zero-is-first', 'get.not-found', 'getPet returns the first animal for id 0.',
    { find: (id, exchange) => base.find(id === '0' ? '1' : id, exchange) }],
  ['get-int32', 'get.not-found', 'Ids are truncated to 32 bits: id + 2^32 is the same animal.',
    wrapping(32)],
  ['get-int64', 'get.not-found', 'Ids are truncated to 64 bits: id + 2^64 is the same animal.', wrapping(64)],
  ['get-int63', 'get.not-found', 'The sign bit of an id is ignored: id + 2^63 is the same animal.', wrapping(63)],
  ['get-from-end', 'get.not-found', 'A negative id counts from the end: -1 is the last animal.',
    { find: (id, exchange) => base.find(id, exchange) ??
      (/^-\d{1,9}$/.test(id) ? [...exchange.world.pets.values()].at(Number(id)) : undefined) }],
  ['get-absolute', 'get.not-found', 'The sign of an id is ignored.',
    { find: (id, exchange) => base.find(id.replace(/^-/, ''), exchange) }],
  ['get-prefix', 'get.not-found', 'Ids of more than ten digits are truncated to the first one.',
    { find: (id, exchange) => base.find(/^\d{11,}$/.test(id) ? id.slice(0, 1) : id, exchange) }],

  ['create-403-html', 'create.required', 'An invalid body gets 403 with HTML, as from a firewall.',
    asFirewall(status(400, 'create'), 403)],
  ['create-413-html', 'create.wrong-type', 'An invalid body gets 413 with HTML, as from a proxy.',
    asFirewall(status(400, 'create'), 413)],
]);
