/** Pipelined requests (RFC 9112, section 9.3.2), which Node's client does not send. */
import type { Duplex } from 'node:stream';
import { timeLimit } from './clock.ts';
import { decode } from './content-coding.ts';
import { headOf, maxBytes, type HttpRequest, type HttpResponse } from './http.ts';
import { addressOf } from './proxy.ts';

/**
 * How long to wait for the first response, and for each of the others. A server may ignore requests that arrive before
 * it has responded to another one, so a client must be able to repeat them.
 */
const [firstMs, nextMs] = [30_000, 5_000];

/**
 * Sends requests on a new connection without waiting for responses.
 *
 * @param signal closes the connection
 * @returns the responses in order; fewer than the requests if the server closes the connection or sends no more
 */
export async function exchangePipelined(
  requests: readonly HttpRequest[],
  signal?: AbortSignal,
): Promise<readonly HttpResponse[]> {
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
  const responses: HttpResponse[] = [];
  let bytes: Buffer = Buffer.alloc(0);
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal?.removeEventListener('abort', end);
      socket.destroy();
      resolve(responses);
    };
    let cancel = timeLimit(firstMs, end);
    if (signal?.aborted) end();
    signal?.addEventListener('abort', end);
    socket.on('close', end).on('error', end);
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      for (let read; responses.length < requests.length && (read = firstResponse(bytes)) !== undefined;) {
        responses.push(read.response);
        bytes = read.rest;
        cancel();
        cancel = timeLimit(nextMs, end);
      }
      // A server may write an interim response at the wrong place.
      const isResponse = 'HTTP/1.'.startsWith(bytes.subarray(0, 7).toString('latin1'));
      if (responses.length === requests.length || bytes.length > maxBytes || !isResponse) end();
    });
  });
}

async function connectFor({ agent, url, proxy }: HttpRequest): Promise<Duplex> {
  const options = addressOf(url.startsWith('https:') || proxy === undefined ? url : proxy.origin);
  return new Promise((resolve, reject) => {
    const made = agent.createConnection(options, (error, socket) => (error ? reject(error) : resolve(socket)));
    if (made) resolve(made);
  });
}

/** The first response in these bytes, and what follows it; undefined if it is not complete. */
function firstResponse(bytes: Buffer): { readonly response: HttpResponse; readonly rest: Buffer } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
  const valuesOf = (name: string) => headers.filter((one) => one[0].toLowerCase() === name).map(([, value]) => value);
  const status = Number(/^HTTP\/1\.\d (\d{3})/.exec(first)?.[1]);
  if (Number.isNaN(status)) return undefined;
  const after = bytes.subarray(end + 4);
  if (status >= 100 && status < 200) return firstResponse(after);
  const isChunked = /chunked/i.test(valuesOf('transfer-encoding').at(-1) ?? '');
  const length = [204, 304].includes(status) ? 0 : Number(valuesOf('content-length')[0] ?? Infinity);
  const body = isChunked ? chunksOf(after) : { data: after.subarray(0, length), rest: after.subarray(length) };
  if (body === undefined || (!isChunked && body.data.length < length)) return undefined;
  const decoded = decode(body.data, valuesOf('content-encoding'), maxBytes);
  return { response: { status, headers, ...decoded }, rest: body.rest };
}

/** A body in chunks, and what follows it; undefined if it is not complete. */
function chunksOf(bytes: Buffer): { readonly data: Buffer; readonly rest: Buffer } | undefined {
  const chunks: Buffer[] = [];
  let isTrailer = false;
  for (let at = 0, end; (end = bytes.indexOf('\r\n', at)) >= 0;) {
    const line = bytes.subarray(at, end).toString('latin1');
    at = end + 2;
    if (isTrailer && line === '') return { data: Buffer.concat(chunks), rest: bytes.subarray(at) };
    if (isTrailer) continue;
    const size = Number.parseInt(line, 16);
    if (Number.isNaN(size) || bytes.length < at + size) return undefined;
    isTrailer = size === 0;
    chunks.push(bytes.subarray(at, at + size));
    if (!isTrailer) at += size + 2;
  }
  return undefined;
}
