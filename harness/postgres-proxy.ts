/**
 * A proxy in front of a PostgreSQL server. It knows where the messages of the protocol begin, and can break or stall a
 * connection at any byte of them. The protocol: https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Owner } from './owner.ts';

/** Who sends a message. */
export type Side = 'client' | 'database';

/** A failure of one connection: the first one for which `at` returns a number. */
export interface Fault {
  /**
   * Called for each message that arrives. Returns how many of its bytes to pass on before the connection is cut or
   * stalled; null if the connection does not fail yet.
   */
  readonly at: (from: Side, message: Buffer) => number | null;
  /** `stall`: nothing more from the same side is passed on, not even that it closes the connection. */
  readonly then: 'cut' | 'stall';
}

/** Cuts a connection after a number of bytes in one direction, counted over all connections. */
export function cutAfter(bytes: number, side: Side): Fault {
  let left = bytes;
  const at: Fault['at'] = (from, { length }) => {
    if (from !== side) return null;
    left -= length;
    return left > 0 ? null : left + length;
  };
  return { at, then: 'cut' };
}

/** Cuts a connection before the response to the next COMMIT is passed on. */
export const loseCommit: Fault = {
  at: (from, message) => (from === 'database' && message.toString('latin1', 0, 11) === 'C\0\0\0\x0bCOMMIT' ? 0 : null),
  then: 'cut',
};

/**
 * Stalls a connection within a statement of the client: before the last byte of a simple query, or before the Sync of
 * an extended one. `passed` is the number of statements of any connection that are passed on before.
 */
export function stallInStatement(passed: number): Fault {
  let left = passed;
  const at: Fault['at'] = (from, message) => {
    const type = String.fromCharCode(message[0]!);
    if (from !== 'client' || !'QS'.includes(type) || left-- > 0) return null;
    return type === 'Q' ? message.length - 1 : 0;
  };
  return { at, then: 'stall' };
}

interface Injected {
  readonly fault: Fault;
  /** Called when the fault has happened, with a function that lets a stalled connection continue. */
  readonly happened: (resume: () => void) => void;
}

export class PostgresProxy {
  /** The URL of the same database through the proxy. */
  readonly url: string;
  #injected: Injected | null = null;

  /**
   * Starts a proxy on a free port. It stops with its owner.
   *
   * @param url of a database; the connection must not use TLS
   */
  static async start(owner: Owner, url: string): Promise<PostgresProxy> {
    const sockets = new Set<Socket>();
    const server = createServer({ noDelay: true }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    owner.after(() => {
      server.close();
      for (const socket of sockets) socket.destroy();
    });
    const own = new URL(url);
    own.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const proxy = new PostgresProxy(own.href);
    const { hostname, port } = new URL(url);
    server.on('connection', (client) => {
      const database = connect({ host: hostname, port: Number(port), noDelay: true });
      for (const socket of [client, database]) {
        sockets.add(socket);
        socket.on('error', () => {}).on('close', () => sockets.delete(socket));
      }
      proxy.#relay('client', client, database);
      proxy.#relay('database', database, client);
    });
    return proxy;
  }

  private constructor(url: string) {
    this.url = url;
  }

  /** Injects a fault. Resolves when it has happened, with a function that lets a stalled connection continue. */
  inject(fault: Fault): Promise<() => void> {
    return new Promise((happened) => (this.#injected = { fault, happened }));
  }

  /** Passes on what one side sends to the other side. */
  #relay(from: Side, source: Socket, target: Socket): void {
    let waiting = Buffer.alloc(0);
    let hasType = from === 'database'; // the first message of a client has none
    let isStalled = false;
    let hasEnded = false;
    const pass = (): void => {
      for (let length; !isStalled && (length = messageLength(waiting, hasType)) <= waiting.length; ) {
        const message = waiting.subarray(0, length);
        const injected = this.#injected;
        const bytes = injected?.fault.at(from, message) ?? null;
        target.write(message.subarray(0, bytes ?? length));
        waiting = waiting.subarray(length);
        hasType = true;
        if (injected === null || bytes === null) continue;
        this.#injected = null;
        isStalled = true; // also if it is cut, so that no more is passed on
        if (injected.fault.then === 'cut') for (const socket of [source, target]) socket.destroySoon();
        injected.happened(() => {
          isStalled = false;
          target.write(message.subarray(bytes));
          pass();
        });
      }
      if (hasEnded && !isStalled) target.end();
    };
    source.on('data', (chunk) => {
      waiting = Buffer.concat([waiting, chunk]);
      pass();
    });
    source.on('close', () => {
      hasEnded = true;
      pass();
    });
  }
}

/** Returns the length of the first message in bytes; Infinity if its beginning has not arrived. */
function messageLength(bytes: Buffer, hasType: boolean): number {
  const before = hasType ? 1 : 0;
  return bytes.length < before + 4 ? Infinity : before + bytes.readInt32BE(before);
}
