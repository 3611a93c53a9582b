import { log } from '../program.ts';

/** What a command has done, for both forms in which `petstore` prints it. */
export interface Outcome {
  /** What --json prints: docs/server.md, "JSON output". */
  readonly report: unknown;
  /** Lines for stdout, without --json. */
  readonly text?: readonly string[];
  /** What is wrong, one line each: for stderr, in both forms. */
  readonly problems?: readonly string[];
  /** One line for stderr that says what was done, without --json. */
  readonly note?: string;
  /** Why a power cut may undo what was done, in one line for stderr, in both forms; null if it is on disk. */
  readonly unsynced?: string | null;
  /** By default 0, or 1 if there are problems or the change is unsynced. */
  readonly exitCode?: number;
}

/** Prints the outcome of a command, and sets the exit code of the process. */
export function printOutcome(outcome: Outcome, asJson: boolean): void {
  const { report, text = [], problems = [], note, unsynced = null, exitCode } = outcome;
  if (asJson) console.log(JSON.stringify(report, null, 2));
  else for (const line of text) console.log(line);
  for (const problem of problems) log(problem);
  if (!asJson && note !== undefined) console.error(note);
  if (unsynced !== null) log(unsynced);
  process.exitCode = exitCode ?? (problems.length > 0 || unsynced !== null ? 1 : 0);
}
