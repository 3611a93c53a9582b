/**
 * The most expensive requests that are known, of each kind: what a client without a key can send in 16 KiB, and one
 * with a key in a body of 64 KiB.
 */
import { bodies, digits, petNamed } from './bodies.ts';

/** What requests are compared with, and how many times as much they may cost: decisions.md, "The cost of a request". */
export const maxRatios = { 'a 401': 5, 'JSON.parse of 64 KiB': 4, 'bare node:http': 3 } as const;
export type Baseline = keyof typeof maxRatios;

/** One request. `Host` and `X-Forwarded-For` are added to it, and `Authorization` if it has a key. */
export interface Kind {
  /** What is special about it. */
  readonly name: string;
  readonly withKey: boolean;
  /** `bare node:http` if most of its cost is that of Node's parser. */
  readonly baseline: Baseline;
  /** The request line and further header lines. */
  readonly head: readonly string[];
  readonly body: Buffer;
}

/** The most that one request without a key may have, and the body of one with a key. */
const maxBytes = 16 * 1024;
const maxBodyBytes = 64 * 1024;
/** Room for the request line, and for the lines that are added. */
const room = 300;

/** As many copies of a text as fit. */
const fill = (text: string, bytes = maxBytes - room): string => text.repeat(Math.floor(bytes / text.length));

/** As many header lines as fit. */
function lines(line: (index: number) => string): readonly string[] {
  const all: string[] = [];
  for (let length = 0; ;) {
    const next = line(all.length);
    length += next.length + 2;
    if (length > maxBytes - room) return all;
    all.push(next);
  }
}

function kind(withKey: boolean, name: string, head: readonly string[], body: string | Buffer = ''): Kind {
  const baseline = withKey ? 'JSON.parse of 64 KiB' : 'a 401';
  return { name, withKey, baseline, head, body: Buffer.from(body as string) };
}

/** A kind that costs mostly what Node's parser costs. */
const parsing = (one: Kind): Kind => ({ ...one, baseline: 'bare node:http' });

/** A GET of a path and query. */
const get = (target: string): string => `GET ${target} HTTP/1.1`;
const list = get('/v1/pets?limit=20');
const create = 'POST /v1/pets HTTP/1.1';
const json = 'Content-Type: application/json';
const chunked = 'Transfer-Encoding: chunked';

/** What each request without a key is compared with; the second one if the server closes its connection. */
export const usual = kind(false, 'a 401', [list]);
export const usualClosed = kind(false, 'a 401 that closes the connection', [list, 'Connection: close']);

const pathUnits = [
  '/%', '/%FF', '%FF', '/%41', '%41', 'a%41', '%C3%A4', '%F0%9F%90%95', '%2F', '/%2f', '%00', '%', '/', '/a', 'a', '"',
  'ä', '/ä', `/${'a'.repeat(29)}`, `/petstore_${'a'.repeat(19)}`, '/petstore_', 'petstore_a',
];
const queryUnits = ['%', '&%41', '%41', '%C3%A4', 'a=&', '&', '=', 'limit=1&', '%41=%41&', 'a=%&'];
/** Lists and other values of headers that the server reads. */
const values: readonly [header: string, ...units: string[]][] = [
  ['Accept', 'a', ',', ', ', 'text/html;', 'text/html;q=0,', ',text/html; q=0.000', ',\t'],
  ['Authorization', 'a', 'Bearer ', ',', ' '],
  ['Connection', 'a', ',', ', ', 'a,', 'close,', 'keep-alive, '],
  ['Content-Length', '0'],
  ['Content-Type', 'a', ';', '; a=b', ';charset=utf-8', ' ;', ';a="\\"'],
  ['Cookie', 'a', 'a=b; '],
  ['Expect', 'a', ',', ', ', '100-continue,', 'a,'],
  ['Host', 'a', '%41', '%', 'a.', ':', '[', '[::', '0'],
  ['Proxy-Connection', ',', 'close,'],
  ['Transfer-Encoding', 'a', ',', 'chunked,', ', '],
  ['X-Forwarded-For', 'a', ',', ', ', '1,', '[', '1.1.1.1,', '::1,', ' '],
];
/** Names of header lines. */
const names: readonly [name: string, line: (index: number) => string][] = [
  ['short ones', (index) => `${digits(index)}:`],
  ['short ones with a value', (index) => `${digits(index)}: ${digits(index)}`],
  ['one name', () => 'a:'],
  ['one name of each case', (index) => `${index % 2 === 0 ? 'a' : 'A'}:b`],
  ['Cookie', () => 'Cookie: a=b'],
  ...['Accept', 'Authorization', 'Connection', 'Expect', 'Set-Cookie', 'X-Forwarded-For', '__proto__']
    .map((name): [string, () => string] => [name, () => `${name}: a`]),
  ['40 characters each', (index) => `${digits(index).padStart(40, 'a')}: b`],
];
const chunkUnits: readonly [name: string, unit: string][] = [
  ['of 1 byte', '1\r\na\r\n'],
  ['of 2 bytes', '2\r\naa\r\n'],
  ['with an extension', '1;a\r\na\r\n'],
  ['with a long extension', `1;a=${'b'.repeat(400)}\r\na\r\n`],
];
const chunks = (unit: string, bytes?: number, trailers = ''): string => `${fill(unit, bytes)}0\r\n${trailers}\r\n`;

/** Below the base path, and outside it. */
const places = ['/v1', ''];

const withoutKey: readonly Kind[] = [
  kind(false, 'a 401 with a body', [create, 'Content-Length: 2'], '{}'),
  kind(false, 'a 401 with a chunked body', [create, chunked], '2\r\n{}\r\n0\r\n\r\n'),
  ...pathUnits.flatMap((unit) => places.map((place) =>
    kind(false, `path ${place}/ and ${unit}`, [get(`${place}/${fill(unit)}`)]))),
  ...queryUnits.flatMap((unit) => ['/v1/pets', '/healthz'].map((path) =>
    kind(false, `query of ${path}: ${unit}`, [get(`${path}?${fill(unit)}`)]))),
  ...values.flatMap(([header, ...units]) => units.map((unit) =>
    kind(false, `${header}: ${unit}`, [header === 'Accept' ? get('/') : list, `${header}: ${fill(unit)}`]))),
  ...names.map(([name, line]) => kind(false, `many lines: ${name}`, [list, ...lines(line)])),
  ...names.map(([name, line]) => kind(false, `99 lines: ${name}`, [list, ...lines(line).slice(0, 95)])),
  ...chunkUnits.flatMap(([name, unit]) => [create, get('/healthz')].map((line) =>
    parsing(kind(false, `chunks ${name} for ${line.slice(0, -9)}`, [line, chunked], chunks(unit))))),
  kind(false, 'many trailers', [create, chunked], chunks('0', 0, 'a: b\r\n'.repeat(2_500))),
  kind(false, 'a long trailer', [create, chunked], chunks('0', 0, `a: ${fill('b')}\r\n`)),
  kind(false, 'a body', [create, `Content-Length: ${maxBytes - room}`], fill('a')),
  ...['/docs', '/openapi.json', '/readyz', '/nowhere'].map((path) => kind(false, `GET ${path}`, [get(path)])),
  kind(false, 'CONNECT', ['CONNECT a:1 HTTP/1.1']),
  kind(false, 'OPTIONS', ['OPTIONS * HTTP/1.1']),
  kind(false, 'another version', ['GET / HTTP/3.0']),
  kind(false, 'an absolute URL', [get(`http://${fill('a')}/`)]),
  kind(false, 'a long scheme', [get(fill('a'))]),
];

/** A create of a usual animal. */
export const usualCreate = createOf('a create', JSON.stringify({ name: 'Rex', categoryId: 1 }));

/** A create with a body, all at once or in chunks of this size. */
function createOf(name: string, body: string | Buffer, chunkBytes?: number): Kind {
  const bytes = Buffer.from(body as string);
  if (chunkBytes === undefined) return kind(true, name, [create, json, `Content-Length: ${bytes.length}`], bytes);
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const piece = bytes.subarray(at, at + chunkBytes);
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  return kind(true, name, [create, json, chunked], Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]));
}

const withKey: readonly Kind[] = [
  ...bodies.map(([name, body]) => createOf(`body: ${name}`, body)),
  ...[1, 2, 16].map((bytes) => {
    const body = petNamed('a').slice(0, Math.floor((maxBodyBytes * bytes) / (bytes + 6)));
    return parsing(createOf(`chunks of ${bytes}`, body, bytes));
  }),
  ...pathUnits.map((unit) => kind(true, `path ${unit}`, [get(`/v1/pets/${fill(unit)}`)])),
  ...queryUnits.map((unit) => kind(true, `query: ${unit}`, [get(`/v1/pets?${fill(unit)}`)])),
  ...values.filter(([header]) => header !== 'Authorization').flatMap(([header, ...units]) => units.map((unit) =>
    kind(true, `${header}: ${unit}`, [create, ...(header === 'Content-Type' ? [] : [json]),
      ...(header === 'Content-Length' ? [] : ['Content-Length: 2']),
      `${header}: ${header === 'Content-Type' ? 'application/json' : ''}${fill(unit)}`], '{}'))),
  ...['a', ',', ', ', 'identity,'].map((unit) => kind(true, `Content-Encoding: ${unit}`,
    [create, json, `Content-Encoding: ${fill(unit)}`, 'Content-Length: 2'], '{}')),
  ...names.filter(([name]) => name !== 'Authorization').map(([name, line]) =>
    kind(true, `many lines: ${name}`, [list, ...lines(line)])),
];

/** All kinds of requests. */
export const kinds: readonly Kind[] = [...withoutKey, ...withKey];
/** Those whose path a log has to show. */
export const logged: readonly Kind[] = withoutKey.filter(({ name }) => /^(path \/v1|X-Forwarded-For)/.test(name));

const usualItem = JSON.stringify({ name: 'Rex', categoryId: 1, status: 'available' });
/** An array of ordinary objects: reading it with `JSON.parse` is what a request with a key is compared with. */
export const usualBody = Buffer.from(`[${fill(`${usualItem},`, maxBodyBytes - 2 - usualItem.length)}${usualItem}]`);
