/** Test support: the kit as a process. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { thisProcess } from '../../harness/owner.ts';
import { Program, type Ended } from '../../harness/program.ts';
import type { Report } from '../report/report.ts';
import { apiKey, type Server } from './servers.ts';

/** How the kit is loaded: as compiled for the tests, if that is how this process was, otherwise with tsx. */
export const loader = process.execArgv.includes('./scripts/compiled.mjs') ? './scripts/compiled.mjs' : 'tsx';

/**
 * Starts `npm run conformance -- …` without the build, and with a fixed seed unless `args` has another. If `stdout` is
 * given, stdout is redirected to this file.
 */
export function startKit(args: readonly string[], environment: NodeJS.ProcessEnv = {}, stdout?: string): Program {
  const kit = [process.execPath, '--import', loader, 'conformance/run.ts', '--seed=1', ...args];
  const redirected = stdout === undefined ? [] : ['sh', '-c', `exec "$@" > ${stdout}`, 'sh'];
  return new Program(thisProcess, [...redirected, ...kit], environment);
}

/** Environment variables that make the system clock of a process step by `ms` milliseconds every two seconds. */
export function steppingClock(ms: number): NodeJS.ProcessEnv {
  const script = `
    const { now } = Date;
    Date.now = () => now() + Math.floor(performance.now() / 2_000) * ${ms};
    globalThis.Date = class extends Date {
      constructor(...values) { values.length === 0 ? super(Date.now()) : super(...values); }
    };`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(script)}` };
}

/** Runs the kit to its end, against a server if given, with the key in the environment. */
export function kit(server: Server | undefined, ...args: string[]): Promise<Ended> {
  const environment = server === undefined ? {} : { BASE_URL: server.baseUrl, API_KEY: server.apiKey };
  return startKit(args, environment).ended;
}

/** Runs the kit with Node's test runner. */
export function nodeTest(server: Server, options = ''): Promise<Ended> {
  const command = [process.execPath, '--import', loader, '--test', '--test-reporter=tap', 'conformance/tests.ts'];
  return new Program(thisProcess, command, {
    BASE_URL: server.baseUrl,
    API_KEY: server.apiKey,
    CONFORMANCE_OPTIONS: `--seed=1 ${options}`,
  }).ended;
}

/** The report that a run has written. */
export function reportIn(folder: string): Report {
  return JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as Report;
}

/** The ids of the processes whose command line contains a folder, for example servers on it; none without /proc. */
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
