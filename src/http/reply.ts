import { randomFillSync } from 'node:crypto';
import { STATUS_CODES, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { errorBody, type Refusal } from './api-error.ts';
import { bytesOf, type Body } from '../domain/byte-text.ts';
import { decimal } from '../json/decimal.ts';

/** A response before it is sent. */
export interface Reply {
  readonly status: number;
  /** Names and values in turn, as in Node's `rawHeaders`. */
  readonly headers: readonly string[];
  /** The values of `X-RateLimit-*` (specification.md section 8): counts of requests, and seconds since the epoch. */
  readonly limits?: { readonly limit: number; readonly remaining: number; readonly reset: number } | null;
  /** In UTF-8. null: no content (204). */
  readonly body: Body | null;
  /** The media type of the body; without it JSON. */
  readonly type?: string | undefined;
  /** What the log and the metrics state besides. */
  readonly about?: About;
}

/** What is known about a request and its reply. */
export interface About {
  /** The name of the operation; null if the request names none. */
  readonly operation: string | null;
  /** The id of the key; null without a valid one. */
  readonly key: string | null;
  /** Why there is no valid key; null if there is one, or if none is needed. */
  readonly unauthenticated: 'missing' | 'invalid' | null;
  /** The limit that has refused the request: a window of its key, the ban of its key, or the limit of its address. */
  readonly refusedBy: 'minute' | 'day' | 'ban' | 'address' | null;
}

/** The header of the last response of a connection. */
export const close = ['Connection', 'close'];

/** The value of `WWW-Authenticate` (RFC 6750 section 3) for a request without a bearer token. */
const challenge = 'Bearer realm="petstore"';

/** The response to a request that is refused. */
export function errorReply(refused: Refusal): Reply {
  const headers: string[] = [];
  if (refused.code === 'missing_api_key') headers.push('WWW-Authenticate', challenge);
  if (refused.code === 'invalid_api_key') headers.push('WWW-Authenticate', `${challenge}, error="invalid_token"`);
  if (refused.allow !== undefined) headers.push('Allow', refused.allow);
  if (refused.retryAfterSeconds !== undefined) headers.push('Retry-After', String(refused.retryAfterSeconds));
  return { status: refused.status, headers, body: bytesOf(errorBody(refused)) };
}

const [idBytes, idLength, idsInBlock] = [9, 12, 500];
const idBuffer = Buffer.alloc(idBytes * idsInBlock);
/** Ids in base64url one after the other, and where the next one begins. */
let idBlock = '';
let idStart = 0;

/**
 * Returns an id for a response (`X-Request-Id`): 72 random bits, so that it says nothing about other requests. Many are
 * made at once, because a call for random bytes takes longer than all the rest. V8 copies up to 12 characters
 * immediately. It would make a part of a longer text lazily, in Node's check of each header, which takes 5 % of a
 * request's time.
 */
export function newRequestId(): string {
  if (idStart === idBlock.length) {
    idBlock = randomFillSync(idBuffer).toString('base64url');
    idStart = 0;
  }
  const id = idBlock.slice(idStart, (idStart += idLength));
  return id.startsWith('-') ? newRequestId() : id; // a command would take such an argument for a flag
}

/**
 * Sends a reply. `connection` are the headers about the connection: names and values in turn.
 * With `leaveOpen` the response is not ended, because Node may close the connection of a response that is ended.
 */
export function sendReply(
  response: ServerResponse, reply: Reply, id: string, connection: readonly string[], leaveOpen = false,
): void {
  response.writeHead(reply.status, headersOf(reply, id, connection));
  const pieces = piecesOf(reply);
  // With `end(piece)`, Node would add an empty piece, and need the more expensive writev for every response.
  response.cork();
  if (leaveOpen) response.flushHeaders();
  for (const piece of pieces) response.write(piece, 'latin1');
  response.uncork();
  if (!leaveOpen) response.end();
}

/** Sends a reply to a message for which Node provides no `ServerResponse`. `isHead`: the body is left out. */
export function sendReplyWithoutRequest(
  socket: Socket, reply: Reply, id: string, connection: readonly string[], isHead = false,
): void {
  const headers = [...headersOf(reply, id, connection), 'Date', new Date().toUTCString()];
  let head = `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n`;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  socket.cork();
  for (const piece of [`${head}\r\n`, ...(isHead ? [] : piecesOf(reply))]) socket.write(piece, 'latin1');
  socket.uncork();
}

/** The length of a body in bytes. */
export function lengthOf(body: Reply['body']): number {
  if (typeof body === 'string') return body.length;
  return body === null ? 0 : body.reduce((sum, piece) => sum + piece.length, 0);
}

function piecesOf({ body }: Reply): readonly (string | Buffer)[] {
  return typeof body === 'string' ? [body] : (body ?? []);
}

function headersOf(reply: Reply, requestId: string, connection: readonly string[]): string[] {
  const { headers, limits, body, type = 'application/json' } = reply;
  const all = ['X-Request-Id', requestId, 'Cache-Control', 'no-store', 'X-Content-Type-Options', 'nosniff'];
  if (limits) {
    all.push('X-RateLimit-Limit', String(limits.limit), 'X-RateLimit-Remaining', decimal(limits.remaining));
    all.push('X-RateLimit-Reset', String(limits.reset));
  }
  if (body !== null) {
    all.push('Content-Type', type, 'Content-Length', String(lengthOf(body)));
  }
  all.push(...connection, ...headers);
  return all;
}
