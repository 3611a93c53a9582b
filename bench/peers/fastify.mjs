// fastify 5 with @fastify/bearer-auth and @fastify/rate-limit, after fastify's documentation (Getting Started;
// "Validation and Serialization": a schema for every query, body and response; "Recommendations") and the plugins'
// READMEs. PEER_STORE selects where the animals are: `sqlite`, `sqlite-group` (with group commit) or `memory`. What it
// lacks is listed in ../speed/targets.ts.
import bearerAuth from '@fastify/bearer-auth';
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import { Ajv } from 'ajv';
import fastify from 'fastify';
import {
  announce, basePath, bodyAjvOptions, dayMs, deprecationHeaders, errorBody, errorSchema, limits, listQuerySchema,
  maxBodyBytes, minuteMs, newPetSchema, nextLink, perMinuteWithoutKey, petIdOf, petSchema, queryAjvOptions, validKey,
} from './contract.mjs';
import { openMemoryPets } from './memory.mjs';

const store = process.env.PEER_STORE;
const pets = store === 'memory'
  ? openMemoryPets()
  : (await import('./sqlite.mjs')).openSqlitePets({ groupCommit: store === 'sqlite-group' });
const server = fastify({
  bodyLimit: maxBodyBytes,
  trustProxy: (address, hop) => hop === 0 && address === '127.0.0.1', // the bench is the one trusted proxy
});

server.removeContentTypeParser('text/plain'); // bodies are JSON, or 415
server.decorateRequest('apiKey', undefined);

// Hooks and handlers are synchronous where they can be: fastify runs those without a promise.
server.addHook('onRequest', (request, reply, done) => {
  request.apiKey = validKey(request.headers.authorization);
  reply.header('x-request-id', request.id);
  reply.header('cache-control', 'no-store');
  done();
});

// The limits come first: they apply to clients without a key, too, and a 401 has their headers.
await server.register(rateLimit, {
  keyGenerator: (request) => request.apiKey ?? normalizeIP(request.ip),
  max: (request, key) => limits.get(key)?.perMinute ?? perMinuteWithoutKey,
  timeWindow: minuteMs,
  cache: 10_000, // keys and addresses that are remembered, as in our server
  errorResponseBuilder: tooMany,
});

// The plugin has one limit per route; the day's is its README's "Manual Rate Limit". The headers show the window with
// fewer requests remaining.
const countDay = server.createRateLimit({
  keyGenerator: (request) => request.apiKey,
  max: (request, key) => limits.get(key).perDay,
  timeWindow: dayMs,
});
server.addHook('preParsing', async (request, reply) => {
  if (request.apiKey === undefined) return;
  const { max, remaining, ttlInSeconds: reset, isExceeded } = await countDay(request);
  if (remaining < reply.getHeader('x-ratelimit-remaining')) {
    reply.headers({ 'x-ratelimit-limit': max, 'x-ratelimit-remaining': remaining, 'x-ratelimit-reset': reset });
  }
  if (!isExceeded) return;
  reply.header('retry-after', reset);
  throw tooMany();
});
await server.register(bearerAuth, {
  addHook: 'preParsing', // after the limits, and before the body is read
  auth: (key) => limits.has(key),
  errorResponse: ({ message }) => errorBody(401, 'invalid_api_key', `The API key is missing or not valid: ${message}.`),
});

function tooMany() {
  return Object.assign(new Error('Too many requests.'), { statusCode: 429, code: 'rate_limited' });
}

server.setErrorHandler(({ statusCode = 500, code = 'internal_error', message, validation }, request, reply) => {
  const status = validation === undefined ? statusCode : 400;
  reply.code(status).send(errorBody(status, code, status === 500 ? 'Something went wrong.' : message));
});

// Text becomes numbers in a query string, but not in a body ("Validator Compiler": different settings for each part).
// PEER_VALIDATION=default: fastify's own settings instead.
const ajvOf = { querystring: new Ajv(queryAjvOptions), body: new Ajv(bodyAjvOptions) };
if (process.env.PEER_VALIDATION !== 'default') {
  server.setValidatorCompiler(({ schema, httpPart }) => ajvOf[httpPart].compile(schema));
}

const errors = { '4xx': errorSchema, '5xx': errorSchema };

server.get(`${basePath}/pets`, {
  schema: { querystring: listQuerySchema, response: { 200: { type: 'array', items: petSchema }, ...errors } },
}, (request, reply) => {
  const page = pets.page(request.query);
  if (page.more) reply.header('link', nextLink(request.query, page.pets.at(-1).id));
  reply.send(page.pets);
});

const createSchema = { body: newPetSchema, response: { 201: petSchema, ...errors } };
server.post(`${basePath}/pets`, { schema: createSchema }, async (request, reply) => {
  const pet = await pets.create(request.body);
  reply.code(201).header('location', `${basePath}/pets/${pet.id}`);
  return pet;
});

server.get(`${basePath}/pets/:petId`, { schema: { response: { 200: petSchema, ...errors } } }, (request, reply) => {
  reply.headers(deprecationHeaders);
  const pet = pets.get(petIdOf(request.params.petId));
  if (pet === undefined) reply.code(404).send(errorBody(404, 'pet_not_found', 'There is no such animal.'));
  else reply.send(pet);
});

server.get(`${basePath}/store/orders`, (request, reply) => {
  reply.send([]);
});

await server.listen({ host: '127.0.0.1', port: 0 });
announce(server.server.address().port, async () => {
  await server.close();
  pets.close();
});
