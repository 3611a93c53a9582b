// express 5 with express-rate-limit and better-sqlite3, after express's "Production best practices" (performance, security)
// and express-rate-limit's README. Express checks and validates nothing itself: the key is looked up in a Map, the query and
// the body are checked by Ajv, compiled from the schemas that fastify is given.
// What it cannot do is told in ../speed/peers.ts.
import { randomUUID } from 'node:crypto';
import { Ajv } from 'ajv';
import express from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import {
  announce, basePath, bodyAjvOptions, closeServer, dayMs, deprecationHeaders, errorBody, limits, listQuerySchema, maxBodyBytes,
  minuteMs, newPetSchema, nextLink, perMinuteOfStrangers, petIdOf, queryAjvOptions, trustedProxies, validKey,
} from './contract.mjs';
import { openPets } from './sqlite.mjs';

const pets = await openPets();
const app = express();
app.disable('x-powered-by');
app.set('trust proxy', trustedProxies === 0 ? false : trustedProxies);
app.set('etag', false); // Of no use with no-store, and a hash of every answer.

app.use((request, response, next) => {
  response.setHeader('X-Request-Id', randomUUID());
  response.setHeader('Cache-Control', 'no-store');
  request.apiKey = validKey(request.headers.authorization);
  next();
});

// The limits come first, so that strangers are limited too, and an answer 401 tells them how many more they have.
app.use(rateLimit({
  keyGenerator: (request) => request.apiKey ?? ipKeyGenerator(request.ip, 64),
  limit: (request) => limits.get(request.apiKey)?.perMinute ?? perMinuteOfStrangers,
  windowMs: minuteMs,
  legacyHeaders: true, // X-RateLimit-Limit, -Remaining, -Reset; Retry-After
  standardHeaders: false,
  handler: refuse,
}));
app.use(rateLimit({
  skip: (request) => request.apiKey === undefined,
  keyGenerator: (request) => request.apiKey,
  limit: (request) => limits.get(request.apiKey).perDay,
  windowMs: dayMs,
  legacyHeaders: false,
  standardHeaders: false,
  requestPropertyName: 'day',
  handler: (request, response) => {
    tellOf(request.day, response);
    response.setHeader('Retry-After', Math.ceil((request.day.resetTime.getTime() - Date.now()) / 1000));
    refuse(request, response);
  },
}));

function tellOf({ limit, remaining, resetTime }, response) {
  response.setHeader('X-RateLimit-Limit', limit);
  response.setHeader('X-RateLimit-Remaining', remaining);
  response.setHeader('X-RateLimit-Reset', Math.ceil(resetTime.getTime() / 1000));
}

function refuse(request, response) {
  sendError(response, 429, 'rate_limited', 'Too many requests.');
}

app.use((request, response, next) => {
  if (request.day?.remaining < request.rateLimit.remaining) tellOf(request.day, response); // the window with less room
  if (request.apiKey === undefined) sendError(response, 401, 'invalid_api_key', 'The API key is missing or not valid.');
  else next();
});

const queryAjv = new Ajv(queryAjvOptions);
const bodyAjv = new Ajv(bodyAjvOptions);
const isListQuery = queryAjv.compile(listQuerySchema);
const isNewPet = bodyAjv.compile(newPetSchema);

app.get(`${basePath}/pets`, (request, response) => {
  const query = request.query; // read once: express parses it anew each time
  if (!isListQuery(query)) return sendError(response, 400, 'invalid_parameter', queryAjv.errorsText(isListQuery.errors));
  const page = pets.page(query);
  if (page.more) response.setHeader('Link', nextLink(query, page.pets.at(-1).id));
  response.json(page.pets);
});

app.post(`${basePath}/pets`, express.json({ limit: maxBodyBytes }), (request, response) => {
  const body = request.body;
  if (body === undefined) return sendError(response, 415, 'unsupported_media_type', 'The body must be application/json.');
  if (!isNewPet(body)) return sendError(response, 400, 'invalid_body', bodyAjv.errorsText(isNewPet.errors));
  const pet = pets.create(body);
  response.status(201).setHeader('Location', `${basePath}/pets/${pet.id}`);
  response.json(pet);
});

app.get(`${basePath}/pets/:petId`, (request, response) => {
  response.set(deprecationHeaders);
  const id = petIdOf(request.params.petId);
  const pet = id === null ? undefined : pets.get(id);
  if (pet === undefined) sendError(response, 404, 'pet_not_found', 'There is no such animal.');
  else response.json(pet);
});

app.use((request, response) => sendError(response, 404, 'not_found', 'There is no such path.'));

// By its four parameters express knows an error handler.
app.use((error, request, response, next) => {
  const status = error.status ?? 500;
  sendError(response, status, codes.get(error.type) ?? 'internal_error', status === 500 ? 'Something went wrong.' : error.message);
});

const codes = new Map([
  ['entity.parse.failed', 'malformed_json'],
  ['entity.too.large', 'payload_too_large'],
  ['encoding.unsupported', 'unsupported_media_type'],
  ['charset.unsupported', 'unsupported_media_type'],
]);

function sendError(response, status, code, message) {
  response.status(status).json(errorBody(status, code, message));
}

const server = app.listen(0, '127.0.0.1', () => {
  announce(server.address().port, async () => {
    await closeServer(server);
    pets.close();
  });
});
