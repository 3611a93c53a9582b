/** `npm run bench:growth`: how the cost of requests and starts depends on the number of animals. */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { integer } from '../conformance/options.ts';
import { pageKinds } from './growth/pages.ts';
import { folderBeforeSnapshot, measureSnapshot, type Snapshot } from './growth/snapshot.ts';
import { animal } from './measure/animal.mjs';
import { Client, type LoadRequest } from './measure/client.ts';
import {
  helpEnd, machine, machineLine, quickNote, quickRun, readFlags, resultsFile, runCommand, thoroughRun, writeResults,
} from './measure/command.ts';
import { figures, ratioColumn, resultTable, runExperiments, spread, spreadText } from './measure/experiments.ts';
import { measureLoad, warmUp, type Sample } from './measure/load.ts';
import type { OwnServer } from './measure/own-server.ts';
import { filledFolder, makeLimitedKey, runNode, unlimited, withServerOn } from './measure/own-server.ts';
import { pathOf, petsOn, type PageQuery } from './measure/pages.ts';
import { endProgress, progress } from './measure/progress.ts';
import { table } from './table.ts';

const smallAnimals = 1_000;
/** The snapshot of more animals is longer than the longest string that `JSON.parse` can read. */
const maxAnimals = 5_000_000;
const connections = 16;
/** How many random pages are requested in turn. */
const pageCount = 1_000;

const flags = {
  animals: { type: 'string', default: '1000000' },
  quick: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h' },
} as const;

const help = `Usage: npm run bench:growth -- [options]

Measures what it costs this project's own server to hold 1,000,000 animals instead of 1,000: pages, creates, the start,
memory, and how long the event loop is blocked while a snapshot is written. About three minutes, 700 MB in the folder
for temporary files.

  --animals N   how many animals the larger data folder has (default 1000000)
  --quick       one short run that shows that everything works; its figures are worth little
  --help

${helpEnd('growth')}
`;

/** A data folder with animals 1 to `animals` and a key. */
interface Stock {
  readonly name: string;
  readonly folder: string;
  readonly animals: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** What `JSON.parse` of a snapshot took, in milliseconds. */
type Parse = Readonly<Record<'ms' | 'cpuMs', number>>;

await runCommand('bench:growth', async () => {
  const given = readFlags(process.argv.slice(2), flags);
  if (given.help === true) return void process.stdout.write(help);
  const animals = integer('--animals', given.animals, 2 * smallAnimals, maxAnimals);
  const settings = given.quick ? quickRun : thoroughRun;
  const file = resultsFile('growth');
  const here = machine();

  progress(`filling data folders with ${count(smallAnimals)} and ${count(animals)} animals`);
  const small = await stockOf(...(await filledFolder(smallAnimals)));
  const large = await stockOf(...(await filledFolder(animals)));
  const beforeSnapshot = await stockOf(...(await folderBeforeSnapshot(animals)));
  const experiments = [...Object.keys(pageKinds), 'create'].flatMap((workload) => [small, large].map((stock) => ({
    ...{ workload, target: stock.name },
    measure: () => withServerOn(stock.folder, (server) => measure(workload, stock, server)),
  })));
  const results = await runExperiments(experiments, settings.processes);
  const failed = results.find(({ problem }) => problem !== undefined);
  if (failed !== undefined) throw new Error(`${failed.workload}, ${failed.target}: ${failed.problem}`);
  const [parses, snapshots]: [Parse[], Snapshot[]] = [[], []];
  for (let i = 1; i <= settings.processes; i++) {
    progress(`JSON.parse of a snapshot and a snapshot under load, ${i} of ${settings.processes}`);
    const parse = new URL('growth/parse.mjs', import.meta.url);
    parses.push(JSON.parse(await runNode(parse, join(large.folder, 'pets.json'))) as Parse);
    const create = (server: OwnServer) => measureSnapshot(server, createsOf(beforeSnapshot, server));
    snapshots.push(await withServerOn(beforeSnapshot.folder, create));
  }
  endProgress();

  const parsed = (figure: keyof Parse) => spreadText(spread(parses.map((one) => one[figure])), (ms) => ms.toFixed(0));
  console.log([
    resultTable(results, [ratioColumn(`user CPU ÷ ${small.name}`, 'userCpu', small.name), ...figures]),
    `JSON.parse of the snapshot with ${large.name}: ${parsed('ms')} ms, ${parsed('cpuMs')} ms of CPU.`,
    table([`snapshot of ${beforeSnapshot.name}`, 'while it is written', 'the same load without'], [
      ['longest event loop delay, ms', ...periods(snapshots, 'stall')],
      ['slowest response, ms', ...periods(snapshots, 'slowest')],
    ]),
    `Median (minimum–maximum) of fresh processes: ${settings.processes}. CPU time is per request.`,
    machineLine(here),
    ...(given.quick ? [quickNote] : []),
  ].join('\n\n'));
  const counts = { small: small.animals, large: large.animals, beforeSnapshot: beforeSnapshot.animals };
  const about = { format: 2, bench: 'growth', machine: here, settings: { ...settings, quick: given.quick } };
  writeResults(file, { ...about, animals: counts, results, parses, snapshots });

  async function measure(workload: string, stock: Stock, server: OwnServer): Promise<Sample> {
    const page = Object.entries(pageKinds).find(([name]) => name === workload)?.[1];
    const client = page === undefined ? createsOf(stock, server) : pagesOf(page, stock, server);
    try {
      const perSecond = await warmUp(client, settings);
      return await measureLoad(server.process, client, Math.round(perSecond * settings.seconds));
    } finally {
      client.close();
    }
  }
});

async function stockOf(folder: string, animals: number): Promise<Stock> {
  const headers = { Authorization: `Bearer ${await makeLimitedKey(folder, unlimited)}` };
  return { name: `${count(animals)} animals`, folder, animals, headers };
}

/** A client that creates animals. */
function createsOf({ headers }: Stock, { baseUrl }: OwnServer): Client {
  const create: LoadRequest = {
    ...{ method: 'POST', path: '/v1/pets', headers: { ...headers, 'Content-Type': 'application/json' } },
    ...{ body: JSON.stringify(animal(1)), status: 201, isRight: () => true },
  };
  return new Client(baseUrl, [create], connections);
}

/** A client that requests pages of one kind. */
function pagesOf(query: (animals: number) => PageQuery, { animals, headers }: Stock, { baseUrl }: OwnServer): Client {
  const requests = Array.from({ length: pageCount }, () => {
    const page = query(animals);
    const isRight = (body: unknown): boolean => isDeepStrictEqual(body, petsOn(page, animals));
    return { method: 'GET' as const, path: `/v1${pathOf(page)}`, headers, status: 200, isRight };
  });
  return new Client(baseUrl, requests, connections);
}

function periods(snapshots: readonly Snapshot[], figure: 'stall' | 'slowest'): readonly string[] {
  return (['during', 'without'] as const).map((period) =>
    spreadText(spread(snapshots.map((snapshot) => snapshot[period][figure])), (ms) => ms.toFixed(1)));
}

function count(number: number): string {
  return number.toLocaleString('en');
}
