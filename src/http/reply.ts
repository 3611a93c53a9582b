import { randomInt } from 'node:crypto';
import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { errorBody, type ErrorCode, type Refusal } from '../domain/api-error.ts';
import { decimal } from '../json/decimal.ts';

/** A response before it is sent. */
export interface Reply {
  readonly status: number;
  /** Names and values in turn, as in Node's `rawHeaders`. */
  readonly headers: readonly string[];
  /** The numbers of `X-RateLimit-*` (specification.md section 8): two counts of requests, and seconds since the epoch. */
  readonly limits?: { readonly limit: number; readonly remaining: number; readonly reset: number } | null;
  /** A JSON text in UTF-8: a string as `bytesOf` returns it, or pieces that will not change. null: no content (204). */
  readonly body: string | readonly Buffer[] | null;
}

/** The values of `WWW-Authenticate` (RFC 6750 section 3). */
const challenges: { readonly [code in ErrorCode]?: string } = {
  missing_api_key: 'Bearer realm="petstore"',
  invalid_api_key: 'Bearer realm="petstore", error="invalid_token"',
};

/** Returns the UTF-8 bytes of a text as a string with one character for each byte: writing one costs less than writing a Buffer. */
export function bytesOf(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}

/** The response to a request that is refused. */
export function errorReply(refused: Refusal): Reply {
  const headers: string[] = [];
  const authenticate = challenges[refused.code];
  if (authenticate !== undefined) headers.push('WWW-Authenticate', authenticate);
  if (refused.allow !== undefined) headers.push('Allow', refused.allow);
  if (refused.retryAfterSeconds !== undefined) headers.push('Retry-After', String(refused.retryAfterSeconds));
  return { status: refused.status, headers, body: bytesOf(errorBody(refused)) };
}

/** What the ids of one process begin with: they differ from those of any other. */
const idPrefix = randomInt(36 ** 6).toString(36).padStart(6, '0');
/** The first count has two digits: an id has at least 8 characters (openapi.json). */
let idCount = 36;

/**
 * Returns an id for a response (`X-Request-Id`), never the same twice. Up to 12 characters, V8 concatenates at once;
 * a longer id is concatenated within Node's check of each header, which takes 5 % of a request's time.
 */
export function newRequestId(): string {
  idCount += 1;
  return idPrefix + idCount.toString(36);
}

/**
 * Sends a reply. `connection` are the headers that say how long the connection is kept: names and values in turn.
 * With `leaveOpen` the response is not ended: when one is, Node may close the connection.
 */
export function sendReply(response: ServerResponse, reply: Reply, requestId: string, connection: readonly string[], leaveOpen = false): void {
  response.writeHead(reply.status, headersOf(reply, requestId, connection));
  const pieces = piecesOf(reply);
  if (leaveOpen) {
    response.cork();
    response.flushHeaders();
    for (const piece of pieces) response.write(piece, 'latin1');
    response.uncork();
  } else {
    for (let i = 0; i < pieces.length - 1; i++) response.write(pieces[i]);
    response.end(pieces.at(-1), 'latin1');
  }
}

/** Sends a reply where there is no request that Node could give a response for. */
export function sendReplyWithoutRequest(socket: Socket, reply: Reply, connection: readonly string[]): void {
  const headers = [...headersOf(reply, newRequestId(), connection), 'Date', new Date().toUTCString()];
  let head = `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n`;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  socket.cork();
  for (const piece of [`${head}\r\n`, ...piecesOf(reply)]) socket.write(piece, 'latin1');
  socket.uncork();
}

function piecesOf({ body }: Reply): readonly (string | Buffer)[] {
  return typeof body === 'string' ? [body] : (body ?? []);
}

function headersOf({ headers, limits, body }: Reply, requestId: string, connection: readonly string[]): string[] {
  const all = [...headers, 'X-Request-Id', requestId, 'Cache-Control', 'no-store'];
  if (limits) all.push('X-RateLimit-Limit', String(limits.limit), 'X-RateLimit-Remaining', decimal(limits.remaining), 'X-RateLimit-Reset', String(limits.reset));
  if (body !== null) {
    const length = typeof body === 'string' ? body.length : body.reduce((sum, piece) => sum + piece.length, 0);
    all.push('Content-Type', 'application/json', 'Content-Length', String(length));
  }
  for (const text of connection) all.push(text);
  return all;
}
