// express 5 with express-rate-limit, after express's "Production best practices" (performance, security) and
// express-rate-limit's README. PEER_STORE selects where the animals are: `sqlite` (better-sqlite3) or `memory`. express
// validates nothing itself: the key is looked up in a Map, and Ajv validates the query and the body with the same
// schemas as in fastify. What it lacks is listed in ../speed/targets.ts.
import { randomUUID } from 'node:crypto';
import { Ajv } from 'ajv';
import express from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import {
  announce, basePath, bodyAjvOptions, closeServer, dayMs, deprecationHeaders, errorBody, limits, listQuerySchema,
  maxBodyBytes, minuteMs, newPetSchema, nextLink, perMinuteWithoutKey, petIdOf, queryAjvOptions, validKey,
} from './contract.mjs';
import { openMemoryPets } from './memory.mjs';

const pets = process.env.PEER_STORE === 'memory'
  ? openMemoryPets()
  : (await import('./sqlite.mjs')).openSqlitePets({ groupCommit: false });
const app = express();
app.disable('x-powered-by');
app.set('trust proxy', 1); // the bench
app.set('etag', false); // useless with no-store, and costs a hash of every response

app.use((request, response, next) => {
  response.setHeader('X-Request-Id', randomUUID());
  response.setHeader('Cache-Control', 'no-store');
  request.apiKey = validKey(request.headers.authorization);
  next();
});

// The limits come first: they apply to clients without a key, too, and a 401 has their headers.
app.use(rateLimit({
  keyGenerator: (request) => request.apiKey ?? ipKeyGenerator(request.ip, 64),
  limit: (request) => limits.get(request.apiKey)?.perMinute ?? perMinuteWithoutKey,
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
    showDay(request, response);
    response.setHeader('Retry-After', Math.ceil((request.day.resetTime.getTime() - Date.now()) / 1000));
    refuse(request, response);
  },
}));

function showDay({ day: { limit, remaining, resetTime } }, response) {
  response.setHeader('X-RateLimit-Limit', limit);
  response.setHeader('X-RateLimit-Remaining', remaining);
  response.setHeader('X-RateLimit-Reset', Math.ceil(resetTime.getTime() / 1000));
}

function refuse(request, response) {
  sendError(response, 429, 'rate_limited', 'Too many requests.');
}

app.use((request, response, next) => {
  if (request.day?.remaining < request.rateLimit.remaining) showDay(request, response);
  if (request.apiKey === undefined) sendError(response, 401, 'invalid_api_key', 'The API key is missing or not valid.');
  else next();
});

const isListQuery = new Ajv(queryAjvOptions).compile(listQuerySchema);
const isNewPet = new Ajv(bodyAjvOptions).compile(newPetSchema);

app.get(`${basePath}/pets`, (request, response) => {
  const query = request.query; // read once: express parses it on each access
  if (!isListQuery(query)) return sendError(response, 400, 'invalid_parameter', isListQuery.errors[0].message);
  const page = pets.page(query);
  if (page.more) response.setHeader('Link', nextLink(query, page.pets.at(-1).id));
  response.json(page.pets);
});

app.post(`${basePath}/pets`, express.json({ limit: maxBodyBytes }), (request, response) => {
  if (!isNewPet(request.body)) return sendError(response, 400, 'invalid_body', isNewPet.errors[0].message);
  const pet = pets.create(request.body);
  response.status(201).setHeader('Location', `${basePath}/pets/${pet.id}`);
  response.json(pet);
});

app.get(`${basePath}/pets/:petId`, (request, response) => {
  response.set(deprecationHeaders);
  const pet = pets.get(petIdOf(request.params.petId));
  if (pet === undefined) sendError(response, 404, 'pet_not_found', 'There is no such animal.');
  else response.json(pet);
});

app.get(`${basePath}/store/orders`, (request, response) => {
  response.json([]);
});

// express recognizes an error handler by its four parameters.
app.use(({ status = 500, message }, request, response, next) => {
  sendError(response, status, 'error', status === 500 ? 'Something went wrong.' : message);
});

function sendError(response, status, code, message) {
  response.status(status).json(errorBody(status, code, message));
}

const server = app.listen(0, '127.0.0.1', () => {
  announce(server.address().port, async () => {
    await closeServer(server);
    pets.close();
  });
});
