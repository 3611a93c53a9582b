/** What the server and the operator's command share as programs: their log, their version, how they fail. */
import { readFileSync } from 'node:fs';
import { OperatorError } from './domain/operator-error.ts';

/** Writes one line for the operator to stderr. */
export function log(line: string): void {
  // A path may hold line feeds and worse.
  const printable = line.replace(/\p{Cc}/gu, (control) => `\\u{${control.charCodeAt(0).toString(16)}}`);
  process.stderr.write(`petstore: ${printable}\n`);
}

/** The version of this program, from the package.json that the build puts beside it. */
export function version(): string {
  const text = readFileSync(new URL('package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Runs a program. What the operator can mend is told in one line, with its exit code; anything else is a bug. */
export async function runProgram(main: () => Promise<void>): Promise<void> {
  process.stdout.on('error', (error) => {
    log(`cannot write to stdout: ${error.message}`);
    process.exit(1);
  });
  process.stderr.on('error', () => {}); // there is nobody left to tell
  try {
    await main();
  } catch (error) {
    const system = error instanceof Error && 'syscall' in error;
    if (!(error instanceof OperatorError) && !system) throw error;
    log(error.message);
    process.exit(error instanceof OperatorError ? error.exitCode : 1);
  }
}
