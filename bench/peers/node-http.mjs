// Plain node:http with keys and limits, animals in memory: the cost of a server of this interface without a framework.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { announce, basePath, closeServer } from './contract.mjs';
import { admit, errors, openMemoryPets, respondToGet, respondToList } from './memory.mjs';

const pets = openMemoryPets();

const server = createServer((request, response) => {
  const { authorization, 'x-forwarded-for': forwardedFor } = request.headers;
  const { headers, error } = admit(authorization, forwardedFor ?? request.socket.remoteAddress);
  send(response, error === undefined ? respondTo(request.url) : { body: error }, headers);
});

function respondTo(url) {
  const [path, query] = url.split('?');
  if (path === `${basePath}/pets`) return respondToList(pets, new URLSearchParams(query));
  if (path.startsWith(`${basePath}/pets/`)) return respondToGet(pets, path.slice(`${basePath}/pets/`.length));
  return { body: errors.noPath };
}

function send(response, { body, headers = {} }, rateHeaders) {
  response.statusCode = body.code === undefined ? 200 : body.status;
  response.setHeader('X-Request-Id', randomUUID());
  for (const name in rateHeaders) response.setHeader(name, rateHeaders[name]);
  for (const name in headers) response.setHeader(name, headers[name]);
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(body));
}

server.listen(0, '127.0.0.1', () => announce(server.address().port, () => closeServer(server)));
