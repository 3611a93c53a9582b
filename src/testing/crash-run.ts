/** `npm run test:crash -- --cycles N [--seed S]`: kills the built server N times, and prints the figures. */
import { parseArgs } from 'node:util';
import { exitOnSignals, thisProcess } from '../../harness/owner.ts';
import { CrashRun } from './crash.ts';

exitOnSignals();
const { values } = parseArgs({ options: { cycles: { type: 'string', default: '20' }, seed: { type: 'string' } } });
const seed = Number(values.seed ?? Date.now() % 1e6);
console.log(`seed ${seed}`);
const run = new CrashRun(thisProcess, seed);
try {
  await run.run(Number(values.cycles));
} catch (error) {
  console.error(error);
  process.exitCode = 1;
}
console.log(JSON.stringify(run.figures, null, 2));
process.exit();
