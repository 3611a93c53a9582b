/** What both programs share: the log, the version, and how errors end the process. */
import { readFileSync } from 'node:fs';
import { OperatorError } from './domain/operator-error.ts';

/** Writes one line to stderr. */
export function log(line: string): void {
  // A path may contain line feeds and other control characters.
  const printable = line.replace(/\p{Cc}/gu, (control) => `\\u{${control.charCodeAt(0).toString(16)}}`);
  const clearLine = process.stderr.isTTY ? '\r\x1b[K' : ''; // there may be a progress bar
  process.stderr.write(`${clearLine}petstore: ${printable}\n`);
}

/** Returns the version of this program, from the package.json that the build writes beside it. */
export function version(): string {
  const text = readFileSync(new URL('package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Runs a program. An error that the operator can correct becomes one line and an exit code; any other is a bug. */
export async function runProgram(main: () => Promise<void>): Promise<void> {
  process.stdout.on('error', (error) => {
    log(`cannot write to stdout: ${error.message}`);
    process.exit(1);
  });
  process.stderr.on('error', () => {}); // the reader of the log has closed it
  try {
    await main();
  } catch (error) {
    const system = error instanceof Error && 'syscall' in error;
    if (!(error instanceof OperatorError) && !system) throw error;
    log(error.message);
    process.exit(error instanceof OperatorError ? error.exitCode : 1);
  }
}
