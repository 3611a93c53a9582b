/**
 * `npm run bench` and `npm run bench:peers` (--peers): the cost of this project's server, compared with bare
 * `node:http` and other servers.
 */
import { integer, parseFlags } from '../conformance/options.ts';
import { NotStarted } from '../harness/program.ts';
import {
  helpEnd, machine, machineLine, quickNote, quickRun, resultsFile, runBench, thoroughRun, writeResults,
} from './measure/command.ts';
import { runExperiments } from './measure/experiments.ts';
import { endProgress, progress } from './measure/progress.ts';
import { installPeers, peerVersions } from './peers/install.ts';
import { measureTarget } from './speed/check.ts';
import { allFigures, writeDocuments } from './speed/report.ts';
import { ours, ownTargets, peers } from './speed/targets.ts';
import { animals, creates, reads, workloads } from './speed/workloads.ts';

const flags = {
  peers: { type: 'boolean', default: false },
  readme: { type: 'boolean', default: false },
  processes: { type: 'string', default: String(thoroughRun.processes) },
  quick: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h' },
} as const;

const help = `Usage: npm run bench [-- options]
       npm run bench:peers [-- options]

Compares this project's own server with a baseline, bare node:http that returns the same bytes without any logic, and
with a plain handler that does the same for a read in one file: about three minutes. With the peers also with servers
that one could use instead: fastify and express with SQLite; fastify, hono, polka and Go in memory: about fifteen
minutes, and the first run installs them. bench/peers/ shows how each is set up. Judge by the ratios of user CPU per
request: requests per second vary with the load of the machine.

  --processes N
            fresh processes of each server (default ${thoroughRun.processes})
  --quick   one short run that shows that everything works; its figures are worth little
  --readme  with the peers: write the short table to README.md and the full one to docs/benchmarks.md
  --help

${helpEnd('speed')} The peers: peers.json.
`;

await runBench('bench', async () => {
  const { values: given } = parseFlags({ options: flags });
  if (given.help === true) return void process.stdout.write(help);
  const processes = integer('--processes', given.processes, 1, 100);
  const settings = given.quick ? quickRun : { ...thoroughRun, processes };
  const name = given.peers ? 'peers' : 'speed';
  const file = resultsFile(name);
  const here = machine();
  progress(`filling a data folder for ${ours}`);
  const own = await ownTargets({ isObserved: !given.peers });
  if (given.peers) progress('installing the peers, if they are not');
  const targets = [...own, ...(given.peers ? peers(installPeers()) : [])];
  const experiments = (given.peers ? [...reads, ...creates] : workloads).flatMap((workload) =>
    targets.filter((target) => target.workloads.includes(workload)).map((target) => ({
      ...{ workload: workload.title, target: target.name },
      measure: async () => measureTarget(await target.start(workload), workload, settings),
    })));
  const results = await runExperiments(experiments, settings.processes);
  endProgress();
  if (results.every(({ samples }) => samples.length === 0)) {
    throw new NotStarted(`nothing was measured: ${results[0]?.problem}`);
  }
  const versions = given.peers ? peerVersions() : {};
  const lacks = Object.fromEntries(targets.map((target) => [target.name, target.lacks ?? '']));
  const source = [machineLine(here), ...Object.entries(versions).map((entry) => entry.join(' '))].join(', ');
  const report = { results, lacks, source, processes: settings.processes };
  console.log(allFigures(report) + (given.quick ? `\n\n${quickNote}` : ''));
  const about = { format: 2, bench: name, machine: here, settings: { animals, quick: given.quick, ...settings } };
  writeResults(file, { ...about, versions, lacks, results });
  if (given.readme) console.log(`Written: ${writeDocuments(report).join(', ')}`);
});
