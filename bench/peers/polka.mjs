// polka, after its README, with animals in memory and keys and limits as a middleware.
import { randomUUID } from 'node:crypto';
import polka from 'polka';
import { announce, basePath, closeServer } from './contract.mjs';
import { admit, errors, openMemoryPets, respondToGet, respondToList } from './memory.mjs';

const pets = openMemoryPets();
const app = polka({ onNoMatch: (request, response) => send(response, { body: errors.noPath }) });

app.use((request, response, next) => {
  const { authorization, 'x-forwarded-for': forwardedFor } = request.headers;
  const { headers, error } = admit(authorization, forwardedFor ?? request.socket.remoteAddress);
  response.setHeader('X-Request-Id', randomUUID());
  for (const name in headers) response.setHeader(name, headers[name]);
  if (error === undefined) next();
  else send(response, { body: error });
});

app.get(`${basePath}/pets`, (request, response) => {
  send(response, respondToList(pets, new URLSearchParams(request.query)));
});

app.get(`${basePath}/pets/:petId`, (request, response) => {
  send(response, respondToGet(pets, request.params.petId));
});

function send(response, { body, headers = {} }) {
  response.statusCode = body.code === undefined ? 200 : body.status;
  for (const name in headers) response.setHeader(name, headers[name]);
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(body));
}

app.listen(0, '127.0.0.1', () => announce(app.server.address().port, () => closeServer(app.server)));
