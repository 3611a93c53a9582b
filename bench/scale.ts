/**
 * `npm run bench:scale`: the cost of requests on a PostgreSQL database, for one and several servers. Exit code 1 if it
 * exceeds a bound, or if there is no PostgreSQL.
 */
import { machineLine, quickRun, runBench, thoroughRun, type Findings, type Machine } from './measure/command.ts';
import {
  figureColumn, figures, find, ratioColumn, ratios, resultTable, runExperiments, spread, spreadText, type Result,
} from './measure/experiments.ts';
import { BenchDatabase, noServer } from './scale/database.ts';
import { onDatabase, peer, peerOn, serversOn } from './scale/targets.ts';
import { admissions, created, gets, keys, lists } from './scale/workloads.ts';
import { arePeersInstalled, installPeers, peerVersions } from './peers/install.ts';
import { progress } from './measure/progress.ts';
import { loadOf, type LoadTarget, type ScaleSample } from './speed/check.ts';
import { baseline, ours, ownTargets } from './speed/targets.ts';
import { animals, type Workload } from './speed/workloads.ts';
import { table } from './table.ts';

type Figure = keyof ScaleSample;

const peerPackages = ['fastify', 'pg', 'rate-limiter-flexible'];

const columns = [
  ratioColumn<Figure>(`user CPU ÷ ${baseline}`, 'userCpu', baseline),
  ratioColumn<Figure>(`user CPU ÷ ${ours}`, 'userCpu', ours),
  ratioColumn<Figure>(`requests/s, ${onDatabase} ÷ it`, 'perSecond', onDatabase, true),
  figureColumn<Figure>('database CPU, µs', 'databaseCpu', 1),
  ...figures.slice(0, 6),
];

/** What the median of a figure of one server must be. */
interface Bound {
  readonly title: string;
  readonly workload: Workload;
  readonly figure: Figure;
  /** The figure is divided by that of this target. */
  readonly by?: string;
  readonly min?: number;
  readonly max?: number;
}

const userCpu = { figure: 'userCpu', by: baseline } as const;
/** About a fifth above the figures of docs/benchmarks.md, so that a run fails only if a change costs more. */
const bounds: readonly Bound[] = [
  { ...userCpu, title: `user CPU of a list ÷ ${baseline}`, workload: lists, max: 4.5 },
  { ...userCpu, title: `user CPU of a get ÷ ${baseline}`, workload: gets, max: 2.5 },
  { ...userCpu, title: `user CPU of a create ÷ ${baseline}`, workload: created.oneKey, max: 3.5 },
  { title: `creates/s ÷ ${peer}`, workload: created.oneKey, figure: 'perSecond', by: peer, min: 3 },
  {
    ...{ title: `database CPU of an admission with ${keys} keys, µs`, workload: admissions.manyKeys },
    ...{ figure: 'databaseCpu', max: 67 },
  },
];

await runBench({
  name: 'scale',
  about: `Measures one, two and four servers on a PostgreSQL database, which it starts itself, at 64 connections: the
CPU time of the servers and of the database per request, and requests per second. In the same run it measures bare
node:http that returns the same bytes, this project's server on a data folder, and fastify with pg and
rate-limiter-flexible, which the first run installs. About 15 minutes.`,
  exitCode: '0 every bound is kept, 1 one is exceeded, or there is no PostgreSQL',
  measure,
});

async function measure({ quick: isQuick }: { readonly quick: boolean }, here: Machine): Promise<Findings> {
  const settings = isQuick ? quickRun : { ...thoroughRun, seconds: 2, warmUp: { requests: 30_000, seconds: 15 } };
  const database = await BenchDatabase.start(animals, keys);
  if (database === null) {
    process.stderr.write(`bench:scale: ${noServer}\n`);
    process.exit(1);
  }
  progress(`filling a data folder for ${ours}`);
  const own = (await ownTargets({})).filter(({ name }) => name === baseline || name === ours);
  if (!isQuick) progress('installing the peers, if they are not');
  const unusable = !isQuick ? installPeers() : arePeersInstalled() ? undefined : 'the peers are not installed';

  const servers = [1, 2, 4].map((count) => serversOn(database, count));
  const alternative = peerOn(database, unusable);
  const plan: readonly (readonly [Workload, readonly LoadTarget[]])[] = [
    [admissions.oneKey, servers],
    [admissions.manyKeys, servers],
    [lists, [...own, ...servers]],
    [gets, [...own, servers[0]!]],
    [created.oneKey, [...own, ...servers, alternative]],
    [created.manyKeys, [servers[0]!, alternative]],
  ];
  const experiments = plan.flatMap(([workload, targets]) =>
    targets.map((target) => loadOf(target, workload, settings)));
  const results = await runExperiments(experiments, settings.processes);
  const judged = bounds.map((bound) => ({ ...bound, measured: measuredFor(bound, results) }));
  return {
    paragraphs: [
      resultTable(results, columns),
      table(['one server on PostgreSQL', 'measured', 'bound'], judged.map((bound) =>
        [bound.title, spreadText(bound.measured), textOf(bound)])),
      `Median (minimum–maximum) of fresh processes of each target: ${settings.processes}. CPU time is per request.`,
      [await database.version(), ...peerPackages.map((name) => `${name} ${peerVersions()[name]}`)].join(', '),
      machineLine(here),
    ],
    results: { results },
    exceeded: judged
      .filter(({ measured: { median }, min = -Infinity, max = Infinity }) => !(median >= min && median <= max))
      .map((bound) => `${bound.title}: ${spreadText(bound.measured)}, but it must be ${textOf(bound)}`),
  };
}

function textOf({ min, max }: Bound): string {
  return max === undefined ? `at least ${min}` : `at most ${max}`;
}

/** The figures of one server on PostgreSQL that a bound is for, or their ratios. */
function measuredFor({ workload, figure, by }: Bound, results: readonly Result<Figure>[]) {
  const one = find(results, workload.title, onDatabase);
  if (by !== undefined) return ratios(one, find(results, workload.title, by), figure);
  return spread((one?.samples ?? []).map((sample) => sample[figure]));
}
