// What a start is held against: `JSON.parse` of a file, in a process of its own. Tells whoever forked it how long that took.
import { readFileSync } from 'node:fs';

process.once('message', () => {
  const startedAt = performance.now();
  const cpuBefore = process.cpuUsage();
  JSON.parse(readFileSync(process.argv[2], 'utf8'));
  const { user, system } = process.cpuUsage(cpuBefore);
  process.send({ ms: performance.now() - startedAt, cpuMs: (user + system) / 1000 }, () => process.disconnect());
});
