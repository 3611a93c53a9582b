// What the peers share: the environment variables that configure them, the first animals, and the parts of the
// interface that belong to no framework.

import { readFileSync } from 'node:fs';

/** The folder for a peer's files, which exists: PEER_DATA. */
export const folder = process.env.PEER_DATA;

/** The limits of each key, `{ perMinute, perDay }` by key: PEER_KEYS. */
export const limits = new Map(JSON.parse(process.env.PEER_KEYS ?? '[]').map(({ key, ...numbers }) => [key, numbers]));

export const minuteMs = 60_000;
export const dayMs = 86_400_000;

/** How many requests without a valid key a client address may send in a minute. */
export const perMinuteWithoutKey = 60;

export const basePath = '/v1';
export const maxBodyBytes = 64 * 1024;

/** The animals that a peer starts with, by ascending id: the JSON file PEER_PETS. */
export function firstPets() {
  return JSON.parse(readFileSync(process.env.PEER_PETS, 'utf8'));
}

// JSON schemas, the form in which fastify takes a description of an interface. express gets the same ones, compiled by
// the same Ajv. An int64 beyond 2^53 is refused: JSON.parse, which both use, would round it silently. With
// PEER_VALIDATION=default it is rounded: the documentation of fastify does not mention this.
const int53 = { type: 'integer', minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };
const int64 = { type: 'integer', format: 'int64', minimum: -(2 ** 63), exclusiveMaximum: 2 ** 63 };
const categoryId = process.env.PEER_VALIDATION === 'default' ? int64 : int53;

const status = { type: 'string', enum: ['available', 'pending', 'sold'] };

export const listQuerySchema = {
  type: 'object',
  properties: { limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 }, after: int53, status },
};

export const newPetSchema = {
  type: 'object',
  required: ['name', 'categoryId'],
  properties: { name: { type: 'string' }, categoryId, status: { ...status, default: 'available' } },
};

export const petSchema = {
  type: 'object',
  required: ['id', 'name', 'categoryId', 'status'],
  properties: { id: int53, name: { type: 'string' }, categoryId, status: { type: 'string' } },
};

export const errorSchema = {
  type: 'object',
  required: ['code', 'message', 'status'],
  properties: { code: { type: 'string' }, message: { type: 'string' }, status: { type: 'integer' } },
};

/**
 * Ajv's options for query strings, where text becomes numbers, as in fastify's documentation; and for bodies, where it
 * does not.
 */
export const queryAjvOptions = { coerceTypes: true, useDefaults: true };
export const bodyAjvOptions = { coerceTypes: false, useDefaults: true };

/** The valid key in an Authorization header; undefined if there is none. */
export function validKey(authorization) {
  if (authorization === undefined || !authorization.startsWith('Bearer ')) return undefined;
  const key = authorization.slice('Bearer '.length);
  return limits.has(key) ? key : undefined;
}

/** The id in a path; 0, which no animal has, if it is not valid. */
export function petIdOf(text) {
  return /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : 0;
}

/** The `Link` to the page after the one that ends with the id `last`. */
export function nextLink({ limit, status }, last) {
  const filter = status === undefined ? '' : `&status=${status}`;
  return `<${basePath}/pets?limit=${limit}${filter}&after=${last}>; rel="next"`;
}

/** The headers about the removal of getPet. */
export const deprecationHeaders = {
  deprecation: '@1764892800',
  sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  link: `<${basePath}/pets>; rel="successor-version"`,
};

export function errorBody(status, code, message) {
  return { code, message, status };
}

/** Prints the address of the peer. On SIGTERM, exits after `close`. */
export function announce(port, close) {
  process.once('SIGTERM', async () => {
    await close();
    process.exit(0);
  });
  process.stdout.write(`listening on http://127.0.0.1:${port}${basePath}\n`);
}

/** Closes a server of node:http; no request is in flight when a peer is stopped. */
export function closeServer(server) {
  return new Promise((resolve) => {
    server.close(resolve);
    server.closeAllConnections();
  });
}
