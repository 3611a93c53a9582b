/** A server as a process of its own that tells what it uses. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { atExit } from './at-exit.ts';
import { pinServer } from './cores.ts';

/** What a process has used since it began. */
export interface Usage {
  /** CPU time in its own code, in microseconds. */
  readonly user: number;
  /** CPU time in the kernel on its behalf, in microseconds. */
  readonly system: number;
  /** Resident memory, in bytes. */
  readonly resident: number;
  /** The longest its event loop stood still since `watch`, in milliseconds. */
  readonly stall: number;
  /** The same, without the time in which it waited for a core that another thread had; NaN where the system does not tell. */
  readonly ownStall: number;
}

export interface ProgramOptions {
  /** Node's own flags. */
  readonly nodeArgs?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A server could not be started: one line that says why. */
export class NotStarted extends Error {
  override readonly name = 'NotStarted';
}

/** The line of a program's stderr that says why it ended: the error where Node shows one with its stack, else the last. */
export function complaintIn(stderr: string): string | undefined {
  const lines = stderr.trim().split('\n');
  return (lines.findLast((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1)) || undefined;
}

/** Whoever asks a server hears of its end sooner than whoever started it. */
const endIsToldMs = 200;

const probe = new URL('probe.mjs', import.meta.url).href;

export class Program {
  readonly #child: ChildProcess;
  readonly #ended: Promise<Error>;
  readonly pid: number;
  /** What it listens on: `http://127.0.0.1:8080`, and perhaps a path. */
  readonly address: string;
  /** From the start of the process until it said that it listens, in milliseconds. */
  readonly startMs: number;

  /**
   * Starts `node program`, and waits until it prints what it is `listening on`.
   *
   * @throws NotStarted with what it complained of
   */
  static async start(program: URL, { nodeArgs = [], args = [], env = {} }: ProgramOptions = {}): Promise<Program> {
    const startedAt = performance.now();
    const child = spawn(process.execPath, [...nodeArgs, '--import', probe, fileURLToPath(program), ...args], {
      env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      serialization: 'advanced', // NaN stays NaN
    });
    pinServer(child.pid!);
    const stays = atExit(() => child.kill('SIGKILL'));
    let complaints = '';
    const ended = once(child, 'close').then(([code, signal]) => {
      stays();
      return new Error(`the server ended while it was measured (${[signal ?? `exit code ${code}`, complaintIn(complaints) ?? []].flat().join('; ')})`);
    });
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (complaints = (complaints + text).slice(-10_000)));
    let shown = '';
    const address = await new Promise<string | undefined>((resolve) => {
      child.stdout!.setEncoding('utf8').on('data', (text: string) => {
        shown += text;
        const found = /listening on (http:\S+)\n/.exec(shown);
        if (found !== null) resolve(found[1]);
      });
      void ended.then(() => resolve(undefined));
    });
    if (address === undefined) throw new NotStarted(complaintIn(complaints) ?? 'it ended without a word');
    return new Program(child, ended, address, performance.now() - startedAt);
  }

  private constructor(child: ChildProcess, ended: Promise<Error>, address: string, startMs: number) {
    this.#child = child;
    this.#ended = ended;
    this.pid = child.pid!;
    this.address = address;
    this.startMs = startMs;
  }

  /** What it has used until now. */
  usage(): Promise<Usage> {
    return this.#ask('usage');
  }

  /** The same; from now on it watches how long its event loop stands still. */
  watch(): Promise<Usage> {
    return this.#ask('watch');
  }

  /** Ends it: SIGTERM, or in 5 s SIGKILL. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 5_000);
    await this.#ended;
    clearTimeout(timer);
  }

  /** What the task gives. If it fails, and the server has ended, then that is why, and what is told. */
  async during<T>(task: Promise<T>): Promise<T> {
    try {
      return await task;
    } catch (error) {
      throw (await Promise.race([this.#ended, sleep(endIsToldMs)])) ?? error;
    }
  }

  async #ask(question: 'usage' | 'watch'): Promise<Usage> {
    this.#child.send(question, () => {}); // a process that has ended is told of below
    const answer = await Promise.race([once(this.#child, 'message'), this.#ended]);
    if (answer instanceof Error) throw answer;
    return answer[0] as Usage;
  }
}
