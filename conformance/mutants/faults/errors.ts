/** Errors, status codes and content types: sections 1 and 7. */
import { base } from '../hooks.ts';
import { Digits, type Json } from '../json.ts';
import { answers, errors, setHeader, type Fault } from './fault.ts';

const integer = (value: number): Digits => new Digits(String(value));

export const errorFaults: readonly Fault[] = [
  {
    id: 'error-empty-401',
    requirement: 'error.object',
    text: 'A 401 of orders has no body.',
    hooks: answers(
      (answer, exchange) => answer.status === 401 && exchange.operation === 'orders',
      (answer) => void (answer.body = undefined),
    ),
  },
  {
    id: 'error-string-404',
    requirement: 'error.object',
    text: 'A 404 has a JSON string as its body.',
    hooks: { error: (status, message, exchange) => (status === 404 ? message : base.error(status, message, exchange)) },
  },
  {
    id: 'error-array-400',
    requirement: 'error.object',
    text: 'A 400 has an array with one Error as its body.',
    hooks: {
      error: (status, message, exchange) => {
        const error = base.error(status, message, exchange);
        return status === 400 && error !== undefined ? [error] : error;
      },
    },
  },
  {
    id: 'error-code-missing-401',
    requirement: 'error.code',
    text: 'A 401 has no code.',
    shares: 'code',
    hooks: errors(
      (status) => status === 401,
      (error) => void error.delete('code'),
    ),
  },
  {
    id: 'error-code-number-404',
    requirement: 'error.code',
    text: 'The code of a 404 is a number.',
    shares: 'code',
    hooks: errors(
      (status) => status === 404,
      (error) => void error.set('code', integer(404)),
    ),
  },
  {
    id: 'error-wrapped-400',
    requirement: 'error.code',
    text: 'A 400 wraps its Error in {"error": ...}.',
    hooks: {
      error: (status, message, exchange) => {
        const error = base.error(status, message, exchange);
        return status === 400 && error !== undefined ? new Map<string, Json>([['error', error]]) : error;
      },
    },
  },
  {
    id: 'error-message-missing-400',
    requirement: 'error.message',
    text: 'A 400 has no message.',
    shares: 'message',
    hooks: errors(
      (status) => status === 400,
      (error) => void error.delete('message'),
    ),
  },
  {
    id: 'error-message-null-404',
    requirement: 'error.message',
    text: 'The message of a 404 is null.',
    shares: 'message',
    hooks: errors(
      (status) => status === 404,
      (error) => void error.set('message', null),
    ),
  },
  {
    id: 'error-message-list-401-create',
    requirement: 'error.message',
    text: 'The message of a 401 of create is a list of strings.',
    shares: 'message',
    hooks: errors(
      (status, exchange) => status === 401 && exchange.operation === 'create',
      (error) => void error.set('message', ['The API key is invalid.']),
    ),
  },
  {
    id: 'error-status-missing-400',
    requirement: 'error.status',
    text: 'A 400 has no status in its body.',
    shares: 'status',
    hooks: errors(
      (status) => status === 400,
      (error) => void error.delete('status'),
    ),
  },
  {
    id: 'error-status-404-says-400',
    requirement: 'error.status',
    text: 'The body of a 404 says 400.',
    shares: 'status',
    hooks: errors(
      (status) => status === 404,
      (error) => void error.set('status', integer(400)),
    ),
  },
  {
    id: 'error-status-string-401',
    requirement: 'error.status',
    text: 'The status in the body of a 401 is a string.',
    shares: 'status',
    hooks: errors(
      (status) => status === 401,
      (error) => void error.set('status', '401'),
    ),
  },
  {
    id: 'error-status-403-get',
    requirement: 'error.status',
    text: 'The body of a 401 of get says 403.',
    shares: 'status',
    hooks: errors(
      (status, exchange) => status === 401 && exchange.operation === 'get',
      (error) => void error.set('status', integer(403)),
    ),
  },
  {
    id: 'type-html-401',
    requirement: 'service.json',
    text: 'A 401 is of type text/html.',
    shares: 'content type',
    hooks: answers(
      (answer) => answer.status === 401,
      (answer) => setHeader(answer, 'Content-Type', 'text/html'),
    ),
  },
  {
    id: 'type-problem-404',
    requirement: 'service.json',
    text: 'A 404 is of type application/problem+json.',
    shares: 'content type',
    hooks: answers(
      (answer) => answer.status === 404,
      (answer) => setHeader(answer, 'Content-Type', 'application/problem+json'),
    ),
  },
  {
    id: 'type-text-400',
    requirement: 'service.json',
    text: 'A 400 is of type text/plain.',
    shares: 'content type',
    hooks: answers(
      (answer) => answer.status === 400,
      (answer) => setHeader(answer, 'Content-Type', 'text/plain'),
    ),
  },
  {
    id: 'type-missing-201',
    requirement: 'service.json',
    text: 'A 201 has no Content-Type.',
    shares: 'content type',
    hooks: answers(
      (answer) => answer.status === 201,
      (answer) => setHeader(answer, 'Content-Type', undefined),
    ),
  },
  {
    id: 'content-type-twice',
    requirement: 'service.json',
    text: 'A 404 carries Content-Type twice, each time the same.',
    hooks: answers(
      (answer) => answer.status === 404,
      (answer) => void answer.headers.push(['Content-Type', 'application/json']),
    ),
  },
  {
    id: 'type-orders',
    requirement: 'service.json',
    text: 'Orders are of type application/jsonp.',
    hooks: answers(
      (_answer, { operation }) => operation === 'orders',
      (answer) => setHeader(answer, 'Content-Type', 'application/jsonp'),
    ),
  },
  {
    id: 'json-trailing-comma',
    requirement: 'service.json',
    text: 'A list of more than three animals ends with a comma before its bracket.',
    hooks: {
      bytes: (text, exchange) =>
        base.bytes(exchange.operation === 'list' && text.split('"name"').length > 4 ? text.replace(/\]$/, ',]') : text, exchange),
    },
  },
  {
    id: 'json-latin-1',
    requirement: 'service.json',
    text: 'Bodies in which no character is beyond U+00FF are sent as Latin-1, which is not UTF-8.',
    hooks: { bytes: (text) => Buffer.from(text, /^[\0-\xff]*$/.test(text) ? 'latin1' : 'utf8') },
  },
  {
    id: 'json-orders-nan',
    requirement: 'service.json',
    text: 'Orders show NaN as a number.',
    hooks: {
      orders: () => [
        new Map<string, Json>([
          ['id', integer(1)],
          ['total', new Digits('NaN')],
        ]),
      ],
    },
  },
  {
    id: 'get-404-as-200',
    requirement: 'get.not-found',
    text: 'An unknown animal is answered with 200 and an Error.',
    shares: 'not found',
    hooks: answers(
      (answer, { operation }) => answer.status === 404 && operation === 'get',
      (answer) => void (answer.status = 200),
    ),
  },
  {
    id: 'get-404-as-400',
    requirement: 'get.not-found',
    text: 'An unknown animal is answered with 400.',
    shares: 'not found',
    hooks: answers(
      (answer, { operation }) => answer.status === 404 && operation === 'get',
      (answer, exchange) => Object.assign(answer, { status: 400, body: base.error(400, 'No such animal.', exchange) }),
    ),
  },
  {
    id: 'get-404-as-last',
    requirement: 'get.not-found',
    text: 'An unknown id beyond the last one gives the last animal.',
    shares: 'not found',
    hooks: {
      find: (id, exchange) => {
        const last = [...exchange.world.pets.values()].at(-1);
        const beyond = last !== undefined && /^\d+$/.test(id) && BigInt(id) > BigInt(last.id);
        return base.find(id, exchange) ?? (beyond ? last : undefined);
      },
    },
  },
  {
    id: 'get-zero-is-first',
    requirement: 'get.not-found',
    text: 'GET /pets/0 gives the first animal.',
    hooks: { find: (id, exchange) => base.find(id === '0' ? '1' : id, exchange) },
  },
  {
    id: 'get-int32',
    requirement: 'get.not-found',
    text: 'Ids are cut to 32 bits, so that id + 2^32 is the same animal.',
    hooks: { find: (id, exchange) => base.find(/^\d+$/.test(id) ? String(BigInt.asIntN(32, BigInt(id))) : id, exchange) },
  },
  {
    id: 'get-prefix',
    requirement: 'get.not-found',
    text: 'An id of more than ten digits is cut to its first one.',
    hooks: { find: (id, exchange) => base.find(/^\d{11,}$/.test(id) ? id.slice(0, 1) : id, exchange) },
  },
];
