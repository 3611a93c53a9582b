// What it costs to remember the limits of many keys: `npm run build && node bench/usage-cost.mjs [keys, 10000 unless told]`.
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { UsageFile } from '../dist/limits/usage-file.js';

const keys = Number(process.argv[2] ?? 10_000);
const rounds = 50;
const limits = { perMinute: 1_000, perDay: 100_000 };
const ids = Array.from({ length: keys }, (_, i) => `k${i + 1}`);

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');
const heapUsed = () => {
  collectGarbage();
  return process.memoryUsage().heapUsed;
};

const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
const usage = await UsageFile.open(folder, Date.now, console.error);
const useAll = () => {
  const now = Date.now();
  for (const id of ids) usage.limiter.admitKey(id, limits, now, 0);
};

const before = heapUsed();
useAll();
const memory = heapUsed() - before;

const delay = monitorEventLoopDelay({ resolution: 1 });
let cpuUs = 0;
for (let round = 0; round < rounds; round += 1) {
  useAll();
  await new Promise(setImmediate);
  const start = process.cpuUsage();
  delay.enable();
  await usage.save();
  delay.disable();
  const { user, system } = process.cpuUsage(start);
  cpuUs += user + system;
}
const { size } = statSync(join(folder, 'usage.json'));

const requests = 3e6;
const start = process.cpuUsage();
const now = Date.now();
for (let i = 0; i < requests; i += 1) usage.limiter.admitKey(ids[i % keys], limits, now, 0);
const { user } = process.cpuUsage(start);
await usage.close();
rmSync(folder, { recursive: true });

console.log(`${keys} keys used in a day`);
console.log(`  memory         ${(memory / 1e6).toFixed(1)} MB, ${Math.round(memory / keys)} bytes a key`);
console.log(`  each write     ${(size / 1e6).toFixed(2)} MB, ${(cpuUs / rounds / 1_000).toFixed(1)} ms of CPU (user and system)`);
console.log(`  longest stall  ${(delay.max / 1e6).toFixed(1)} ms of the event loop`);
console.log(`  each request   ${((user * 1_000) / requests).toFixed(0)} ns to decide and count`);
