/** What the speed benches share as commands: their flags, the machine, their output, the results and the exit code. */
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ParseArgsConfig } from 'node:util';
import { parseFlags, UsageError } from '../../conformance/options.ts';
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

/**
 * Describes this machine and the command that runs a script of package.json. Unless `pins` is false, it keeps this
 * process, the load generator, to cores of its own.
 */
function machine(script: string, pins: boolean) {
  const cores = availableParallelism(); // before this process is limited to some of them
  if (pins) pinGenerator();
  const flags = process.argv.slice(2);
  return {
    cores,
    cpu: cpus()[0]?.model.trim() || process.arch,
    memoryBytes: totalmem(),
    os: `${type()} ${release()}`,
    node: process.version,
    date: new Date().toISOString(),
    command: ['npm run', script, ...(flags.length === 0 ? [] : ['--', ...flags])].join(' '),
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
const quickNote = 'A quick run: its figures only show that the bench works.';

type Flags = NonNullable<ParseArgsConfig['options']>;

const commonFlags = {
  quick: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h' },
} as const;

export interface Bench<F extends Flags> {
  /** `costs`: the results are in costs.json. */
  readonly name: string;
  /** The script in package.json; `bench:` and the name if absent. */
  readonly script?: string;
  /** The help text between the usage and the flags. */
  readonly about: string;
  /** Its flags besides --quick and --help, and their lines of the help text. */
  readonly flags?: F;
  readonly flagsHelp?: string;
  /** What exit code 0 says, and that 1 says the opposite. */
  readonly exitCode?: string;
  /** False: the load generator has no cores of its own. */
  readonly pins?: false;
  readonly measure: (given: Given<F>, here: Machine) => Promise<Findings>;
}

/** The values of the flags. */
type Given<F extends Flags> =
  ReturnType<typeof parseFlags<{ readonly options: F & typeof commonFlags }>>['values'] & { readonly quick: boolean };

export interface Findings {
  /** For the terminal. */
  readonly paragraphs: readonly string[];
  /** Members of the file of results. */
  readonly results: object;
  /** What exceeds its bound, a line each. Ignored in a quick run. */
  readonly exceeded?: readonly string[];
}

/** Runs a bench to the end of this process. Exit code 2 if it could not be measured, 1 if a bound is exceeded. */
export async function runBench<F extends Flags>(bench: Bench<F>): Promise<never> {
  const { name, script = `bench:${name}`, about, flagsHelp = '', exitCode = '0 it was measured' } = bench;
  exitOnSignals();
  try {
    const options = { ...bench.flags, ...commonFlags } as F & typeof commonFlags;
    const given = parseFlags({ options }).values as Given<F>;
    if ('help' in given) {
      const lines = `${flagsHelp}  --quick           one short run, which shows only that everything works\n  --help\n`;
      const end = `Writes bench/results/${name}.json (BENCH_RESULTS=DIR: to another folder).
Exit code: ${exitCode}, 2 it could not be measured.`;
      process.stdout.write(`Usage: npm run ${script} [-- options]\n\n${about}\n\n${lines}\n${end}\n`);
      process.exit();
    }
    const file = resultsFile(name);
    const here = machine(script, bench.pins ?? true);
    const { paragraphs, results, exceeded = [] } = await bench.measure(given, here);
    endProgress();
    console.log([...paragraphs, ...(given.quick ? [quickNote] : [])].join('\n\n'));
    writeFileSync(file, `${JSON.stringify({ machine: here, ...results }, null, 2)}\n`);
    console.log(`\nResults: ${file}`);
    if (given.quick || exceeded.length === 0) process.exit();
    for (const line of exceeded) console.error(`${script}: ${line}`);
    process.exit(1);
  } catch (error) {
    endProgress();
    const expected = error instanceof UsageError || error instanceof NotStarted;
    const message = expected ? error.message : `the bench failed: ${(error as Error).stack}`;
    process.stderr.write(`${script}: ${message}\n`);
    process.exit(2);
  }
}

/**
 * The path of NAME.json in bench/results/, or in the folder BENCH_RESULTS. The folder is created before a long run.
 *
 * @throws UsageError if it cannot be written to
 */
function resultsFile(name: string): string {
  const folder = process.env['BENCH_RESULTS'] ?? fileURLToPath(new URL('../results/', import.meta.url));
  try {
    makeWritable(folder);
  } catch (error) {
    const { message } = error as Error;
    throw new UsageError(`cannot write results to ${folder} (${message}): BENCH_RESULTS=DIR names another folder`);
  }
  return join(folder, `${name}.json`);
}
