import { once } from 'node:events';
import { linkSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/**
 * Holds the lock of a data folder like a server with the process id 4711, and ends without a response when a message
 * with this `op` arrives, as if the process had not accepted the connection. Returns the operations of all messages.
 */
export async function dyingServer(t: TestContext, folder: string, lastOp: string): Promise<string[]> {
  const received: string[] = [];
  const server = createServer((socket) => socket.setEncoding('utf8').once('data', (text: string) => {
    const { op } = JSON.parse(text) as { op: string };
    received.push(op);
    const since = '2026-11-21T12:00:00.000Z';
    if (op !== lastOp) return void socket.end(`{"kind":"server","pid":4711,"address":null,"since":"${since}"}\n`);
    server.close();
    socket.destroy();
  }));
  const own = join(folder, 'dying');
  server.listen(own);
  await once(server, 'listening');
  t.after(() => server.close());
  linkSync(own, join(folder, 'lock.9')); // which remains when it is closed
  return received;
}
