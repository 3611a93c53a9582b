// A plain handler on node:http that does what our server does for a read, by documented functions and without a cache:
// it finds the key, counts its minute and its day, and joins the rows of a page. It shows what the structure of our
// server costs. The rows are JSON already, with one character for each byte. It has no creates.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import {
  announce, basePath, closeServer, dayMs, deprecationHeaders, errorBody, limits, minuteMs, nextLink,
  perMinuteWithoutKey, petIdOf,
} from './contract.mjs';
import { openMemoryPets, parametersOf } from './memory.mjs';

const newUsage = (numbers) => ({ ...numbers, minute: 0, minuteUsed: 0, day: 0, dayUsed: 0 });
const keys = new Map([...limits].map(([key, numbers]) => [`Bearer ${key}`, newUsage(numbers)]));
const addresses = new Map();
const pets = openMemoryPets((pet) => ({ ...pet, row: Buffer.from(JSON.stringify(pet)).toString('latin1') }));
const deprecation = Object.entries(deprecationHeaders).flat();

const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
  const { authorization, 'x-forwarded-for': forwardedFor } = request.headers;
  const key = keys.get(authorization);
  const window = admit(key ?? usageOf(forwardedFor ?? request.socket.remoteAddress), Date.now());
  const { status, headers, body } = window.retryAfter > 0
    ? { ...error(429, 'rate_limited', 'Too many requests.'), headers: ['Retry-After', String(window.retryAfter)] }
    : key === undefined ? unauthorized(authorization) : respondTo(request.url);
  response.writeHead(status, [
    'X-Request-Id', randomUUID(), 'Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff',
    'X-RateLimit-Limit', String(window.limit), 'X-RateLimit-Remaining', String(window.remaining),
    'X-RateLimit-Reset', String(window.reset), 'Content-Type', 'application/json',
    'Content-Length', String(body.length), ...headers,
  ]);
  response.cork(); // with `end(body)`, Node would add an empty piece, and need the more expensive writev
  response.write(body, 'latin1');
  response.uncork();
  response.end();
});

function usageOf(address) {
  const usage = addresses.get(address) ?? newUsage({ perMinute: perMinuteWithoutKey, perDay: Infinity });
  addresses.set(address, usage);
  return usage;
}

/** Counts a request in both windows, unless one of them is full. Returns the window with fewer requests remaining. */
function admit(usage, now) {
  const [minute, day] = [Math.floor(now / minuteMs) + 1, Math.floor(now / dayMs) + 1];
  if (usage.minute !== minute) [usage.minute, usage.minuteUsed] = [minute, 0];
  if (usage.day !== day) [usage.day, usage.dayUsed] = [day, 0];
  const isAdmitted = usage.minuteUsed < usage.perMinute && usage.dayUsed < usage.perDay;
  if (isAdmitted) [usage.minuteUsed, usage.dayUsed] = [usage.minuteUsed + 1, usage.dayUsed + 1];
  const [inMinute, inDay] = [usage.perMinute - usage.minuteUsed, usage.perDay - usage.dayUsed];
  const end = inDay <= inMinute ? day * dayMs : minute * minuteMs;
  const retryAfter = isAdmitted ? 0 : Math.ceil((end - now) / 1000);
  const limit = inDay <= inMinute ? usage.perDay : usage.perMinute;
  return { limit, remaining: Math.min(inDay, inMinute), reset: end / 1000, retryAfter };
}

function respondTo(url) {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  if (path === `${basePath}/pets`) return list(new URLSearchParams(mark < 0 ? '' : url.slice(mark)));
  if (!path.startsWith(`${basePath}/pets/`)) return error(404, 'not_found', 'There is no such path.');
  const pet = pets.get(petIdOf(path.slice(`${basePath}/pets/`.length)));
  if (pet !== undefined) return { status: 200, headers: deprecation, body: pet.row };
  return { ...error(404, 'pet_not_found', 'There is no such animal.'), headers: deprecation };
}

function list(query) {
  const parameters = parametersOf(query);
  if (parameters === undefined) return error(400, 'invalid_parameter', 'A parameter is not valid.');
  const { pets: page, more } = pets.page(parameters);
  const headers = more ? ['Link', nextLink(parameters, page.at(-1).id)] : [];
  return { status: 200, headers, body: `[${page.map(({ row }) => row).join(',\n')}]` };
}

function unauthorized(authorization) {
  const challenge = `Bearer realm="petstore"${authorization === undefined ? '' : ', error="invalid_token"'}`;
  const headers = ['WWW-Authenticate', challenge];
  return { ...error(401, 'invalid_api_key', 'The API key is missing or not valid.'), headers };
}

function error(status, code, message) {
  return { status, headers: [], body: JSON.stringify(errorBody(status, code, message)) };
}

server.listen(0, '127.0.0.1', () => announce(server.address().port, () => closeServer(server)));
