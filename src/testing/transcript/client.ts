/** A raw client, over TCP or TLS, that records what it sends and receives, byte for byte. */
import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** The record of one connection. */
export interface Exchange {
  /** One entry for each write of the client, and `FIN` where it closed its side. Secrets are masked. */
  readonly sent: readonly string[];
  /** The responses, normalized: header lines sorted, `Date` and `X-Request-Id` masked, long bodies hashed. */
  readonly received: readonly string[];
  /** How the connection ended: the server closed its side, or reset the connection. */
  readonly end: 'closed' | 'reset';
}

/** A request that makes the server close the connection. It counts against no limit. The record abbreviates it. */
export const goodbye = 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
/** Of a longer text, the record has the beginning, the length and a hash. */
const maxRecordedLength = 500;

/** The shortest time that the server has for a part of a request: its head. */
const shortestLimitMs = 10_000;

/** This machine was too busy to send a request in the time that the server has for it, so the record shows nothing. */
export class TooSlow extends Error {}

export class TranscriptClient {
  readonly #socket: Socket;
  readonly #sent: string[] = [];
  #text = '';
  #ended: Exchange['end'] | null = null;
  /** How long it took to send a text in pieces. */
  #piecesMs = 0;
  #wake = (): void => {};

  /** Connects from `localAddress`: over TLS if the server has a certificate. */
  constructor(port: number, localAddress: string, certificate: string | null) {
    const socket = connect({ host: '127.0.0.1', port, localAddress, allowHalfOpen: true, noDelay: true });
    this.#socket = certificate === null ? socket : connectTls({ socket, host: 'localhost', ca: certificate });
    this.#socket.setEncoding('latin1').on('data', (text: string) => {
      this.#text += text;
      this.#wake();
    });
    this.#socket.on('end', () => this.#end('closed'));
    for (const event of ['error', 'close']) this.#socket.on(event, () => this.#end('reset'));
  }

  /** Sends all parts in one write. */
  async send(...parts: string[]): Promise<void> {
    const text = parts.join('');
    this.#sent.push(shorten(text));
    await this.#write(text);
  }

  /** Sends a text in pieces of `pieceBytes`, and calls `settle` after each. */
  async sendInPieces(text: string, pieceBytes: number, settle: () => Promise<void>): Promise<void> {
    this.#sent.push(`${shorten(text)} in pieces of ${pieceBytes}`);
    const startedAt = performance.now();
    for (let at = 0; at < text.length; at += pieceBytes) {
      await this.#write(text.slice(at, at + pieceBytes));
      await settle();
    }
    this.#piecesMs = performance.now() - startedAt;
  }

  /** Closes the client's side. */
  finish(): void {
    this.#sent.push('FIN');
    this.#socket.end();
  }

  /** Waits until `count` responses (100 Continue included) have begun, or the connection has ended. */
  async responses(count: number): Promise<void> {
    while (this.#text.split('HTTP/1.1 ').length <= count && this.#ended === null) await this.#more();
  }

  /** Waits until the server has closed the connection, and returns the record. Rejects with TooSlow. */
  async end(): Promise<Exchange> {
    while (this.#ended === null) await this.#more();
    this.#socket.destroy();
    if (this.#piecesMs >= shortestLimitMs && this.#text.includes('HTTP/1.1 408 ')) throw new TooSlow();
    return { sent: this.#sent, received: normalize(this.#text), end: this.#ended };
  }

  #more(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  #write(text: string): Promise<void> {
    return new Promise((resolve) => this.#socket.write(text, 'latin1', () => resolve()));
  }

  #end(how: Exchange['end']): void {
    this.#ended ??= how;
    this.#wake();
  }
}

const goodbyeResponse = new RegExp(`^${[
  'HTTP/1.1 204 No Content', 'Allow: GET, HEAD, POST, OPTIONS', 'Cache-Control: no-store', 'Connection: close',
  'Date: …',
  'X-RateLimit-Limit: 60', 'X-RateLimit-Remaining: 60', 'X-RateLimit-Reset: \\d+', 'X-Request-Id: …', '', '',
].join('\n')}$`);

/** Every final response has it, but none of version 0.1.0 did: records do not contain it. */
const newHeader = 'X-Content-Type-Options: nosniff';

/** Splits a stream of responses and normalizes each. Text that is not a response is kept as it is. */
function normalize(text: string): string[] {
  const responses: string[] = [];
  for (let rest = text; rest !== ''; ) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd < 0) return [...responses, rest];
    const [statusLine, ...lines] = rest.slice(0, headEnd).split('\r\n');
    const masked = lines.map((line) => line.replace(/^(Date|X-Request-Id): .+/, '$1: …')).sort();
    const at = masked.indexOf(newHeader);
    if (at >= 0) masked.splice(at, 1);
    else if (!statusLine!.startsWith('HTTP/1.1 100 ')) masked.push(`<no ${newHeader}>`);
    const next = rest.indexOf('HTTP/1.1 ', headEnd + 4); // no response body contains this
    const body = rest.slice(headEnd + 4, next < 0 ? undefined : next);
    const response = [statusLine, ...masked, '', shorten(body)].join('\n');
    responses.push(goodbyeResponse.test(response) ? '<goodbye>' : response);
    rest = next < 0 ? '' : rest.slice(next);
  }
  return responses;
}

function shorten(original: string): string {
  const text = original.replace(/petstore_[0-9A-Za-z]{36}/g, '<key>').replace(goodbye, '<goodbye>')
    .replace(/logged under (?:[0-9a-f]{16}-\d+|[\w-]{12})\./, 'logged under ….');
  if (text.length <= maxRecordedLength) return text;
  const hash = createHash('sha256').update(text, 'latin1').digest('hex').slice(0, 16);
  return `${text.slice(0, 150)}… (${text.length} characters, SHA-256 ${hash}…)`;
}
