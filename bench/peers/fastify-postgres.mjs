// fastify 5 as in fastify.mjs, with its keys' limits and its animals in the PostgreSQL database PEER_STORE, so that
// several such servers can share them: rate-limiter-flexible and pg after their documentation (a pool of the default
// size; RateLimiterPostgres, and RateLimiterUnion for several windows; named statements, which are parsed once). Each
// create and each count is a transaction of its own. It lacks windows that start by the clock (they start with a key's
// first request), bans, and a categoryId beyond 2^53.
import bearerAuth from '@fastify/bearer-auth';
import { Ajv } from 'ajv';
import fastify from 'fastify';
import pg from 'pg';
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterUnion } from 'rate-limiter-flexible';
import {
  announce, basePath, bodyAjvOptions, dayMs, deprecationHeaders, errorBody, errorSchema, firstPets, limits,
  listQuerySchema, maxBodyBytes, minuteMs, newPetSchema, nextLink, perMinuteWithoutKey, petIdOf, petSchema,
  queryAjvOptions, validKey,
} from './contract.mjs';

pg.types.setTypeParser(pg.types.builtins.INT8, Number); // else a bigint is a string
const pool = new pg.Pool({ connectionString: process.env.PEER_STORE });

await pool.query(`
  create table if not exists pets (
    id bigint generated always as identity primary key, name text not null, category_id bigint not null,
    status text not null
  );
  create index if not exists pets_by_status on pets (status, id)`);
const insert = 'insert into pets (name, category_id, status)';
await pool.query(`${insert}
  select name, "categoryId", status from json_to_recordset($1) as t (
    id bigint, name text, "categoryId" bigint, status text
  ) where not exists (select from pets) order by id`, [JSON.stringify(firstPets())]);

const columns = 'id, name, category_id as "categoryId", status';
/** Executes a statement, which is parsed once on each connection. Resolves to its rows. */
const statement = (name, text) => async (...values) => (await pool.query({ name, text, values })).rows;
const all = statement('all', `select ${columns} from pets where id > $1 order by id limit $2`);
const ofStatus = statement(
  'of-status', `select ${columns} from pets where status = $3 and id > $1 order by id limit $2`);
const one = statement('one', `select ${columns} from pets where id = $1`);
const create = statement('create', `${insert} values ($1, $2, $3) returning ${columns}`);

/** A limiter in the database, whose table exists when this resolves. */
function createLimiter(keyPrefix, points, durationMs) {
  return new Promise((resolve, reject) => {
    const options = { storeClient: pool, tableName: 'limits', keyPrefix, points, duration: durationMs / 1000 };
    const limiter = new RateLimiterPostgres(options, (error) => error ? reject(error) : resolve(limiter));
  });
}

const unions = new Map();
/** Both windows of the keys with these limits. */
async function windowsOf({ perMinute, perDay }) {
  const name = `${perMinute} ${perDay}`;
  if (!unions.has(name)) {
    const minute = await createLimiter('minute', perMinute, minuteMs);
    const day = await createLimiter('day', perDay, dayMs);
    unions.set(name, { points: { minute: perMinute, day: perDay }, union: new RateLimiterUnion(minute, day) });
  }
  return unions.get(name);
}
const ofKey = new Map();
for (const [key, numbers] of limits) ofKey.set(key, await windowsOf(numbers));
const withoutKey = {
  points: { minute: perMinuteWithoutKey },
  union: new RateLimiterUnion(
    new RateLimiterMemory({ keyPrefix: 'minute', points: perMinuteWithoutKey, duration: minuteMs / 1000 })),
};

const server = fastify({
  bodyLimit: maxBodyBytes,
  trustProxy: (address, hop) => hop === 0 && address === '127.0.0.1', // the bench is the one trusted proxy
});
server.removeContentTypeParser('text/plain'); // bodies are JSON, or 415

// The limits come first: they apply to clients without a key, too, and a 401 has their headers. These show the window
// with fewer requests remaining.
server.addHook('onRequest', async (request, reply) => {
  const key = validKey(request.headers.authorization);
  reply.headers({ 'x-request-id': request.id, 'cache-control': 'no-store' });
  const { points, union } = ofKey.get(key) ?? withoutKey;
  let refused = false;
  const windows = await union.consume(key ?? request.ip).catch((refusals) => {
    for (const refusal of Object.values(refusals)) if (refusal instanceof Error) throw refusal;
    refused = true;
    return refusals;
  });
  const [name, window] = Object.entries(windows).sort(([, a], [, b]) => a.remainingPoints - b.remainingPoints)[0];
  reply.headers({
    'x-ratelimit-limit': points[name],
    'x-ratelimit-remaining': window.remainingPoints,
    'x-ratelimit-reset': Math.ceil((Date.now() + window.msBeforeNext) / 1000),
  });
  if (!refused) return;
  reply.header('retry-after', Math.max(1, Math.ceil(window.msBeforeNext / 1000)));
  throw Object.assign(new Error('Too many requests.'), { statusCode: 429, code: 'rate_limited' });
});
await server.register(bearerAuth, {
  addHook: 'preParsing', // after the limits, and before the body is read
  auth: (key) => limits.has(key),
  errorResponse: ({ message }) => errorBody(401, 'invalid_api_key', `The API key is missing or not valid: ${message}.`),
});

server.setErrorHandler(({ statusCode = 500, code = 'internal_error', message, validation }, request, reply) => {
  const status = validation === undefined ? statusCode : 400;
  reply.code(status).send(errorBody(status, code, status === 500 ? 'Something went wrong.' : message));
});
const ajvOf = { querystring: new Ajv(queryAjvOptions), body: new Ajv(bodyAjvOptions) };
server.setValidatorCompiler(({ schema, httpPart }) => ajvOf[httpPart].compile(schema));
const errors = { '4xx': errorSchema, '5xx': errorSchema };

server.get(`${basePath}/pets`, {
  schema: { querystring: listQuerySchema, response: { 200: { type: 'array', items: petSchema }, ...errors } },
}, async (request, reply) => {
  const { limit, after = 0, status } = request.query;
  const pets = await (status === undefined ? all(after, limit + 1) : ofStatus(after, limit + 1, status));
  if (pets.length > limit) {
    pets.pop();
    reply.header('link', nextLink(request.query, pets.at(-1).id));
  }
  return pets;
});

const createSchema = { body: newPetSchema, response: { 201: petSchema, ...errors } };
server.post(`${basePath}/pets`, { schema: createSchema }, async (request, reply) => {
  const { name, categoryId, status } = request.body;
  const [pet] = await create(name, categoryId, status);
  reply.code(201).header('location', `${basePath}/pets/${pet.id}`);
  return pet;
});

server.get(`${basePath}/pets/:petId`, {
  schema: { response: { 200: petSchema, ...errors } },
}, async (request, reply) => {
  reply.headers(deprecationHeaders);
  const [pet] = await one(petIdOf(request.params.petId));
  if (pet !== undefined) return pet;
  reply.code(404);
  return errorBody(404, 'pet_not_found', 'There is no such animal.');
});

await server.listen({ host: '127.0.0.1', port: 0 });
announce(server.server.address().port, async () => {
  await server.close();
  await pool.end();
});
