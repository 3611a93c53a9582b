/** `npm run bench`: what our server costs against bare `node:http` that answers the same bytes. */
import { runBench, type Report } from './speed/bench.ts';
import type { Outcome } from './speed/contest.ts';
import { floor, ours, ownServers, withoutSync } from './speed/contestants.ts';
import { openField, type Field, type FieldOptions } from './speed/field.ts';
import { group } from './speed/groups.ts';
import { createRow, listRow, refusedRow, rows, unauthorizedRow } from './speed/rows.ts';
import { costTable, ratioTable, speedRatio, userRatio } from './speed/view.ts';

async function open(options: FieldOptions): Promise<Field> {
  options.watch(`filling a folder for ${ours}`);
  const own = await ownServers();
  return openField([[own.ours, rows], [own.withoutSync, [createRow]]], rows, options);
}

function report(outcomes: readonly Outcome[]): Report {
  const toFloor = rows.map(({ id, title }) => ({ label: title, one: [id, ours], other: [id, floor] }) as const);
  const toList = [unauthorizedRow, refusedRow].map(({ id, title }) => ({ label: title, one: [id, ours], other: [listRow.id, ours] }) as const);
  const durable = { label: createRow.title, one: [createRow.id, ours], other: [createRow.id, withoutSync] } as const;
  const groups = [
    group(`User CPU per request ÷ ${floor} (less is better)`, outcomes, toFloor, userRatio),
    group(`User CPU per request ÷ list of 20 (less is better)`, outcomes, toList, userRatio),
    group('Requests per second, durable ÷ without any sync (more is better)', outcomes, [durable], speedRatio),
  ];
  return {
    texts: [costTable(outcomes, rows), ratioTable(groups.slice(1))],
    groups,
    chart: groups,
    title: `What ${ours} costs: ratios to bare ${floor} with the same answers, and to itself`,
  };
}

await runBench({
  name: 'speed',
  script: 'bench',
  about: `Compares this project's own server with the floor: bare ${floor} that answers the same bytes and headers with no logic at all.
About two minutes. Judge by the ratios of user CPU per request: requests per second swing with whatever else the machine does.`,
  rounds: 24,
  seconds: 0.3,
  servers: 3,
  warmRequests: 50_000,
  open,
  report,
});
