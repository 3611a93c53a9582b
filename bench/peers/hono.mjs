// hono on @hono/node-server, after their READMEs, with animals in memory and keys and limits as a middleware.
import { randomUUID } from 'node:crypto';
import { serve } from '@hono/node-server';
import { getConnInfo } from '@hono/node-server/conninfo';
import { Hono } from 'hono';
import { announce, basePath, closeServer } from './contract.mjs';
import { admit, errors, openMemoryPets, respondToGet, respondToList } from './memory.mjs';

const pets = openMemoryPets();
const app = new Hono().basePath(basePath);
const send = (c, { body, headers }) => c.json(body, body.code === undefined ? 200 : body.status, headers);

app.use(async (c, next) => {
  const address = c.req.header('x-forwarded-for') ?? getConnInfo(c).remote.address;
  const { headers, error } = admit(c.req.header('authorization'), address);
  c.header('X-Request-Id', randomUUID());
  for (const name in headers) c.header(name, headers[name]);
  if (error !== undefined) return send(c, { body: error });
  await next();
});

app.get('/pets', (c) => send(c, respondToList(pets, new URLSearchParams(c.req.query()))));
app.get('/pets/:petId', (c) => send(c, respondToGet(pets, c.req.param('petId'))));
app.notFound((c) => send(c, { body: errors.noPath }));

const options = { fetch: app.fetch, hostname: '127.0.0.1', port: 0 };
const server = serve(options, ({ port }) => announce(port, () => closeServer(server)));
