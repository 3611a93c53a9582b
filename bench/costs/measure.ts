/** Measures what a request costs a server: the CPU time of its process, user and system. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '../measure/connection.ts';
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

const probe = Buffer.from('OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n');

/** Measures requests of a kind, each on a connection of its own, which is open and known to the server before. */
export async function cost({ process, key, logDelayMs }: Target, kind: Kind, requests: number): Promise<Cost> {
  const port = Number(new URL(process.address).port);
  const connections = Array.from({ length: requests }, () => new Connection(port));
  await Promise.all(connections.map((connection) => connection.exchange(probe)));
  const messages = connections.map(() => bytesOf(kind, key));
  const before = await process.usage();
  let [status, closes] = [0, false];
  for (const [index, connection] of connections.entries()) {
    ({ status, closes } = await connection.exchange(messages[index]!));
  }
  if (logDelayMs > 0) await sleep(logDelayMs);
  const after = await process.usage();
  for (const connection of connections) connection.close();
  return { status, closes, cpu: (after.user + after.system - before.user - before.system) / requests };
}
