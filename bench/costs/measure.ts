/** Measures what a request costs a server: the CPU time of its process, user and system. */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from '../measure/server-process.ts';
import type { Kind } from './requests.ts';

/** A server to be measured. */
export interface Target {
  readonly process: ServerProcess;
  readonly key: string;
  /** Lines of a log are written up to this time after their requests. 0 without a log. */
  readonly logDelayMs: number;
}

/** What a request of a kind took. */
export interface Cost {
  /** In microseconds. */
  readonly cpu: number;
  readonly status: number;
  /** Whether the server closes the connection after the response. */
  readonly closes: boolean;
}

let clients = 0;

/** The bytes of a request, from an address of its own: one address may send 60 requests without a key a minute. */
function bytesOf({ withKey, head, body }: Kind, key: string): Buffer {
  clients++;
  const client = `10.${(clients >> 16) & 255}.${(clients >> 8) & 255}.${clients & 255}`;
  const [first, ...rest] = head;
  const authorization = withKey ? [`Authorization: Bearer ${key}`] : [];
  const host = head.some((line) => line.startsWith('Host:')) ? [] : ['Host: x'];
  const forwarded = head.some((line) => line.startsWith('X-Forwarded-For:')) ? [] : [`X-Forwarded-For: ${client}`];
  const lines = [first, ...host, ...forwarded, ...authorization, ...rest];
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

/** One connection. */
class Connection {
  readonly socket: Socket;
  #text = '';
  #isEnded = false;
  #wake = (): void => {};

  constructor(port: number) {
    this.socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.socket.setEncoding('latin1').on('data', (text: string) => {
      this.#text += text;
      this.#wake();
    });
    for (const event of ['error', 'end', 'close']) {
      this.socket.on(event, () => {
        this.#isEnded = true;
        this.#wake();
      });
    }
  }

  /** Sends a request, and resolves to its response. Rejects if there is none. */
  async exchange(bytes: Buffer): Promise<Omit<Cost, 'cpu'>> {
    this.#text = '';
    this.socket.write(bytes);
    for (;;) {
      const headEnd = this.#text.indexOf('\r\n\r\n') + 4;
      const head = this.#text.slice(0, headEnd);
      const [, length = 0] = /\r\nContent-Length: (\d+)\r\n/.exec(head) ?? [];
      if (head.startsWith('HTTP/1.1 100 ')) {
        this.#text = this.#text.slice(headEnd);
        continue;
      }
      if (headEnd > 4 && this.#text.length >= headEnd + Number(length)) {
        return { status: Number(head.split(' ', 2)[1]), closes: head.includes('\r\nConnection: close\r\n') };
      }
      if (this.#isEnded) throw new Error(`no response, but ${JSON.stringify(this.#text.slice(0, 100))}`);
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

const probe = Buffer.from('OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n');

/** Measures requests of a kind, each on a connection of its own, which is open and known to the server before. */
export async function cost({ process, key, logDelayMs }: Target, kind: Kind, requests: number): Promise<Cost> {
  const port = Number(new URL(process.address).port);
  const connections = Array.from({ length: requests }, () => new Connection(port));
  await Promise.all(connections.map((connection) => connection.exchange(probe)));
  const messages = connections.map(() => bytesOf(kind, key));
  const before = await process.usage();
  let last: Omit<Cost, 'cpu'> = { status: 0, closes: false };
  for (const [index, connection] of connections.entries()) last = await connection.exchange(messages[index]!);
  if (logDelayMs > 0) await sleep(logDelayMs);
  const after = await process.usage();
  for (const { socket } of connections) socket.destroy();
  return { ...last, cpu: (after.user + after.system - before.user - before.system) / requests };
}
