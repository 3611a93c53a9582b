/** `npm run bench:growth`: how the cost of requests and starts depends on the number of animals. */
import { integer } from '../conformance/options.ts';
import { distFolder } from '../harness/server.ts';
import { folderBeforeSnapshot, measureSnapshot, type Snapshot } from './growth/snapshot.ts';
import { create, workloadsOf } from './growth/workloads.ts';
import { burstsNote, quickBursts, thoroughBursts, type BurstSample } from './measure/bursts.ts';
import { machineLine, quickRun, runBench, thoroughRun, type Findings, type Machine } from './measure/command.ts';
import { figureColumn, ratioColumn, resultTable, spread, spreadText } from './measure/experiments.ts';
import { copyOf, filledFolder, makeLimitedKey, startBuild, unlimited } from './measure/own-server.ts';
import { progress } from './measure/progress.ts';
import { runBursts, stopTargets, withClients } from './speed/check.ts';
import { table } from './table.ts';

const smallAnimals = 1_000;
/** The snapshot of many more animals is longer than the longest string that `JSON.parse` can read. */
const maxAnimals = 5_000_000;
/** Enough to measure a snapshot: a larger one only takes longer. */
const maxSnapshotAnimals = 1_000_000;
/** So many different requests that little of what they read in a large folder is in the processor's fastest caches. */
const thoroughRequests = 30_000;
const quickRequests = 1_000;

/** What the start of a server took, in milliseconds, and its memory after the start, in bytes. */
type Start = Readonly<Record<'ms' | 'cpuMs' | 'resident', number>>;

const columns = (small: string) => [
  ratioColumn<keyof BurstSample>(`CPU ÷ ${small}`, 'cpu', small),
  figureColumn<keyof BurstSample>('CPU, µs', 'cpu', 1),
];

await runBench({
  name: 'growth',
  about: `Measures what it costs this project's own server to hold 1,000,000 animals instead of 1,000: pages,
gets, creates, the start, memory, and how long the event loop is blocked while a snapshot is written.
Two servers run at the same time and receive bursts of requests in turn; the 10th percentile of the
bursts is compared, so rare work is missing. The small server has up to 65,000 animals after the
creates, and the snapshot has at most 1,000,000. About five minutes, and 350 MB in the folder for
temporary files.`,
  flags: { animals: { type: 'string', default: '1000000' } },
  flagsHelp: `  --animals N       how many animals the larger data folder has (default 1000000, at most 5000000)
`,
  measure: measureGrowth,
});

async function measureGrowth(
  given: { readonly animals: string; readonly quick: boolean }, here: Machine,
): Promise<Findings> {
  const animals = integer('--animals', given.animals, 2 * smallAnimals, maxAnimals);
  const { processes } = given.quick ? quickRun : thoroughRun;
  const bursts = given.quick ? quickBursts : thoroughBursts;
  const requestCount = given.quick ? quickRequests : thoroughRequests;

  progress(`filling data folders with ${count(smallAnimals)} and ${count(animals)} animals`);
  const small = await stockOf(...(await filledFolder(smallAnimals)));
  const large = await stockOf(...(await filledFolder(animals)));
  const beforeSnapshot = await stockOf(...(await folderBeforeSnapshot(Math.min(animals, maxSnapshotAnimals))));
  const starts: Start[] = [];
  const startLarge = async () => {
    const server = await large.start();
    const { startMs: ms, startCpuMs: cpuMs } = server.process;
    starts.push({ ms, cpuMs, resident: (await server.process.usage()).resident });
    return server;
  };
  const onLarge = workloadsOf(large.animals, requestCount);
  const groups = workloadsOf(small.animals, requestCount).map((workload, i) =>
    [{ ...small, workload }, { ...large, workload: onLarge[i]!, start: startLarge }]);
  const results = await runBursts(groups, processes, bursts);
  const snapshots: Snapshot[] = [];
  for (let pass = 1; pass <= processes; pass++) {
    progress(`snapshot ${pass} of ${processes} under load`);
    const target = await beforeSnapshot.start();
    snapshots.push(await withClients([{ target, workload: create }], ([client]) =>
      target.process.during(measureSnapshot(target, client!))).finally(() => stopTargets([target])));
  }
  const text = (value: (one: Start) => number) =>
    spreadText(spread(starts.map(value)), (figure) => figure.toFixed(0));
  const paragraphs = [
    resultTable(results, columns(small.name)),
    table([`start with ${large.name}`, 'duration, ms', 'CPU, ms', 'memory, MB'], [
      ['petstore', text(({ ms }) => ms), text(({ cpuMs }) => cpuMs), text(({ resident }) => resident / 1e6)],
    ]),
    table([`snapshot of ${beforeSnapshot.name}`, 'under load', 'the load alone'], [
      ['longest event loop delay, ms', ...periods(snapshots, 'stall')],
      ['slowest response, ms', ...periods(snapshots, 'slowest')],
    ]),
    'The start includes that of Node. The load is 16 connections that create without a pause.',
    burstsNote(bursts, processes),
    machineLine(here),
  ];
  return { paragraphs, results: { results, starts, snapshots } };
}

/** A data folder with animals 1 to `animals` and a key, and how a server starts on a copy of it. */
async function stockOf(folder: string, animals: number) {
  const key = await makeLimitedKey(folder, unlimited);
  const start = async () => ({ ...(await startBuild(distFolder, copyOf(folder))), key, spentKey: '' });
  return { name: `${count(animals)} animals`, animals, start };
}

function periods(snapshots: readonly Snapshot[], figure: 'stall' | 'slowest'): readonly string[] {
  return (['during', 'without'] as const).map((period) =>
    spreadText(spread(snapshots.map((one) => one[period][figure])), (ms) => ms.toFixed(1)));
}

function count(number: number): string {
  return number.toLocaleString('en');
}
