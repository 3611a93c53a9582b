/** A client that sends requests in turn on a number of connections, which stay open, and checks every response. */
import { Connection, type Received } from './connection.ts';

/** A request, and the response that it must have. */
export interface LoadRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly status: number;
  /** Whether the body of the response, which is JSON, is right. Not called again for the same bytes. */
  readonly isRight: (body: unknown) => boolean;
}

/** What a client has sent. */
export interface Sent {
  readonly requests: number;
  /** From the first request to the last response. */
  readonly seconds: number;
  /** From each request to its response, in milliseconds. */
  readonly latencies: readonly number[];
}

export class LoadClient {
  readonly #messages: readonly Message[];
  readonly #port: number;
  readonly #count: number;
  /** None before the first request: a server closes a connection on which it receives none. */
  #connections: readonly Connection[] = [];
  #next = 0;

  /** `address`: `http://127.0.0.1:8080`, possibly with a path, which is ignored. `connections`: their number. */
  constructor(address: string, requests: readonly LoadRequest[], connections: number) {
    const { host, port } = new URL(address);
    this.#messages = requests.map((request) => new Message(request, host));
    this.#port = Number(port);
    this.#count = connections;
  }

  /**
   * Sends the next requests, at least one on each connection, and waits for the responses. After the last request comes
   * the first one again.
   *
   * @throws Error that states which response was wrong or is missing: the figures would be worthless
   */
  async send(amount: number): Promise<Sent> {
    if (this.#connections.length === 0) {
      this.#connections = Array.from({ length: this.#count }, () => new Connection(this.#port));
    }
    const requests = Math.max(amount, this.#count);
    const end = this.#next + requests;
    const latencies: number[] = [];
    const startedAt = performance.now();
    await Promise.all(this.#connections.map(async (connection) => {
      while (this.#next < end) {
        const message = this.#messages[this.#next++ % this.#messages.length]!;
        const sentAt = performance.now();
        const response = await message.sendOn(connection);
        latencies.push(performance.now() - sentAt);
        message.check(response);
      }
    }));
    return { requests, seconds: (performance.now() - startedAt) / 1000, latencies };
  }

  close(): void {
    for (const connection of this.#connections) connection.close();
  }
}

/** A request as bytes. */
class Message {
  readonly #request: LoadRequest;
  readonly #bytes: Buffer;
  /** A body that was right. */
  #known: string | undefined;

  constructor(request: LoadRequest, host: string) {
    const { method, path, headers, body = '' } = request;
    const length = method === 'POST' && { 'Content-Length': String(Buffer.byteLength(body)) };
    const lines = Object.entries({ Host: host, ...headers, ...length }).map((header) => `${header.join(': ')}\r\n`);
    this.#request = request;
    this.#bytes = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
  }

  async sendOn(connection: Connection): Promise<Received> {
    try {
      return await connection.exchange(this.#bytes);
    } catch (error) {
      throw this.#wrong((error as Error).message);
    }
  }

  check({ status, body }: Received): void {
    const { status: right, isRight } = this.#request;
    if (status === right && body === this.#known) return;
    const text = Buffer.from(body, 'latin1').toString();
    if (status !== right || !isRight(parse(text))) throw this.#wrong(`${status}: ${text.slice(0, 300)}`);
    this.#known = body;
  }

  #wrong(received: string): Error {
    const { method, path, status } = this.#request;
    return new Error(`${method} ${path} must return ${status} and the right body; received: ${received}`);
  }
}

/** The value of a text in JSON; undefined if it is none. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
