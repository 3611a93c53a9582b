import { Buffer } from 'node:buffer'; // the global one is a getter, which V8 calls each time
import type { ServerResponse } from 'node:http';
import type { ErrorAnswer } from '../domain/api-error.ts';

/** An answer before it is on the wire. */
export interface Reply {
  readonly status: number;
  /** Header lines of this answer: name, value, name, value, … The list is this reply's own: those it passes through add to it. */
  readonly headers: string[];
  /** A JSON text, whole or as bytes in pieces that will not change; null for an answer without content (204). */
  readonly body: string | Buffer | readonly Buffer[] | null;
}

/** The answer that tells of an error. */
export function errorReply({ status, headers, body }: ErrorAnswer): Reply {
  return { status, headers: [...headers], body };
}

/**
 * Writes a reply. The headers that every answer carries are written here and nowhere else.
 * `keepAliveMs` is how long the connection is kept for further requests, or null if it is closed.
 */
export function sendReply(response: ServerResponse, { status, headers, body }: Reply, requestId: string, keepAliveMs: number | null): void {
  headers.push('X-Request-Id', requestId, 'Cache-Control', 'no-store');
  if (keepAliveMs === null) headers.push('Connection', 'close');
  else if (response.shouldKeepAlive) headers.push('Keep-Alive', `timeout=${keepAliveMs / 1000}`);
  if (body === null) {
    response.writeHead(status, headers);
    response.end();
    return;
  }
  headers.push('Content-Type', 'application/json', 'Content-Length', String(byteLength(body)));
  response.writeHead(status, headers);
  // For HEAD, Node leaves the body out and keeps its length, as RFC 9110 section 9.3.2 asks.
  if (typeof body === 'string' || Buffer.isBuffer(body)) return void response.end(body);
  const last = body.length - 1;
  for (let i = 0; i < last; i++) response.write(body[i]!);
  response.end(body[last]);
}

function byteLength(body: string | Buffer | readonly Buffer[]): number {
  if (typeof body === 'string' || Buffer.isBuffer(body)) return Buffer.byteLength(body);
  return body.reduce((sum, piece) => sum + piece.length, 0);
}
