/**
 * CORS (https://fetch.spec.whatwg.org/#http-cors-protocol): which pages from other origins may send requests and read
 * the responses (decisions.md, "Pages from other origins"). Only browsers enforce it, so it does not protect the server
 * from other clients.
 */
import type { Reply } from './reply.ts';
import { Request, type Sender } from './request.ts';

/** The response headers that a script may read, besides those that it may always read. */
export const exposedHeaders = [
  'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After', 'X-Request-Id', 'Link', 'Location',
  'Deprecation', 'Sunset', 'WWW-Authenticate', 'Allow',
];
const exposed = exposedHeaders.join(', ');
/** How long a browser may remember a permission. This is the maximum in Chromium. */
const maxAgeSeconds = 7_200;

/** The response to a preflight request, which permits these methods for every path. */
export function preflightReply(methods: string): Reply {
  const headers = [
    'Access-Control-Allow-Methods', methods,
    'Access-Control-Allow-Headers', 'Authorization, Content-Type',
    'Access-Control-Max-Age', String(maxAgeSeconds),
  ];
  return { status: 204, headers, body: null };
}

export class CrossOrigin {
  readonly #origins: ReadonlySet<string>;
  /** The allowed origin if there is exactly one; otherwise null. */
  readonly #only: string | null;
  readonly #openPath: string;

  /** `origins` are written as browsers send them. Pages from any origin may read `openPath`, which needs no key. */
  constructor(origins: readonly string[], openPath: string) {
    this.#origins = new Set(origins);
    this.#only = this.#origins.size === 1 ? origins[0]! : null;
    this.#openPath = openPath;
  }

  /** Whether this is a preflight request whose response its origin may read. Browsers never send a key with one. */
  isPreflight(request: Request): boolean {
    if (request.method !== 'OPTIONS') return false;
    const { origin, 'access-control-request-method': method } = request.headers;
    return origin !== undefined && method !== undefined && this.#readerOf(request) !== null;
  }

  /** Adds the headers that tell a browser whether a page may read the response. */
  addTo(reply: Reply, sender: Sender): Reply {
    const reader = this.#readerOf(sender);
    if (reader === null && this.#origins.size === 0) return reply;
    const headers = [...reply.headers];
    if (reader !== null) headers.push('Access-Control-Allow-Origin', reader);
    if (reader === '*') return { ...reply, headers };
    if (reader !== null) headers.push('Access-Control-Expose-Headers', exposed);
    vary(headers);
    return { ...reply, headers };
  }

  /** The value of `Access-Control-Allow-Origin` in the response; null if no page from another origin may read it. */
  #readerOf(sender: Sender): string | null {
    if (sender instanceof Request && sender.path === this.#openPath) return '*';
    const { origin } = sender.headers;
    // Repeated headers are joined by commas, so they equal no allowed origin.
    if (origin !== undefined) return this.#origins.has(origin) ? origin : null;
    // A message or connection can be refused before its head is read. The browser compares the origin in any case.
    return sender instanceof Request ? null : this.#only;
  }
}

/** Adds `Vary: Origin`, because the response depends on the origin. */
function vary(headers: string[]): void {
  const index = headers.indexOf('Vary') + 1;
  if (index > 0) headers[index] += ', Origin';
  else headers.push('Vary', 'Origin');
}
