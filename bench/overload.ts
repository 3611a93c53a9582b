/**
 * `npm run bench:overload`: the latency of a client with a key while others without one attack the server, compared
 * with its latency before. Exit code 1 if the 99th percentile is more than ten times as long.
 */
import { attacks, Overload, type Attack, type Latencies } from '../harness/overload.ts';
import { thisProcess } from '../harness/owner.ts';
import {
  helpEnd, machine, machineLine, quickNote, readFlags, resultsFile, runCommand, writeResults,
} from './measure/command.ts';
import { endProgress, progress } from './measure/progress.ts';
import { ratioText, table } from './table.ts';

const flags = {
  quick: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h' },
} as const;

const maxRatio = 10;

const help = `Usage: npm run bench:overload [-- --quick]

Attacks this project's own server without a key, over TCP and TLS and with a heap of 256 MB and of the default size: ten
times with tiny requests on 1,100 and 11,000 connections in turn, then with each other attack that is known. A client
with a key sends requests meanwhile, each when it has the response to the last one. About ten minutes.

  --quick   one attack on each server, with 200 connections, which shows that everything works
  --help

${helpEnd('overload').replace('Exit code: 0 it was measured', `Exit code: 0 the 99th percentile of the latency is at
most ${maxRatio} times that without an attack, 1 it is not`)}
`;

await runCommand('bench:overload', async () => {
  const given = readFlags(process.argv.slice(2), flags);
  if (given.help === true) return void process.stdout.write(help);
  const file = resultsFile('overload');
  const here = machine(false); // on one core, the client would wait for the attacker
  const [first] = attacks as [Attack];
  const runs = given.quick ? [{ kind: first, connections: 200 }] : [
    ...Array.from({ length: 10 }, (_, i) => ({ kind: first, connections: i % 2 === 0 ? 1_100 : 11_000 })),
    ...attacks.slice(1).map((kind) => ({ kind, connections: 1_100 })),
  ];
  const results = [];
  for (const scheme of ['http', 'https'] as const) {
    for (const heapMb of [256, null]) {
      const overload = await Overload.start(thisProcess, scheme, heapMb);
      await overload.idle(given.quick ? 100 : 20_000); // until the server's code is compiled
      const idle = await overload.idle(given.quick ? 100 : 20_000);
      for (const { kind, connections } of runs) {
        progress(`${scheme}, a heap of ${heapMb === null ? 'the default size' : `${heapMb} MB`}`, kind.name);
        const latencies = await overload.survive(kind, connections, given.quick ? 100 : 10_000);
        const { residentBytes } = overload;
        results.push({ scheme, heapMb, attack: kind.name, connections, idle, latencies, residentBytes });
      }
      const { code, stderr } = await overload.server.stop();
      if (code !== 0) throw new Error(`the server did not survive: ${stderr}`);
    }
  }
  endProgress();
  const ratioOf = ({ idle, latencies }: { idle: Latencies; latencies: Latencies }): number =>
    latencies.p99Ms / idle.p99Ms;
  console.log([
    table(
      ['attack', 'connections', 'server', 'p99, ms', 'p99 before, ms', 'ratio', 'longest, ms', 'RSS, MB'],
      results.map((one) => [
        one.attack, String(one.connections), `${one.scheme}, ${one.heapMb === null ? 'default' : `${one.heapMb} MB`}`,
        one.latencies.p99Ms.toFixed(2), one.idle.p99Ms.toFixed(2), ratioText(ratioOf(one)),
        one.latencies.maxMs.toFixed(0), (one.residentBytes / 1e6).toFixed(0),
      ])),
    `At most ${ratioText(Math.max(...results.map(ratioOf)))} times; ${maxRatio} times are allowed.`,
    machineLine(here),
    ...(given.quick ? [quickNote] : []),
  ].join('\n\n'));
  writeResults(file, { format: 1, bench: 'overload', machine: here, settings: { quick: given.quick }, maxRatio, results });
  if (!given.quick && results.some((one) => ratioOf(one) > maxRatio)) process.exitCode = 1;
});
