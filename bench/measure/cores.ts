/** The server and the load generator on cores of their own, so that neither takes the other's time. */
import { spawnSync } from 'node:child_process';

/** The cores as `taskset` (util-linux) names them; undefined where there is none to spare, or no such command. */
const split = splitCores();

let pinned = split !== undefined;

/** Keeps this process, the load generator, off the server's core, where the system can. */
export function pinGenerator(): void {
  if (split !== undefined) keep(process.pid, split.generator);
}

/** Keeps a server to its core, where the system can. */
export function pinServer(pid: number): void {
  if (split !== undefined) keep(pid, split.server);
}

/** Whether all that were to be kept to cores have been, until now. */
export function arePinned(): boolean {
  return pinned;
}

function keep(pid: number, cores: string): void {
  pinned = taskset('--all-tasks', '--cpu-list', '--pid', cores, String(pid)) !== undefined && pinned;
}

/** Of the cores that this process may use: the first for the server, the others for the load. */
function splitCores(): { readonly server: string; readonly generator: string } | undefined {
  // `pid 123's current affinity list: 0-2,5`
  const list = /: ([\d,-]+)$/.exec(taskset('--cpu-list', '--pid', String(process.pid))?.trim() ?? '')?.[1] ?? '';
  const cores = list.split(',').flatMap((range) => {
    const [from = NaN, to = from] = range.split('-').map(Number);
    return Array.from({ length: Math.max(0, to - from + 1) || 0 }, (_, i) => from + i);
  });
  const [server, ...generator] = cores;
  return server === undefined || generator.length === 0 ? undefined : { server: String(server), generator: generator.join(',') };
}

function taskset(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('taskset', args, { encoding: 'utf8' });
  return status === 0 ? stdout : undefined;
}
