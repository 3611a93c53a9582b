/**
 * Test support: the service in this process, on a real port, with a clock that the test sets. Tests that need the built
 * server as a process start it with `harness/server.ts`.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { request, type Agent, type OutgoingHttpHeaders } from 'node:http';
import { request as requestOverTls } from 'node:https';
import type { TestContext } from 'node:test';
import { FileEngine } from '../file-engine/file-engine.ts';
import { Listener, type ListenerOptions } from '../http/listener.ts';
import { readJson } from '../json/read.ts';
import type { KeyRing } from '../file-engine/accounts/key-ring.ts';
import type { UsageFile } from '../file-engine/accounts/usage-file.ts';
import type { Access } from '../observe/line.ts';
import { Metrics } from '../observe/metrics.ts';
import { Observed } from '../observe/observed.ts';
import { Service } from '../operations/service.ts';
import type { PetStore } from '../file-engine/store/pet-store.ts';
import type { HttpResponse } from './http-response.ts';
import { lateEngine } from './late-engine.ts';
import { OpenApiDocument } from './openapi.ts';
import { temporaryFolder } from '../../harness/owner.ts';

export interface CallOptions {
  /** The API key; null sends none. `call` sends that of the service by default. */
  readonly key?: string | null;
  /** Further headers, or replacements of those that `send` adds. */
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer;
  /** Keeps the connection, unless it is over TLS. */
  readonly agent?: Agent;
}

export interface TestService {
  readonly address: string;
  readonly folder: string;
  /** The secret of a key with the business plan. */
  readonly secret: string;
  readonly keys: KeyRing;
  readonly usage: UsageFile;
  readonly pets: PetStore;
  readonly service: Service;
  readonly listener: Listener;
  /** The lines of the log. */
  readonly logged: string[];
  /** The access log. */
  readonly accesses: Access[];
  readonly metrics: Metrics;
  /** The service's time, in milliseconds since the epoch. */
  now: number;
  /** Sends a request. Checks the response against openapi.json. */
  call(method: string, path: string, options?: CallOptions): Promise<HttpResponse>;
}

export interface TestServiceOptions {
  readonly basePath?: string;
  readonly trustedProxies?: number;
  readonly origins?: readonly string[];
  /** The reference page; null turns it off. The default is not the real one. */
  readonly page?: string | null;
  /** The text of orders.json. */
  readonly orders?: string;
  readonly now?: number;
  readonly listener?: Partial<ListenerOptions>;
  /** Leaves it to the test to load the animals. */
  readonly starting?: boolean;
}

const document = new OpenApiDocument(readJson(readFileSync(new URL('../operations/openapi.json', import.meta.url))));

/** A page for tests that do not need the real one. */
export const shortPage = '<style>p{margin:0}</style><p>é</p><script type="module">\nvoid 0;</script>';

let enginesAreLate = false;

/** From now on, `openService` makes every value of the engine late, as that of an engine in another process is. */
export function makeEnginesLate(): void {
  enginesAreLate = true;
}

/** Opens the service with one key, and closes it at the end of the test. */
export async function openService(t: TestContext, options: TestServiceOptions = {}): Promise<TestService> {
  const { basePath = '/v1', trustedProxies = 0, origins = [], page = shortPage } = options;
  const { now = Date.parse('2026-11-21T12:00:00Z') } = options;
  const time = { now };
  let close = async (): Promise<void> => {};
  t.after(() => close()); // registered before the hook that removes the folder: a test's hooks run in this order
  const folder = temporaryFolder(t);
  if (options.orders !== undefined) writeFileSync(`${folder}/orders.json`, options.orders);
  const logged: string[] = [];
  const log = (line: string): void => void logged.push(line);
  const clock = (): number => time.now;
  const engine = new FileEngine(folder, log, { now: clock });
  const { keys, usage, pets } = engine;
  const { secret } = await keys.create('test', { name: 'business' }, null, now);
  if (!options.starting) await engine.load();
  await engine.prepare();
  const served = enginesAreLate ? lateEngine(engine) : engine;
  const service = new Service({ basePath, trustedProxies, origins, engine: served, now: clock, log, page });
  const accesses: Access[] = [];
  const metrics = new Metrics(service.operations);
  const observers = { access: (access: Access): void => void accesses.push(access), metrics, trustedProxies };
  const listener = await Listener.open(new Observed(service, observers), {
    host: '127.0.0.1', port: 0, maxServed: 1000, maxRefused: 1000, headTimeoutMs: 5_000, requestTimeoutMs: 10_000,
    idleTimeoutMs: 65_000, monotonic: clock, ...options.listener,
  });
  close = async () => {
    await listener.stop(100);
    await engine.close();
  };
  const opened: TestService = {
    address: listener.address, folder, secret, keys, usage, pets, service, listener, logged, accesses, metrics,
    get now() {
      return time.now;
    },
    set now(milliseconds) {
      time.now = milliseconds;
    },
    async call(method, path, callOptions) {
      const response = await send(listener.address, method, path, { key: secret, ...callOptions });
      const template = templateOf(path, basePath);
      const isDescribed = method === 'GET' || method === 'HEAD' || (method === 'POST' && template === '/pets');
      const isOther = isPublic(path) || response.status === 404 || response.status === 405 || method === 'OPTIONS';
      if (template !== null && isDescribed) {
        assert.deepEqual(document.check({ method, path: template, ...response }), []);
      } else if (isOther && response.status !== 401) {
        assert.deepEqual(document.checkOther({ method, path, ...response }), []);
      }
      return response;
    },
  };
  return opened;
}

/** Sends one request, on a new connection unless an agent keeps one: over TCP, over TLS to a server with any certificate, or to a Unix socket. */
export function send(
  address: string, method: string, path: string, { key = null, headers = {}, body, agent }: CallOptions = {},
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const { protocol, hostname, port, pathname } = new URL(address);
    const to = protocol === 'unix:' ? { socketPath: pathname } : { hostname, port, rejectUnauthorized: false };
    const bodyHeaders = (sent: string | Buffer): OutgoingHttpHeaders =>
      ({ 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(sent)) });
    const all = {
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : bodyHeaders(body)),
      ...headers,
    };
    const begin = protocol === 'https:' ? requestOverTls : request;
    const message = begin({ ...to, method, path, headers: all, agent: agent ?? false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject).on('end', () => {
        const names = response.rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
        assert.equal(new Set(names).size, names.length, `a header is repeated: ${names.join()}`);
        const lines = names.map((name, index): [string, string] => [name, response.rawHeaders[2 * index + 1]!]);
        resolve({ status: response.statusCode!, headers: new Map(lines), body: Buffer.concat(chunks).toString() });
      });
    });
    message.on('error', reject).end(body);
  });
}

/** Whether a path needs no key; openapi.json does not describe its operation. */
function isPublic(path: string): boolean {
  return /^\/(healthz|readyz|openapi\.json)(\?|$)/.test(path);
}

/** Returns the path of openapi.json that describes this path; null if there is none. */
function templateOf(path: string, basePath: string): string | null {
  const bare = path.replace(/\?.*$/, '');
  if (!bare.startsWith(`${basePath}/`)) return null;
  const inner = bare.slice(basePath.length);
  if (inner === '/pets' || inner === '/store/orders') return inner;
  // A path with a broken escape does not exist.
  return /^\/pets\/(%(?!zz|ff)|[^/%])+$/.test(inner) ? '/pets/{petId}' : null;
}
