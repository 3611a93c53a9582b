import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { RequestBody } from './request-body.ts';
import { ListElement } from './list.ts';
import { newRequestId } from './reply.ts';
import { decodePath } from './url.ts';

/** The sender of a message, which may have been refused before it became a request. */
export type Sender = Pick<Request, 'address' | 'headers' | 'id'>;

/** The maximum memory of a connection's requests. Its total memory is below 300 KB (memory.slow.test.ts). */
export const maxRetainedBytes = 220 * 1024;

const close = new ListElement('close');
/** The expectation that this server meets (RFC 9110 section 10.1.1). */
export const continueExpectation = new ListElement('100-continue');

/** One request. */
export class Request {
  /** Made by the server: the response carries it as `X-Request-Id`, and the log names it. */
  readonly id = newRequestId();
  /** The IP address of the connection's other end: the client's, or a proxy's. */
  readonly address: string;
  /** Major and minor version of the message: `1.1`. */
  readonly httpVersion: string;
  readonly method: string;
  /** The path without the query, decoded by `decodePath`. */
  readonly path: string;
  /** The query as it was sent, without the `?`; empty if there is none. */
  readonly query: string;
  /** By their names in lower case. The values of a repeated header are joined with commas. */
  readonly headers: IncomingHttpHeaders;
  /** The number of header lines; of more than `maxLines`, Node may report fewer. */
  readonly lines: number;
  /** The size of the request line and the headers, without optional white space. */
  readonly headBytes: number;
  /** null if the message announces none, or an empty one (RFC 9112 section 6.3). */
  readonly body: RequestBody | null;
  readonly #message: IncomingMessage;
  readonly #headMemory: number;

  /** `onPiece` is called for each piece of the body that is received. */
  constructor(message: IncomingMessage, response: ServerResponse, address: string, onPiece: () => void) {
    const { headers, rawHeaders, httpVersion, method = '', url = '' } = message;
    this.address = address;
    this.httpVersion = httpVersion;
    this.method = method;
    this.headers = headers;
    this.lines = rawHeaders.length / 2;
    this.#message = message;
    let headBytes = method.length + url.length + ' HTTP/1.1\r\n'.length + 1;
    let headMemory = 1_600;
    for (const text of rawHeaders) {
      headBytes += text.length + 2; // followed by ": " or CRLF
      headMemory += text.length > 1 ? 32 : 8; // V8 shares strings of one character
    }
    // Node makes up to two strings for each further line of a header. Few lines are not worth counting.
    if (this.lines > 8) headMemory += 64 * (this.lines - Object.keys(headers).length);
    this.headBytes = headBytes;
    this.#headMemory = headMemory;
    const target = withoutAuthority(url, method);
    const mark = target.indexOf('?');
    this.path = decodePath(mark < 0 ? target : target.slice(0, mark));
    this.query = mark < 0 ? '' : target.slice(mark + 1);
    const { 'content-length': length, 'transfer-encoding': coding, expect } = headers;
    const hasBody = coding !== undefined || (length !== undefined && !/^0+$/.test(length));
    const isAwaited = httpVersion === '1.1' && continueExpectation.isIn(expect);
    const sendContinue = isAwaited ? () => response.writeContinue() : null;
    const declaredBytes = coding === undefined ? Number(length) : null;
    this.body = hasBody ? new RequestBody(message, declaredBytes, sendContinue, onPiece) : null;
  }

  /** Whether the whole message has been received. */
  get complete(): boolean {
    return this.#message.complete;
  }

  /** An estimate of the request's memory, from measurements on Node 20 to 26. */
  get retainedBytes(): number {
    return this.#headMemory + this.headBytes + (this.body === null ? 0 : 900 + this.body.keptBytes);
  }

  /** Whether the client may send another request on this connection (RFC 9112 section 9.3). */
  get mayBeFollowed(): boolean {
    // Node's parser treats Proxy-Connection like Connection, and loses what follows a request with Upgrade in a chunk.
    const { connection, upgrade, 'proxy-connection': proxyConnection } = this.headers;
    if (this.httpVersion === '1.0' || upgrade !== undefined) return false;
    return !close.isIn(connection) && !close.isIn(proxyConnection as string | undefined);
  }

  /** Whether a header (`name` in lower case) is on more than one line. */
  isRepeated(name: string): boolean {
    if (!String(this.headers[name] ?? '').includes(',')) return false; // Node joins them with a comma
    return this.#message.rawHeaders.filter((text, i) => i % 2 === 0 && text.toLowerCase() === name).length > 1;
  }
}

/**
 * The absolute form (RFC 9112 section 3.2.2) without its scheme and authority; every other form as it is. With nothing
 * after the authority it is the root, and for OPTIONS the server itself (section 3.2.4).
 */
function withoutAuthority(target: string, method: string): string {
  if (target.startsWith('/')) return target;
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target);
  if (absolute === null) return target;
  const rest = target.slice(absolute[0].length);
  if (rest === '' && method === 'OPTIONS') return '*';
  return rest.startsWith('/') ? rest : `/${rest}`;
}
