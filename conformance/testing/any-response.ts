/** Test support: servers that send anything, and runs of the kit against them. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import * as fc from 'fast-check';
import { runChecks } from '../checks/suite.ts';
import { base, type Exchange, type Hooks } from '../mutants/server/hooks.ts';
import { startSmallServer } from '../mutants/server/small-server.ts';
import { buildReport } from '../report/build.ts';
import { comparisonText, readReport } from '../report/compare.ts';
import { reportHtml } from '../report/html.ts';
import { reportJunit } from '../report/junit.ts';
import { painter, resultLine, summaryText } from '../report/terminal.ts';
import { Untestable, type SessionOptions } from '../session/session.ts';
import type { RequirementResult } from '../verdicts/results.ts';
import { hostile } from './report.ts';
import { fakeClock } from './responses.ts';
import { apiKey } from './servers.ts';
import { session } from './sessions.ts';
import { malformed, rawCharacters } from './wellformed.ts';

/** What is sent instead of a response. */
export type Fault = (to: ServerResponse, response: Written, exchange: Exchange) => void;

interface Written {
  status: number;
  headers: string[];
  body: Uint8Array;
}

/** Which responses have a fault. */
interface Which {
  readonly operation: Exchange['operation'] | 'any';
  readonly status: number | 'any';
  /** The number of the first request with the fault. After it, one request in `oneIn` has the fault. */
  readonly from: number;
  readonly oneIn: number;
}

export interface AnyServer {
  readonly faults: readonly (readonly [which: Which, name: string, fault: Fault])[];
  readonly animals: number;
  readonly plan: 'free' | 'business';
  readonly options: Partial<SessionOptions>;
}

const send = (to: ServerResponse, { status, headers, body }: Written) => {
  // Node refuses to send an invalid head, so it is written to the socket.
  const lines = Array.from({ length: headers.length / 2 }, (_, i) => `${headers[2 * i]}: ${headers[2 * i + 1]}\r\n`);
  to.socket?.write(`HTTP/1.1 ${status} Any\r\n${lines.join('')}Connection: close\r\n\r\n`, 'latin1');
  // Node would not respond to another request on this connection, because it has not sent this response itself.
  to.socket?.end(body);
};
const without = (headers: readonly string[], name: string) =>
  headers.filter((_, i) => headers[i - (i % 2)]!.toLowerCase() !== name.toLowerCase());
const withBody = (response: Written, text: string | Uint8Array): Written => {
  const body = typeof text === 'string' ? Buffer.from(text) : text;
  const headers = [...without(response.headers, 'Content-Length'), 'Content-Length', `${body.length}`];
  return { ...response, body, headers };
};
const repeatedly = (to: ServerResponse, head: string, chunk: Uint8Array) => {
  const { socket } = to;
  if (socket === null) return;
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('error', () => {}).on('drain', more);
  socket.write(head);
  more();
};

const headerNames = [
  'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After', 'Date', 'Content-Type', 'Location',
  'Content-Encoding', 'Transfer-Encoding', 'Content-Length', 'Connection', 'WWW-Authenticate', 'Link', 'Deprecation',
];
const headerValue = fc.oneof(
  fc.integer({ min: -5, max: 130 }).map(String),
  fc.constantFrom(1, 61, 900, 3_600, 59_000, 86_400).map(String),
  fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map(String),
  fc.constantFrom('', '0', '-0', '+1', '1e3', '0x10', '1.5', '9'.repeat(400), 'null', '[object Object]', 'soon'),
  fc.constantFrom('Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 31 Dec 9999 23:59:59 GMT', '2030-12-06', 'chunked', 'gzip'),
  fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)), maxLength: 30 }),
);
const anyJson = fc.oneof(
  fc.constantFrom('null', 'null', 'null', 'true', '0', '""', '[]', '{}', '[null]', '[[]]', '[{}]', '{"id":null}'),
  fc.json({ maxDepth: 3 }),
  fc
    .record(
      {
        id: fc.constantFrom('1', '-1', '"1"', 'null', '1e400', '9223372036854775807', '-9223372036854775808', '[]'),
        name: fc.constantFrom('null', '"Rex"', JSON.stringify(hostile), '{}', '""', `"${'x'.repeat(70_000)}"`),
        categoryId: fc.constantFrom('1', '1.0', 'null', '"1"', '18446744073709551617'),
        status: fc.constantFrom('"sold"', '"asleep"', 'null', '0'),
        code: fc.constantFrom('null', '1', JSON.stringify(hostile)),
        message: fc.constantFrom('null', '[]', JSON.stringify(hostile)),
      },
      { requiredKeys: [] },
    )
    .chain((fields) => {
      const object = `{${Object.entries(fields).map(([name, value]) => `"${name}":${value}`).join()}}`;
      return fc.constantFrom(object, `[${object}]`, `[${object},${object}]`, `{"pets":[${object}]}`);
    }),
  fc.constantFrom('['.repeat(100_000), '{"a":'.repeat(1_000), `[${'1,'.repeat(200_000)}1]`),
);
const notHttp = ['220 smtp.example\r\n', '\r\n', 'HTTP/9.9 x\r\n\r\n', '\x15\x03\x01\0\x02\x02\n'];

/** A list that is too long. */
const manyAnimals = (length: number) =>
  `[${Array.from({ length }, (_, i) => `{"id":${i},"name":"","categoryId":1}`).join()}]`;

/** Every kind of fault, by name. */
const faultOf: Record<string, fc.Arbitrary<Fault>> = {
  status: fc.integer({ min: 200, max: 999 }).map((status) => (to, response) => send(to, { ...response, status })),
  'known status': fc
    .constantFrom(200, 201, 204, 301, 304, 307, 400, 401, 403, 404, 405, 410, 429, 500, 503)
    .map((status) => (to, response) => send(to, { ...response, status })),
  header: fc
    .tuple(fc.constantFrom(...headerNames), headerValue, fc.boolean())
    // A key that really has a limit below 60 may wait for hours.
    .filter(([name, value]) => name !== 'X-RateLimit-Limit' || !/^[1-5]?\d$/.test(value))
    .map(([name, value, also]): Fault => (to, response) => {
      const others = also ? response.headers : without(response.headers, name);
      send(to, { ...response, headers: [...others, name, value] });
    }),
  'no header': fc.constantFrom(...headerNames).map((name): Fault => (to, response) =>
    send(to, { ...response, headers: without(response.headers, name) })),
  'a far time': fc.tuple(fc.constantFrom('X-RateLimit-Reset', 'Retry-After'), fc.constantFrom(1_000, 60, 3_600))
    .map(([name, factor]): Fault => (to, response) => {
      const headers = response.headers.map((value, i) =>
        i % 2 === 1 && response.headers[i - 1] === name ? `${Number(value) * factor}` : value);
      send(to, { ...response, headers });
    }),
  'refused with any Retry-After': headerValue.map((value): Fault => (to, response) =>
    send(to, { ...response, status: 429, headers: [...response.headers, 'Retry-After', value] })),
  'none remain': fc.integer({ min: 0, max: 90_000 }).map((seconds): Fault => (to, response, { now }) => {
    const headers = ['X-RateLimit-Remaining', 'X-RateLimit-Reset'].reduce(without, response.headers);
    const reset = `${Math.floor(now / 1000) + seconds}`;
    send(to, { ...response, headers: [...headers, 'X-RateLimit-Remaining', '0', 'X-RateLimit-Reset', reset] });
  }),
  bytes: fc.uint8Array({ maxLength: 200 }).map((bytes): Fault => (to, response) => send(to, withBody(response, bytes))),
  json: anyJson.map((text): Fault => (to, response) => send(to, withBody(response, text))),
  'many animals': fc.constantFrom(101, 20_000).map((length): Fault => (to, response) =>
    send(to, withBody(response, manyAnimals(length)))),
  redirect: fc.constantFrom('/v1/pets', '/', 'https://127.0.0.1:1/v1/pets', '\\\\', '').map((location): Fault =>
    (to, response) => send(to, { ...response, status: 302, headers: [...response.headers, 'Location', location] })),
  cut: fc.nat(400).map((at): Fault => (to, response) => {
    send(to, { ...response, body: response.body.subarray(0, Math.floor((response.body.length * at) / 400)) });
  }),
  reset: fc.constant((to) => void to.socket?.resetAndDestroy()),
  'not HTTP': fc
    .tuple(fc.oneof(fc.constantFrom(...notHttp), fc.string()), fc.boolean())
    .map(([text, end]): Fault => ({ socket }) => void (end ? socket?.end(text) : socket?.write(text))),
  informational: fc.integer({ min: 100, max: 199 }).map((status): Fault => ({ socket }) =>
    void socket?.write(`HTTP/1.1 ${status} Any\r\nConnection: Upgrade\r\nUpgrade: any\r\n\r\n`)),
  twice: fc.constant((to, response) => {
    const headers = response.headers.join(': any\r\n');
    to.socket?.write(`HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n${headers}: any\r\n\r\n`);
    to.socket?.end(response.body);
  }),
  silence: fc.constant(() => {}),
  'an endless body': fc.constant((to) => repeatedly(to, 'HTTP/1.1 200 OK\r\n\r\n', Buffer.alloc(65_536, '[{"id":1},'))),
  'an endless head': fc.constant((to) =>
    repeatedly(to, 'HTTP/1.1 200 OK\r\n', Buffer.from('X-Any: any\r\n'.repeat(100)))),
  'endless 103': fc.constant((to) => repeatedly(to, '', Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100)))),
};

const which: fc.Arbitrary<Which> = fc.record({
  operation: fc.constantFrom('any', 'any', 'list', 'create', 'get', 'orders', 'other'),
  status: fc.constantFrom<Which['status'][]>('any', 'any', 200, 201, 400, 401, 404, 429),
  from: fc.oneof(fc.constant(0), fc.nat(300)),
  oneIn: fc.constantFrom(1, 1, 2, 5, 50),
});

/** Any server: conforming, except for one to three faults. */
export const anyServer: fc.Arbitrary<AnyServer> = fc.record({
  faults: fc.array(
    // Most faults are in bodies.
    fc
      .constantFrom(...Object.keys(faultOf), ...Array<string>(12).fill('json'))
      .chain((name) => fc.tuple(which, fc.constant(name), faultOf[name]!)),
    { minLength: 1, maxLength: 3 },
  ),
  animals: fc.constantFrom(0, 12, 12, 130),
  plan: fc.constantFrom('free', 'business'),
  options: fc.record(
    { exhaust: fc.boolean(), write: fc.boolean(), strict: fc.boolean(), plan: fc.constant('free' as const) },
    { requiredKeys: ['exhaust'] },
  ),
});

/** The hooks of a server with faults. */
export function hooksOf({ faults }: Pick<AnyServer, 'faults'>): Partial<Hooks> {
  return {
    write: (to, status, headers, body, exchange) => {
      const { requests } = exchange.world;
      const chosen = faults.find(([on]) =>
        (on.operation === 'any' || on.operation === exchange.operation) &&
        (on.status === 'any' || on.status === status) && requests > on.from && requests % on.oneIn === 0);
      if (chosen === undefined) base.write(to, status, headers, body, exchange);
      else chosen[2](to, { status, headers, body }, exchange);
    },
  };
}

/** How long a run takes at most, by the clock of the kit. A Free key needs about 20 minutes with --exhaust. */
const maxMinutes = 120;

/**
 * Runs the kit against a server, and makes all reports.
 *
 * @returns the exit code
 * @throws AssertionError if the kit crashes, waits too long, or makes a report that is not well-formed
 */
export async function survives(server: AnyServer): Promise<number> {
  const clock = fakeClock();
  const started = clock.now();
  const { baseUrl, close } = await startSmallServer({
    clock,
    keys: [{ secret: apiKey, plan: server.plan }],
    hooks: hooksOf(server),
    animals: server.animals,
  });
  const tested = session({ baseUrl, apiKey }, { runs: 2, timeoutMs: 50, ...server.options }, clock);
  try {
    await tested.open();
    const progress = { group: () => {}, result: (one: RequirementResult) => void resultLine(one, painter(true)) };
    await runChecks(tested, progress);
  } catch (error) {
    if (error instanceof Untestable) return 2;
    throw error;
  } finally {
    tested.client.close();
    await close();
  }
  const minutes = (clock.now() - started) / 60_000;
  assert.ok(minutes <= maxMinutes, `${Math.round(minutes)} minutes of waiting`);
  const report = buildReport(tested);
  const json = JSON.stringify(report);
  assert.doesNotMatch(json, /error in the kit/);
  const comparison = comparisonText(readReport(json), report);
  for (const text of [summaryText(report, painter(false)), comparison])
    assert.deepEqual(rawCharacters(text), []);
  const html = reportHtml(report);
  assert.equal(malformed(html.replace(/<style>[^<]*<\/style>/, ''), ['meta']), undefined);
  assert.equal(malformed(reportJunit(report)), undefined);
  for (const text of [json, html]) assert.ok(!text.includes(apiKey));
  if (report.aborted !== undefined && report.totals.failed === 0) return 2;
  return report.conforms ? 0 : 1;
}
