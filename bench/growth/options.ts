/** What the user tells the bench: flags -> options, or one clear line. */
import { parseArgs } from 'node:util';
import { integer, UsageError } from '../../conformance/options.ts';

export interface Options {
  /** How many animals the large shop has. */
  readonly animals: number;
  readonly quick: boolean;
}

/** How many animals the small shop has. */
export const smallAnimals = 1_000;

/** Of more, the snapshot is longer than a string can be that `JSON.parse` takes. */
const mostAnimals = 5_000_000;

export const help = `Usage: npm run bench:growth -- [options]

Measures what it costs this project's own server to hold 1,000,000 animals, against 1,000: pages, creates, the start, memory, and
how long the event loop stands still while a snapshot is written. About four minutes, 700 MB in the folder for temporary files.

  --animals N   how many animals the large shop has (default 1000000)
  --quick       a few short rounds: to see that it runs, not to believe its figures
  --help

Exit code: 0 it was measured, 2 it could not be.
`;

const flags = {
  animals: { type: 'string' },
  quick: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/**
 * The options that the flags give, or that the help was asked for.
 *
 * @throws UsageError that names the flag and the rule
 */
export function readOptions(args: readonly string[]): Options | 'help' {
  let given;
  try {
    given = parseArgs({ args: [...args], options: flags }).values;
  } catch (error) {
    // Node's message names the flag first, and then explains itself at length.
    throw new UsageError(`${(error as Error).message.split(/\. |\n/)[0]!.replace(/\.$/, '')}; --help shows all options`);
  }
  if (given.help === true) return 'help';
  return { animals: integer('--animals', given.animals ?? '1000000', 2 * smallAnimals, mostAnimals), quick: given.quick ?? false };
}
