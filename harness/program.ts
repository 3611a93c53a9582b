/** Programs as child processes. */
import { spawn, type ChildProcessWithoutNullStreams, type SpawnOptionsWithoutStdio } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Owner } from './owner.ts';

/** A program could not be started, or has failed. The message is one line. */
export class NotStarted extends Error {
  override readonly name = 'NotStarted';
}

export interface Ended {
  /** The exit code, or null after a signal. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const root = fileURLToPath(new URL('..', import.meta.url));

/** A running program. It is killed when its owner ends, unless it has ended before. */
export class Program {
  readonly child: ChildProcessWithoutNullStreams;
  /** When it was started, by `performance.now()`. */
  readonly startedAt = performance.now();
  stdout = '';
  stderr = '';
  /** The exit code and the output, once the program has ended. */
  readonly ended: Promise<Ended>;

  /**
   * Starts a command in the root folder of the project.
   *
   * @param command the program and its arguments
   * @param env environment variables; PATH is added
   * @param options another folder, or another user if this process is root's
   */
  constructor(
    owner: Owner,
    command: readonly string[],
    env: NodeJS.ProcessEnv = {},
    options: Pick<SpawnOptionsWithoutStdio, 'cwd' | 'uid' | 'gid'> = {},
  ) {
    const [file = '', ...args] = command;
    this.child = spawn(file, args, { cwd: root, env: { PATH: process.env['PATH'], ...env }, ...options });
    this.child.stdin.on('error', () => {}); // the end of the program is reported instead
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.ended = new Promise((resolve) => {
      this.child.on('error', ({ message }) => (this.stderr += message)); // there is no such program
      this.child.on('close', (code) => resolve({ code, stdout: this.stdout, stderr: this.stderr }));
    });
    owner.after(() => this.kill());
  }

  /** Sends SIGKILL and waits for the end. */
  kill(): Promise<Ended> {
    return this.stop('SIGKILL');
  }

  /** Sends a signal and waits for the end. */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.child.kill(signal);
    return this.ended;
  }

  /**
   * Resolves with the match as soon as the output matches.
   *
   * @throws NotStarted if the program ends before that
   */
  async printed(pattern: RegExp, stream: 'stdout' | 'stderr' = 'stdout'): Promise<RegExpExecArray> {
    for (let over = false; ; ) {
      const match = pattern.exec(this[stream]);
      if (match !== null) return match;
      if (over) throw new NotStarted(reasonIn(this.stderr) ?? 'a program ended without a message');
      const more = once(this.child[stream], 'data').then(() => false);
      over = await Promise.race([more, this.ended.then(() => true)]);
    }
  }
}

/**
 * Waits for the end of a program, and returns its standard output.
 *
 * @throws NotStarted if the program fails
 */
export async function outputOf(ended: Promise<Ended>): Promise<string> {
  const { code, stdout, stderr } = await ended;
  if (code !== 0) throw new NotStarted(reasonIn(stderr) ?? 'a program failed without a message');
  return stdout;
}

/**
 * The line of a program's stderr that says why it ended: the error if Node printed one with its stack, else the last
 * line.
 */
export function reasonIn(stderr: string): string | undefined {
  const lines = stderr.trim().split('\n');
  return (lines.findLast((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1)) || undefined;
}
