/** One question and one answer, a JSON text and a line feed each, over a Unix socket. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** No question is longer. */
const maxMessageBytes = 64 * 1024;
/** A connection on which nothing moves for so long is dropped, so that it keeps nobody from ending. */
const idleTimeoutMs = 30_000;
/** Once a channel is closed, who is connected and has not asked yet may take so long. */
const closeTimeoutMs = 500;

/** The end that answers: each connection's one question. */
export class Channel {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /** `respond` must not reject. */
  constructor(respond: (message: unknown) => Promise<unknown>) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => socket.destroy());
      socket.setTimeout(idleTimeoutMs, () => socket.destroy());
      readMessage(socket, maxMessageBytes)
        .then(respond)
        .then((reply) => socket.end(`${JSON.stringify(reply)}\n`))
        .catch(() => socket.destroy());
    });
  }

  /** Listens on a socket that is nobody else's to open from its first moment: `listen` binds before it returns. */
  async listen(path: string): Promise<void> {
    const listening = once(this.#server, 'listening');
    const umask = process.umask(0o177);
    try {
      this.#server.listen(path);
    } finally {
      process.umask(umask);
    }
    await listening;
  }

  /** Refuses connections from now on. Resolves when those there are have ended, soon. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    const timer = setTimeout(() => this.#sockets.forEach((socket) => socket.destroy()), closeTimeoutMs);
    await closed;
    clearTimeout(timer);
  }
}

/**
 * Asks the process that listens on a socket. Rejects with a system error (ECONNREFUSED: nobody listens) if it cannot be
 * reached, and with ChannelClosedError if it was reached and gave no answer, or none within `timeoutMs`.
 */
export async function sendMessage(path: string, message: unknown, timeoutMs: number): Promise<unknown> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    const timer = setTimeout(() => socket.destroy(), timeoutMs);
    socket.once('close', () => clearTimeout(timer));
    socket.on('error', () => socket.destroy());
    socket.write(`${JSON.stringify(message)}\n`);
    return await readMessage(socket, Infinity);
  } finally {
    socket.destroy();
  }
}

/** The other side closed the connection, or kept silent, instead of answering. */
export class ChannelClosedError extends Error {}

/** The message that arrives first. Rejects if there is none, or it is no JSON, or longer than `maxBytes`. */
function readMessage(socket: Socket, maxBytes: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    socket.on('data', (chunk: Buffer) => {
      const end = chunk.indexOf('\n');
      chunks.push(end < 0 ? chunk : chunk.subarray(0, end));
      length += chunk.length;
      if (length > maxBytes) socket.destroy();
      if (length > maxBytes || end < 0) return;
      try {
        resolve(JSON.parse(Buffer.concat(chunks).toString()));
      } catch (error) {
        reject(error);
      }
    });
    socket.once('close', () => reject(new ChannelClosedError('the connection was closed without an answer')));
  });
}
