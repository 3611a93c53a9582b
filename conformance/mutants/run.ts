/**
 * `npm run test:mutants` measures what the kit catches. It runs the kit against every mutant and every variant: on
 * three seeds with everything allowed, and once as a default run with a Free key. For the variants, it also uses up the
 * limit of the only key. It prints a table, and exits with 1 if the requirement that a mutant violates has not failed,
 * or if any requirement has failed for a conforming server.
 *
 * `--only ID[,ID…]` selects mutants and variants, `--seeds N` sets the number of seeds, and `--real-time` repeats a
 * sample on the system clock instead.
 *
 * `--families seen|unseen|later|all` measures randomly drawn faults instead, with everything allowed: `--draws N` of
 * each family (default 2). A fault is caught if a requirement of the section that it violates has failed. The exit code
 * is 1 if less than 97 % of a group are caught. The missed faults of the unseen half are printed only with `--reveal`.
 * `--only TEXT` selects faults whose id contains it.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { requirementOf, type RequirementId } from '../requirements/requirements.ts';
import { faultsOf } from './families/family.ts';
import { familiesOf, groupNames } from './families/split.ts';
import { mutants, subjects } from './mutants.ts';
import type { Mutant } from './table/changes.ts';
import { variants } from './variants.ts';
import type { Job, Outcome } from './worker.ts';

/** node:test keeps all its tests in memory, so a process ends after this many runs. */
const runsPerProcess = 20;

/** One mutant in this many is in the sample of --real-time. Its runs mostly wait, so all of them run at once. */
const sampleStep = 40;

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seeds: { type: 'string', default: '3' },
    'real-time': { type: 'boolean', default: false },
    families: { type: 'string' },
    draws: { type: 'string', default: '2' },
    reveal: { type: 'boolean', default: false },
  },
});
if (values.families !== undefined) process.exit((await measureFaults(values.families)) ? 0 : 1);
const realTime = values['real-time'];
const only = values.only?.split(',');
const unknown = only?.find((id) => ![...mutants, ...variants].some((known) => known.id === id));
if (unknown !== undefined) {
  console.error(`test:mutants: --only ${unknown}: no mutant and no variant has this id`);
  process.exit(2);
}
const chosen = mutants.filter(({ id }, i) => only?.includes(id) ?? (!realTime || i % sampleStep === 0));
const conforming = [
  ...(only === undefined ? [undefined] : []),
  ...variants.map(({ id }) => id).filter((id) => only?.includes(id) ?? true),
];

const outcomes = await runAll(jobs(), realTime ? chosen.length + conforming.length : availableParallelism());
const problems = outcomes.map(problemOf).filter((problem) => problem !== undefined);
printTable();
for (const problem of problems) console.log(problem);
console.log(`${outcomes.length} runs, ${problems.length} problems`);
process.exit(problems.length > 0 ? 1 : 0);

function jobs(): Job[] {
  const seeds = realTime ? [1] : Array.from({ length: Number(values.seeds) }, (_, i) => i + 1);
  const servers = [
    ...conforming.map((variant) => (variant === undefined ? {} : { variant })),
    ...chosen.map(({ id }) => ({ mutant: id })),
  ];
  return servers.flatMap((server) => [
    ...seeds.map((seed) => ({ ...server, seed, mode: 'full' as const, realTime })),
    ...(realTime ? [] : [{ ...server, seed: 1, mode: 'free' as const, realTime }]),
    ...(realTime || 'mutant' in server ? [] : [{ ...server, seed: 1, mode: 'single' as const, realTime }]),
  ]);
}

/** What is wrong with the kit according to a run, or undefined. */
function problemOf({ job, failed, untestable, unwanted429 }: Outcome): string | undefined {
  const mutant = mutants.find(({ id }) => id === job.mutant);
  const name = `${job.mutant ?? job.variant ?? 'the conforming server'} (seed ${job.seed}, ${job.mode})`;
  if (untestable !== undefined) return `${name}: could not be tested: ${untestable}`;
  if (mutant === undefined) {
    if (failed.length > 0) return `${name}: false positive: ${failed.join(', ')}`;
    return job.variant === undefined && unwanted429 > 0 ? `${name}: ${unwanted429} unwanted 429` : undefined;
  }
  if (job.mode !== 'full' || failed.includes(mutant.requirement)) return undefined;
  return `${name}: not caught by ${mutant.requirement}${failed.length === 0 ? '' : `, but by ${failed.join(', ')}`}`;
}

/** Whether the requirement that a mutant violates has failed in all runs of a mode. */
function isCaught({ id, requirement }: Mutant, mode: Job['mode']): boolean {
  const runs = outcomes.filter(({ job }) => job.mutant === id && job.mode === mode);
  return runs.length > 0 && runs.every(({ failed }) => failed.includes(requirement));
}

function printTable(): void {
  const row = (name: string, list: readonly Mutant[]) => {
    const caught = (mode: Job['mode']) => list.filter((mutant) => isCaught(mutant, mode)).length;
    return `| ${name} | ${list.length} | ${caught('full')} | ${realTime ? '-' : caught('free')} |`;
  };
  const rows = subjects
    .map(([subject, list]) => [subject, list.filter((mutant) => chosen.includes(mutant))] as const)
    .filter(([, list]) => list.length > 0)
    .map(([subject, list]) => row(subject, list));
  console.log('| subject | mutants | caught with everything allowed | caught by a default run with a Free key |');
  console.log(['|---|--:|--:|--:|', ...rows, row('all', chosen)].join('\n'));
  const missed = chosen.filter((mutant) => isCaught(mutant, 'full') && !isCaught(mutant, 'free'));
  if (!realTime && missed.length > 0)
    console.log(`\nNot caught by the default run: ${missed.map(({ id }) => id).join(', ')}\n`);
}

/** Prints how many faults of each group are caught. Returns whether they are enough. */
async function measureFaults(groups: string): Promise<boolean> {
  const chosenGroups = groupNames.filter((group) => groups === group || groups === 'all');
  if (chosenGroups.length === 0) {
    console.error(`test:mutants: --families ${groups}: give seen, unseen, later or all`);
    process.exit(2);
  }
  const faults = chosenGroups.flatMap((group) =>
    familiesOf(group)
      .flatMap((family) => faultsOf(family, Number(values.draws)))
      .filter(({ id }) => id.includes(values.only ?? ''))
      .map((fault) => ({ ...fault, group })),
  );
  const done = await runAll(
    faults.map(({ id }) => ({ fault: id, seed: 1, mode: 'full' as const, realTime: false })),
    availableParallelism(),
  );
  const results = faults.map((fault) => {
    const { failed = [], untestable } = done.find(({ job }) => job.fault === fault.id) ?? {};
    const sections = failed.map((id) => requirementOf(id as RequirementId).section);
    // Section 4 is about all operations, which 4.1 to 4.4 describe. Sections 2 and 3 both list the values of a status.
    const others = (section: string) => (section === '2' ? ['3'] : [section.split('.')[0]]);
    const named = fault.sections.flatMap((section) => [section, ...others(section)]);
    const caught = sections.some((section) => named.includes(section));
    return { ...fault, failed, untestable, caught };
  });
  console.log('| group | faults | caught | percent | only by another section | no requirement failed |');
  console.log('|---|--:|--:|--:|--:|--:|');
  const shares = chosenGroups.map((group) => {
    const ofGroup = results.filter((result) => result.group === group);
    const caught = ofGroup.filter((result) => result.caught).length;
    const silent = ofGroup.filter(({ failed }) => failed.length === 0).length;
    const share = ofGroup.length === 0 ? 1 : caught / ofGroup.length;
    const others = ofGroup.length - caught - silent;
    const percent = (100 * share).toFixed(1);
    console.log(`| ${group} | ${ofGroup.length} | ${caught} | ${percent} | ${others} | ${silent} |`);
    return share;
  });
  for (const { group, id, text, sections, failed, untestable, caught } of results) {
    if (caught || (group === 'unseen' && !values.reveal)) continue;
    const known = failed.length === 0 ? '' : `, but ${failed.join(', ')} failed`;
    const lost = untestable === undefined ? '' : `; ${untestable}`;
    console.log(`${id} (section ${sections.join(' or ')}): ${text} Missed${known}${lost}`);
  }
  return shares.every((share) => share >= 0.97);
}

/** Executes the jobs in a number of concurrent processes. */
async function runAll(jobs: readonly Job[], processes: number): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  let next = 0;
  const work = async () => {
    while (next < jobs.length) {
      const worker = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        execArgv: ['--import', 'tsx'],
      });
      const died = once(worker, 'exit').then(() => Promise.reject(new Error('a worker process has died')));
      const message = async (): Promise<unknown> => {
        const [first] = (await Promise.race([once(worker, 'message'), died])) as unknown[];
        return first;
      };
      await message();
      for (let done = 0; done < runsPerProcess && next < jobs.length; done++) {
        worker.send(jobs[next++]!);
        outcomes.push((await message()) as Outcome);
        if (process.stderr.isTTY) process.stderr.write(`\r${outcomes.length} of ${jobs.length} runs`);
      }
      died.catch(() => {}); // it is killed on purpose now
      worker.kill();
    }
  };
  await Promise.all(Array.from({ length: processes }, work));
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K');
  return outcomes;
}
