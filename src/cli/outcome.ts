import { writeSync } from 'node:fs';
import { escapeControlCharacters } from '../domain/control-characters.ts';
import { messageOf } from '../domain/operator-error.ts';
import { log } from '../program/program.ts';

/** The result of a command, for both forms in which `petstore` prints it: text and JSON. */
export interface Outcome {
  /** What --json prints: docs/server.md, "JSON output". */
  readonly report: unknown;
  /** Lines for stdout, without --json. */
  readonly text?: readonly string[];
  /** Whether the text or the report contains a new secret, of which there is no other copy. */
  readonly hasSecret?: boolean;
  /** What is wrong, one line each: for stderr, in both forms. */
  readonly problems?: readonly string[];
  /** What the operator should know about what was done, in one line for stderr, in both forms; null if nothing. */
  readonly warning?: string | null;
  /** One line for stderr that says what was done, without --json. */
  readonly note?: string;
  /** Why a power cut may undo what was done, in one line for stderr, in both forms; null if it is on disk. */
  readonly unsynced?: string | null;
  /** By default 0, or 1 if there are problems or the change is unsynced. */
  readonly exitCode?: number;
}

/** Prints the outcome of a command, with control characters escaped, and sets the exit code of the process. */
export function printOutcome(outcome: Outcome, asJson: boolean): void {
  const { report, text = [], hasSecret = false, problems = [], note, warning = null, unsynced = null } = outcome;
  const lines = (asJson ? JSON.stringify(report, null, 2).split('\n') : text).map(escapeControlCharacters);
  const isLost = hasSecret && !writeSecret(lines);
  if (!hasSecret && lines.length > 0) console.log(lines.join('\n'));
  for (const problem of problems) log(problem);
  if (!asJson && note !== undefined) console.error(escapeControlCharacters(note));
  if (warning !== null) log(warning, 'warn');
  if (unsynced !== null) log(unsynced);
  process.exitCode = outcome.exitCode ?? (problems.length > 0 || unsynced !== null || isLost ? 1 : 0);
}

/** Writes lines with a secret to stdout or, if that fails, to stderr. Returns whether stdout has them. */
function writeSecret(lines: readonly string[]): boolean {
  const text = `${lines.join('\n')}\n`;
  try {
    writeSync(process.stdout.fd, text);
    return true;
  } catch (error) {
    log(`cannot write the new secret to stdout (${messageOf(error)}), so it follows here`);
    process.stderr.write(text);
    return false;
  }
}
