/** A server as a child process that reports the resources that it uses. */
import { setTimeout as sleep } from 'node:timers/promises';
import { thisProcess } from '../../harness/owner.ts';
import { Program, reasonIn } from '../../harness/program.ts';
import { pinServer } from './cores.ts';

/** The resources that a process has used since it started. */
export interface Usage {
  /** CPU time in its own code and in the kernel on its behalf, in microseconds. */
  readonly user: number;
  readonly system: number;
  /** Resident memory, in bytes. */
  readonly resident: number;
  /** The longest delay of its event loop since `watch`, in milliseconds; absent if it is not a Node process. */
  readonly stallMs?: number;
}

/** A request to a server that was killed can fail before the exit of the process is reported. */
const exitReportMs = 200;
const stopTimeoutMs = 5_000;

const probe = new URL('probe.mjs', import.meta.url).href;

/** The command line of a Node program with the probe. */
export function nodeCommand(path: string): readonly string[] {
  return [process.execPath, '--import', probe, path];
}

export class ServerProcess {
  /** The address that it printed: `http://127.0.0.1:8080`, possibly with a path. */
  readonly address: string;
  /** The time and CPU time from the start until it printed its address, in milliseconds. */
  readonly startMs: number;
  startCpuMs = NaN;
  readonly #program: Program;

  /** Starts a command, and waits for its address as `watch` does. */
  static start(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
    return ServerProcess.watch(new Program(thisProcess, command, { NODE_ENV: 'production', ...env }));
  }

  /**
   * Waits until a program that was just started prints `listening on` and its address. On stdin it must understand the
   * lines of probe.mjs.
   *
   * @throws NotStarted with the reason that the program printed
   */
  static async watch(program: Program): Promise<ServerProcess> {
    if (program.child.pid !== undefined) pinServer(program.child.pid);
    const [, address = ''] = await program.printed(/listening on (http:\S+)\n/);
    const started = new ServerProcess(program, address);
    const { user, system } = await started.usage();
    started.startCpuMs = (user + system) / 1000;
    return started;
  }

  private constructor(program: Program, address: string) {
    this.#program = program;
    this.address = address;
    this.startMs = performance.now() - program.startedAt;
  }

  get pid(): number {
    return this.#program.child.pid!;
  }

  /** The resources that the process has used so far. `watch` also restarts the measurement of its event loop delay. */
  async usage(question: 'usage' | 'watch' = 'usage'): Promise<Usage> {
    this.#program.stdout = '';
    this.#program.child.stdin.write(`${question}\n`);
    const [, usage = ''] = await this.during(this.#program.printed(/^usage (.+)\n/m));
    return JSON.parse(usage) as Usage;
  }

  /** Stops the process: SIGTERM, and SIGKILL after 5 s. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => void this.#program.kill(), stopTimeoutMs);
    await this.#program.stop();
    clearTimeout(timer);
  }

  /** The result of `task`. If the task fails because the process has ended, the error states that. */
  async during<T>(task: Promise<T>): Promise<T> {
    try {
      return await task;
    } catch (error) {
      const ended = await Promise.race([this.#program.ended, sleep(exitReportMs)]);
      if (ended === undefined) throw error;
      const end = this.#program.child.signalCode ?? `exit code ${ended.code}`;
      const details = [end, reasonIn(ended.stderr) ?? []].flat().join('; ');
      throw new Error(`the server ended while it was measured (${details})`);
    }
  }
}
