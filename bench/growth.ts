/** `npm run bench:growth`: how the cost of requests and starts depends on the number of animals. */
import { integer } from '../conformance/options.ts';
import { grouped } from '../conformance/report/words.ts';
import { distFolder } from '../harness/server.ts';
import { folderBeforeSnapshot, measureSnapshot, type Snapshot } from './growth/snapshot.ts';
import { create, workloadsOf } from './growth/workloads.ts';
import { burstsNote, quickBursts, thoroughBursts, type BurstSample } from './measure/bursts.ts';
import { machineLine, quickRun, runBench, thoroughRun, type Findings, type Machine } from './measure/command.ts';
import { figureColumn, ratioColumn, resultTable, runExperiments, withoutProblems } from './measure/experiments.ts';
import { copyOf, filledFolder, makeLimitedKey, startBuild, unlimited } from './measure/own-server.ts';
import { progress } from './measure/progress.ts';
import { burstsOf, stopTargets, withClients } from './speed/check.ts';

const smallAnimals = 1_000;
/** The snapshot of many more animals is longer than the longest string that `JSON.parse` can read. */
const maxAnimals = 5_000_000;
/** Enough to measure a snapshot: a larger one only takes longer. */
const maxSnapshotAnimals = 1_000_000;
/** So many different requests that little of what they read in a large folder is in the processor's fastest caches. */
const thoroughRequests = 30_000;
const quickRequests = 1_000;

const columns = (small: string) => [
  ratioColumn<keyof BurstSample>(`CPU ÷ ${small}`, 'cpu', small),
  figureColumn<keyof BurstSample>('CPU, µs', 'cpu', 1),
  figureColumn<keyof BurstSample>('start, ms', 'startMs', 0),
  figureColumn<keyof BurstSample>('start, CPU ms', 'startCpuMs', 0),
  figureColumn<keyof BurstSample>('memory after the start, MB', 'resident', 0, 1e6),
];
const snapshotColumns = [
  figureColumn<keyof Snapshot>('longest event loop delay under load, ms', 'during', 1),
  figureColumn<keyof Snapshot>('of the load alone, ms', 'without', 1),
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

  progress(`filling data folders with ${grouped(smallAnimals)} and ${grouped(animals)} animals`);
  const small = await stockOf(...(await filledFolder(smallAnimals)));
  const large = await stockOf(...(await filledFolder(animals)));
  const beforeSnapshot = await stockOf(...(await folderBeforeSnapshot(Math.min(animals, maxSnapshotAnimals))));
  const onLarge = workloadsOf(large.animals, requestCount);
  const groups = workloadsOf(small.animals, requestCount).map((workload, i) =>
    [{ ...small, workload }, { ...large, workload: onLarge[i]! }]);
  const results = withoutProblems(
    await runExperiments(groups.map((group) => burstsOf(group, bursts)), processes),
  );
  const snapshots: Snapshot[] = [];
  for (let pass = 1; pass <= processes; pass++) {
    progress(`snapshot ${pass} of ${processes} under load`);
    const target = await beforeSnapshot.start();
    snapshots.push(await withClients([{ target, workload: create }], ([client]) =>
      target.process.during(measureSnapshot(target, client!))).finally(() => stopTargets([target])));
  }
  return {
    paragraphs: [
      resultTable(results, columns(small.name)),
      resultTable([{ workload: 'snapshot', target: beforeSnapshot.name, samples: snapshots }], snapshotColumns),
      'The start includes that of Node. The load is 16 connections that create without a pause.',
      burstsNote(bursts, processes),
      machineLine(here),
    ],
    results: { results, snapshots },
  };
}

/** A data folder with animals 1 to `animals` and a key, and how a server starts on a copy of it. */
async function stockOf(folder: string, animals: number) {
  const key = await makeLimitedKey(folder, unlimited);
  const start = async () => ({ ...(await startBuild(distFolder, copyOf(folder))), keys: { full: [key] } });
  return { name: `${grouped(animals)} animals`, animals, start };
}
