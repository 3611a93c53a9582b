/**
 * `npm run test:mutants`: how much does the kit catch? It is run against every mutant and every variant, on three seeds with
 * everything allowed, and once as a default run with a Free key; prints a table, and exits with 1 if a mutant is not caught by
 * the requirement it breaks, or a server that conforms is said not to.
 *
 * `--only ID[,ID…]` takes some, `--seeds N` so many seeds, `--real-time` repeats a sample on the machine's own clock instead.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { faults, topics, type Fault } from './faults.ts';
import { variants } from './variants.ts';
import type { Job, Outcome } from './worker.ts';

/** Not too many runs in one process: node:test keeps all its tests in memory. */
const runsPerProcess = 20;

/** One fault in so many is repeated in real time; their runs mostly wait, so they wait together. */
const sampleStep = 40;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seeds: { type: 'string', default: '3' },
    'real-time': { type: 'boolean', default: false },
  },
});
const only = values.only?.split(',');
const stranger = only?.find((id) => ![...faults, ...variants].some((known) => known.id === id));
if (stranger !== undefined) {
  console.error(`test:mutants: --only ${stranger}: there is no fault and no variant of that id`);
  process.exit(2);
}
const chosen = faults.filter(({ id }, i) => only?.includes(id) ?? (!values['real-time'] || i % sampleStep === 0));
const conforming = [
  ...(only === undefined ? [undefined] : []),
  ...variants.map(({ id }) => id).filter((id) => only?.includes(id) ?? true),
];

const outcomes = values['real-time']
  ? await runAll(jobsOf(true), chosen.length + conforming.length)
  : await runAll(jobsOf(false), availableParallelism());
const problems = outcomes.map(problemOf).filter((problem) => problem !== undefined);
printTable();
for (const problem of problems) console.log(problem);
console.log(`${outcomes.length} runs, ${problems.length} problems`);
process.exit(problems.length > 0 ? 1 : 0);

function jobsOf(realTime: boolean): Job[] {
  const seeds = realTime ? [1] : Array.from({ length: Number(values.seeds) }, (_, i) => i + 1);
  const all = [
    ...conforming.map((variant) => (variant === undefined ? {} : { variant })),
    ...chosen.map(({ id }) => ({ fault: id })),
  ];
  return all.flatMap((server) => [
    ...seeds.map((seed) => ({ ...server, seed, mode: 'full' as const, realTime })),
    ...(realTime ? [] : [{ ...server, seed: 1, mode: 'free' as const, realTime }]),
  ]);
}

/** What is wrong with the kit, going by this run. */
function problemOf(outcome: Outcome): string | undefined {
  const { job, failed, untestable, unwanted429 } = outcome;
  const fault = faults.find(({ id }) => id === job.fault);
  const name = `${job.fault ?? job.variant ?? 'the conforming server'} (seed ${job.seed}, ${job.mode})`;
  if (untestable !== undefined) return `${name}: could not be tested: ${untestable}`;
  if (fault === undefined) {
    if (failed.length > 0) return `${name}: a false alarm: ${failed.join(', ')}`;
    return job.variant === undefined && unwanted429 > 0
      ? `${name}: met ${unwanted429} times a 429 that it had not asked for`
      : undefined;
  }
  if (job.mode === 'free' || failed.includes(fault.requirement)) return undefined;
  return `${name}: not caught by ${fault.requirement}${failed.length === 0 ? '' : `, but by ${failed.join(', ')}`}`;
}

/** Whether all runs of a mode have caught a fault by the requirement it breaks. */
function isCaught({ id, requirement }: Fault, mode: Job['mode']): boolean {
  const runs = outcomes.filter(({ job }) => job.fault === id && job.mode === mode);
  return runs.length > 0 && runs.every(({ failed }) => failed.includes(requirement));
}

function printTable(): void {
  const rows = topics
    .map(([topic, list]) => [topic, list.filter((fault) => chosen.includes(fault))] as const)
    .filter(([, list]) => list.length > 0);
  const row = (topic: string, list: readonly Fault[]) => {
    const caught = (mode: Job['mode']) => list.filter((fault) => isCaught(fault, mode)).length;
    return `| ${topic} | ${list.length} | ${caught('full')} | ${values['real-time'] ? '-' : caught('free')} |`;
  };
  console.log(
    [
      '| faults | in all | caught with everything allowed | by a default run with a Free key |',
      '|---|---|---|---|',
      ...rows.map(([topic, list]) => row(topic, list)),
      row('all', chosen),
    ].join('\n'),
  );
  const missed = chosen.filter((fault) => isCaught(fault, 'full') && !isCaught(fault, 'free'));
  if (!values['real-time'] && missed.length > 0)
    console.log(`\nNot caught by the default run: ${missed.map(({ id }) => id).join(', ')}\n`);
}

/** Makes the runs side by side, in as many processes as told. */
async function runAll(jobs: readonly Job[], processes: number): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  let next = 0;
  const work = async () => {
    while (next < jobs.length) {
      const worker = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), {
        // Its tests are its own: where this is run by a test, they are none of that one's.
        env: { ...process.env, NODE_TEST_CONTEXT: undefined },
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        execArgv: ['--import', 'tsx', `--test-reporter=${fileURLToPath(new URL('../report/silent.ts', import.meta.url))}`],
      });
      const gone = once(worker, 'exit').then(() => Promise.reject(new Error('a process that tests mutants has died')));
      const told = async (): Promise<unknown> => ((await Promise.race([once(worker, 'message'), gone])) as unknown[])[0];
      await told();
      for (let done = 0; done < runsPerProcess && next < jobs.length; done++) {
        worker.send(jobs[next++]!);
        outcomes.push((await told()) as Outcome);
        if (process.stderr.isTTY) process.stderr.write(`\r${outcomes.length} of ${jobs.length} runs`);
      }
      gone.catch(() => {}); // as it should, now
      worker.kill();
    }
  };
  await Promise.all(Array.from({ length: processes }, work));
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  return outcomes;
}
