/** Pipelined requests (RFC 9112, section 9.3.2), which Node's client does not send. */
import type { Duplex } from 'node:stream';
import { timeLimit } from './clock.ts';
import { decode, type Decoded } from './content-coding.ts';
import { headOf, maxBytes, type HttpRequest, type HttpResponse } from './http.ts';
import { isOfNetwork, NoExchange } from './network-errors.ts';
import { addressOf } from './proxy.ts';

/**
 * The time limit for each response after the first. A server may ignore requests that arrive before it has responded to
 * another one, so a client must be able to repeat them.
 */
const nextMs = 5_000;

/** The size limit of all responses of a connection. If they are longer, the client repeats the requests one by one. */
const maxReceived = 1024 * 1024;

const cutOff = 'the response was cut off';

/**
 * Sends requests on a new connection without waiting for responses. The first response has the usual time limit.
 *
 * @param received is called with each response, in order; less often than there are requests if the server closes the
 *   connection, sends no more, or sends what is not HTTP or too long
 * @param signal closes the connection
 * @throws Error if the tunnel through a proxy cannot be opened (see `isOfNetwork`), and for an error in the kit
 */
export async function exchangePipelined(
  requests: readonly HttpRequest[],
  received: (response: HttpResponse) => void,
  signal?: AbortSignal,
): Promise<void> {
  const { timeoutMs = 30_000, stops } = requests[0]!;
  const socket = await connectFor(requests[0]!);
  for (const request of requests) {
    const { method, path, headers } = headOf(request);
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
    const isChunked = headers.some(([name]) => /^transfer-encoding$/i.test(name));
    const { body = Buffer.alloc(0) } = request;
    if (isChunked) socket.write(`${body.length.toString(16)}\r\n`);
    socket.write(body);
    if (isChunked) socket.write('\r\n0\r\n\r\n');
  }
  let isEnded = false;
  const end = () => {
    isEnded = true;
    socket.destroy();
  };
  if (signal?.aborted) end();
  signal?.addEventListener('abort', end);
  let cancel = timeLimit(timeoutMs, end, stops);
  const reader = new Reader(socket);
  try {
    for (let count = 0; count < requests.length; count++) {
      received({ ...(await nextResponse(reader)), isReused: count > 0 });
      cancel();
      cancel = timeLimit(Math.min(timeoutMs, nextMs), end, stops);
    }
  } catch (error) {
    // Destroying the socket causes other errors, depending on the version of Node.
    if (!isEnded && !isOfNetwork(error)) throw error;
  } finally {
    cancel();
    signal?.removeEventListener('abort', end);
    socket.destroy();
  }
}

async function connectFor({ agent, url, proxy }: HttpRequest): Promise<Duplex> {
  const options = addressOf(url.startsWith('https:') || proxy === undefined ? url : proxy.origin);
  return new Promise((resolve, reject) => {
    const made = agent.createConnection(options, (error, socket) => (error ? reject(error) : resolve(socket)));
    if (made) resolve(made);
  });
}

/**
 * Reads a response, after any number of interim responses.
 *
 * @throws NoExchange if it is not HTTP, too long, or not complete
 */
async function nextResponse(reader: Reader): Promise<Omit<HttpResponse, 'isReused'>> {
  for (;;) {
    const status = Number((await reader.match(/^HTTP\/1\.\d ([1-9]\d\d)( |$)/))[1]);
    const headers = await headersFrom(reader);
    if (status >= 200) return { status, headers, ...(await bodyFrom(reader, status, headers)) };
  }
}

async function headersFrom(reader: Reader): Promise<HttpResponse['headers']> {
  const headers: (readonly [name: string, value: string])[] = [];
  for (;;) {
    const [, name, value = ''] = await reader.match(/^(?:([^\s:]+):([\t -~\x80-\xff]*))?$/);
    if (name === undefined) return headers;
    headers.push([name, value.trim()]);
  }
}

/** Reads a body (RFC 9112, section 6.3) and decodes it. */
async function bodyFrom(reader: Reader, status: number, headers: HttpResponse['headers']): Promise<Decoded> {
  const valuesOf = (name: string) => headers.filter((one) => one[0].toLowerCase() === name).map(([, value]) => value);
  const lengths = new Set(valuesOf('content-length'));
  const [length = 'none'] = lengths;
  let body: Uint8Array;
  if (status === 204 || status === 304) body = Buffer.alloc(0);
  else if (/chunked/i.test(valuesOf('transfer-encoding').at(-1) ?? '')) body = await chunksFrom(reader);
  else if (lengths.size === 0) body = await reader.bytes(Infinity);
  else if (lengths.size === 1 && /^\d{1,15}$/.test(length)) body = await reader.bytes(Number(length));
  else throw new NoExchange('the Content-Length is invalid');
  return decode(body, valuesOf('content-encoding'), maxBytes);
}

async function chunksFrom(reader: Reader): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  for (;;) {
    const size = Number.parseInt((await reader.match(/^([\da-f]+)[ \t]*(;|$)/i))[1]!, 16);
    if (size === 0) break;
    chunks.push(await reader.bytes(size));
    await reader.match(/^$/);
  }
  await headersFrom(reader);
  return Buffer.concat(chunks);
}

/** Reads lines and bytes. Each byte is read once, so that the time is proportional to what the server sends. */
class Reader {
  readonly #chunks: AsyncIterator<Buffer>;
  #unread: Buffer = Buffer.alloc(0);
  #received = 0;

  constructor(from: Duplex) {
    this.#chunks = from[Symbol.asyncIterator]();
  }

  /**
   * Reads a line, and matches it without its line break.
   *
   * @throws NoExchange if it does not match
   */
  async match(pattern: RegExp): Promise<RegExpExecArray> {
    const parts: Buffer[] = [];
    let end: number;
    while ((end = this.#unread.indexOf('\n')) < 0) {
      parts.push(this.#unread);
      if (!(await this.#receive())) throw new NoExchange(cutOff);
    }
    const line = Buffer.concat([...parts, this.#take(end + 1)]).toString('latin1').replace(/\r?\n$/, '');
    const match = pattern.exec(line);
    if (match === null) throw new NoExchange('the response is not HTTP');
    return match;
  }

  /** Reads `count` bytes, or all that follow for Infinity. */
  async bytes(count: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for (let missing = count; missing > 0;) {
      if (this.#unread.length === 0 && !(await this.#receive())) {
        if (count === Infinity) break;
        throw new NoExchange(cutOff);
      }
      const part = this.#take(missing);
      parts.push(part);
      missing -= part.length;
    }
    return Buffer.concat(parts);
  }

  #take(count: number): Buffer {
    const taken = this.#unread.subarray(0, count);
    this.#unread = this.#unread.subarray(count);
    return taken;
  }

  /** Replaces what is unread by the next bytes. Returns false if there are none. */
  async #receive(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    if ((this.#received += value.length) > maxReceived) throw new NoExchange('the responses are too long');
    this.#unread = value;
    return true;
  }
}
