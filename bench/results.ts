/** What a bench leaves behind: its figures with the machine they are from, and a chart. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

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
 * Writes NAME.json and NAME.svg into bench/results/, or into the folder that BENCH_RESULTS names. Gives their paths.
 *
 * @throws what the disk reports
 */
export function writeResults(name: string, results: object, svg: string): readonly string[] {
  const folder = process.env['BENCH_RESULTS'] ?? fileURLToPath(new URL('results/', import.meta.url));
  mkdirSync(folder, { recursive: true });
  const [json, chart] = [join(folder, `${name}.json`), join(folder, `${name}.svg`)];
  writeFileSync(json, `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(chart, svg);
  return [json, chart];
}
