/**
 * `npm run test:scale -- [--rounds N] [--seed S] [--no-kit]`: rounds with faults, and then the conformance kit on a
 * server under load (scale.ts). Prints a line for each, and exits with 1 at the first violation.
 */
import { parseArgs } from 'node:util';
import { exitOnSignals, thisProcess } from '../../harness/owner.ts';
import { noPostgres } from '../../harness/postgres.ts';
import { ScaleRun } from './scale.ts';

exitOnSignals();
const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '100' }, seed: { type: 'string' }, 'no-kit': { type: 'boolean' } },
});
const [rounds, seed] = [values.rounds, values.seed ?? Date.now() % 1e6].map(Number) as [number, number];
try {
  if (!Number.isSafeInteger(rounds) || !Number.isSafeInteger(seed)) throw new Error('--rounds and --seed are integers');
  console.log(`seed ${seed}`);
  const run = new ScaleRun(thisProcess, seed, console.log);
  if (!await run.start()) throw new Error(noPostgres);
  await run.run(rounds);
  if (values['no-kit'] !== true) await run.checkConformance();
} catch (error) {
  console.error(`test:scale: ${(error as Error).message} (seed ${seed})`);
  process.exitCode = 1;
}
process.exit();
