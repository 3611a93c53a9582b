// Measures what it costs to save the usage of many keys: `npm run build && node bench/usage-cost.mjs [KEYS]`. The
// default is 10,000 keys.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { UsageFile } from '../dist/file-engine/accounts/usage-file.js';

const keys = Number(process.argv[2] ?? 10_000);
const writes = 50;
const limits = { perMinute: 1_000, perDay: 100_000 };
const ids = Array.from({ length: keys }, (_, i) => `k${i + 1}`);

setFlagsFromString('--expose-gc');
const heapUsed = () => {
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
};

const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
const usage = new UsageFile(folder, Date.now, console.error);
/** Counts a request of each key. */
const sendAll = () => {
  for (const id of ids) usage.limiter.admitKey(id, limits, Date.now(), 0);
};

const before = heapUsed();
sendAll();
const memory = heapUsed() - before;
let cpuUs = 0;
for (let write = 0; write < writes; write += 1) {
  sendAll();
  await new Promise(setImmediate);
  const start = process.cpuUsage();
  await usage.save();
  const { user, system } = process.cpuUsage(start);
  cpuUs += user + system;
}
const { size } = statSync(join(folder, 'usage.json'));
await usage.close();
rmSync(folder, { recursive: true });

console.log(`${keys} keys used in a day
  memory      ${(memory / 1e6).toFixed(1)} MB, ${Math.round(memory / keys)} bytes a key
  each write  ${(size / 1e6).toFixed(2)} MB, ${(cpuUs / writes / 1_000).toFixed(1)} ms of CPU (user and system)`);
