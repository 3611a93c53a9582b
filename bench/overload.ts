/**
 * `npm run bench:overload`: the latency of a client with a key while others without one attack the server, compared
 * with its latency before. Exit code 1 if the 99th percentile is more than ten times as long.
 */
import { constants } from 'node:os';
import { attacks, Overload, type Attack, type Latencies } from '../harness/overload.ts';
import { thisProcess } from '../harness/owner.ts';
import { machineLine, runBench, type Findings, type Machine } from './measure/command.ts';
import { progress } from './measure/progress.ts';
import { ratioText, table } from './table.ts';

const maxRatio = 10;

await runBench({
  name: 'overload',
  about: `Attacks this project's own server without a key, over TCP and TLS, with a heap of 256 MB and of the
default size: ten times with tiny requests, on 1,100 and 11,000 connections in turn, then once with each other attack
that is known. Meanwhile a client with a key sends requests, each after the response to the one before. About ten
minutes.`,
  exitCode: `0 the 99th percentile is at most ${maxRatio} times as long as before, 1 it is longer`,
  pins: false, // on one core, the client would wait for the attacker
  measure,
});

async function measure({ quick: isQuick }: { readonly quick: boolean }, here: Machine): Promise<Findings> {
  const [first] = attacks as [Attack];
  const runs = isQuick ? [{ kind: first, connections: 200 }] : [
    ...Array.from({ length: 10 }, (_, i) => ({ kind: first, connections: i % 2 === 0 ? 1_100 : 11_000 })),
    ...attacks.slice(1).map((kind) => ({ kind, connections: 1_100 })),
  ];
  const results = [];
  for (const scheme of ['http', 'https'] as const) {
    for (const heapMb of [256, null]) {
      const overload = await Overload.start(thisProcess, scheme, heapMb);
      overload.attackerPriority = constants.priority.PRIORITY_LOW; // it would have another machine, and not these cores
      await overload.idle(isQuick ? 100 : 20_000); // until the server's code is compiled
      const idle = await overload.idle(isQuick ? 100 : 20_000);
      for (const { kind, connections } of runs) {
        progress(`${scheme}, a heap of ${heapMb === null ? 'the default size' : `${heapMb} MB`}`, kind.name);
        const latencies = await overload.survive(kind, connections, isQuick ? 100 : 10_000);
        const { residentBytes } = overload;
        results.push({ scheme, heapMb, attack: kind.name, connections, idle, latencies, residentBytes });
      }
      const { code, stderr } = await overload.server.stop();
      if (code !== 0) throw new Error(`the server did not survive: ${stderr}`);
    }
  }
  const ratioOf = ({ idle, latencies }: { idle: Latencies; latencies: Latencies }): number =>
    latencies.p99Ms / idle.p99Ms;
  return {
    paragraphs: [
      table(
        ['attack', 'connections', 'server', 'p99, ms', 'p99 before, ms', 'ratio', 'longest, ms', 'RSS, MB'],
        results.map((one) => [
          one.attack, String(one.connections), `${one.scheme}, ${one.heapMb === null ? 'default' : `${one.heapMb} MB`}`,
          one.latencies.p99Ms.toFixed(2), one.idle.p99Ms.toFixed(2), ratioText(ratioOf(one)),
          one.latencies.maxMs.toFixed(0), (one.residentBytes / 1e6).toFixed(0),
        ])),
      `At most ${ratioText(Math.max(...results.map(ratioOf)))} times; ${maxRatio} times are allowed.`,
      machineLine(here),
    ],
    results: { results },
    exceeded: results.filter((one) => ratioOf(one) > maxRatio).map(({ attack, connections, scheme }) => {
      return `more than ${maxRatio} times as long: ${attack}, ${connections} connections, ${scheme}`;
    }),
  };
}
