// The baseline for a start: reads a file and applies `JSON.parse`, in a process of its own. Prints how long that took.
import { readFileSync } from 'node:fs';

const startedAt = performance.now();
const before = process.cpuUsage();
JSON.parse(readFileSync(process.argv[2], 'utf8'));
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ ms: performance.now() - startedAt, cpuMs: (user + system) / 1000 }));
