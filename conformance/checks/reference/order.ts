/** Our own decisions, "Order of checks": which fault decides, what lies outside the base path, and what the wire must bear. */
import { check, type Check } from '../../session/check.ts';
import { nobody } from '../../client/credentials.ts';
import { createPetOf, other } from '../../client/requests.ts';
import { codeOf } from '../../verdicts/rules-reference.ts';
import {
  answered,
  basePath,
  inShort,
  json,
  maxBodyBytes,
  outside,
  postWith,
  publicPaths,
  raw,
  refused,
  requireAllow,
  text,
  withBody,
  withHeaders,
} from './common.ts';

const nonsense = ['Expect', 'the-impossible'] as const;
const tooLong = ['Content-Length', String(maxBodyBytes + 1)] as const;

export const orderChecks: readonly Check[] = [
  check('decided.order.key-first', { keyless: 3, writes: true }, async (t) => {
    const faulty = { ...createPetOf(nobody, '{'), headers: [text, nonsense], target: '/pets?x=%zz' };
    await t.each([other(nobody, 'GET', '/no-such-path'), other(nobody, 'PROPFIND', '/pets'), faulty], async (request) => {
      await answered(t, request, 401, 'there is no key, and that comes first');
    });
  }),
  check('decided.order.sequence', { requests: 8, writes: true }, async (t) => {
    await t.each(
      [
        [
          withHeaders(other(t.key, 'DELETE', '/no-such-path'), nonsense),
          404,
          'not_found',
          'the path comes before method and expectation',
        ],
        [
          withHeaders(other(t.key, 'PUT', '/pets'), nonsense, text),
          405,
          'method_not_allowed',
          'the method comes before the expectation',
        ],
        [postWith(t, [text, nonsense], '{'), 417, 'expectation_failed', 'the expectation comes before the content type'],
        [
          withHeaders(other(t.key, 'GET', '/pets?limit=0'), nonsense),
          417,
          'expectation_failed',
          'the expectation comes before the parameters',
        ],
        [postWith(t, [text], '{', '?x=%zz'), 415, 'unsupported_media_type', 'the content type comes before the parameters'],
        [postWith(t, [json], '{', '?x=%zz'), 400, 'invalid_parameter', 'the parameters come before the body'],
        [
          raw(t, { credential: t.key, method: 'POST', target: '/pets', headers: [text, tooLong] }),
          415,
          'unsupported_media_type',
          'the content type comes before the size of the body',
        ],
        [
          raw(t, { credential: t.key, method: 'POST', target: '/pets?x=%zz', headers: [json, tooLong] }),
          400,
          'invalid_parameter',
          'the parameters come before the size of the body',
        ],
      ] as const,
      async ([request, status, code, because]) => {
        await refused(t, request, status, code, because);
      },
    );
  }),
  check('decided.order.length-at-once', { requests: 2, writes: true }, async (t) => {
    await t.each(
      [
        { method: 'POST', headers: [json, tooLong] },
        { method: 'GET', headers: [tooLong] },
      ],
      async (message) => {
        await refused(
          t,
          raw(t, { credential: t.key, target: '/pets', ...message }),
          413,
          'payload_too_large',
          'Content-Length says so; the body need not come',
        );
      },
    );
  }),
  check('decided.order.early-close', { requests: 6, writes: true }, async (t) => {
    const cases = [
      [postWith(t, [text], '{}'), false],
      [withBody(other(t.key, 'PUT', '/pets'), '{}'), false],
      [withBody(other(t.key, 'POST', '/no-such-path'), '{}'), false],
      [raw(t, { credential: t.key, method: 'POST', target: '/pets', headers: [text, tooLong], close: false }), true],
      [raw(t, { credential: t.key, method: 'PUT', target: '/pets', headers: [tooLong], close: false }), true],
      [raw(t, { credential: t.key, method: 'POST', target: '/no-such-path', headers: [tooLong], close: false }), true],
    ] as const;
    await t.each(cases, async ([request, closes]) => {
      const response = await t.send(request);
      const connection = response.all('connection').join(', ');
      t.require(
        /\bclose\b/i.test(connection) === closes,
        response,
        closes ? 'Connection: close, since more than 64 KiB of the body are outstanding' : 'no Connection: close, since the body is small',
        `Connection: ${connection || 'missing'}`,
      );
    });
  }),
  check('decided.order.continue', { requests: 3, writes: true }, async (t) => {
    const expect = ['Expect', '100-continue'] as const;
    await t.each(
      [
        [[json, ['Content-Length', '2']], true, 'the body is about to be read'],
        [[text, ['Content-Length', '2']], false, 'the content type is refused, and the body not read'],
        [[json, tooLong], false, 'the body is too large, and not read'],
      ] as const,
      async ([headers, wanted, because]) => {
        // The body comes with the head where it is wanted, so that nobody waits for it.
        const response = await t.send(
          raw(t, { credential: t.key, method: 'POST', target: '/pets', headers: [expect, ...headers], body: wanted ? '{}' : '' }),
        );
        t.require(
          response.wire?.interim.includes(100) === wanted,
          response,
          `${wanted ? 'a' : 'no'} 100 Continue before the response, since ${because}`,
          `${response.wire?.interim.join(', ') || 'none'}, then ${inShort(response)}`,
        );
      },
    );
  }),

  check('decided.order.public', { requests: 2, keyless: 1 }, async (t) => {
    await t.each(publicPaths, async (path) => {
      const response = await t.send(outside(path === '/healthz' ? nobody : t.key, 'GET', path));
      const unready = path === '/readyz' && response.status === 503 && codeOf(response) === 'not_ready';
      t.require(
        (response.status === 200 || unready) && !(response.json instanceof SyntaxError),
        response,
        '200 and a JSON body, whoever asks',
        inShort(response),
      );
    });
  }),
  check('decided.order.public-methods', { requests: 4 * publicPaths.length, writes: true }, async (t) => {
    const allow = ['GET', 'HEAD', 'OPTIONS'];
    await t.each(publicPaths, async (path) => {
      const got = await t.send(outside(t.key, 'GET', path));
      const head = await t.send(outside(t.key, 'HEAD', path));
      const [wanted, came] = [got, head].map((a) => `${a.status}, Content-Length ${a.all('content-length').join(' and ')}`);
      t.require(came === wanted, head, `what GET gives: ${wanted}`, came);
      requireAllow(t, await answered(t, outside(t.key, 'OPTIONS', path), 204, 'OPTIONS works everywhere'), allow);
      requireAllow(
        t,
        await refused(t, outside(t.key, 'POST', path), 405, 'method_not_allowed', 'only GET, HEAD and OPTIONS are public'),
        allow,
      );
    });
  }),
  check('decided.order.outside', { requests: 5 }, async (t) => {
    const base = basePath(t);
    const paths = ['/', '/pets', `${base}x/pets`, `${base.toUpperCase()}/pets`, '/healthz/'];
    await t.each(paths, async (path) => {
      await refused(t, outside(t.key, 'GET', path), 404, 'not_found', 'it is neither below the base path nor public');
    });
  }),
  check('decided.order.asterisk', { requests: 1 }, async (t) => {
    await answered(
      t,
      raw(t, { credential: t.key, method: 'OPTIONS', target: '*', requestTarget: '*', outside: true }),
      204,
      'OPTIONS * asks for the server as such',
    );
  }),
  check('decided.order.connect', { requests: 1 }, async (t) => {
    const authority = 'example.invalid:443';
    const connect = raw(t, {
      credential: t.key,
      method: 'CONNECT',
      target: authority,
      requestTarget: authority,
      close: false,
      outside: true,
    });
    const response = await refused(t, connect, 405, 'method_not_allowed', 'the server is no proxy');
    requireAllow(t, response, []);
    t.require(response.wire?.closed === true, response, 'the connection closed', 'it stayed open');
  }),
  check('decided.order.http-1.0', { requests: 1 }, async (t) => {
    const response = await answered(
      t,
      raw(t, { credential: t.key, method: 'GET', target: '/pets?limit=1', version: 'HTTP/1.0', hosts: [], close: false }),
      200,
      'HTTP/1.0 needs no Host',
    );
    t.require(response.wire?.closed === true, response, 'the connection closed after one request', 'it stayed open');
  }),
  check('decided.order.upgrade', { requests: 1 }, async (t) => {
    const headers = [
      ['Connection', 'Upgrade'],
      ['Upgrade', 'websocket'],
    ] as const;
    await answered(
      t,
      raw(t, { credential: t.key, method: 'GET', target: '/pets?limit=1', headers, close: false }),
      200,
      'an Upgrade is ignored',
    );
  }),
];
