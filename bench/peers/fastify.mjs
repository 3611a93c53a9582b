// fastify 5 with @fastify/bearer-auth, @fastify/rate-limit and better-sqlite3, after fastify's documentation (Getting Started,
// "Validation and Serialization": a schema for every query, body and answer; "Recommendations") and the plugins' READMEs.
// What it cannot do is told in ../speed/peers.ts.
import bearerAuth from '@fastify/bearer-auth';
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import { Ajv } from 'ajv';
import fastify from 'fastify';
import {
  announce, basePath, bodyAjvOptions, dayMs, deprecationHeaders, errorBody, errorSchema, limits, listQuerySchema, maxBodyBytes,
  minuteMs, newPetSchema, nextLink, perMinuteOfStrangers, petIdOf, petSchema, queryAjvOptions, trustedProxies, validKey,
} from './contract.mjs';
import { openPets } from './sqlite.mjs';

const pets = await openPets();
const server = fastify({
  bodyLimit: maxBodyBytes,
  // fastify trusts a proxy by its address, no more by its number: the bench is the one before it.
  trustProxy: trustedProxies === 0 ? false : (address, hop) => hop < trustedProxies && address === '127.0.0.1',
});

server.removeContentTypeParser('text/plain'); // bodies are JSON, or 415

server.decorateRequest('apiKey', undefined);

// Synchronous hooks and handlers, but for the limit of the day: fastify serves them without a promise.
server.addHook('onRequest', (request, reply, done) => {
  request.apiKey = validKey(request.headers.authorization);
  reply.header('x-request-id', request.id);
  reply.header('cache-control', 'no-store');
  done();
});

// The limits come first, so that strangers are limited too, and an answer 401 tells them how many more they have.
await server.register(rateLimit, {
  keyGenerator: (request) => request.apiKey ?? normalizeIP(request.ip),
  max: (request, key) => limits.get(key)?.perMinute ?? perMinuteOfStrangers,
  timeWindow: minuteMs,
  cache: 10_000, // so many keys and addresses are remembered, as in our server
  errorResponseBuilder: (request, { ttl }) => tooMany(Math.ceil(ttl / 1000)),
});

// A route has one limit in the plugin: the day's is its README's "Manual Rate Limit". The answer tells of the window with less room.
const countDay = server.createRateLimit({
  keyGenerator: (request) => request.apiKey,
  max: (request, key) => limits.get(key).perDay,
  timeWindow: dayMs,
});
server.addHook('preParsing', async (request, reply) => {
  if (request.apiKey === undefined) return;
  const { max, remaining, ttlInSeconds, isExceeded } = await countDay(request);
  if (remaining < reply.getHeader('x-ratelimit-remaining')) {
    reply.headers({ 'x-ratelimit-limit': max, 'x-ratelimit-remaining': remaining, 'x-ratelimit-reset': ttlInSeconds });
  }
  if (!isExceeded) return;
  reply.header('retry-after', ttlInSeconds);
  throw tooMany(ttlInSeconds);
});
await server.register(bearerAuth, {
  addHook: 'preParsing', // the hook after the limits', and before the body is read
  auth: (key) => limits.has(key),
  errorResponse: ({ message }) => errorBody(401, 'invalid_api_key', `The API key is missing or not valid: ${message}.`),
});

class ServiceError extends Error {
  constructor(statusCode, code, message) {
    super(message);
    this.statusCode = statusCode;
    this.code = code;
  }
}

function tooMany(seconds) {
  return new ServiceError(429, 'rate_limited', `Too many requests: try again in ${seconds} s.`);
}

server.setErrorHandler((error, request, reply) => {
  const { status, code } = error.validation === undefined
    ? { status: error.statusCode ?? 500, code: codes.get(error.code) ?? error.code ?? 'internal_error' }
    : { status: 400, code: error.validationContext === 'body' ? 'invalid_body' : 'invalid_parameter' };
  reply.code(status).send(errorBody(status, code, status === 500 ? 'Something went wrong.' : error.message));
});

const codes = new Map([
  ['FST_ERR_CTP_INVALID_JSON_BODY', 'malformed_json'],
  ['FST_ERR_CTP_EMPTY_JSON_BODY', 'malformed_json'],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', 'unsupported_media_type'],
  ['FST_ERR_CTP_BODY_TOO_LARGE', 'payload_too_large'],
]);

server.setNotFoundHandler({ preHandler: server.rateLimit() }, (request, reply) => {
  reply.code(404).send(errorBody(404, 'not_found', 'There is no such path.'));
});

// Text becomes numbers in a query string, but not in a body ("Validator Compiler": different settings for each part).
const ajvOf = { querystring: new Ajv(queryAjvOptions), body: new Ajv(bodyAjvOptions) };
server.setValidatorCompiler(({ schema, httpPart }) => ajvOf[httpPart].compile(schema));

const errors = { '4xx': errorSchema, '5xx': errorSchema };

server.get(`${basePath}/pets`, {
  schema: { querystring: listQuerySchema, response: { 200: { type: 'array', items: petSchema }, ...errors } },
}, (request, reply) => {
  const page = pets.page(request.query);
  if (page.more) reply.header('link', nextLink(request.query, page.pets.at(-1).id));
  reply.send(page.pets);
});

server.post(`${basePath}/pets`, {
  schema: { body: newPetSchema, response: { 201: petSchema, ...errors } },
}, (request, reply) => {
  const pet = pets.create(request.body);
  reply.code(201).header('location', `${basePath}/pets/${pet.id}`).send(pet);
});

server.get(`${basePath}/pets/:petId`, { schema: { response: { 200: petSchema, ...errors } } }, (request, reply) => {
  reply.headers(deprecationHeaders);
  const id = petIdOf(request.params.petId);
  const pet = id === null ? undefined : pets.get(id);
  if (pet === undefined) reply.code(404).send(errorBody(404, 'pet_not_found', 'There is no such animal.'));
  else reply.send(pet);
});

await server.listen({ host: '127.0.0.1', port: 0 });
announce(server.server.address().port, async () => {
  await server.close();
  pets.close();
});
