/** One message and one response, a JSON text and a line feed each, over a Unix socket (files.md, "lock.<n>"). */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** The maximum size of a message. Responses have no limit. */
const maxMessageBytes = 64 * 1024;
/** A connection without activity for this time is closed, so that it does not prevent the process from ending. */
const idleTimeoutMs = 30_000;
/** After the channel is closed, open connections have this time to finish. */
const closeTimeoutMs = 500;

/** The end that receives messages and responds, one message per connection. */
export class Channel {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  /** `respond` receives each message and returns its response. It must not reject. */
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
 * the process cannot be reached (ECONNREFUSED: no process listens), and with another Error if it was reached but did
 * not respond, or sent nothing for `timeoutMs`.
 */
export async function sendMessage(path: string, message: unknown, timeoutMs: number): Promise<unknown> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    socket.setTimeout(timeoutMs, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.write(`${JSON.stringify(message)}\n`);
    return await readMessage(socket, Infinity);
  } finally {
    socket.destroy();
  }
}

/** Returns the first message that arrives. Rejects if there is none, or if it is not JSON or longer than `maxBytes`. */
async function readMessage(socket: Socket, maxBytes: number): Promise<unknown> {
  const line = await new Promise<string>((resolve, reject) => {
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
      if (socket.bytesRead > maxBytes) socket.destroy();
      else if (text.includes('\n')) resolve(received.slice(0, received.indexOf('\n')));
    });
    socket.once('close', () => reject(new Error('the connection was closed without a response')));
  });
  return JSON.parse(line);
}
