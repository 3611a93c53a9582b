/** `npm run bench:peers`: what our server costs against what a user would pick instead. */
import { p99Ratio } from './measure/figures.ts';
import { installPeers } from './peers/install.mjs';
import { runBench, type Report } from './speed/bench.ts';
import type { Outcome } from './speed/contest.ts';
import { floor, ours, ownServers } from './speed/contestants.ts';
import { openField, type Field, type FieldOptions } from './speed/field.ts';
import { group } from './speed/groups.ts';
import { durablePeers, durableRows, peers, peerVersions } from './speed/peers.ts';
import { createsAt, rows } from './speed/rows.ts';
import { costTable, durableTable, find, speedRatio, userRatio } from './speed/view.ts';

async function open(options: FieldOptions): Promise<Field> {
  options.watch('installing the peers, where they are not yet');
  const failure = installPeers();
  options.watch(`filling a folder for ${ours}`);
  const own = await ownServers();
  return openField([[own.ours, [...rows, ...createsAt]], ...peers(failure)], rows, options);
}

function report(outcomes: readonly Outcome[]): Report {
  const others = [...new Set(outcomes.map(({ contestant }) => contestant))].filter((contestant) => contestant !== floor);
  const costs = rows.map(({ id, title }) => group(
    `${title}: user CPU per request ÷ ${floor} (less is better)`,
    outcomes,
    others.map((contestant) => ({ label: labelOf(outcomes, id, contestant), one: [id, contestant], other: [id, floor] })),
    userRatio,
  ));
  const durable = durablePeers.flatMap((peer) => durableRows.map(({ id, connections }) => ({
    label: `${peer}, ${connections}`, one: [id, ours], other: [id, peer],
  }) as const));
  const rates = group(`Durable creates per second, ${ours} ÷ peer, by connections (more is better)`, outcomes, durable, speedRatio);
  const waits = group(`p99 of durable creates, ${ours} ÷ peer, by connections (less is better)`, outcomes, durable, p99Ratio);
  const competitors = outcomes.filter(({ contestant }) => contestant === ours || durablePeers.some((peer) => peer === contestant));
  return {
    texts: [costTable(outcomes, rows, ours), `Durable creates, by connections:\n${durableTable(competitors, durableRows, ours)}`],
    groups: [...costs, rates, waits],
    chart: [...costs, rates],
    title: `${ours} and what one would pick instead: ratios to bare ${floor}, and to each other`,
  };
}

/** With what one must know: `json-server (not durable)`. */
function labelOf(outcomes: readonly Outcome[], row: string, contestant: string): string {
  const note = find(outcomes, row, contestant)?.note;
  return note === undefined ? contestant : `${contestant} (${note})`;
}

await runBench({
  name: 'peers',
  script: 'bench:peers',
  about: `Compares this project's own server with what one would pick instead: fastify and express with SQLite, json-server, and Prism mocking
the description of the interface; bench/peers/ shows how each is set up. Installs them on first use. About ten minutes.`,
  rounds: 6,
  seconds: 0.8,
  servers: 2,
  warmRequests: 100_000, // more would use up the minute of those who have no key (speed/site.ts)
  open,
  report,
  versions: peerVersions,
});
