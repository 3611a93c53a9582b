/** Keeps the server and the load generator on separate cores, so that neither takes CPU time from the other. */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const last = availableParallelism() - 1;

let pinned = last > 0;

/** Moves this process, the load generator, off the server's core, where the system supports it. */
export function pinGenerator(): void {
  pin(process.pid, `1-${last}`);
}

/** Moves a server to its own core, where the system supports it. */
export function pinServer(pid: number): void {
  pin(pid, '0');
}

/** Lets a server use all cores. */
export function unpinServer(pid: number): void {
  pin(pid, `0-${last}`);
}

/** Whether every process so far was pinned as requested. */
export function arePinned(): boolean {
  return pinned;
}

/** `taskset` is a part of util-linux; without it, or with a single core, nothing is pinned. */
function pin(pid: number, cores: string): void {
  pinned &&= spawnSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)]).status === 0;
}
