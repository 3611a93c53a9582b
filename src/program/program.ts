/** What both programs share: the log, the version, and how errors end the process. */
import { readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import type { Log } from '../observe/log.ts';
import { OperatorError } from '../domain/operator-error.ts';
import { describeError, systemError } from '../files/errors.ts';
import { eventLine } from '../observe/line.ts';

/** Clears the line of a terminal, in which there may be a progress bar. */
export const clearLine = process.stderr.isTTY ? '\r\x1b[K' : '';

/** Returns a message as a line of the log of a command: text that begins with the name of the program. */
export const logLine = (message: string): string => eventLine('text', 0, 'info', message);

/** The log of a command: one line of text on stderr. */
export const log: Log = (message) => {
  process.stderr.write(clearLine + logLine(message));
};

/** Quotes a word for a shell if necessary. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * Returns the command with which this program was called: `petstore`, or `node` with the path of `cli.js`, which
 * `pathText` shows.
 */
export function calledAs(pathText = shortPath): string {
  const path = process.argv[1] ?? 'petstore';
  return path.endsWith('.js') ? `node ${shellWord(pathText(join(dirname(path), 'cli.js')))}` : basename(path);
}

/**
 * Returns a message in which the commands that it advises (`"petstore …"`, in quotation marks) are written as this
 * program was called, with the same data folder or database.
 */
export function asCalled(message: string): string {
  return message.replace(/"petstore ([a-z][^"]*)"/g, (_, command: string) => {
    return `"${calledAs()} ${command}${/ --(data|database) /.test(command) ? '' : placeFlag()}"`;
  });
}

/** Returns the flag of the command line that says where the data is, without a password; '' if there is none. */
function placeFlag(): string {
  const options = { data: { type: 'string' }, database: { type: 'string' } } as const;
  const { data, database } = parseArgs({ args: process.argv.slice(2), options, strict: false }).values;
  if (typeof data === 'string') return ` --data ${shellWord(data)}`;
  if (typeof database !== 'string') return '';
  return ` --database ${shellWord(database.replace(/(:\/\/[^:@/]*):\S*@/, '$1@'))}`;
}

/** Returns a path as seen from the current folder, if it is in it. */
function shortPath(path: string): string {
  try {
    const short = relative('', path);
    return short.startsWith('..') ? path : short;
  } catch {
    return path; // the current folder was removed
  }
}

/** Returns the version of this program, from the package.json that the build writes beside it. */
export function version(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Ends the process without a message when the reader of stdout closes the pipe, as `head` does: it has what it wanted. */
export function endWithReader(): void {
  process.stdout.prependListener('error', ({ code }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') process.exit(process.exitCode ?? 0);
  });
}

/**
 * Runs a program. An error that the operator can correct becomes one line of its log and an exit code; any other is a
 * bug. `end` ends the process when the log is written. Errors in the command line are written to `usageLog`.
 */
export async function runProgram(
  main: () => Promise<void>, logError = log, end: (exitCode: number) => unknown = process.exit, usageLog = log,
): Promise<void> {
  process.stdout.on('error', (error) => {
    const { message, remedy } = describeError(error);
    logError(`cannot write to stdout: ${message}${remedy === undefined ? '' : `; ${remedy}`}`, 'error');
    end(1);
  });
  process.stderr.on('error', () => {}); // the reader of the log has closed it
  try {
    await main();
  } catch (error) {
    const isSystem = error instanceof Error && 'syscall' in error;
    if (!(error instanceof OperatorError) && !isSystem) throw error;
    const { message, exitCode } = systemError(error);
    const shown = asCalled(message);
    // A user who typed a wrong command line expects text, whatever the format of the log.
    (exitCode === 2 ? usageLog : logError)(shown, 'error');
    end(exitCode);
  }
}
