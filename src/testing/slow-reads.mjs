/**
 * Loaded before a server with `--import`: makes each read of a file at a start take 20 ms and return at most 1 KiB, as
 * long as the file named by SLOW_READS exists. So a test decides how long a start takes, on any machine.
 */
import { existsSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

const handle = await open('.');
const prototype = Object.getPrototypeOf(handle);
await handle.close();
const { read } = prototype;
prototype.read = async function (buffer, offset, length, position) {
  if (!existsSync(process.env.SLOW_READS)) return read.call(this, buffer, offset, length, position);
  await delay(20);
  return read.call(this, buffer, offset, Math.min(length, 1024), position);
};
