/** One message and one response, a JSON text and a line feed each, over a Unix socket (files.md, "lock.<n>"). */
import { once } from 'node:events';
import { lstatSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { OperatorError } from '../../domain/operator-error.ts';

/** The maximum size of a message. */
const maxMessageBytes = 64 * 1024;
/** The maximum size of a response: a key with 2,000 secrets fits. */
const maxResponseBytes = 256 * 1024;
/** A message must arrive within this time, and then its response must be sent within this time. */
const defaultTimeoutMs = 30_000;
/** Further connections are closed at once. */
const maxConnections = 256;
/** After the channel is closed, open connections have this time to finish. */
const closeTimeoutMs = 500;

/** The other process closed the connection before its response was complete. It may have handled the message. */
export class ConnectionClosedError extends Error {}

/** What was received is not what this version expects. The message has no text of the other process. */
export class InvalidResponseError extends Error {}

/** The end that receives messages and responds, one message per connection. */
export class Channel {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /**
   * `respond` receives each message and returns its response. It must not reject. A connection is closed if its message
   * does not arrive within `timeoutMs`, or if the response is not sent within `timeoutMs` after that. What the client
   * sends meanwhile prolongs neither of these times.
   */
  constructor(respond: (message: unknown) => Promise<unknown>, timeoutMs = defaultTimeoutMs) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      let timer: NodeJS.Timeout | undefined;
      const limit = (): void => {
        clearTimeout(timer);
        if (!socket.destroyed) timer = setTimeout(() => socket.destroy(), timeoutMs);
      };
      socket.once('close', () => {
        clearTimeout(timer);
        this.#sockets.delete(socket);
      });
      socket.on('error', () => socket.destroy());
      const serve = async (): Promise<void> => {
        limit();
        const message = await receive(socket, maxMessageBytes);
        limit();
        await pipeline([`${JSON.stringify(await respond(message))}\n`], socket);
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
 * Sends a message to the process that listens on a socket, and returns its response.
 *
 * The other process may be any. So it must belong to this user or to root, and its response has at most `maxBytes` and
 * must be complete within `timeoutMs`.
 *
 * Rejects with a system error if the message was not sent (ECONNREFUSED: no process listens), with OperatorError if the
 * socket belongs to another user, with ConnectionClosedError, with InvalidResponseError if the response is too long or
 * not JSON, and with another Error if the time limit is exceeded.
 */
export async function sendMessage(
  path: string, message: unknown, timeoutMs: number, maxBytes = maxResponseBytes,
): Promise<unknown> {
  const socket = connect(path);
  const timer = setTimeout(() => socket.destroy(new Error('there was no response in time')), timeoutMs);
  try {
    await once(socket, 'connect');
    requireOwner(path);
    socket.write(`${JSON.stringify(message)}\n`);
    return await receive(socket, maxBytes);
  } finally {
    clearTimeout(timer);
    socket.destroy();
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

/**
 * Returns the JSON text that a socket receives, followed by a line feed. Rejects with InvalidResponseError if it is not
 * JSON or has more than `maxBytes`, with ConnectionClosedError if it is not complete, and with the error with which the
 * socket was destroyed.
 */
async function receive(socket: Socket, maxBytes: number): Promise<unknown> {
  const line = await new Promise<string>((resolve, reject) => {
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
      if (socket.bytesRead > maxBytes + 1) socket.destroy(new InvalidResponseError('the line is too long'));
      else if (text.includes('\n')) resolve(received.slice(0, received.indexOf('\n')));
    });
    // A connection that is reset has only ended early.
    const closed = (): void => reject(new ConnectionClosedError('the connection was closed before the line was complete'));
    socket.once('close', closed).once('error', (error) => ('syscall' in error ? closed() : reject(error)));
  });
  try {
    return JSON.parse(line);
  } catch {
    throw new InvalidResponseError('the line is not JSON');
  }
}
