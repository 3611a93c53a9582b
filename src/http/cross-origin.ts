/**
 * CORS (https://fetch.spec.whatwg.org/#http-cors-protocol): which pages of other origins may send requests and read the
 * responses (decisions.md, "Pages of other origins"). Browsers enforce it, so it protects nothing from other clients.
 */
import type { Reply } from './reply.ts';
import { Request, type Sender } from './request.ts';

/** The headers of responses that a script may read, besides those that browsers always show it. */
export const exposedHeaders = [
  'X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After', 'X-Request-Id', 'Link', 'Location',
  'Deprecation', 'Sunset', 'WWW-Authenticate', 'Allow',
];
const exposed = exposedHeaders.join(', ');
/** How long a browser need not ask again. Chromium keeps the response for no longer. */
const maxAgeSeconds = 7_200;

/** The headers of a response that gives permission for a request, whatever its path. */
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
  /** The only origin; null if there is another number of them. */
  readonly #only: string | null;
  readonly #openPath: string;

  /** `origins` as browsers send them. Pages of every origin may read what is at `openPath`, which needs no key. */
  constructor(origins: readonly string[], openPath: string) {
    this.#origins = new Set(origins);
    this.#only = this.#origins.size === 1 ? origins[0]! : null;
    this.#openPath = openPath;
  }

  /** Whether a browser asks if a page may send a request: such a message never has a key. */
  isPreflight(request: Request): boolean {
    if (request.method !== 'OPTIONS') return false;
    const { origin, 'access-control-request-method': method } = request.headers;
    return origin !== undefined && method !== undefined && this.#readerOf(request) !== null;
  }

  /** Adds the headers that tell a browser whether the page may read the response. */
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

  /** The value of `Access-Control-Allow-Origin` in the response; null if no page of another origin may read it. */
  #readerOf(sender: Sender): string | null {
    if (sender instanceof Request && sender.path === this.#openPath) return '*';
    const { origin } = sender.headers;
    if (origin !== undefined) return this.#origins.has(origin) ? origin : null; // a repeated one has a comma
    // The head of a refused message or connection may not have been read. A browser compares the origin itself.
    return sender instanceof Request ? null : this.#only;
  }
}

/** Says that another origin may receive another response. */
function vary(headers: string[]): void {
  const index = headers.indexOf('Vary') + 1;
  if (index > 0) headers[index] += ', Origin';
  else headers.push('Vary', 'Origin');
}
