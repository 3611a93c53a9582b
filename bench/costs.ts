/**
 * `npm run bench:costs`: the CPU time of the most expensive requests that are known, as ratios to usual ones. Exit code 1 if
 * one of them costs more than decisions.md, "The cost of a request", allows.
 */
import { Experiment, maxRatios, type Baseline, type Measured } from './costs/experiment.ts';
import { cost } from './costs/measure.ts';
import { kinds, logged, usual } from './costs/requests.ts';
import {
  helpEnd, machine, machineLine, quickNote, readFlags, resultsFile, runCommand, writeResults,
} from './measure/command.ts';
import { filledFolder, makeLimitedKey, startOwnServer, unlimited } from './measure/own-server.ts';
import { endProgress, progress } from './measure/progress.ts';
import { startBaseline } from './speed/targets.ts';
import { ratioText, table } from './table.ts';

const flags = {
  quick: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h' },
} as const;

const help = `Usage: npm run bench:costs [-- --quick]

Sends the most expensive requests that are known, of each kind, to this project's own server, and compares the CPU time of its
process: without a key with a 401, with a key with JSON.parse of a usual body of 64 KiB, and bodies of many chunks with
what bare node:http needs to read them. About two minutes.

  --quick   one short run that shows that everything works; its figures are worth little
  --help

${helpEnd('costs').replace('Exit code: 0 it was measured', 'Exit code: 0 all costs are allowed, 1 one is not')}
`;

const shown = 8;
const logDelayMs = 110;

await runCommand('bench:costs', async () => {
  const given = readFlags(process.argv.slice(2), flags);
  if (given.help === true) return void process.stdout.write(help);
  const [rounds, requests] = given.quick ? [1, 2] : [5, 10];
  const file = resultsFile('costs');
  const here = machine();
  const [folder] = await filledFolder(100);
  const key = await makeLimitedKey(folder, unlimited);
  const proxied = ['--trust-proxy', '1'];
  const { process: quiet } = await startOwnServer(folder, ...proxied);
  const [loggingFolder] = await filledFolder(100);
  const { process: logging } = await startOwnServer(loggingFolder, ...proxied, '--access-log', '--log-format', 'json');
  const refusal = { method: 'GET', path: '/', status: 401, headers: ['Content-Length', '2'], body: '{}' };
  const bare = await startBaseline([refusal]);
  const targets = {
    quiet: { process: quiet, key, logDelayMs: 0 },
    logging: { process: logging, key: '', logDelayMs },
    bare: { process: bare, key, logDelayMs: 0 },
  };
  const experiments = [
    ...kinds.map((kind) => new Experiment(kind.name, kind, targets.quiet, targets.bare)),
    ...logged.map((kind) => new Experiment(`${kind.name}, logged`, kind, targets.logging, targets.bare)),
  ];
  progress('warming up the servers');
  if (!given.quick) {
    for (const target of Object.values(targets)) for (let i = 0; i < 20; i++) await cost(target, usual, 50);
    for (const kind of kinds) await cost(targets.quiet, kind, 2 * requests);
  }
  for (let round = 1; round <= rounds; round++) {
    for (const experiment of round % 2 === 1 ? experiments : experiments.toReversed()) {
      progress(`round ${round} of ${rounds}`, experiment.name);
      await experiment.measure(requests);
    }
  }
  endProgress();

  const measured = experiments.map((experiment) => experiment.result);
  const dearest = measured.toSorted((one, other) => other.ratio - one.ratio);
  const of = (baseline: Baseline): Measured[] => dearest.filter((one) => one.baseline === baseline);
  const baselines = Object.keys(maxRatios) as Baseline[];
  console.log([
    ...baselines.map((baseline) => table(
      [`the most expensive of ${of(baseline).length} kinds`, 'status', 'CPU, µs', `${baseline}, µs`, 'ratio'],
      of(baseline).slice(0, shown).map((one) => [
        shortened(one.name), String(one.status), one.cpu.toFixed(0), one.compared.toFixed(0), ratioText(one.ratio),
      ]))),
    baselines.map((baseline) => {
      const worst = ratioText(of(baseline)[0]!.ratio);
      return `At most ${worst} times ${baseline}; ${maxRatios[baseline]} times are allowed.`;
    }).join('\n'),
    `Medians of ${rounds} rounds of ${requests} requests each.`,
    machineLine(here),
    ...(given.quick ? [quickNote] : []),
  ].join('\n\n'));
  writeResults(file, {
    ...{ format: 1, bench: 'costs', machine: here, settings: { rounds, requests, quick: given.quick } },
    ...{ maxRatios, results: measured },
  });
  const over = given.quick ? [] : dearest.filter((one) => one.ratio > maxRatios[one.baseline]);
  for (const { name, baseline } of over) {
    console.error(`bench:costs: more than ${maxRatios[baseline]} times ${baseline}: ${shortened(name)}`);
  }
  if (over.length > 0) process.exitCode = 1;
});

/** A name for a table. */
function shortened(name: string): string {
  const visible = name.replaceAll('\t', '\\t');
  return visible.length > 70 ? `${visible.slice(0, 70)}…` : visible;
}
