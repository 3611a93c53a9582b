import { writeSync } from 'node:fs';
import { escapeControlCharacters } from '../domain/control-characters.ts';
import { messageOf } from '../domain/operator-error.ts';
import { asCalled, logLine, log } from '../program/program.ts';

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

/** What a command prints: texts that are empty or end in LF. */
export interface Printed {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number;
}

/** Returns what a command with this outcome prints, with control characters escaped. */
export function printed(outcome: Outcome, asJson: boolean): Printed {
  const { report, text = [], problems = [], note, warning = null, unsynced = null } = outcome;
  const lines = asJson ? JSON.stringify(report, null, 2).split('\n') : text;
  const errors = [
    ...problems.map((problem) => logLine(asCalled(problem))),
    ...(asJson || note === undefined ? [] : [`${escapeControlCharacters(note)}\n`]),
    ...[warning, unsynced].flatMap((line) => (line === null ? [] : [logLine(asCalled(line))])),
  ];
  return {
    stdout: lines.map((line) => `${escapeControlCharacters(line)}\n`).join(''),
    stderr: errors.join(''),
    exitCode: outcome.exitCode ?? (problems.length > 0 || unsynced !== null ? 1 : 0),
  };
}

/** Prints the outcome of a command, and sets the exit code of the process. */
export function printOutcome(outcome: Outcome, asJson: boolean): void {
  const { stdout, stderr, exitCode } = printed(outcome, asJson);
  const isLost = outcome.hasSecret === true && !writeSecret(stdout);
  if (outcome.hasSecret !== true && stdout !== '') process.stdout.write(stdout);
  if (stderr !== '') process.stderr.write(stderr);
  process.exitCode = isLost ? 1 : exitCode;
}

/** Writes a text with a secret to stdout or, if that fails, to stderr. Returns whether stdout has it. */
function writeSecret(text: string): boolean {
  try {
    writeSync(process.stdout.fd, text);
    return true;
  } catch (error) {
    log(`cannot write the new secret to stdout (${messageOf(error)}), so it follows here`);
    process.stderr.write(text);
    return false;
  }
}
