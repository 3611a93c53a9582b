/** Test support: the kit as a process. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Report } from '../report/report.ts';
import { apiKey, type Server } from './servers.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Ended {
  /** The exit code, or null after a signal. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The kit under way. */
export class Kit {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  readonly ended: Promise<Ended>;

  constructor(args: readonly string[], environment: NodeJS.ProcessEnv = {}) {
    this.child = spawn(process.execPath, args, {
      cwd: root,
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.ended = once(this.child, 'close').then(([code]) => ({
      code: code as number | null,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
  }

  /** Resolves as soon as stdout matches. */
  async printed(pattern: RegExp): Promise<void> {
    let over = false;
    void this.ended.then(() => (over = true));
    while (!pattern.test(this.stdout)) {
      if (over) throw new Error(`ended without printing ${pattern}: ${this.stdout}${this.stderr}`);
      await Promise.race([once(this.child.stdout!, 'data'), this.ended]);
    }
  }
}

/** Starts `npm run conformance -- …` without the build, and with a fixed seed unless `args` has another. */
export function startKit(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Kit {
  return new Kit(
    ['--import', 'tsx', '--test-reporter=./conformance/report/silent.ts', 'conformance/run.ts', '--seed=1', ...args],
    environment,
  );
}

/** Runs the kit to its end, against a server if given, with the key in the environment. */
export function kit(server: Server | undefined, ...args: string[]): Promise<Ended> {
  return startKit(args, server === undefined ? {} : { BASE_URL: server.baseUrl, API_KEY: server.apiKey }).ended;
}

/** Runs the checks with node's own test runner. */
export function nodeTest(server: Server, options = ''): Promise<Ended> {
  return new Kit(['--import', 'tsx', '--test', '--test-reporter=tap', 'conformance/tests.ts'], {
    BASE_URL: server.baseUrl,
    API_KEY: server.apiKey,
    CONFORMANCE_OPTIONS: `--seed=1 ${options}`,
  }).ended;
}

/** The report that a run has written. */
export function reportIn(folder: string): Report {
  return JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as Report;
}

/** The ids of the processes whose command line contains a folder, such as servers on it; none without /proc. */
export function processesOn(folder: string): number[] {
  if (!existsSync('/proc/self/cmdline')) return [];
  const isOnIt = (pid: string): boolean => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(folder);
    } catch {
      return false; // not a process, or one that has ended
    }
  };
  return readdirSync('/proc').filter(isOnIt).map(Number);
}

/** Asserts that no text contains the key or a third of it. */
export function assertNoKey(texts: readonly string[]): void {
  const third = Math.ceil(apiKey.length / 3);
  const pieces = [
    apiKey,
    Buffer.from(`${apiKey}:`).toString('base64'),
    ...[0, third, apiKey.length - third].map((at) => apiKey.slice(at, at + third)),
  ];
  for (const text of texts) {
    for (const piece of pieces) {
      const at = text.toLowerCase().indexOf(piece.toLowerCase());
      assert.equal(at, -1, `${piece} in: ${text.slice(Math.max(0, at - 200), at + 100)}`);
    }
  }
}
