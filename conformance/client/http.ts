/** One HTTP exchange. */
import { request as httpRequest, type ClientRequest, type Agent as HttpAgent } from 'node:http';
import { request as httpsRequest, type Agent as HttpsAgent } from 'node:https';
import { version } from '../../harness/bundle.ts';
import { timeLimit, type Stops } from './clock.ts';
import { decode, type Decoded } from './content-coding.ts';
import { NoExchange } from './network-errors.ts';
import type { Proxy } from './proxy.ts';

export interface HttpRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The name of one of the usual headers, which this request does not have. */
  readonly without?: string | undefined;
  readonly body?: Uint8Array | undefined;
  /** Sends the body in pieces, which end at these numbers of bytes, with a pause after each. */
  readonly cuts?: readonly number[] | undefined;
  /** From `agentFor`. */
  readonly agent: HttpAgent | HttpsAgent;
  readonly proxy?: Proxy | undefined;
  /** The time limit for a complete response; 30 s if absent. */
  readonly timeoutMs?: number | undefined;
  readonly stops?: Stops | undefined;
}

export interface HttpResponse extends Decoded {
  readonly status: number;
  /** Whether the connection had carried another request before. */
  readonly isReused: boolean;
  /** In the order in which they were received. */
  readonly headers: readonly (readonly [name: string, value: string])[];
}

/**
 * The server closed the idle connection on which the request was sent, before it responded. The request can be
 * repeated.
 */
export class StaleConnection extends NoExchange {
  override readonly name = 'StaleConnection';
}

/** The response was not complete within the time limit. */
export class TooSlow extends NoExchange {
  override readonly name = 'TooSlow';
}

/** No connection was established within the time limit. */
export class NotConnected extends TooSlow {}

/** The sum of the pauses between the pieces of a body: long enough for each piece to be read alone. */
const pausesMs = 50;

/** The size limit of a body, before and after it is decoded. */
export const maxBytes = 16 * 1024 * 1024;

/**
 * The headers that every request has, unless it has another value for one. Some firewalls refuse a request without
 * User-Agent or Accept. The kit asks for no content coding, so that evidence shows the bytes that were sent.
 */
const usualHeaders = [
  ['User-Agent', `petstore-conformance/${version}`],
  ['Accept', '*/*'],
  ['Accept-Encoding', 'identity'],
] as const;

/** The head of a request: the server or proxy to which it is sent, its path as it is sent, and all of its headers. */
export function headOf({ url, method, headers, without, body, proxy }: HttpRequest) {
  // To reach an https: server, the agent opens a tunnel through the proxy.
  const forwarder = url.startsWith('https:') ? undefined : proxy;
  const names = headers.map(([name]) => name.toLowerCase());
  const usual = usualHeaders.filter(([name]) => name !== without && !names.includes(name.toLowerCase()));
  const hasLength = body !== undefined && !names.includes('transfer-encoding');
  const { host, origin } = new URL(url);
  return {
    to: forwarder?.origin ?? url,
    method,
    // As it is written, because URL would remove dot segments.
    path: (forwarder === undefined ? '' : origin) + (url.replace(/^[a-z]+:\/\/[^/]*/i, '') || '/'),
    headers: [
      ['Host', host] as const,
      ...(forwarder?.authorization === undefined ? [] : [['Proxy-Authorization', forwarder.authorization] as const]),
      ...[...usual, ...headers],
      ...(hasLength ? [['Content-Length', String(body.length)] as const] : []),
    ],
  };
}

/**
 * Sends a request and receives the complete response.
 *
 * @throws StaleConnection if the request can be repeated
 * @throws TooSlow if the response is not complete in time
 * @throws NotConnected if no connection is established in time
 * @throws NoExchange if the response is too large or cut off
 * @throws Error if the connection breaks (see `isOfNetwork`), and for an error in the kit
 */
export function exchangeHttp(request: HttpRequest): Promise<HttpResponse> {
  const { body, cuts = [], agent, timeoutMs = 30_000, stops } = request;
  const { to, headers, ...head } = headOf(request);
  const send = to.startsWith('https:') ? httpsRequest : httpRequest;
  // By default Node refuses more than 16 KiB, which cookies and a Content-Security-Policy may exceed.
  const options = { ...head, agent, maxHeaderSize: 1024 * 1024, headers: headers.flat() };
  return new Promise((resolve, reject) => {
    let responding = false;
    const fail = (error: Error) => {
      reject(error);
      sending.destroy();
    };
    const sending: ClientRequest = send(to, options, (response) => {
      responding = true;
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        if ((bytes += chunk.length) > maxBytes) fail(new NoExchange(`a response of more than ${maxBytes} bytes`));
      });
      response.on('error', reject);
      response.on('aborted', () => reject(new NoExchange('the response was cut off')));
      response.on('end', () => {
        const { rawHeaders: raw, statusCode } = response;
        const pairs = Array.from({ length: raw.length / 2 }, (_, i) => [raw[2 * i]!, raw[2 * i + 1]!] as const);
        const codings = pairs.filter(([name]) => name.toLowerCase() === 'content-encoding').map(([, value]) => value);
        const { reusedSocket: isReused } = sending;
        resolve({ status: statusCode!, isReused, headers: pairs, ...decode(Buffer.concat(chunks), codings, maxBytes) });
      });
    });
    const late = () => {
      const message = `no complete response within ${timeoutMs / 1000} s`;
      const isConnected = sending.socket?.connecting === false;
      fail(isConnected ? new TooSlow(message) : new NotConnected(`${message}, and no connection`));
    };
    const cancel = timeLimit(timeoutMs, late, stops);
    sending.on('close', () => {
      cancel();
      // Node reports no error if the server switches to another protocol.
      if (!responding) reject(new NoExchange('the connection was closed without a response'));
    });
    sending.on('error', (error: NodeJS.ErrnoException) => {
      cancel(); // `close` is not emitted if the agent has not connected
      const reset = ['ECONNRESET', 'EPIPE'].includes(error.code ?? '');
      reject(
        reset && sending.reusedSocket && !responding ? new StaleConnection(error.message, { cause: error }) : error,
      );
    });
    const sendFrom = (start: number, [end, ...others]: readonly number[]) => {
      if (end === undefined) return void sending.end(body?.subarray(start));
      const sendNext = () => sendFrom(end, others);
      sending.write(body?.subarray(start, end), () => setTimeout(sendNext, pausesMs / cuts.length));
    };
    sendFrom(0, cuts);
  });
}
