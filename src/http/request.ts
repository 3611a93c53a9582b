import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError } from '../domain/api-error.ts';
import { newRequestId } from './request-id.ts';

/** The most bytes a request's body may have (decisions.md, `payload_too_large`). */
export const maxBodyBytes = 64 * 1024;

/** The body of a request that has none. */
export const emptyBody = Buffer.alloc(0);

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

  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  #bodyRead: boolean;
  #broken: ApiError | null = null;
  #onBroken: ((error: ApiError) => void) | null = null;

  constructor(message: IncomingMessage, response: ServerResponse, address: string) {
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
    this.#bodyRead = !this.hasBody;
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
    return this.#bodyRead;
  }

  /** The value of a header's first line (`name` in lower case); undefined without one. */
  header(name: string): string | undefined {
    const raw = this.#message.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) {
      if (sameName(raw[i]!, name)) return raw[i + 1];
    }
    return undefined;
  }

  headerLines(name: string): readonly string[] {
    return linesOf(this.#message.rawHeaders, name);
  }

  /**
   * Reads the body to its end, asking for it with `100 Continue` where the client waits for that.
   * Gives its bytes. Throws ApiError: 413 over 64 KiB (at once where Content-Length says so), and what `break` was told.
   */
  async readBody(): Promise<Buffer> {
    if (this.#bodyRead) return emptyBody;
    if (Number(this.header('content-length') ?? 0) > maxBodyBytes) throw tooLarge();
    if (this.header('expect') !== undefined && this.httpVersion === '1.1') this.#response.writeContinue();
    const message = this.#message;
    const chunks: Buffer[] = [];
    let size = 0;
    await new Promise<void>((resolve, reject) => {
      // Nobody is left to read this answer; it only ends the wait.
      const closed = (): ApiError => new ApiError('malformed_request', 'The connection closed within the body.');
      if (this.#broken !== null) return reject(this.#broken);
      if (message.destroyed) return reject(closed());
      const fail = (error: ApiError): void => {
        message.off('data', onData).off('end', onEnd).off('close', onClose);
        this.#onBroken = null;
        reject(error);
      };
      const onData = (chunk: Buffer): void => {
        size += chunk.length;
        if (size > maxBodyBytes) fail(tooLarge());
        else chunks.push(chunk);
      };
      const onEnd = (): void => {
        this.#onBroken = null;
        this.#bodyRead = true;
        resolve();
      };
      const onClose = (): void => {
        if (!this.#bodyRead) fail(closed());
      };
      this.#onBroken = fail;
      message.on('data', onData).on('end', onEnd).on('close', onClose);
    });
    return Buffer.concat(chunks);
  }

  /** Told by the connection that the rest of the body cannot be had, and why: whoever reads it gets this error. */
  break(error: ApiError): void {
    this.#broken = error;
    this.#onBroken?.(error);
  }

  /** Whether the message has arrived to its last byte, read or not. */
  get arrived(): boolean {
    return this.#message.complete;
  }
}

/** The values of all lines of a header (`name` in lower case) in raw headers: name, value, name, value, … */
export function linesOf(rawHeaders: readonly string[], name: string): readonly string[] {
  let lines: string[] | undefined;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (!sameName(rawHeaders[i]!, name)) continue;
    if (lines === undefined) lines = [rawHeaders[i + 1]!]; // an empty list would get room for 17 at the first push
    else lines.push(rawHeaders[i + 1]!);
  }
  return lines ?? noLines;
}

const noLines: readonly string[] = [];

function tooLarge(): ApiError {
  return new ApiError('payload_too_large', `The body is larger than ${maxBodyBytes} bytes.`);
}

function sameName(given: string, lowerCase: string): boolean {
  return given.length === lowerCase.length && given.toLowerCase() === lowerCase;
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
