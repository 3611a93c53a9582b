/** One message and one response, a JSON text and a line feed each, over a Unix socket (files.md, "lock.<n>"). */
import { once } from 'node:events';
import { lstatSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { OperatorError } from '../../domain/operator-error.ts';

const lineFeed = 0x0a;
/** The maximum size of a message. */
const maxMessageBytes = 64 * 1024;
/** The maximum size of a line of a response: a key with 2,000 secrets fits, and an animal has 65 KiB. */
const maxLineBytes = 256 * 1024;
/** A message must arrive within this time, and then its response must be sent within this time. */
const defaultTimeoutMs = 30_000;
/** In this time, a receiver must take each piece of a LineStream: it may have to wait for its disk. */
const defaultPieceTimeoutMs = 600_000;
/** While it waits for lines, a receiver must receive this much in its time limit. A channel sends 32 KiB at once. */
const minProgressBytes = 64 * 1024;
/** Further connections are closed at once. */
const maxConnections = 256;
/** After the channel is closed, open connections have this time to finish. */
const closeTimeoutMs = 500;

/** The other process closed the connection before its response was complete. It may have handled the message. */
export class ConnectionClosedError extends Error {}

/** The response is not one that this version expects. The message has no text of the other process. */
export class InvalidResponseError extends Error {}

/** A response that is followed by lines. `pieces` has whole lines, and is read as fast as the receiver takes them. */
export class LineStream {
  readonly response: unknown;
  readonly pieces: Iterable<string | Buffer>;

  constructor(response: unknown, pieces: Iterable<string | Buffer>) {
    this.response = response;
    this.pieces = pieces;
  }

  /** Yields the bytes to send. Calls `onPiece` before each piece. Other requests are handled between two of them. */
  async *bytes(onPiece: () => void): AsyncGenerator<string | Buffer> {
    yield `${JSON.stringify(this.response)}\n`;
    for (const piece of this.pieces) {
      onPiece();
      yield piece;
      await nextTurn();
    }
  }
}

/** The end that receives messages and responds, one message per connection. */
export class Channel {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /**
   * `respond` receives each message and returns its response, which may be a LineStream. It must not reject. A
   * connection is closed if its message does not arrive within `timeoutMs`, if the response is not sent within
   * `timeoutMs` after that, or if the client does not take a piece of a LineStream within `pieceTimeoutMs`. What the
   * client sends meanwhile prolongs none of these times.
   */
  constructor(
    respond: (message: unknown) => Promise<unknown>,
    timeoutMs = defaultTimeoutMs,
    pieceTimeoutMs = defaultPieceTimeoutMs,
  ) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      let timer: NodeJS.Timeout | undefined;
      const limit = (ms: number): void => {
        clearTimeout(timer);
        if (!socket.destroyed) timer = setTimeout(() => socket.destroy(), ms);
      };
      socket.once('close', () => {
        clearTimeout(timer);
        this.#sockets.delete(socket);
      });
      socket.on('error', () => socket.destroy());
      const serve = async (): Promise<void> => {
        limit(timeoutMs);
        const message = await readMessage(socket);
        limit(timeoutMs);
        const reply = await respond(message);
        const isStream = reply instanceof LineStream;
        const bytes = isStream ? reply.bytes(() => limit(pieceTimeoutMs)) : [`${JSON.stringify(reply)}\n`];
        await pipeline(Readable.from(bytes), socket);
      };
      // The client may keep its side open.
      void serve().catch(() => {}).finally(() => socket.destroy());
    });
    this.#server.maxConnections = maxConnections;
  }

  /** Listens on a socket that has mode 0600 from its first moment: `Server.listen` binds before it returns. */
  async listen(path: string): Promise<void> {
    const listening = once(this.#server, 'listening');
    const umask = process.umask(0o177);
    this.#server.listen(path); // it emits errors, it does not throw them
    process.umask(umask);
    await listening;
  }

  /** Refuses new connections. Resolves when the open ones have ended, after 0.5 s at the latest. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const timer = setTimeout(() => this.#sockets.forEach((socket) => socket.destroy()), closeTimeoutMs);
    await closed;
    clearTimeout(timer);
  }
}

/**
 * Sends a message to the process that listens on a socket, and returns its response, which has at most `maxBytes`.
 * Rejects as `receiveLines` does, and with ConnectionClosedError if there is no response.
 */
export async function sendMessage(
  path: string, message: unknown, timeoutMs: number, maxBytes = maxLineBytes,
): Promise<unknown> {
  const received: unknown[] = [];
  await receiveLines(path, message, timeoutMs, (bytes, start, end) => {
    received.push(parseLine(bytes, start, end));
    return false;
  }, maxBytes);
  if (received.length > 0) return received[0];
  throw new ConnectionClosedError('the connection was closed without a response');
}

/**
 * Sends a message and passes each line of the response to `onLine`: the bytes from `start` to `end`, without the line
 * feed. Ends the connection if that returns false. The caller finds out whether all lines have arrived.
 *
 * The other process may be any. So it must belong to this user or to root, a line has at most `maxBytes`, the first one
 * must be complete within `timeoutMs`, and then 64 KiB must arrive in each `timeoutMs` that this process waits.
 *
 * Rejects with a system error if the message was not sent (ECONNREFUSED: no process listens), with OperatorError if the
 * socket belongs to another user, with ConnectionClosedError, with InvalidResponseError if a line is too long, with
 * another Error if a time limit is exceeded, and with what `onLine` throws.
 */
export async function receiveLines(
  path: string,
  message: unknown,
  timeoutMs: number,
  onLine: (bytes: Buffer, start: number, end: number) => boolean | void,
  maxBytes = maxLineBytes,
): Promise<void> {
  const socket = connect(path);
  const waiting = new WaitingTime(timeoutMs, () => socket.destroy(new Error('there was no response in time')));
  const checkLength = (length: number): void => {
    if (length > maxBytes) throw new InvalidResponseError('a line of the response is too long');
  };
  try {
    await once(socket, 'connect');
    requireOwner(path);
    socket.write(`${JSON.stringify(message)}\n`);
    let kept: Buffer = Buffer.alloc(0);
    for await (const chunk of chunksOf(socket)) {
      waiting.pause(chunk.length);
      const bytes = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
      let start = 0;
      for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, start)) {
        checkLength(end - start);
        waiting.hasLine = true;
        if (onLine(bytes, start, end) === false) return;
        start = end + 1;
      }
      kept = bytes.subarray(start);
      checkLength(kept.length);
      waiting.resume(); // `onLine` may have waited for the disk
    }
  } finally {
    waiting.pause(0);
    socket.destroy();
  }
}

/** Parses a line of a response. Throws InvalidResponseError. */
export function parseLine(bytes: Buffer, start: number, end: number): unknown {
  try {
    return JSON.parse(bytes.toString('utf8', start, end));
  } catch {
    throw new InvalidResponseError('a line of the response is not JSON');
  }
}

/** Returns the error for a socket of another user. */
export function foreignSocket(path: string): OperatorError {
  const advice = 'run this as the user of the server, and if no server is running, give that user all files there';
  return new OperatorError(`${path} belongs to another user; ${advice}`);
}

/**
 * Throws OperatorError unless a socket to which this process has connected belongs to this user or to root: another
 * user must not receive a secret. The owner of a socket is the user of the process that created it. Whoever can write
 * to its folder can exchange it for a moment; only the mode of the folder protects from that.
 */
function requireOwner(path: string): void {
  const found = lstatSync(path);
  if (!found.isSocket()) throw new OperatorError(`${path} is not a socket; remove it`);
  if (found.uid !== 0 && found.uid !== process.geteuid?.()) throw foreignSocket(path);
}

/** What a socket receives. A connection that is reset has only ended early. */
async function* chunksOf(socket: Socket): AsyncGenerator<Buffer> {
  try {
    yield* socket as AsyncIterable<Buffer>;
  } catch (error) {
    if (!('syscall' in (error as Error))) throw error;
    throw new ConnectionClosedError((error as Error).message);
  }
}

/** Limits the time that a process waits for another one, without the time of its own work. */
class WaitingTime {
  readonly #limitMs: number;
  readonly #expire: () => void;
  #leftMs: number;
  #since = 0;
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Whether a whole line has arrived. From then on, the limit is for each 64 KiB. */
  hasLine = false;

  constructor(limitMs: number, expire: () => void) {
    this.#limitMs = limitMs;
    this.#leftMs = limitMs;
    this.#expire = expire;
    this.resume();
  }

  /** Waits. */
  resume(): void {
    if (this.hasLine && this.#bytes >= minProgressBytes) {
      this.#leftMs = this.#limitMs;
      this.#bytes = 0;
    }
    this.#since = performance.now();
    this.#timer = setTimeout(this.#expire, this.#leftMs);
  }

  /** So many bytes have arrived. */
  pause(bytes: number): void {
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#since;
    this.#bytes += bytes;
  }
}

/** Returns the message of a connection. Rejects with ConnectionClosedError if there is none, and with SyntaxError. */
async function readMessage(socket: Socket): Promise<unknown> {
  const line = await new Promise<string>((resolve, reject) => {
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
      if (socket.bytesRead > maxMessageBytes) socket.destroy();
      else if (text.includes('\n')) resolve(received.slice(0, received.indexOf('\n')));
    });
    socket.once('close', () => reject(new ConnectionClosedError('the connection was closed without a message')));
  });
  return JSON.parse(line);
}
