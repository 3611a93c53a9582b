/** What the user tells the bench: flags -> options, or one clear line. */
import { integer } from '../../conformance/options.ts';
import { helpEnd, readFlags } from '../command.ts';

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

${helpEnd('growth')}
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
  const given = readFlags(args, flags);
  if (given.help === true) return 'help';
  return { animals: integer('--animals', given.animals ?? '1000000', 2 * smallAnimals, mostAnimals), quick: given.quick ?? false };
}
