/** Test support: the built programs as processes, on free ports and in temporary folders. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

export const serverPath = fileURLToPath(new URL('../../dist/server.js', import.meta.url));
export const cliPath = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

/** Returns a new empty folder, which is removed when the test has ended. */
export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export interface Ended {
  /** The exit code, or null after a signal. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A running program. It is killed when the test ends, unless it has ended before. */
export class Program {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';
  /** The exit code and the output, once the program has ended. */
  readonly ended: Promise<Ended>;

  constructor(t: TestContext, command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.child = spawn(command, args, {
      env: { PATH: process.env['PATH'], ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.ended = once(this.child, 'close').then(([code]) => ({
      code: code as number | null,
      stdout: this.stdout,
      stderr: this.stderr,
    }));
    t.after(() => this.kill());
  }

  /** Sends SIGKILL and waits for the end. */
  async kill(): Promise<Ended> {
    this.child.kill('SIGKILL');
    return this.ended;
  }

  /** Sends SIGTERM and waits for the end. */
  async stop(): Promise<Ended> {
    this.child.kill('SIGTERM');
    return this.ended;
  }

  /** Resolves with the match as soon as stdout matches. Rejects if the program ends before. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    let over = false;
    void this.ended.then(() => (over = true));
    for (;;) {
      const match = pattern.exec(this.stdout);
      if (match !== null) return match;
      if (over) throw new Error(`ended without printing ${pattern}: ${this.stdout}${this.stderr}`);
      await Promise.race([once(this.child.stdout!, 'data'), this.ended]);
    }
  }
}

/** A built server that listens. */
export interface RunningServer extends Program {
  readonly address: string;
}

/** Starts `node dist/server.js --port 0 --data folder …` and waits until it listens. */
export async function startServer(
  t: TestContext,
  folder: string,
  args: readonly string[] = [],
): Promise<RunningServer> {
  const program = new Program(t, process.execPath, [serverPath, '--port', '0', '--data', folder, ...args]);
  const [, address] = await program.printed(/petstore listening on (http:\S+)\n/);
  return Object.assign(program, { address: address! });
}

/** Runs `node dist/cli.js …` to its end. */
export function petstore(t: TestContext, folder: string, ...args: string[]): Promise<Ended> {
  return new Program(t, process.execPath, [cliPath, ...args, '--data', folder]).ended;
}

/** Makes a key with the command and returns its secret. `more` are further flags. */
export async function makeKey(t: TestContext, folder: string, plan = 'business', ...more: string[]): Promise<string> {
  const { code, stdout, stderr } = await petstore(
    t, folder, 'keys', 'create', '--name', 'test', '--plan', plan, ...more,
  );
  if (code !== 0) throw new Error(stderr);
  return stdout.trimEnd();
}
