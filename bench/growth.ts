/** `npm run bench:growth`: how the cost of requests and starts depends on the number of animals. */
import { integer } from '../conformance/options.ts';
import { folderBeforeSnapshot, measureSnapshot, type Snapshot } from './growth/snapshot.ts';
import { workloads } from './growth/workloads.ts';
import { burstsNote, measureBursts, quickBursts, thoroughBursts, type BurstSample } from './measure/bursts.ts';
import { LoadClient } from './measure/client.ts';
import { machineLine, quickRun, runBench, thoroughRun, type Findings, type Machine } from './measure/command.ts';
import { figureColumn, ratioColumn, resultTable, spread, spreadText } from './measure/experiments.ts';
import type { OwnServer } from './measure/own-server.ts';
import { filledFolder, makeLimitedKey, unlimited, withServerOn } from './measure/own-server.ts';
import { progress } from './measure/progress.ts';
import { randomIntegers, type Random } from './measure/random.ts';
import { table } from './table.ts';

const smallAnimals = 1_000;
/** The snapshot of many more animals is longer than the longest string that `JSON.parse` can read. */
const maxAnimals = 5_000_000;
/** Enough to measure a snapshot: a larger one only takes longer. */
const maxSnapshotAnimals = 1_000_000;
const connections = 16;
/** So many different requests that little of what they read in a large folder is in the processor's fastest caches. */
const thoroughRequests = 30_000;
const quickRequests = 1_000;

/** A data folder with animals 1 to `animals` and a key. */
interface Stock {
  readonly name: string;
  readonly folder: string;
  readonly animals: number;
  readonly headers: Readonly<Record<string, string>>;
}

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
  const results = Object.keys(workloads).flatMap((workload) =>
    [small, large].map(({ name }) => ({ workload, target: name, samples: [] as BurstSample[] })));
  const starts: Start[] = [];
  const snapshots: Snapshot[] = [];
  for (let pass = 1; pass <= processes; pass++) {
    progress(`process ${pass} of ${processes} of each server`);
    await withServerOn(large.folder, async (largeServer) => {
      const { startMs: ms, startCpuMs: cpuMs } = largeServer.process;
      starts.push({ ms, cpuMs, resident: (await largeServer.process.usage()).resident });
      await withServerOn(small.folder, async (smallServer) => {
        for (const [index, name] of Object.keys(workloads).entries()) {
          progress(`process ${pass} of ${processes} of each server`, name);
          const samples = await measure(name as keyof typeof workloads, pass, smallServer, largeServer);
          for (const [i, sample] of samples.entries()) results[2 * index + i]!.samples.push(sample);
        }
      });
    });
    progress(`process ${pass} of ${processes} of each server`, 'a snapshot under load');
    snapshots.push(await withServerOn(beforeSnapshot.folder, (server) =>
      measureSnapshot(server, clientOf('create', randomIntegers(pass), beforeSnapshot, server))));
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
  const counts = { small: small.animals, large: large.animals, beforeSnapshot: beforeSnapshot.animals };
  const settings = { ...bursts, processes };
  return { paragraphs, settings, results: { format: 3, animals: counts, results, starts, snapshots } };

  /** Measures both servers with the same number of requests in turn. */
  async function measure(
    name: keyof typeof workloads, seed: number, smallServer: OwnServer, largeServer: OwnServer,
  ): Promise<readonly BurstSample[]> {
    const servers = ([[small, smallServer], [large, largeServer]] as const).map(([stock, server]) =>
      ({ process: server.process, client: clientOf(name, randomIntegers(seed), stock, server) }));
    try {
      return await measureBursts(servers, bursts);
    } finally {
      for (const { client } of servers) client.close();
    }
  }

  /** A client that sends random requests of a workload. */
  function clientOf(
    workload: keyof typeof workloads, random: Random, stock: Stock, { baseUrl }: OwnServer,
  ): LoadClient {
    const requests = Array.from({ length: requestCount }, () => {
      const request = workloads[workload](random, stock.animals);
      return { ...request, headers: { ...stock.headers, ...request.headers } };
    });
    return new LoadClient(baseUrl, requests, connections);
  }
}

async function stockOf(folder: string, animals: number): Promise<Stock> {
  const headers = { Authorization: `Bearer ${await makeLimitedKey(folder, unlimited)}` };
  return { name: `${count(animals)} animals`, folder, animals, headers };
}

function periods(snapshots: readonly Snapshot[], figure: 'stall' | 'slowest'): readonly string[] {
  return (['during', 'without'] as const).map((period) =>
    spreadText(spread(snapshots.map((one) => one[period][figure])), (ms) => ms.toFixed(1)));
}

function count(number: number): string {
  return number.toLocaleString('en');
}
