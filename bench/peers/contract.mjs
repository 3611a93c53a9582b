// What the peers share: what the bench tells them by the environment, the animals at the start, and the parts of the
// interface that belong to no framework. How a peer serves it is in the peer's own file.

/** The folder for a peer's files: BENCH_DATA, which exists. */
export const folder = process.env.BENCH_DATA;

/** What each key may send, `{ perMinute, perDay }` by key: BENCH_KEYS. */
export const limits = new Map(JSON.parse(process.env.BENCH_KEYS ?? '[]').map(({ key, perMinute, perDay }) => [key, { perMinute, perDay }]));

export const minuteMs = 60_000;
export const dayMs = 86_400_000;

/** How many requests without a valid key an address may send in a minute. */
export const perMinuteOfStrangers = 60;

/** How many proxies stand before the peer. */
export const trustedProxies = process.env.BENCH_TRUST_PROXY === '1' ? 1 : 0;

export const basePath = '/v1';
export const maxBodyBytes = 64 * 1024;
export const statuses = ['available', 'pending', 'sold'];

/** The animals that a peer begins with: BENCH_PETS of them. */
export function* firstPets() {
  const count = Number(process.env.BENCH_PETS ?? 0);
  for (let id = 1; id <= count; id++) {
    yield { id, name: `Animal ${id}`, categoryId: 1 + (id % 10), status: ['sold', 'available', 'pending'][id % 3] };
  }
}

// JSON schemas: fastify's form of an interface; express is given the same, compiled by the same Ajv. An int64 beyond 2^53
// is refused: JSON.parse, on which both stand, would round it in silence.
const int53 = { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

export const listQuerySchema = {
  type: 'object',
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    after: int53,
    status: { type: 'string', enum: statuses },
  },
};

export const newPetSchema = {
  type: 'object',
  required: ['name', 'categoryId'],
  properties: {
    name: { type: 'string' },
    categoryId: int53,
    status: { type: 'string', enum: statuses, default: 'available' },
  },
};

export const petSchema = {
  type: 'object',
  required: ['id', 'name', 'categoryId', 'status'],
  properties: { id: { type: 'integer' }, name: { type: 'string' }, categoryId: { type: 'integer' }, status: { type: 'string' } },
};

export const errorSchema = {
  type: 'object',
  required: ['code', 'message', 'status'],
  properties: { code: { type: 'string' }, message: { type: 'string' }, status: { type: 'integer' } },
};

/** Ajv's options, as fastify's documentation has them for query strings: text becomes numbers. */
export const queryAjvOptions = { coerceTypes: true, useDefaults: true };
/** And for bodies: "7" is no integer there. */
export const bodyAjvOptions = { coerceTypes: false, useDefaults: true };

/** The key in an Authorization header; undefined if it holds none, or one that is not valid. */
export function validKey(authorization) {
  if (authorization === undefined || !authorization.startsWith('Bearer ')) return undefined;
  const key = authorization.slice('Bearer '.length);
  return limits.has(key) ? key : undefined;
}

/** The id in a path; null if it cannot be an animal's. */
export function petIdOf(text) {
  return /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : null;
}

/** The `Link` to the page after the one that ends with the id `last`. */
export function nextLink({ limit, status }, last) {
  const filter = status === undefined ? '' : `&status=${status}`;
  return `<${basePath}/pets?limit=${limit}${filter}&after=${last}>; rel="next"`;
}

/** What getPet's answers say of its removal. */
export const deprecationHeaders = {
  deprecation: '@1764892800',
  sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  link: `<${basePath}/pets>; rel="successor-version"`,
};

export function errorBody(status, code, message) {
  return { code, message, status };
}

/** Tells the bench where the peer listens, and ends the process on SIGTERM, once `close` is done. */
export function announce(port, close) {
  process.once('SIGTERM', async () => {
    await close();
    process.exit(0);
  });
  process.stdout.write(`listening on http://127.0.0.1:${port}${basePath}\n`);
}

/** Closes a server of node:http; no answer is under way when the bench stops a peer. */
export function closeServer(server) {
  return new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
}
