/** One message and one response, a JSON text and a line feed each, over a Unix socket (files.md, "lock.<n>"). */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';

const lineFeed = 0x0a;
/** The maximum size of a message. Responses have no limit. */
const maxMessageBytes = 64 * 1024;
/** A connection without activity for this time is closed, so that it does not prevent the process from ending. */
const idleTimeoutMs = 30_000;
/** After the channel is closed, open connections have this time to finish. */
const closeTimeoutMs = 500;

/** The other process closed the connection before its response was complete. It may have handled the message. */
export class ConnectionClosedError extends Error {}

/** A response that is followed by lines. `pieces` has whole lines, and is read as fast as the receiver takes them. */
export class LineStream {
  readonly response: unknown;
  readonly pieces: Iterable<string | Buffer>;

  constructor(response: unknown, pieces: Iterable<string | Buffer>) {
    this.response = response;
    this.pieces = pieces;
  }

  /** Yields the bytes to send. Other requests are handled between two pieces. */
  async *bytes(): AsyncGenerator<string | Buffer> {
    yield `${JSON.stringify(this.response)}\n`;
    for (const piece of this.pieces) {
      yield piece;
      await nextTurn();
    }
  }
}

/** The end that receives messages and responds, one message per connection. */
export class Channel {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /** `respond` receives each message and returns its response, which may be a LineStream. It must not reject. */
  constructor(respond: (message: unknown) => Promise<unknown>, timeoutMs = idleTimeoutMs) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => socket.destroy());
      socket.setTimeout(timeoutMs, () => socket.destroy());
      readMessage(socket, maxMessageBytes)
        .then(respond)
        .then((reply) => {
          if (!(reply instanceof LineStream)) return void socket.end(`${JSON.stringify(reply)}\n`);
          socket.setTimeout(0); // the receiver may have to wait for its disk
          return pipeline(Readable.from(reply.bytes()), socket);
        })
        .catch(() => socket.destroy());
    });
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
 * Sends a message to the process that listens on a socket, and returns its response. Rejects with a system error if
 * the process cannot be reached (ECONNREFUSED: no process listens), with ConnectionClosedError, and with another Error
 * if nothing arrived for `timeoutMs` or the response is not JSON.
 */
export async function sendMessage(path: string, message: unknown, timeoutMs: number): Promise<unknown> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    const timeout = new Promise<never>((_, reject) => {
      socket.setTimeout(timeoutMs, () => reject(new Error('there was no response in time')));
    });
    socket.on('error', () => socket.destroy());
    socket.write(`${JSON.stringify(message)}\n`);
    return await Promise.race([readMessage(socket, Infinity), timeout]);
  } finally {
    socket.destroy();
  }
}

/**
 * Sends a message and passes each line of the response to `onLine`: the bytes from `start` to `end`, without the line
 * feed. Rejects as `sendMessage` does, and if `onLine` throws. The caller finds out whether all lines have arrived.
 */
export async function receiveLines(
  path: string,
  message: unknown,
  timeoutMs: number,
  onLine: (bytes: Buffer, start: number, end: number) => void,
): Promise<void> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    const timedOut = new Error('the connection was idle for too long');
    socket.setTimeout(timeoutMs, () => socket.destroy(timedOut));
    socket.write(`${JSON.stringify(message)}\n`);
    let kept: Buffer = Buffer.alloc(0);
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      const bytes = kept.length === 0 ? chunk : Buffer.concat([kept, chunk]);
      let start = 0;
      for (let end = bytes.indexOf(lineFeed); end >= 0; end = bytes.indexOf(lineFeed, start)) {
        onLine(bytes, start, end);
        start = end + 1;
      }
      kept = bytes.subarray(start);
      socket.setTimeout(timeoutMs); // `onLine` may have waited for the disk
    }
  } finally {
    socket.destroy();
  }
}

/**
 * Returns the first message that arrives. Rejects with ConnectionClosedError if there is none, or if it is longer than
 * `maxBytes`, and with SyntaxError if it is not JSON.
 */
async function readMessage(socket: Socket, maxBytes: number): Promise<unknown> {
  const line = await new Promise<string>((resolve, reject) => {
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
      if (socket.bytesRead > maxBytes) socket.destroy();
      else if (text.includes('\n')) resolve(received.slice(0, received.indexOf('\n')));
    });
    socket.once('close', () => reject(new ConnectionClosedError('the connection was closed without a response')));
  });
  return JSON.parse(line);
}
