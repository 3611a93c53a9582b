import { Buffer } from 'node:buffer';
import { randomInt } from 'node:crypto';
import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { errorBody, type ErrorCode, type Refusal } from '../domain/api-error.ts';
import { decimal } from '../json/decimal.ts';

/** A response before it is on the wire. */
export interface Reply {
  readonly status: number;
  /** Names and values in turn, as in Node's `rawHeaders`. */
  readonly headers: readonly string[];
  /** The numbers of `X-RateLimit-*` (specification.md section 8): two counts of requests, and seconds since the epoch. */
  readonly limits?: { readonly limit: number; readonly remaining: number; readonly reset: number } | null;
  /** A JSON text, whole or as bytes in pieces that will not change; null for a response without content (204). */
  readonly body: string | Buffer | readonly Buffer[] | null;
}

const challenge = 'Bearer realm="petstore"';
/** The value of `WWW-Authenticate` (RFC 6750 section 3) by the code of the error that it comes with. */
const challenges: { readonly [code in ErrorCode]?: string } = { missing_api_key: challenge, invalid_api_key: `${challenge}, error="invalid_token"` };

/** The response to a request that is refused. */
export function errorReply(refused: Refusal): Reply {
  const headers: string[] = [];
  const authenticate = challenges[refused.code];
  if (authenticate !== undefined) headers.push('WWW-Authenticate', authenticate);
  if (refused.allow !== undefined) headers.push('Allow', refused.allow);
  if (refused.retryAfterSeconds !== undefined) headers.push('Retry-After', String(refused.retryAfterSeconds));
  return { status: refused.status, headers, body: errorBody(refused) };
}

/** What the ids of one process begin with: they differ from those of any other. */
const idPrefix = randomInt(36 ** 6).toString(36).padStart(6, '0');
/** The first count has two digits: an id has at least 8 characters (openapi.json). */
let idCount = 36;

/**
 * An id for a response (`X-Request-Id`), never given twice. It has at most 12 characters, for the first two billion responses:
 * V8 copies a concatenation of that length at once, and a longer one in Node's check of each header, at 5 % of a request's time.
 */
export function newRequestId(): string {
  idCount += 1;
  return idPrefix + idCount.toString(36);
}

/**
 * Sends a reply. `connection` are the headers that tell for how long the connection is kept: names and values in turn.
 * With `leaveOpen` the response is not ended: when one is, Node may close the connection.
 */
export function sendReply(response: ServerResponse, reply: Reply, requestId: string, connection: readonly string[], leaveOpen = false): void {
  const pieces = piecesOf(reply.body);
  response.writeHead(reply.status, headersOf(reply, pieces, requestId, connection));
  if (leaveOpen) {
    response.cork();
    response.flushHeaders();
    for (const piece of pieces) response.write(piece, 'latin1');
    response.uncork();
  } else {
    for (let i = 0; i < pieces.length - 1; i++) response.write(pieces[i], 'latin1');
    response.end(pieces.at(-1), 'latin1');
  }
}

/** Sends a reply where there is no request that Node could give a response for. */
export function sendReplyWithoutRequest(socket: Socket, reply: Reply, connection: readonly string[]): void {
  const pieces = piecesOf(reply.body);
  const headers = [...headersOf(reply, pieces, newRequestId(), connection), 'Date', new Date().toUTCString()];
  let head = `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n`;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  socket.cork();
  socket.write(`${head}\r\n`, 'latin1');
  for (const piece of pieces) socket.write(piece, 'latin1');
  socket.uncork();
}

function headersOf({ headers, limits }: Reply, pieces: readonly (string | Buffer)[], requestId: string, connection: readonly string[]): string[] {
  const all = [...headers, 'X-Request-Id', requestId, 'Cache-Control', 'no-store'];
  if (limits) all.push('X-RateLimit-Limit', String(limits.limit), 'X-RateLimit-Remaining', decimal(limits.remaining), 'X-RateLimit-Reset', String(limits.reset));
  if (pieces.length > 0) all.push('Content-Type', 'application/json', 'Content-Length', String(lengthOf(pieces)));
  for (const text of connection) all.push(text);
  return all;
}

function lengthOf(pieces: readonly (string | Buffer)[]): number {
  let length = 0;
  for (const piece of pieces) length += piece.length;
  return length;
}

/** A body up to this size is written in one piece with its head: copying it takes less time than a second piece. */
const maxCopiedBytes = 8 * 1024;

/** The bytes of a body, in pieces: bytes, or a string with one character for each byte. */
function piecesOf(body: Reply['body']): readonly (string | Buffer)[] {
  if (body === null) return [];
  if (Array.isArray(body)) return body.length === 1 ? piecesOf(body[0]) : body;
  const bytes = typeof body === 'string' && Buffer.byteLength(body) !== body.length ? Buffer.from(body) : (body as string | Buffer);
  return [bytes.length <= maxCopiedBytes ? bytes.toString('latin1') : bytes];
}
