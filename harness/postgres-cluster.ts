/** The process of a PostgreSQL server. Its caller makes and removes the data folder. */
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NotStarted, Program } from './program.ts';

export interface ClusterOptions {
  /** The data folder. */
  readonly cwd: string;
  readonly uid?: number;
  readonly gid?: number;
}

/** A server that a test may stop, kill, pause or suspend. */
export class Cluster {
  /** Below the range of ephemeral ports on Linux, so that nobody takes it while the server is stopped. */
  readonly port = randomInt(20_000, 32_000);
  /** Of the database `postgres`. */
  readonly url = `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  readonly #options: ClusterOptions;
  readonly #command: readonly string[];
  #server: Program | undefined;
  /** The suspended processes, other than the first one. */
  #suspended: number[] = [];

  /**
   * @param postgres the path of the program
   * @param options its data folder, made by initdb, and its user
   */
  constructor(postgres: string, options: ClusterOptions) {
    const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'dynamic_shared_memory_type=mmap'];
    this.#command = [postgres, '-D', options.cwd, '-p', `${this.port}`, ...settings.flatMap((each) => ['-c', each])];
    this.#options = options;
  }

  /** The process that starts all others of the server. */
  get pid(): number | undefined {
    return this.#server?.child.pid;
  }

  /**
   * Starts the server, or starts it again after a stop, and waits until it accepts connections.
   *
   * @throws NotStarted with the reason that the server printed
   */
  async start(): Promise<void> {
    const server = new Program({ after: () => {} }, this.#command, {}, this.#options); // `end` ends it
    this.#server = server;
    await server.printed(/ready to accept connections/, 'stderr').catch((error: unknown) => {
      throw new NotStarted(/FATAL: .*/.exec(server.stderr)?.[0] ?? String(error));
    });
  }

  /**
   * Sends a signal, and waits until all processes of the server have ended. SIGKILL ends only the first one: the
   * others end when they notice that, which may be at the end of a statement.
   */
  async stop(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL' = 'SIGINT'): Promise<void> {
    await this.#server?.stop(signal);
  }

  /** Pauses the process that accepts connections. Existing connections continue to work. */
  pause(): void {
    this.#server?.child.kill('SIGSTOP');
  }

  /** Suspends all processes of the server: connections stay open, but nothing responds. */
  suspend(): void {
    this.pause(); // first, so that no further process begins
    const rows = execFileSync('ps', ['-A', '-o', 'ppid=,pid='], { encoding: 'utf8' }).trim().split('\n');
    const pairs = rows.map((row) => row.trim().split(/\s+/) as [parent: string, pid: string]);
    const others = pairs.filter(([parent]) => Number(parent) === this.#server?.child.pid).map(([, pid]) => Number(pid));
    this.#suspended = others.filter((pid) => signalled(pid, 'SIGSTOP'));
  }

  /** Ends `pause` and `suspend`. */
  resume(): void {
    for (const pid of this.#suspended.splice(0)) signalled(pid, 'SIGCONT');
    this.#server?.child.kill('SIGCONT');
  }

  /** Lets this process exit although the server runs. */
  unref(): void {
    const { child } = this.#server!;
    const handles = [child, child.stdin, child.stdout, child.stderr] as unknown as readonly { unref(): void }[];
    for (const handle of handles) handle.unref();
  }

  /** Ends the server synchronously, because no event arrives while a process exits. Waits at most 10 s. */
  end(): void {
    const child = this.#server?.child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGQUIT');
    this.resume();
    const lock = join(this.#options.cwd, 'postmaster.pid'); // which the server removes last
    const deadline = performance.now() + 10_000;
    const pause = new Int32Array(new SharedArrayBuffer(4));
    while (existsSync(lock) && performance.now() < deadline) Atomics.wait(pause, 0, 0, 5);
  }
}

/** Sends a signal. Returns false if the process has ended. */
function signalled(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}
