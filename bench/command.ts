/** What the speed benches have in common as commands: flags, the end of their help, and how they end. */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { UsageError } from '../conformance/options.ts';
import { exitOnSignals } from './measure/at-exit.ts';
import { NotStarted } from './measure/program.ts';
import { endProgress } from './measure/progress.ts';

/**
 * The values of flags.
 *
 * @throws UsageError that names the flag
 */
export function readFlags<T extends NonNullable<ParseArgsConfig['options']>>(args: readonly string[], options: T) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    // Node's message names the flag first, and then explains itself at length.
    throw new UsageError(`${(error as Error).message.split(/\. |\n/)[0]!.replace(/\.$/, '')}; --help shows all options`);
  }
}

/** The last line of a help text. */
export function helpEnd(name: string): string {
  return `Writes bench/results/${name}.json and ${name}.svg (BENCH_RESULTS=DIR writes them elsewhere). Exit code: 0 it was measured, 2 it could not be.`;
}

/** Does the work of an npm script, and ends the process. It reports and does not judge: 0 if it ran, 2 if it could not. */
export async function runCommand(script: string, work: () => Promise<void>): Promise<never> {
  exitOnSignals();
  try {
    await work();
    process.exit(0);
  } catch (error) {
    endProgress();
    const expected = error instanceof UsageError || error instanceof NotStarted;
    process.stderr.write(`${script}: ${expected ? error.message : `the bench itself failed: ${(error as Error).stack}`}\n`);
    process.exit(2);
  }
}
