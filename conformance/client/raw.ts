/**
 * One message on a connection of its own, byte by byte: for what no HTTP library sends, such as a request without Host, one in
 * another version, or one whose body never comes.
 */
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** What came on the wire. */
export interface RawResponse {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** The statuses of interim responses (1xx) before it. */
  readonly interim: readonly number[];
  /** The server has closed its side after the response. */
  readonly closed: boolean;
}

/** How long a server that has said `Connection: close` may take to do so. */
const closingMs = 1_000;

interface Head {
  readonly status: number;
  readonly headers: RawResponse['headers'];
  /** Where it ends. */
  readonly end: number;
}

/** Sends the bytes, and gives the first final response. `method` tells whether that can have a body. */
export function exchangeRaw(baseUrl: string, bytes: Uint8Array, method: string, timeoutMs: number): Promise<RawResponse> {
  const { protocol, hostname, port } = new URL(baseUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    const socket: Socket =
      protocol === 'https:'
        ? connectTls({ host, port: Number(port || 443), servername: host })
        : connectTcp({ host, port: Number(port || 80) });
    let received = Buffer.alloc(0);
    let ended = false;
    let complete: Omit<RawResponse, 'closed'> | undefined;
    const timer = setTimeout(() => fail(new Error(`no response within ${timeoutMs / 1000} s`)), timeoutMs);
    let closing: NodeJS.Timeout | undefined;

    const settle = (settled: () => void) => {
      clearTimeout(timer);
      clearTimeout(closing);
      socket.destroy();
      settled();
    };
    const fail = (error: Error) => settle(() => reject(error));
    const look = () => {
      complete ??= answerIn(received, ended, method);
      const response = complete;
      if (response === undefined)
        return ended ? fail(new Error('the connection was closed before a whole response came')) : undefined;
      const willClose = response.headers.some(([name, value]) => name.toLowerCase() === 'connection' && /\bclose\b/i.test(value));
      if (ended || !willClose) return settle(() => resolve({ ...response, closed: ended }));
      closing ??= setTimeout(() => settle(() => resolve({ ...response, closed: false })), closingMs);
    };
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      look();
    });
    socket.on('end', () => {
      ended = true;
      look();
    });
    // A reset may follow the response to a message that was not read to its end.
    socket.on('error', (error) => {
      if (complete === undefined) return fail(error);
      ended = true;
      look();
    });
    socket.write(bytes);
  });
}

/** The first response that is not an interim one, if all of it is there. */
function answerIn(received: Buffer, ended: boolean, method: string): Omit<RawResponse, 'closed'> | undefined {
  const interim: number[] = [];
  let head = headAt(received, 0);
  while (head !== undefined && head.status < 200) {
    interim.push(head.status);
    head = headAt(received, head.end);
  }
  if (head === undefined) return undefined;
  const { status, headers, end } = head;
  const rest = received.subarray(end);
  const value = (wanted: string) => headers.find(([name]) => name.toLowerCase() === wanted)?.[1];
  const whole = (body: Uint8Array) => ({ status, headers, body, interim });
  if (method === 'HEAD' || status === 204 || status === 304) return whole(Buffer.alloc(0));
  if (/\bchunked\b/i.test(value('transfer-encoding') ?? '')) {
    const body = unchunked(rest);
    return body && whole(body);
  }
  const length = value('content-length');
  if (length === undefined) return ended ? whole(rest) : undefined;
  return rest.length >= Number(length) ? whole(rest.subarray(0, Number(length))) : undefined;
}

function headAt(received: Buffer, start: number): Head | undefined {
  const end = received.indexOf('\r\n\r\n', start, 'latin1');
  if (end < 0) return undefined;
  const [first = '', ...lines] = received.subarray(start, end).toString('latin1').split('\r\n');
  const status = /^HTTP\/\d\.\d (\d{3})/.exec(first)?.[1];
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()] as const;
  });
  return { status: Number(status ?? 999), headers, end: end + 4 };
}

/** The content of chunks, if the last of them is there. */
function unchunked(bytes: Buffer): Buffer | undefined {
  const pieces: Buffer[] = [];
  for (let at = 0; ;) {
    const line = bytes.indexOf('\r\n', at, 'latin1');
    if (line < 0) return undefined;
    const size = parseInt(bytes.subarray(at, line).toString('latin1'), 16);
    if (!(size > 0)) return Buffer.concat(pieces);
    if (bytes.length < line + 2 + size) return undefined;
    pieces.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}
