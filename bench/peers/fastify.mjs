// fastify 5 with @fastify/bearer-auth, @fastify/rate-limit and better-sqlite3, after fastify's documentation (Getting Started,
// "Validation and Serialization": a schema for every query, body and answer; "Recommendations") and the plugins' READMEs.
//
// It cannot: limit a key by the day as well (one window a route is what the plugin has, begun by the key's first request,
// not by the clock); give X-RateLimit-Reset as a moment (it is the seconds left); hold a categoryId beyond 2^53 (400).
import bearerAuth from '@fastify/bearer-auth';
import rateLimit, { normalizeIP } from '@fastify/rate-limit';
import { Ajv } from 'ajv';
import fastify from 'fastify';
import {
  announce, basePath, bodyAjvOptions, deprecationHeaders, errorBody, errorSchema, listQuerySchema, maxBodyBytes,
  newPetSchema, nextLink, perMinute, perMinuteOfStrangers, petIdOf, petSchema, queryAjvOptions, trustedProxies, validKey,
} from './contract.mjs';
import { openPets } from './sqlite.mjs';

const pets = await openPets();
const server = fastify({
  bodyLimit: maxBodyBytes,
  // fastify trusts a proxy by its address, no more by its number: the bench is the one before it.
  trustProxy: trustedProxies === 0 ? false : (address, hop) => hop < trustedProxies && address === '127.0.0.1',
});

server.removeContentTypeParser('text/plain'); // bodies are JSON, or 415

// Synchronous hooks and handlers throughout: fastify serves them without a promise.
server.addHook('onRequest', (request, reply, done) => {
  reply.header('x-request-id', request.id);
  reply.header('cache-control', 'no-store');
  done();
});

// The limits come first, so that strangers are limited too, and an answer 401 tells them how many more they have.
await server.register(rateLimit, {
  keyGenerator: (request) => validKey(request.headers.authorization) ?? normalizeIP(request.ip),
  max: (request, key) => perMinute.get(key) ?? perMinuteOfStrangers,
  timeWindow: 60_000,
  cache: 10_000, // so many keys and addresses are remembered, as in our server
  errorResponseBuilder: (request, { after }) => new ServiceError(429, 'rate_limited', `Too many requests: try again in ${after}.`),
});
await server.register(bearerAuth, {
  addHook: 'preParsing', // the hook after the limits', and before the body is read
  auth: (key) => perMinute.has(key),
  errorResponse: ({ message }) => errorBody(401, 'invalid_api_key', `The API key is missing or not valid: ${message}.`),
});

class ServiceError extends Error {
  constructor(statusCode, code, message) {
    super(message);
    this.statusCode = statusCode;
    this.code = code;
  }
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
