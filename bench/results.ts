/** What a bench leaves behind: its figures with the machine they are from, and a chart. */
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from '../conformance/options.ts';
import { makeWritable } from '../conformance/report/folder.ts';

/** Where and by which command figures were measured. */
export interface Machine {
  readonly cpu: string;
  /** How many cores this process may use. */
  readonly cores: number;
  /** In bytes. */
  readonly memory: number;
  /** The operating system and its kernel: `Linux 6.1.0`. */
  readonly os: string;
  /** `v20.20.2` */
  readonly node: string;
  /** ISO 8601, in UTC. */
  readonly date: string;
  /** `npm run bench` */
  readonly command: string;
}

/** This machine, now. */
export function machine(): Machine {
  return {
    cpu: cpus()[0]?.model.trim() || process.arch,
    cores: availableParallelism(),
    memory: totalmem(),
    os: `${type()} ${release()}`,
    node: process.version,
    date: new Date().toISOString(),
    command: command(),
  };
}

function command(): string {
  const [, program = '', ...args] = process.argv;
  const script = process.env['npm_lifecycle_event'];
  // npm hands its variables down to whatever its script starts.
  if (script?.startsWith('bench')) return [`npm run ${script}`, ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
  return ['node --import tsx', relative(process.cwd(), program), ...args].join(' ');
}

/** The machine in one line of text. */
export function machineLine({ cpu, cores, memory, os, node, date, command }: Machine): string {
  const gigabytes = (memory / 2 ** 30).toFixed(1);
  return `${command}: ${cpu}, ${cores} ${cores === 1 ? 'core' : 'cores'}, ${gigabytes} GiB, ${os}, Node ${node}, ${date.slice(0, 10)}`;
}

/**
 * The folder for results: bench/results/, or the one that BENCH_RESULTS names. It is made now rather than after a long run.
 *
 * @throws UsageError if there can be none
 */
export function resultsFolder(): string {
  const folder = process.env['BENCH_RESULTS'] ?? fileURLToPath(new URL('results/', import.meta.url));
  return writing(folder, () => {
    makeWritable(folder);
    return folder;
  });
}

/**
 * Writes NAME.json and NAME.svg into the folder. Gives their paths.
 *
 * @throws UsageError if that fails
 */
export function writeResults(folder: string, name: string, results: object, svg: string): readonly string[] {
  const [json, chart] = [join(folder, `${name}.json`), join(folder, `${name}.svg`)];
  return writing(folder, () => {
    writeFileSync(json, `${JSON.stringify(results, null, 2)}\n`);
    writeFileSync(chart, svg);
    return [json, chart];
  });
}

function writing<T>(folder: string, task: () => T): T {
  try {
    return task();
  } catch (error) {
    throw new UsageError(`the results cannot be written to ${folder} (${(error as Error).message}): BENCH_RESULTS=DIR names another folder`);
  }
}
