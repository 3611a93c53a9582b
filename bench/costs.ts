/**
 * `npm run bench:costs`: the CPU time of the most expensive requests that are known, as ratios to usual ones. Exit code
 * 1 if one of them costs more than decisions.md, "The cost of a request", allows.
 */
import { distFolder } from '../harness/server.ts';
import { measure, resultOf, type Experiment, type Measured } from './costs/experiment.ts';
import { cost } from './costs/measure.ts';
import { kinds, logged, maxRatios, usual } from './costs/requests.ts';
import { machineLine, runBench, type Findings, type Machine } from './measure/command.ts';
import { copyOf, filledFolder, makeLimitedKey, startBuild, unlimited } from './measure/own-server.ts';
import { progress } from './measure/progress.ts';
import { startBaseline } from './speed/targets.ts';
import { ratioText, table } from './table.ts';

const shown = 8;
const logDelayMs = 110;

await runBench({
  name: 'costs',
  about: `Sends the most expensive requests that are known to this project's own server, and compares the CPU time of
its process: without a key with a 401, with a key with JSON.parse of a usual body of 64 KiB, and bodies of many chunks
with what bare node:http needs to read them. About two minutes.`,
  exitCode: '0 all costs are allowed, 1 one is not',
  measure: measureCosts,
});

async function measureCosts({ quick: isQuick }: { readonly quick: boolean }, here: Machine): Promise<Findings> {
  const [rounds, moreRounds, requests] = isQuick ? [1, 0, 2] : [5, 20, 10];
  const [folder] = await filledFolder(100);
  const key = await makeLimitedKey(folder, unlimited);
  const start = async (...flags: readonly string[]) =>
    (await startBuild(distFolder, copyOf(folder), ['--trust-proxy', '1', ...flags])).process;
  const refusal = { method: 'GET', path: '/', status: 401, headers: ['Content-Length', '2'], body: '{}' };
  const targets = {
    quiet: { process: await start(), key, logDelayMs: 0 },
    logging: { process: await start('--access-log', '--log-format', 'json'), key, logDelayMs },
    bare: { process: await startBaseline([refusal]), key, logDelayMs: 0 },
  };
  const { bare } = targets;
  const experiments: readonly Experiment[] = [
    ...kinds.map((kind) => ({ name: kind.name, kind, target: targets.quiet, bare, rounds: [] })),
    ...logged.map((kind) => ({ name: `${kind.name}, logged`, kind, target: targets.logging, bare, rounds: [] })),
  ];
  progress('warming up the servers');
  if (!isQuick) {
    for (const target of Object.values(targets)) for (let i = 0; i < 20; i++) await cost(target, usual, 50);
    for (const kind of kinds) await cost(targets.quiet, kind, 2 * requests);
  }
  for (let round = 1; round <= rounds; round++) {
    for (const experiment of round % 2 === 1 ? experiments : experiments.toReversed()) {
      progress(`round ${round} of ${rounds}`, experiment.name);
      await measure(experiment, requests);
    }
  }

  const exceeds = ({ ratio, baseline }: Measured): boolean => ratio > maxRatios[baseline];
  // The largest of hundreds of noisy medians is mostly noise. So kinds that seem to exceed their limit are measured
  // again.
  const suspects = experiments.filter((experiment) => exceeds(resultOf(experiment)));
  for (const experiment of suspects) {
    progress(`${moreRounds} more rounds`, experiment.name);
    for (let round = 1; round <= moreRounds; round++) await measure(experiment, requests);
  }

  const results = experiments.map(resultOf);
  const dearest = results.toSorted((one, other) => other.ratio - one.ratio);
  return {
    paragraphs: [
      ...Object.entries(maxRatios).map(([baseline, max]) => {
        const all = dearest.filter((one) => one.baseline === baseline);
        const head = [`the most expensive of ${all.length} kinds`, 'status', 'CPU, µs', `${baseline}, µs`];
        return table(
          [...head, `ratio (at most ${max})`],
          all.slice(0, shown).map(({ name, status, cpu, compared, ratio }) =>
            [shortened(name), String(status), cpu.toFixed(0), compared.toFixed(0), ratioText(ratio)]));
      }),
      `Medians of ${rounds} rounds of ${requests} requests each; of ${rounds + moreRounds} rounds for the kinds that `
        + `seemed to exceed their limit (${suspects.length} of ${experiments.length}).`,
      machineLine(here),
    ],
    results: { results },
    exceeded: dearest.filter(exceeds).map(({ name, baseline }) =>
      `more than ${maxRatios[baseline]} times ${baseline}: ${shortened(name)}`),
  };
}

/** A name for a table. */
function shortened(name: string): string {
  const visible = name.replaceAll('\t', '\\t');
  return visible.length > 70 ? `${visible.slice(0, 70)}…` : visible;
}
