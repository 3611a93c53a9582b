// The pet store with Fastify, after its documentation: a schema for every query, body and response, and its plugins for
// bearer keys and rate limits.
import bearerAuth from '@fastify/bearer-auth';
import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';

const { API_KEY, FREE_KEY } = process.env;
const perMinute = new Map([[`Bearer ${API_KEY}`, 1_000], [`Bearer ${FREE_KEY}`, 60]]);
const perMinuteWithoutKey = 1_000;

const app = fastify();
const pets = new Map();

const status = { type: 'string', enum: ['available', 'pending', 'sold'] };
const int64 = { type: 'integer', format: 'int64', minimum: -(2 ** 63), exclusiveMaximum: 2 ** 63 };
const newPet = {
  type: 'object',
  required: ['name', 'categoryId'],
  properties: { name: { type: 'string' }, categoryId: int64, status: { ...status, default: 'available' } },
};
const pet = { type: 'object', required: ['id', ...newPet.required], properties: { id: int64, ...newPet.properties } };
const error = {
  type: 'object',
  required: ['code', 'message', 'status'],
  properties: { code: { type: 'string' }, message: { type: 'string' }, status: { type: 'integer' } },
};
const responses = (success, schema) => ({ [success]: schema, '4xx': error, '5xx': error });

app.setErrorHandler(({ statusCode = 500, code = 'error', message }, request, reply) => {
  reply.code(statusCode).send({ code, message, status: statusCode });
});
app.setNotFoundHandler((request, reply) => {
  reply.code(404).send({ code: 'not_found', message: 'There is no such path.', status: 404 });
});

await app.register(rateLimit, {
  timeWindow: '1 minute',
  keyGenerator: ({ headers, ip }) => (perMinute.has(headers.authorization) ? headers.authorization : ip),
  max: (request, key) => perMinute.get(key) ?? perMinuteWithoutKey,
});
await app.register(bearerAuth, {
  keys: new Set([API_KEY, FREE_KEY]),
  errorResponse: ({ message }) => ({ code: 'unauthorized', message, status: 401 }),
});

app.get('/v1/pets', {
  schema: {
    querystring: {
      type: 'object',
      properties: { limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 }, status },
    },
    response: responses(200, { type: 'array', items: pet }),
  },
}, async ({ query }) => {
  const matching = [...pets.values()].filter((animal) => query.status === undefined || animal.status === query.status);
  return matching.slice(0, query.limit);
});

app.post('/v1/pets', { schema: { body: newPet, response: responses(201, pet) } }, async ({ body }, reply) => {
  const { name, categoryId, status } = body;
  const created = { id: pets.size + 1, name, categoryId, status };
  pets.set(created.id, created);
  reply.code(201);
  return created;
});

app.get('/v1/pets/:petId', {
  schema: {
    deprecated: true,
    params: { type: 'object', properties: { petId: { type: 'integer' } } },
    response: responses(200, pet),
  },
}, async ({ params }, reply) => {
  const found = pets.get(params.petId);
  if (found !== undefined) return found;
  reply.code(404);
  return { code: 'pet_not_found', message: 'There is no such animal.', status: 404 };
});

app.get('/v1/store/orders', async () => []);

console.log(`listening on ${await app.listen({ host: '127.0.0.1', port: 0 })}`);
