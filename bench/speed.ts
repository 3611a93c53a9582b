/**
 * `npm run bench` and `npm run bench:peers` (--peers): the cost of this project's server, compared with bare
 * `node:http` and other servers.
 */
import { integer } from '../conformance/options.ts';
import { machineLine, quickRun, runBench, thoroughRun } from './measure/command.ts';
import { runExperiments } from './measure/experiments.ts';
import { progress } from './measure/progress.ts';
import { installPeers, peerVersions } from './peers/install.ts';
import { loadOf } from './speed/check.ts';
import { allFigures, writeDocuments } from './speed/report.ts';
import { ours, ownTargets, peers } from './speed/targets.ts';
import { creates, reads, workloads } from './speed/workloads.ts';

await runBench({
  name: process.argv.includes('--peers') ? 'peers' : 'speed',
  script: 'bench',
  about: `Compares this project's own server with a baseline, bare node:http that returns the same bytes without
any logic, and with a plain handler that does the same for a read in one file: about three minutes. With
--peers (npm run bench:peers) also with servers that one could use instead: fastify and express with
SQLite; fastify, hono, polka and Go in memory: about fifteen minutes, and the first run installs them.
bench/peers/ shows how each is set up. Judge by the ratios of user CPU per request: requests per second
vary with the load of the machine.`,
  flags: {
    peers: { type: 'boolean', default: false },
    readme: { type: 'boolean', default: false },
    processes: { type: 'string', default: String(thoroughRun.processes) },
  },
  flagsHelp: `  --processes N     fresh processes of each server (default ${thoroughRun.processes})
  --readme          with the peers: write the short table to README.md and the full one to docs/benchmarks.md
`,
  async measure(given, here) {
    const processes = integer('--processes', given.processes, 1, 100);
    const settings = given.quick ? quickRun : { ...thoroughRun, processes };
    progress(`filling a data folder for ${ours}`);
    const own = await ownTargets({ isObserved: !given.peers });
    if (given.peers) progress('installing the peers, if they are not');
    const targets = [...own, ...(given.peers ? peers(installPeers()) : [])];
    const experiments = (given.peers ? [...reads, ...creates] : workloads).flatMap((workload) =>
      targets.filter((target) => target.workloads.includes(workload))
        .map((target) => loadOf(target, workload, settings)));
    const results = await runExperiments(experiments, settings.processes);
    const versions = given.peers ? peerVersions() : {};
    const lacks = Object.fromEntries(targets.map((target) => [target.name, target.lacks ?? '']));
    const source = [machineLine(here), ...Object.entries(versions).map((entry) => entry.join(' '))].join(', ');
    const report = { results, lacks, source, processes: settings.processes };
    return {
      paragraphs: [allFigures(report), ...(given.readme ? [`Written: ${writeDocuments(report).join(', ')}`] : [])],
      results: { results },
    };
  },
});
