/** What the speed and growth benches share as commands: the machine, the results file, and the exit code. */
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../../conformance/options.ts';
import { makeWritable } from '../../conformance/report/folder.ts';
import { exitOnSignals } from '../../harness/owner.ts';
import { NotStarted } from '../../harness/program.ts';
import { arePinned, pinGenerator } from './cores.ts';
import type { Duration } from './load.ts';
import { endProgress } from './progress.ts';

/**
 * The machine and the command that figures come from, and whether servers and load generator have cores of their own.
 */
export type Machine = ReturnType<typeof machine>;

/** Describes this machine, and unless `pins` is false keeps this process, the load generator, to cores of its own. */
export function machine(pins = true) {
  const cores = availableParallelism(); // before this process is limited to some of them
  if (pins) pinGenerator();
  const [, program = '', ...args] = process.argv;
  const script = process.env['npm_lifecycle_event'] ?? '';
  // npm passes its variables on to every process that its script starts.
  const direct = `node --import tsx ${relative(process.cwd(), program)}`;
  const command = script.startsWith('bench') ? `npm run ${script} --` : direct;
  const given = script === 'bench:peers' ? args.slice(1) : args; // the script itself adds --peers
  return {
    cores,
    cpu: cpus()[0]?.model.trim() || process.arch,
    memoryBytes: totalmem(),
    os: `${type()} ${release()}`,
    node: process.version,
    date: new Date().toISOString(),
    command: [command, ...given].join(' ').replace(/ --$/, ''),
    pinned: arePinned(),
  };
}

/** The machine in one line of text. */
export function machineLine({ cores, cpu, memoryBytes, os, node, date, command, pinned }: Machine): string {
  const hardware = `${cores} ${cores === 1 ? 'core' : 'cores'} of ${cpu}, ${(memoryBytes / 2 ** 30).toFixed(1)} GiB`;
  const sharing = pinned ? '' : '; servers and load generator share cores: expect more noise';
  return `${command}: ${hardware}, ${os}, Node ${node}, ${date.slice(0, 10)}${sharing}`;
}

/** How much a bench measures. */
export interface Thoroughness extends Duration {
  /** Fresh processes of each target. */
  readonly processes: number;
}

export const thoroughRun: Thoroughness = { processes: 3, seconds: 1, warmUp: { requests: 30_000, seconds: 4 } };

/** One process and few requests: shows only that a bench works. */
export const quickRun: Thoroughness = { processes: 1, seconds: 0.05, warmUp: { requests: 1, seconds: 1 } };
export const quickNote = 'A quick run: its figures only show that the bench works.';

/**
 * The path of NAME.json in bench/results/, or in the folder BENCH_RESULTS. The folder is created before a long run.
 *
 * @throws UsageError if it cannot be written to
 */
export function resultsFile(name: string): string {
  const folder = process.env['BENCH_RESULTS'] ?? fileURLToPath(new URL('../results/', import.meta.url));
  try {
    makeWritable(folder);
  } catch (error) {
    const { message } = error as Error;
    throw new UsageError(`cannot write results to ${folder} (${message}): BENCH_RESULTS=DIR names another folder`);
  }
  return join(folder, `${name}.json`);
}

/** Prints the end of a bench's output and writes its results. */
export function writeResults(file: string, results: object): void {
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
  console.log(`\nResults: ${file}`);
}

/** The last lines of a help text. */
export function helpEnd(name: string): string {
  return `Writes bench/results/${name}.json (BENCH_RESULTS=DIR: to another folder).
Exit code: 0 it was measured, 2 it could not be measured.`;
}

/** Runs a bench to the end of this process. The exit code is `process.exitCode` or 0 if it was measured, and 2 if not. */
export async function runBench(script: string, work: () => Promise<void>): Promise<never> {
  exitOnSignals();
  try {
    await work();
    process.exit(); // with process.exitCode, or 0
  } catch (error) {
    endProgress();
    const expected = error instanceof UsageError || error instanceof NotStarted;
    const message = expected ? error.message : `the bench failed: ${(error as Error).stack}`;
    process.stderr.write(`${script}: ${message}\n`);
    process.exit(2);
  }
}
