/** A small conforming server in memory. Mutants break it; variants fill the gaps of the specification in other ways. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../client/clock.ts';
import type { Plan } from '../../client/pacing.ts';
import {
  base,
  type Exchange,
  type Hooks,
  type MutantResponse,
  type Operation,
  type Pet,
  type Rates,
  type Usage,
  type World,
} from './hooks.ts';
import { writeJson, type Json } from './json.ts';

export interface SmallServerOptions {
  /** The only source of time, for windows and for the Date header. */
  readonly clock: Clock;
  readonly keys: readonly { readonly secret: string; readonly plan: Plan }[];
  /** What differs from the conforming server: the hooks of a mutant or of a variant. */
  readonly hooks?: Partial<Hooks> | undefined;
  /** The number of animals at the start; if absent, the hooks decide. */
  readonly animals?: number | undefined;
}

interface Key {
  readonly secret: string;
  readonly plan: Plan;
  readonly budgets: Map<string, Usage>;
}

const maxBodyBytes = 4 * 1024 * 1024;
const seedNames: readonly string[] = ['Rex', 'Mitzi', 'Bello', 'Luna', 'Nero', 'Fips', 'Kira', 'Momo'];
const seedStatuses: readonly string[] = ['available', 'available', 'pending', 'sold'];

/**
 * Starts a server on a free port of 127.0.0.1.
 *
 * @returns its base URL, which ends in /v1, and a function that closes it and cuts its connections
 */
export async function startSmallServer(
  options: SmallServerOptions,
): Promise<{ readonly baseUrl: string; close(): Promise<void> }> {
  const hooks: Hooks = { ...base, ...options.hooks };
  const world: World = { pets: new Map(), nextId: 1n, requests: 0, lists: 0, creates: 0, notes: new Map() };
  const keys = options.keys.map((key) => ({ ...key, budgets: new Map<string, Usage>() }));
  seed(world, hooks, options.animals ?? hooks.animals(), hooks.time(options.clock.now(), world));

  const server = createServer({ maxHeaderSize: 256 * 1024, keepAliveTimeout: 60_000 }, (request, nodeResponse) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBodyBytes) chunks.push(chunk);
    });
    request.on('end', () => {
      const body = size <= maxBodyBytes ? hooks.join(chunks) : undefined;
      const exchange = exchangeOf(request, body, hooks, world, hooks.time(options.clock.now(), world));
      send(nodeResponse, serve(exchange, body, keys, hooks), exchange, hooks);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function seed(world: World, hooks: Hooks, animals: number, now: number): void {
  const exchange: Exchange = {
    operation: 'other',
    method: '',
    path: '',
    fullPath: '',
    query: new URLSearchParams(),
    search: '',
    authorization: '',
    contentType: '',
    headers: {},
    rawHeaders: [],
    body: '',
    connection: 0,
    now,
    world,
  };
  for (let i = 0; i < animals; i += 1) {
    const pet: Pet = {
      id: '',
      name: `${seedNames[i % seedNames.length]} ${i + 1}`,
      categoryId: String((i % 5) + 1),
      status: seedStatuses[i % seedStatuses.length] ?? 'available',
      at: 0,
    };
    pet.id = hooks.newId(pet, exchange);
    world.pets.set(pet.id, pet);
  }
}

function exchangeOf(
  request: IncomingMessage,
  body: Buffer | undefined,
  hooks: Hooks,
  world: World,
  now: number,
): Exchange {
  const [fullPath = '', query = ''] = (request.url ?? '').split(/\?(.*)/s);
  const path = hooks.below(fullPath) ?? '';
  const method = request.method ?? '';
  return {
    operation: operationOf(method, path),
    method,
    path,
    fullPath,
    query: new URLSearchParams(query),
    search: query,
    authorization: request.headers.authorization ?? '',
    contentType: request.headers['content-type'] ?? '',
    headers: request.headers,
    rawHeaders: request.rawHeaders,
    body: body?.toString() ?? '',
    connection: request.socket.remotePort ?? 0,
    now,
    world,
  };
}

function operationOf(method: string, path: string): Operation {
  if (path === '/pets' && method === 'POST') return 'create';
  if (method !== 'GET') return 'other';
  if (path === '/pets') return 'list';
  if (path === '/store/orders') return 'orders';
  return /^\/pets\/[^/]+$/.test(path) ? 'get' : 'other';
}

/** Serves a request: checks the key and its limits, runs the operation, and adds the three headers. */
function serve(exchange: Exchange, body: Uint8Array | undefined, keys: readonly Key[], hooks: Hooks): MutantResponse {
  exchange.world.requests += 1;
  // A hook that admits other credentials must not take the key of another client for them.
  const isOther = ({ secret }: Key): number => (base.admits(exchange, secret) ? 0 : 1);
  const key = keys
    .toSorted((one, other) => isOther(one) - isOther(other))
    .find(({ secret }) => hooks.admits(exchange, secret));
  if (key === undefined) {
    const refusal = failure(401, 'The API key is missing or invalid.', exchange, hooks);
    return hooks.response(withRates(refusal, hooks.keyless(exchange)), exchange);
  }
  const usage = usageOf(key, hooks.budget(exchange));
  const limits = hooks.limits(key.plan);
  const rates = hooks.left(usage, limits, exchange);
  let response: MutantResponse;
  if (hooks.admitted(rates, exchange)) {
    response = operate(exchange, body, hooks);
    if (hooks.counts(exchange, response)) hooks.count(usage, exchange);
  } else {
    response = failure(429, 'Too many requests.', exchange, hooks);
    const retryAfter = hooks.retryAfter(rates.retryAfterMs ?? rates.resetMs - exchange.now, exchange);
    if (retryAfter !== undefined) response.headers.push(['Retry-After', retryAfter]);
  }
  return hooks.response(withRates(response, hooks.left(usage, limits, exchange)), exchange);
}

function usageOf(key: Key, budget: string): Usage {
  const usage = key.budgets.get(budget) ?? { minute: 0, minuteUsed: 0, day: 0, dayUsed: 0, times: [] };
  key.budgets.set(budget, usage);
  return usage;
}

function withRates(response: MutantResponse, rates: Rates): MutantResponse {
  response.headers.push(
    ['X-RateLimit-Limit', String(rates.limit)],
    ['X-RateLimit-Remaining', String(Math.max(0, rates.remaining))],
    ['X-RateLimit-Reset', String(Math.ceil(rates.resetMs / 1000))],
  );
  return response;
}

function operate(exchange: Exchange, body: Uint8Array | undefined, hooks: Hooks): MutantResponse {
  switch (exchange.operation) {
    case 'list':
      return list(exchange, hooks);
    case 'create':
      return create(exchange, body, hooks);
    case 'get': {
      const pet = hooks.find(exchange.path.slice('/pets/'.length), exchange);
      return pet === undefined
        ? failure(404, 'There is no such animal.', exchange, hooks)
        : success(200, hooks.show(pet, exchange));
    }
    case 'orders':
      return success(200, hooks.orders());
    case 'other':
      return /^\/(pets|store\/orders|pets\/[^/]+)$/.test(exchange.path)
        ? failure(405, 'There is no such method.', exchange, hooks)
        : failure(404, 'There is no such path.', exchange, hooks);
  }
}

function list(exchange: Exchange, hooks: Hooks): MutantResponse {
  exchange.world.lists += 1;
  const limit = hooks.limit(exchange.query.get('limit'), exchange);
  const status = hooks.filter(exchange.query.get('status'), exchange);
  if (limit === undefined || status === undefined) return failure(400, 'limit or status is invalid.', exchange, hooks);
  const seen = [...exchange.world.pets.values()].filter((pet) => hooks.visible(pet, exchange));
  const rows = hooks.order(seen, exchange).filter((pet) => hooks.fits(pet, status, exchange));
  return success(
    200,
    hooks.page(rows, limit, exchange).map((pet) => hooks.show(pet, exchange)),
  );
}

function create(exchange: Exchange, bytes: Uint8Array | undefined, hooks: Hooks): MutantResponse {
  const text = bytes && hooks.text(bytes);
  const value = text === undefined ? undefined : hooks.read(text);
  const body = value === undefined ? undefined : hooks.object(value);
  if (text === undefined || body === undefined || !hooks.accepts(body, text, exchange)) {
    return failure(400, 'The body is not a NewPet.', exchange, hooks);
  }
  const name = hooks.name(body.get('name'), exchange);
  const categoryId = hooks.category(body.get('categoryId'), exchange);
  const status = hooks.status(body.get('status'), exchange);
  if (name === undefined || categoryId === undefined || status === undefined) {
    return failure(400, 'A field is missing or invalid.', exchange, hooks);
  }
  exchange.world.creates += 1;
  const pet: Pet = { id: '', name, categoryId, status, at: exchange.now };
  pet.id = hooks.newId(pet, exchange);
  const shown = hooks.show(pet, exchange);
  const kept = hooks.keep({ ...pet }, exchange);
  if (kept !== undefined) exchange.world.pets.set(kept.id, kept);
  return success(201, shown);
}

function success(status: number, body: Json): MutantResponse {
  return { status, headers: [['Content-Type', 'application/json']], body };
}

function failure(status: number, message: string, exchange: Exchange, hooks: Hooks): MutantResponse {
  return { status, headers: [['Content-Type', 'application/json']], body: hooks.error(status, message, exchange) };
}

function send(nodeResponse: ServerResponse, response: MutantResponse, exchange: Exchange, hooks: Hooks): void {
  const bytes = response.body === undefined ? new Uint8Array() : hooks.bytes(writeJson(response.body), exchange);
  nodeResponse.sendDate = false;
  const headers = [
    ...['Date', new Date(exchange.now).toUTCString()],
    ...(response.status === 204 ? [] : ['Content-Length', String(bytes.length)]),
    ...response.headers.flat(),
  ];
  hooks.write(nodeResponse, response.status, headers, bytes, exchange);
}
