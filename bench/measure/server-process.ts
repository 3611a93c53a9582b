/** A server as a child process that reports the resources that it uses. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { atExit } from './at-exit.ts';
import { pinServer } from './cores.ts';

/** What a process has used since it started. */
export interface Usage {
  /** CPU time in its own code and in the kernel on its behalf, in microseconds. */
  readonly user: number;
  readonly system: number;
  /** Resident memory, in bytes. */
  readonly resident: number;
  /** The longest delay of its event loop since `watch`, in milliseconds; absent if it is not a Node process. */
  readonly stallMs?: number;
}

/** A server could not be started. The message is one line. */
export class NotStarted extends Error {
  override readonly name = 'NotStarted';
}

/**
 * The line of a program's stderr that says why it ended: the error if Node printed one with its stack, else the last
 * line.
 */
export function reasonIn(stderr: string): string | undefined {
  const lines = stderr.trim().split('\n');
  return (lines.findLast((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1)) || undefined;
}

/** A request to a server that was killed can fail before the exit of the process is reported. */
const exitReportMs = 200;
const stopTimeoutMs = 5_000;

const probe = new URL('probe.mjs', import.meta.url).href;

/** The command line of a Node program with the probe. */
export function nodeCommand(program: URL, ...args: readonly string[]): readonly string[] {
  return [process.execPath, '--import', probe, fileURLToPath(program), ...args];
}

export class ServerProcess {
  /** The address that it printed: `http://127.0.0.1:8080`, possibly with a path. */
  address = '';
  /** What the start took until it printed its address: time and CPU time, in milliseconds. */
  startMs = NaN;
  startCpuMs = NaN;
  readonly #child: ChildProcess;
  readonly #exited: Promise<Error>;
  readonly #lines: NodeJS.EventEmitter;

  /**
   * Starts a command and waits until it prints `listening on` and its address. On stdin it must understand the lines of
   * probe.mjs.
   *
   * @throws NotStarted with the reason that the program printed
   */
  static async start(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
    const startedAt = performance.now();
    const [file = '', ...args] = command;
    const child = spawn(file, args, {
      env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.on('error', () => {}); // the exit of the process is reported instead
    if (child.pid !== undefined) pinServer(child.pid);
    const cancelKill = atExit(() => child.kill('SIGKILL'));
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-10_000)));
    const exited = new Promise<Error>((resolve) => {
      child.once('error', resolve);
      child.once('close', (code, signal) => {
        cancelKill();
        const details = [signal ?? `exit code ${code}`, reasonIn(stderr) ?? []].flat().join('; ');
        resolve(new Error(`the server ended while it was measured (${details})`));
      });
    });
    const lines = createInterface({ input: child.stdout });
    const address = await new Promise<string | undefined>((resolve) => {
      lines.on('line', (line) => {
        const found = /listening on (http:\S+)$/.exec(line)?.[1];
        if (found !== undefined) resolve(found);
      });
      void exited.then(() => resolve(undefined));
    });
    if (address === undefined) throw new NotStarted(reasonIn(stderr) ?? `${file} ended without a message`);
    const started = new ServerProcess(child, exited, lines);
    const startMs = performance.now() - startedAt;
    const { user, system } = await started.usage();
    return Object.assign(started, { address, startMs, startCpuMs: (user + system) / 1000 });
  }

  private constructor(child: ChildProcess, exited: Promise<Error>, lines: NodeJS.EventEmitter) {
    this.#child = child;
    this.#exited = exited;
    this.#lines = lines;
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** What the process has used so far. `watch` also restarts the measurement of its event loop delay. */
  async usage(question: 'usage' | 'watch' = 'usage'): Promise<Usage> {
    this.#child.stdin!.write(`${question}\n`);
    for (;;) {
      const line = await Promise.race([once(this.#lines, 'line'), this.#exited]);
      if (line instanceof Error) throw line;
      const text = String(line[0]);
      if (text.startsWith('usage ')) return JSON.parse(text.slice('usage '.length)) as Usage;
    }
  }

  /** Stops the process: SIGTERM, and SIGKILL after 5 s. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopTimeoutMs);
    await this.#exited;
    clearTimeout(timer);
  }

  /** The result of `task`. If the task fails because the process has ended, the error says so. */
  async during<T>(task: Promise<T>): Promise<T> {
    try {
      return await task;
    } catch (error) {
      throw (await Promise.race([this.#exited, sleep(exitReportMs)])) ?? error;
    }
  }
}
