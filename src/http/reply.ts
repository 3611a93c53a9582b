import { Buffer } from 'node:buffer';
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

/** What else the head of a response depends on. */
export interface ReplyOptions {
  readonly requestId: string;
  /** The headers that tell for how long the connection is kept, or that it is closed: names and values in turn. */
  readonly connection: readonly string[];
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

/** A body up to this size is written in one piece with its head: copying it takes less time than a second piece. */
const maxCopiedBytes = 8 * 1024;

/** Sends a reply. */
export function sendReply(response: ServerResponse, reply: Reply, options: ReplyOptions): void {
  const pieces = piecesOf(reply.body);
  response.writeHead(reply.status, headersOf(reply, pieces, options));
  for (let i = 0; i < pieces.length - 1; i++) response.write(pieces[i], 'latin1');
  response.end(pieces.at(-1), 'latin1');
}

/** Sends a reply as `sendReply` does, but leaves the response open: when one is ended, Node may close the connection. */
export function sendReplyUnended(response: ServerResponse, reply: Reply, options: ReplyOptions): void {
  const pieces = piecesOf(reply.body);
  response.writeHead(reply.status, headersOf(reply, pieces, options));
  response.cork();
  response.flushHeaders();
  for (const piece of pieces) response.write(piece, 'latin1');
  response.uncork();
}

/** Sends a reply where there is no request that Node could give a response for. */
export function sendReplyWithoutRequest(socket: Socket, reply: Reply, options: ReplyOptions): void {
  const pieces = piecesOf(reply.body);
  const headers = [...headersOf(reply, pieces, options), 'Date', new Date().toUTCString()];
  let head = `HTTP/1.1 ${reply.status} ${STATUS_CODES[reply.status]}\r\n`;
  for (let i = 0; i < headers.length; i += 2) head += `${headers[i]}: ${headers[i + 1]}\r\n`;
  socket.cork();
  socket.write(`${head}\r\n`, 'latin1');
  for (const piece of pieces) socket.write(piece, 'latin1');
  socket.uncork();
}

function headersOf({ headers, limits }: Reply, pieces: readonly (string | Buffer)[], { requestId, connection }: ReplyOptions): string[] {
  const all = [...headers, 'X-Request-Id', requestId, 'Cache-Control', 'no-store'];
  if (limits) {
    const { limit, remaining, reset } = limits; // specification.md section 8
    all.push('X-RateLimit-Limit', String(limit), 'X-RateLimit-Remaining', decimal(remaining), 'X-RateLimit-Reset', String(reset));
  }
  if (pieces.length > 0) {
    let length = 0;
    for (const piece of pieces) length += piece.length;
    all.push('Content-Type', 'application/json', 'Content-Length', String(length));
  }
  for (const text of connection) all.push(text);
  return all;
}

/** The bytes of a body, in pieces: bytes, or a string with one character for each byte. */
function piecesOf(body: Reply['body']): readonly (string | Buffer)[] {
  if (body === null) return [];
  if (Array.isArray(body)) return body.length === 1 ? piecesOf(body[0]) : body;
  const bytes = typeof body === 'string' && Buffer.byteLength(body) !== body.length ? Buffer.from(body) : (body as string | Buffer);
  return [bytes.length <= maxCopiedBytes ? bytes.toString('latin1') : bytes];
}
