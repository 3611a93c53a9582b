/** What `npm run bench` and `npm run bench:peers` have in common: their face, the run, the files, the exit code. */
import { barChart, type BarGroup } from '../chart.ts';
import { helpEnd, readFlags, runCommand } from '../command.ts';
import { arePinned, pinGenerator } from '../measure/cores.ts';
import { NotStarted } from '../measure/program.ts';
import { endProgress, progress } from '../measure/progress.ts';
import { machine, machineLine, resultsFolder, writeResults } from '../results.ts';
import { contest, type Outcome } from './contest.ts';
import { keepsItsHeap } from './contestants.ts';
import type { Field, FieldOptions } from './field.ts';
import { animals } from './rows.ts';

export interface Bench {
  /** Of its files: `speed`. */
  readonly name: string;
  /** The npm script that starts it. */
  readonly script: string;
  /** What it does, for --help. */
  readonly about: string;
  /** How many rounds are counted. */
  readonly rounds: number;
  /** How long each entry is measured in a round. */
  readonly seconds: number;
  /** How many servers of each contestant take turns. */
  readonly servers: number;
  /**
   * After how many requests a server counts as warm. Until then V8 still compiles: the first 10,000 requests take three times the CPU of later
   * ones, the 50,000th a tenth more; and their p99 goes on falling up to the 130,000th.
   */
  readonly warmRequests: number;
  /** Starts who takes part. Rejects with NotStarted if there is nothing to measure. */
  readonly open: (options: FieldOptions) => Promise<Field>;
  /** What to say of the outcomes. */
  readonly report: (outcomes: readonly Outcome[]) => Report;
  /** The versions of whatever else is measured, by name. */
  readonly versions?: () => Readonly<Record<string, string>>;
}

export interface Report {
  /** Printed one after the other, with a line between. */
  readonly texts: readonly string[];
  /** The ratios that matter. */
  readonly groups: readonly BarGroup[];
  /** Of those, what the chart shows, and its title. */
  readonly chart: readonly BarGroup[];
  readonly title: string;
}

const reading = "p50 and p99 are of all rounds together, without each one's first tenth; memory is the process's after its last load, whatever it was.";
const worthLittle = 'A quick run: its figures only show that the bench works.';

const options = { quick: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } } as const;

/** A run from the command line, to the end of the process. */
export function runBench(bench: Bench): Promise<never> {
  return runCommand(bench.script, async () => {
    const { quick = false, help = false } = readFlags(process.argv.slice(2), options);
    if (help) process.stdout.write(helpOf(bench));
    else await run(bench, quick);
  });
}

async function run(bench: Bench, quick: boolean): Promise<void> {
  // A quick one shows that all works; its figures are worth little.
  const { rounds, seconds, servers, warmRequests } = quick ? { rounds: 1, seconds: 0.05, servers: 1, warmRequests: 1 } : bench;
  const folder = resultsFolder();
  const here = machine();
  pinGenerator();
  const warm = { requests: warmRequests, seconds };
  const { entries, absent, notes, lacks, order } = await bench.open({ servers, warm, watch: progress });
  const pinned = arePinned();
  if (!pinned) {
    endProgress();
    process.stderr.write('  servers and load could not be kept to cores of their own: expect more noise\n');
  }
  if (entries.length === 0) throw new NotStarted(`there is nothing to measure: ${absent[0]?.problem}`);
  const minutes = Math.ceil((rounds * entries.length * (seconds + 0.1)) / 60); // between two loads there are connections to be opened
  progress(`${rounds} rounds of ${entries.length} loads, ${seconds} s each: about ${minutes} min`);
  const measured = await contest(entries, {
    rounds,
    seconds,
    watch: (round, { row, contestant }) => {
      const what = round > rounds ? 'checking the answers again' : `round ${round} of ${rounds}`;
      progress(what, `${row}, ${contestant}`);
    },
  });
  endProgress();
  const outcomes = [
    ...measured.map((outcome, i) => {
      const note = notes.get(entries[i]!);
      return note === undefined ? outcome : { ...outcome, note };
    }),
    ...absent,
  ].sort((a, b) => order.indexOf(a.contestant) - order.indexOf(b.contestant));
  const { texts, groups, chart, title } = bench.report(outcomes);
  const settings = { animals, rounds, secondsPerRound: seconds, serversOfEach: servers, nodeArgs: keepsItsHeap, pinned, quick };
  const spent = `${animals} animals, ${rounds} interleaved rounds of ${seconds} s, ${servers} servers of each in turn.`;
  const method = `${spent} Numbers: all rounds together; whiskers: quartiles of the rounds.${quick ? ` ${worthLittle}` : ''}`;
  const svg = barChart(title, `${method} ${machineLine(here)}`, chart);
  const versions = bench.versions?.() ?? {};
  const results = { format: 1, bench: bench.name, machine: here, settings, versions, lacks, ratios: groups, outcomes };
  const pinning = pinned ? 'server and load on cores of their own' : 'server and load NOT on cores of their own';
  const others = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
  const footer = [reading, `${machineLine(here)}; ${pinning}`, others.join(', '), quick ? worthLittle : ''].filter((line) => line !== '');
  const cannot = Object.entries(lacks).map(([name, lack]) => `${name}: ${lack}`);
  console.log([...texts, ...(cannot.length > 0 ? [`What they cannot do:\n${cannot.join('\n')}`] : []), footer.join('\n')].join('\n\n'));
  console.log(`\nResults: ${writeResults(folder, bench.name, results, svg).join(', ')}`);
}

function helpOf({ script, about, name }: Bench): string {
  return `Usage: npm run ${script} [-- --quick]

${about}

  --quick   one short round, to see that everything works: the figures are worth little
  --help

${helpEnd(name)}
`;
}
