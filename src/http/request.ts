import type { ServerResponse } from 'node:http';
import type { ApiError } from '../domain/api-error.ts';
import { firstLineOf, linesOf } from './header-lines.ts';
import { emptyBody, maxBodyBytes, tooLarge, type Message } from './message.ts';
import { newRequestId } from './request-id.ts';

/** Where a message came from, as far as it can be told. */
export interface Sender {
  /** The IP address of the connection's other end: the client's, or a proxy's. */
  readonly address: string;
  /** The values of all lines of a header (`name` in lower case), in order. */
  headerLines(name: string): readonly string[];
}

/** One request: its head, and the right to read its body once. */
export class Request implements Sender {
  /** Made by the server; the answer carries it as `X-Request-Id`, the log names it. */
  readonly id = newRequestId();
  readonly address: string;
  readonly method: string;
  /** The path as it was sent: still percent-encoded, without the query. */
  readonly path: string;
  /** The query as it was sent, without the `?`; empty if there is none. */
  readonly query: string;
  /** Whether the message announces a body of at least one byte (RFC 9112 section 6.3). */
  readonly hasBody: boolean;

  readonly #message: Message;
  readonly #response: ServerResponse;

  constructor(message: Message, response: ServerResponse, address: string) {
    this.#message = message;
    this.#response = response;
    this.address = address;
    this.method = message.method ?? '';
    const target = withoutAuthority(message.url ?? '', this.method);
    const mark = target.indexOf('?');
    this.path = mark < 0 ? target : target.slice(0, mark);
    this.query = mark < 0 ? '' : target.slice(mark + 1);
    const length = this.header('content-length');
    this.hasBody = this.header('transfer-encoding') !== undefined || (length !== undefined && !/^0+$/.test(length));
  }

  /** Major and minor version of the message: `1.1`. */
  get httpVersion(): string {
    return this.#message.httpVersion;
  }

  /** The size of the request line and the headers, as they were sent but for optional white space. */
  get headBytes(): number {
    const { url = '', rawHeaders } = this.#message;
    const requestLine = this.method.length + url.length + ' HTTP/1.1\r\n'.length + 1;
    // Each name is followed by ": ", each value by a line's end.
    let size = requestLine;
    for (const text of rawHeaders) size += text.length + 2;
    return size;
  }

  /** Whether nothing of the body is left to come. */
  get bodyRead(): boolean {
    return !this.hasBody || this.#message.bodyRead;
  }

  /** The value of a header's first line (`name` in lower case); undefined without one. */
  header(name: string): string | undefined {
    return firstLineOf(this.#message.rawHeaders, name);
  }

  headerLines(name: string): readonly string[] {
    return linesOf(this.#message.rawHeaders, name);
  }

  /**
   * Reads the body to its end, asking for it with `100 Continue` where the client waits for that.
   * Gives its bytes. Rejects with ApiError: 413 over 64 KiB (at once where Content-Length says so), and what `break` was told.
   */
  readBody(): Promise<Buffer> {
    if (!this.hasBody) return Promise.resolve(emptyBody);
    if (Number(this.header('content-length') ?? 0) > maxBodyBytes) return Promise.reject(tooLarge());
    if (this.header('expect') !== undefined && this.httpVersion === '1.1') this.#response.writeContinue();
    return this.#message.body();
  }

  /** Told by the connection that the rest of the body cannot be had, and why: whoever reads it gets this error. */
  break(error: ApiError): void {
    this.#message.break(error);
  }

  /** Whether the message has arrived to its last byte, read or not. */
  get arrived(): boolean {
    return this.#message.complete;
  }
}

/**
 * The absolute form (RFC 9112 section 3.2.2) without its scheme and authority; every other form as it is. With nothing
 * behind the authority it is the root, and for OPTIONS the server itself (section 3.2.4).
 */
function withoutAuthority(target: string, method: string): string {
  if (target.startsWith('/')) return target;
  const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i.exec(target);
  if (absolute === null) return target;
  const rest = target.slice(absolute[0].length);
  if (rest === '' && method === 'OPTIONS') return '*';
  return rest.startsWith('/') ? rest : `/${rest}`;
}
