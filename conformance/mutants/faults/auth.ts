/** Who is let in, or kept out: section 5. */
import { base } from '../hooks.ts';
import { answers, setHeader, tokenOf, type Fault } from './fault.ts';
import { Digits, type Json } from '../json.ts';

const middle = (text: string): number => text.length >> 1;
const without = (text: string, at: number): string => text.slice(0, at) + text.slice(at + 1);
const sorted = (text: string): string => [...text].sort().join('');

export const authFaults: readonly Fault[] = [
  {
    id: 'auth-valid-orders',
    requirement: 'auth.valid',
    text: 'GET /store/orders refuses every key.',
    hooks: { admits: (exchange, secret) => exchange.operation !== 'orders' && base.admits(exchange, secret) },
  },
  {
    id: 'auth-missing-list',
    requirement: 'auth.missing',
    text: 'Without an Authorization header, the list is answered.',
    shares: 'missing',
    hooks: {
      admits: (exchange, secret) =>
        base.admits(exchange, secret) || (exchange.operation === 'list' && exchange.authorization === ''),
    },
  },
  {
    id: 'auth-missing-create',
    requirement: 'auth.missing',
    text: 'Without an Authorization header, an animal is created.',
    shares: 'missing',
    hooks: {
      admits: (exchange, secret) =>
        base.admits(exchange, secret) || (exchange.operation === 'create' && exchange.authorization === ''),
    },
  },
  {
    id: 'auth-missing-get',
    requirement: 'auth.missing',
    text: 'Without an Authorization header, an animal is shown.',
    shares: 'missing',
    hooks: {
      admits: (exchange, secret) =>
        base.admits(exchange, secret) || (exchange.operation === 'get' && exchange.authorization === ''),
    },
  },
  {
    id: 'auth-missing-orders',
    requirement: 'auth.missing',
    text: 'Without an Authorization header, orders are shown.',
    shares: 'missing',
    hooks: {
      admits: (exchange, secret) =>
        base.admits(exchange, secret) || (exchange.operation === 'orders' && exchange.authorization === ''),
    },
  },
  {
    id: 'auth-missing-403',
    requirement: 'auth.missing',
    text: 'Without an Authorization header, create answers 403.',
    hooks: answers(
      (answer, exchange) => answer.status === 401 && exchange.operation === 'create' && exchange.authorization === '',
      (answer) => {
        answer.status = 403;
        if (answer.body instanceof Map) answer.body.set('status', new Digits('403'));
      },
    ),
  },
  {
    id: 'auth-missing-after-404',
    requirement: 'auth.missing',
    text: 'Whether the animal exists is told without an Authorization header: 404 if not.',
    hooks: answers(
      (answer, { operation, authorization, path, world }) =>
        answer.status === 401 && operation === 'get' && authorization === '' && !world.pets.has(path.slice(6)),
      (answer, exchange) => {
        answer.status = 404;
        answer.body = base.error(404, 'There is no such animal.', exchange);
      },
    ),
  },
  {
    id: 'auth-empty-all',
    requirement: 'auth.empty',
    text: 'An empty bearer token is let in.',
    shares: 'empty token',
    // The space after the scheme does not survive HTTP, which trims values.
    hooks: { admits: (exchange, secret) => base.admits(exchange, secret) || exchange.authorization === 'Bearer' },
  },
  {
    id: 'auth-empty-orders',
    requirement: 'auth.empty',
    text: 'An empty bearer token is let in to orders.',
    shares: 'empty token',
    hooks: {
      admits: (exchange, secret) =>
        base.admits(exchange, secret) || (exchange.operation === 'orders' && exchange.authorization === 'Bearer'),
    },
  },
  {
    id: 'auth-basic-user',
    requirement: 'auth.other-scheme',
    text: 'Basic with the key as user and no password is let in.',
    hooks: {
      admits: (exchange, secret) =>
        base.admits(exchange, secret) || exchange.authorization === `Basic ${Buffer.from(`${secret}:`).toString('base64')}`,
    },
  },
  {
    id: 'auth-any-scheme',
    requirement: 'auth.other-scheme',
    text: 'Any scheme followed by the key is let in.',
    shares: 'any scheme',
    hooks: { admits: (exchange, secret) => exchange.authorization.split(' ')[1] === secret },
  },
  {
    id: 'auth-basic-bare-get',
    requirement: 'auth.other-scheme',
    text: 'get lets in Basic followed by the bare key.',
    shares: 'any scheme',
    hooks: {
      admits: (exchange, secret) =>
        base.admits(exchange, secret) || (exchange.operation === 'get' && exchange.authorization === `Basic ${secret}`),
    },
  },
  {
    id: 'auth-no-scheme-all',
    requirement: 'auth.no-scheme',
    text: 'The key without a scheme is let in.',
    shares: 'no scheme',
    hooks: { admits: (exchange, secret) => base.admits(exchange, secret) || exchange.authorization === secret },
  },
  {
    id: 'auth-no-scheme-orders',
    requirement: 'auth.no-scheme',
    text: 'The key without a scheme is let in to orders.',
    shares: 'no scheme',
    hooks: {
      admits: (exchange, secret) =>
        base.admits(exchange, secret) || (exchange.operation === 'orders' && exchange.authorization === secret),
    },
  },
  {
    id: 'auth-changed-get',
    requirement: 'auth.changed',
    text: 'get compares only the first two thirds of the key, and its length.',
    shares: 'beginning only',
    hooks: {
      admits: (exchange, secret) => {
        const [token, compared] = [tokenOf(exchange), Math.floor((secret.length * 2) / 3)];
        return (
          base.admits(exchange, secret) ||
          (exchange.operation === 'get' && token.length === secret.length && token.startsWith(secret.slice(0, compared)))
        );
      },
    },
  },
  {
    id: 'auth-first-half',
    requirement: 'auth.changed',
    text: 'The first half of the key and its length are compared.',
    shares: 'beginning only',
    hooks: {
      admits: (exchange, secret) => {
        const token = tokenOf(exchange);
        return token.length === secret.length && token.startsWith(secret.slice(0, middle(secret)));
      },
    },
  },
  {
    id: 'auth-first-16',
    requirement: 'auth.near-miss',
    text: 'Only the first 16 characters of the key are compared, or all if it is shorter.',
    shares: 'beginning only',
    hooks: { admits: (exchange, secret) => tokenOf(exchange).slice(0, 16) === secret.slice(0, 16) },
  },
  {
    id: 'auth-cut-all',
    requirement: 'auth.cut',
    text: 'A key that lacks its last character is let in.',
    shares: 'cut',
    hooks: { admits: (exchange, secret) => base.admits(exchange, secret) || tokenOf(exchange) === secret.slice(0, -1) },
  },
  {
    id: 'auth-cut-create',
    requirement: 'auth.cut',
    text: 'create lets in every beginning of the key that has more than half of it.',
    shares: 'cut',
    hooks: {
      admits: (exchange, secret) => {
        const token = tokenOf(exchange);
        return (
          base.admits(exchange, secret) ||
          (exchange.operation === 'create' && token.length > middle(secret) && secret.startsWith(token))
        );
      },
    },
  },
  {
    id: 'auth-lengthened-all',
    requirement: 'auth.lengthened',
    text: 'Whatever follows the key is ignored.',
    shares: 'lengthened',
    hooks: { admits: (exchange, secret) => tokenOf(exchange).startsWith(secret) },
  },
  {
    id: 'auth-lengthened-list',
    requirement: 'auth.lengthened',
    text: 'The list ignores one character after the key.',
    shares: 'lengthened',
    hooks: {
      admits: (exchange, secret) =>
        base.admits(exchange, secret) || (exchange.operation === 'list' && tokenOf(exchange).slice(0, -1) === secret),
    },
  },
  {
    id: 'auth-query-api-key',
    requirement: 'auth.query',
    text: 'The key is accepted as ?api_key=.',
    shares: 'query',
    hooks: { admits: (exchange, secret) => base.admits(exchange, secret) || exchange.query.get('api_key') === secret },
  },
  {
    id: 'auth-query-access-token',
    requirement: 'auth.query',
    text: 'Orders accept the key as ?access_token=.',
    shares: 'query',
    hooks: {
      admits: (exchange, secret) =>
        base.admits(exchange, secret) || (exchange.operation === 'orders' && exchange.query.get('access_token') === secret),
    },
  },
  {
    id: 'auth-case',
    requirement: 'auth.near-miss',
    text: 'Keys are compared without regard to case.',
    hooks: { admits: (exchange, secret) => tokenOf(exchange).toLowerCase() === secret.toLowerCase() },
  },
  {
    id: 'auth-middle',
    requirement: 'auth.near-miss',
    text: 'The character in the middle of the key is not compared.',
    shares: 'one character',
    hooks: {
      admits: (exchange, secret) => {
        const token = tokenOf(exchange);
        return token.length === secret.length && without(token, middle(secret)) === without(secret, middle(secret));
      },
    },
  },
  {
    id: 'auth-first',
    requirement: 'auth.near-miss',
    text: 'The first character of the key is not compared.',
    shares: 'one character',
    hooks: {
      admits: (exchange, secret) => {
        const token = tokenOf(exchange);
        return token.length === secret.length && token.slice(1) === secret.slice(1);
      },
    },
  },
  {
    id: 'auth-last-create',
    requirement: 'auth.near-miss',
    text: 'create does not compare the last character of the key.',
    shares: 'one character',
    hooks: {
      admits: (exchange, secret) => {
        const token = tokenOf(exchange);
        return (
          base.admits(exchange, secret) ||
          (exchange.operation === 'create' && token.length === secret.length && token.slice(0, -1) === secret.slice(0, -1))
        );
      },
    },
  },
  {
    id: 'auth-sum',
    requirement: 'auth.near-miss',
    text: 'A key with the same characters in another order is let in.',
    hooks: { admits: (exchange, secret) => sorted(tokenOf(exchange)) === sorted(secret) },
  },
  {
    id: 'auth-ends-with',
    requirement: 'auth.near-miss',
    text: 'Whatever precedes the key is ignored.',
    hooks: { admits: (exchange, secret) => tokenOf(exchange).endsWith(secret) },
  },
  {
    id: 'auth-fiftieth-refused',
    requirement: 'auth.valid',
    text: 'Every fiftieth request is refused with 401, whatever its key.',
    hooks: { admits: (exchange, secret) => exchange.world.requests % 50 !== 0 && base.admits(exchange, secret) },
  },
  {
    id: 'version-moved',
    requirement: 'version.path',
    text: 'The operations have moved to /v2, and /v1 redirects there.',
    hooks: {
      below: (path) => (/^\/v[12]\//.test(path) ? path.slice(3) : undefined),
      ...answers(
        (_answer, { fullPath }) => fullPath.startsWith('/v1/'),
        (answer, { fullPath, query }) => {
          answer.status = 308;
          setHeader(answer, 'Location', `/v2${fullPath.slice(3)}${query.size > 0 ? `?${query}` : ''}`);
          answer.body = new Map<string, Json>();
        },
      ),
    },
  },
];
