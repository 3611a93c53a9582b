import type { ServerResponse } from 'node:http';
import type { ApiError } from '../domain/api-error.ts';

/** An answer before it is on the wire. */
export interface Reply {
  readonly status: number;
  /** Header lines of this answer alone: name, value, name, value, … */
  readonly headers: readonly string[];
  /** A JSON text, whole or as bytes in pieces that will not change; null for an answer without content (204). */
  readonly body: string | Buffer | readonly Buffer[] | null;
}

/** The answer that tells of an error: an Error body (specification.md section 2) and the error's own headers. */
export function errorReply(error: ApiError): Reply {
  const body = JSON.stringify({ code: error.code, message: error.message, status: error.status });
  return { status: error.status, headers: error.headers, body };
}

/**
 * Writes a reply. The headers that every answer carries are written here and nowhere else.
 * `close` says that no further request is served on the connection.
 */
export function sendReply(response: ServerResponse, reply: Reply, requestId: string, close: boolean): void {
  const headers = ['X-Request-Id', requestId, 'Cache-Control', 'no-store', ...reply.headers];
  if (close) headers.push('Connection', 'close');
  if (reply.body === null) {
    response.writeHead(reply.status, headers);
    response.end();
    return;
  }
  const pieces = joinedIfSmall(reply.body);
  const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);
  headers.push('Content-Type', 'application/json', 'Content-Length', String(length));
  response.writeHead(reply.status, headers);
  // For HEAD, Node leaves the body out and keeps its length, as RFC 9110 section 9.3.2 asks.
  for (const piece of pieces.slice(0, -1)) response.write(piece);
  response.end(pieces.at(-1));
}

/** Below this, one write of a copy is cheaper than several; above, a copy for each slow reader would fill the memory. */
const maxJoinedBytes = 64 * 1024;

function joinedIfSmall(body: string | Buffer | readonly Buffer[]): readonly (string | Buffer)[] {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return [body];
  const size = body.reduce((sum, piece) => sum + piece.length, 0);
  return size <= maxJoinedBytes ? [Buffer.concat(body, size)] : body;
}
