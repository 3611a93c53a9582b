/**
 * Loaded before a server with `--import`: makes each read of a file at a start take 20 ms and return at most 1 KiB, as
 * long as the file named by SLOW_READS exists. So a test decides how long a start takes, on any machine. A read that
 * begins after a signal ends the process with exit code 9.
 */
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

const handle = await open('.');
const prototype = Object.getPrototypeOf(handle);
await handle.close();
const { read } = prototype;
let signalled = false;
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => (signalled = true));
prototype.read = async function (buffer, offset, length, position) {
  if (signalled) process.exit(9);
  if (!existsSync(process.env.SLOW_READS)) return read.call(this, buffer, offset, length, position);
  await delay(20);
  return read.call(this, buffer, offset, Math.min(length, 1024), position);
};
