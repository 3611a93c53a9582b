/** Conforming servers that use more of HTTP, JSON and int64 than usual ones, or whose animals change often. */
import { base, statuses, type Exchange, type Pet } from './server/hooks.ts';
import { Digits, type Json, type JsonObject } from './server/json.ts';
import { setHeader } from './table/changes.ts';
import type { Variant } from './variant.ts';

/** A status that goes round every 1.5 s. An animal has the status of its creation in the 201. */
function livelyStatus(pet: Pet, { now, operation }: Exchange): string {
  const at = statuses.indexOf(pet.status);
  // Animals that were there at the start keep their status, so that there are animals of every status.
  if (pet.at === 0 || operation === 'create') return pet.status;
  return statuses[(at + Math.floor((now - pet.at) / 1_500)) % statuses.length] ?? pet.status;
}

/** The members of an object, beginning with another one each time. */
function rotated(fields: JsonObject, by: number): JsonObject {
  const members = [...fields];
  const start = by % members.length;
  return new Map([...members.slice(start), ...members.slice(0, start)]);
}

const escapedUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** What a HEAD of a path of the interface has as its status, which is that of a GET. */
function headStatus({ path, query, world }: Exchange): number | undefined {
  if (path === '/store/orders') return 200;
  const limit = base.limit(query.get('limit'), undefined as never);
  const filter = base.filter(query.get('status'), undefined as never);
  if (path === '/pets') return limit === undefined || filter === undefined ? 400 : 200;
  const id = /^\/pets\/([^/]+)$/.exec(path)?.[1];
  if (id === undefined) return undefined;
  return base.find(id, { world } as Exchange) === undefined ? 404 : 200;
}

export const fifthVariants: readonly Variant[] = [
  {
    id: 'pieces',
    text:
      'Bodies come in chunks of three bytes, which split characters, and with a trailer; media types and reason ' +
      'phrases have an unusual spelling.',
    hooks: {
      response: (response) => {
        response.headers = response.headers.map(([name, value]) => [
          name,
          name === 'Content-Type' ? 'Application/JSON ;CharSet="UTF-8"' : value,
        ]);
        return response;
      },
      write: (to, status, headers, body, exchange) => {
        if (body.length === 0 || exchange.method === 'HEAD') {
          return void to.writeHead(status, 'Nothing', headers).end();
        }
        const at = headers.indexOf('Content-Length');
        const others = [...headers.slice(0, at), ...headers.slice(at + 2)];
        others.push('Trailer', 'X-Checked', 'Transfer-Encoding', 'chunked');
        to.writeHead(status, `So be it, ${status}`, others);
        for (let start = 0; start < body.length; start += 3) to.write(body.subarray(start, start + 3));
        to.addTrailers({ 'X-Checked': 'yes' });
        to.end();
      },
    },
  },
  {
    id: 'all of int64',
    text: 'Ids come from the whole of int64, the least and the greatest included; many are negative, and one is 0.',
    hooks: {
      newId: (_pet, { world }) => {
        const n = world.nextId++;
        const first = [-(2n ** 63n), 2n ** 63n - 1n, 0n, -1n][Number(n) - 1];
        // The factor is odd, so that every id is different.
        return String(first ?? BigInt.asIntN(64, n * 0x9e37_79b9_7f4a_7c15n));
      },
    },
  },
  {
    id: 'confusing members',
    text:
      'A Pet also has code, message, error and numbers beyond doubles, an Error also has id, name and categoryId; ' +
      'the order of their members differs from time to time.',
    hooks: {
      show: (pet, exchange) => {
        const status = pet.status;
        const fields: JsonObject = new Map<string, Json>([
          ...base.show(pet, exchange),
          ['code', 'none'],
          ['message', ''],
          ['error', false],
          ['petId', new Digits('0')],
          ['Status', status.toUpperCase()],
          ['weight', new Digits('1E+400')],
          ['chip', new Digits('-123456789012345678901234567890')],
          ['__proto__', new Map([['name', null]])],
          ['pets', [new Map([['id', null]]), []]],
        ]);
        return rotated(fields, exchange.world.requests + Number(BigInt.asUintN(8, BigInt(pet.id))));
      },
      error: (status, message, exchange) => {
        const fields: JsonObject = new Map<string, Json>([
          ...(base.error(status, message, exchange) as JsonObject),
          ['id', null],
          ['name', `${message}\n\t"\u2028\\`],
          ['categoryId', 'none'],
          ['petStatus', 'available'],
          ['retryable', new Digits('-0.0')],
        ]);
        return rotated(fields, exchange.world.requests);
      },
    },
  },
  {
    id: 'escapes everywhere',
    text: 'Every character of strings, also of the names of members, is an escape such as \\u0061.',
    hooks: {
      bytes: (text) =>
        Buffer.from(
          text.replace(
            /"[^"\\]*(?:\\.[^"\\]*)*"/g,
            (token) => `"${(JSON.parse(token) as string).replace(/[^]/g, escapedUnit)}"`,
          ),
        ),
    },
  },
  {
    id: 'lively',
    text: 'The status of a created animal goes round all three every 1.5 s; a filter finds the status that is shown.',
    hooks: {
      fits: (pet, status, exchange) => status === '' || livelyStatus(pet, exchange) === status,
      show: (pet, exchange) => base.show({ ...pet, status: livelyStatus(pet, exchange) }, exchange),
    },
  },
  {
    id: 'other methods',
    text:
      'HEAD is like GET; OPTIONS has Allow and headers for browsers; other methods and paths get an empty body; ' +
      'every response sets two cookies.',
    hooks: {
      response: (response, exchange) => {
        response.headers.push(
          ['Set-Cookie', `session=${exchange.world.requests}; Path=/; HttpOnly`],
          ['Set-Cookie', 'api_key=none; Expires=Wed, 21 Oct 2015 07:28:00 GMT'],
        );
        const { method, operation } = exchange;
        if (operation !== 'other' || response.status === 401 || response.status === 429) return response;
        setHeader(response, 'Content-Type', undefined);
        response.body = undefined;
        if (response.status !== 405) return response;
        if (method === 'HEAD') {
          response.status = headStatus(exchange) ?? response.status;
          setHeader(response, 'Content-Type', 'application/json');
        } else {
          if (method === 'OPTIONS') response.status = 200;
          response.headers.push(
            ['Allow', exchange.path === '/pets' ? 'GET, HEAD, OPTIONS, POST' : 'GET, HEAD, OPTIONS'],
            ['Access-Control-Allow-Origin', '*'],
            ['Access-Control-Allow-Methods', 'GET, POST'],
          );
        }
        return response;
      },
      write: (to, status, headers, body, exchange) => {
        const at = headers.indexOf('Content-Length');
        // The length of the body of a GET is not known here.
        const sent = exchange.method === 'HEAD' ? [...headers.slice(0, at), ...headers.slice(at + 2)] : headers;
        base.write(to, status, sent, body, exchange);
      },
    },
  },
];
