/** Ends programs and removes temporary folders when their owner ends: a test, or this process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The part of node:test's context that the harness uses. */
export interface Owner {
  /** Runs `end` when the owner ends. */
  after(end: () => unknown): void;
}

const ends: (() => unknown)[] = [];

process.once('exit', () => {
  // In reverse order: a server is killed before the folder that it writes to is removed.
  for (const end of ends.reverse()) end();
});

/** This process, however it exits. The functions that run then must be synchronous. */
export const thisProcess: Owner = { after: (end) => void ends.push(end) };

const signals = [['SIGINT', 2], ['SIGTERM', 15], ['SIGHUP', 1]] as const;

/**
 * Makes SIGINT, SIGTERM and SIGHUP exit with 128 and the signal's number, so that what `thisProcess` owns ends. A
 * Ctrl-C can arrive twice, from the terminal and from npm: the handlers stay installed, so that the second one does not
 * interrupt the clean-up.
 */
export function exitOnSignals(): void {
  for (const [signal, number] of signals) process.on(signal, () => process.exit(128 + number));
}

/** Signals within this time count as one Ctrl-C: the terminal sends it to every process, and npm passes it on. */
const sameSignalMs = 1_000;

/**
 * Returns a signal that the first SIGINT, SIGTERM or SIGHUP aborts, so that a run can end and report what it has found.
 * A later one exits at once.
 *
 * @param reason makes the reason of the abort from the name of the signal and the exit code, 128 and its number
 */
export function abortOnSignals(reason: (signal: NodeJS.Signals, exitCode: number) => Error): AbortSignal {
  const controller = new AbortController();
  let abortedAt = 0;
  for (const [signal, number] of signals) {
    process.on(signal, () => {
      if (controller.signal.aborted) {
        if (performance.now() - abortedAt >= sameSignalMs) process.exit(128 + number);
        return;
      }
      abortedAt = performance.now();
      controller.abort(reason(signal, 128 + number));
    });
  }
  return controller.signal;
}

/** Creates an empty folder, which is removed with its owner, and returns its path. */
export function temporaryFolder(owner: Owner): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-'));
  owner.after(() => {
    // A server that is still running may write. rmSync repeats only the removal of the folder, not of new files in it.
    for (let attempt = 1; ; attempt++) {
      try {
        return rmSync(folder, { recursive: true, force: true, maxRetries: 4, retryDelay: 50 });
      } catch (error) {
        if (attempt === 5) throw error;
      }
    }
  });
  return folder;
}
