/** How the process of a server ends. */
import { messageOf } from '../domain/operator-error.ts';
import type { ServerLog } from '../observe/server-log.ts';

/** The time to write the end of the log to a reader that is slow. */
const logEndMs = 500;

/** Ends the process of a server when its log is written. */
export class Ending {
  readonly #log: ServerLog;
  readonly #deadlineMs: number;
  #stopping: Promise<never> | null = null;

  /** `deadlineMs`: when a stop is given up. Nothing confirmed is lost then: the next start reads the journal. */
  constructor(log: ServerLog, deadlineMs: number) {
    this.#log = log;
    this.#deadlineMs = deadlineMs;
  }

  /** Whether a signal has arrived that stops the server. */
  get isStopping(): boolean {
    return this.#stopping !== null;
  }

  /** Ends the process with an exit code, when the log is written. */
  async exit(exitCode: number): Promise<never> {
    const isBlocked = await this.#log.flushed(logEndMs);
    if (isBlocked) endAtOnce();
    process.exit(exitCode);
  }

  /** Ends the process because of a bug, with SIGKILL. */
  crash(error: unknown): void {
    this.#log.last(`the server ends because of a bug: ${error instanceof Error ? error.stack : String(error)}`);
    endAtOnce();
  }

  /**
   * Calls `stop` on the first of these signals, and ends the process: with exit code 0 if `stop` returns true, otherwise
   * 1. If `stop` takes too long, SIGKILL ends the process.
   */
  stopOnSignals(signals: readonly NodeJS.Signals[], stop: () => Promise<boolean>): void {
    const end = async (): Promise<never> => {
      setTimeout(() => {
        const what = `the files could not be saved within ${this.#deadlineMs / 1000} s`;
        this.#log.last(`${what}; the next start reads the journal instead`);
        endAtOnce();
      }, this.#deadlineMs);
      try {
        return await this.exit((await stop()) ? 0 : 1);
      } catch (error) {
        this.#log.event(`stopping failed: ${messageOf(error)}`, 'error');
        return this.exit(1);
      }
    };
    for (const signal of signals) process.on(signal, () => void (this.#stopping ??= end()));
  }
}

/**
 * Ends the process without waiting for file operations under way, for which `process.exit` waits: a disk may hang.
 * SIGKILL has no effect on the first process of a container that sends it to itself; there, SIGABRT ends it.
 */
function endAtOnce(): never {
  process.kill(process.pid, 'SIGKILL');
  process.abort();
}
