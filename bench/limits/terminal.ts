/** What a run prints: what it is going to cost, each scenario as it ends, and the table at the end. */
import type { Verdict } from '../../conformance/verdicts/results.ts';
import { painter, wrapped, type Paint } from '../../conformance/report/terminal.ts';
import { visible } from '../../conformance/report/visible.ts';
import { count, duration, grouped, signs, verdicts } from '../../conformance/report/words.ts';
import { milliseconds, type Latency } from './latency.ts';
import type { Plan } from './plan.ts';
import type { LimitsReport, ScenarioResult } from './report.ts';
import type { Settings } from './settings.ts';

/** What a key may do, or that nobody said so. */
export function promisedInWords({ promised }: Settings): string {
  if (promised === undefined) return 'nothing is promised: what the headers say is believed';
  const numbers = `${count(promised.perMinute, 'request')} a minute, ${grouped(promised.perDay)} a day`;
  return promised.plan === undefined ? numbers : `plan ${promised.plan}: ${numbers}`;
}

/** What is going to happen. */
export function prefaceText(
  plan: Plan,
  { target, ownServer, settings }: Pick<LimitsReport, 'target' | 'ownServer' | 'settings'>,
): string {
  const { total, most, dayLeft } = plan;
  const rows = plan.scenarios.map(({ scenario: { name }, cost }) => [
    name,
    cost.withKey > 0 ? grouped(cost.withKey + (cost.quiet ?? 0)) : 'skipped',
    cost.withoutKey === undefined ? '' : grouped(cost.withoutKey),
    cost.withKey > 0 ? about(cost.seconds) : '',
  ]);
  const table = [
    ['scenario', 'requests with a key', 'without', 'about'],
    ...rows,
    ['in all', grouped(total.withKey + total.quiet), grouped(total.withoutKey), about(total.seconds)],
  ].map(([name = '', withKey = '', without = '', time = '']) =>
    `  ${name.padEnd(10)}  ${withKey.padStart(19)}  ${without.padStart(8)}  ${time.padStart(12)}`.trimEnd(),
  );
  const day = settings.promised?.perDay;
  const spent = ownServer
    ? 'The keys are made for this run, and nobody else needs them.'
    : [
        `Every scenario uses up a minute of the key (${grouped(plan.limit)}) or two, so nobody else should need it meanwhile.`,
        `Of its day${day === undefined ? '' : ` (${grouped(day)})`} they take ${grouped(total.withKey)} at most${dayLeft === undefined || dayLeft >= total.withKey ? '.' : `, and only ${grouped(dayLeft)} are left: what does not fit is left out, and not tested (exit code 2).`}`,
      ].join(' ');
  return [
    visible(`${target}${ownServer ? ", this project's own server" : ''}; ${promisedInWords(settings)}`),
    `${count(settings.connections, 'connection')}; floods of ${count(settings.rate, 'request')} a second, for ${settings.duration} s at most`,
    '',
    ...table,
    '',
    `At most ${count(most, 'request')} in all, the first one included. ${spent}`,
    '',
  ].join('\n');
}

/** A scenario that has ended: sign, name, what was seen. */
export function resultLine({ name, verdict, seen, reason, failures }: ScenarioResult, { colour }: { colour: boolean }): string {
  const paint = painter(colour);
  const what = verdict === 'failed' ? `FAILED: ${failures.join('; ')}` : verdict === 'passed' ? seen : `${verdict}: ${reason}`;
  return `${paint(verdict, signs[verdict])} ${paint('bold', name.padEnd(9))}  ${visible(what ?? '')}`;
}

/** The end of a run: the table by scenario, and the verdict as the last line. */
export function summaryText(report: LimitsReport, { colour, columns }: { colour: boolean; columns: number }): string {
  const paint = painter(colour);
  const width = Math.max(60, columns);
  const blocks =
    width >= 100 ? tableOf(report.scenarios, width, paint) : report.scenarios.map((result) => blockOf(result, width, paint));
  const remarks = report.scenarios.some(lacksLatency) ? [wrapped(withoutLatency, width, '').join('\n')] : [];
  return [...blocks, ...remarks, lastLine(report, paint)].join('\n\n');
}

const withoutLatency = '–: each of these answers was the first on its connection, and is left out: its latency would hold the opening.';

function lacksLatency({ admitted, refused, latency200, latency429 }: ScenarioResult): boolean {
  return (admitted > 0 && latency200 === undefined) || (refused > 0 && latency429 === undefined);
}

function tableOf(results: readonly ScenarioResult[], width: number, paint: Paint): string[] {
  const [name, latency] = [14, 12];
  const room = width - name - 2 * latency - 8;
  const widths = [name, Math.floor(room * 0.42), room - Math.floor(room * 0.42), latency, latency];
  const row = (cells: readonly (readonly string[])[], style: (text: string, line: number, cell: number) => string) =>
    Array.from({ length: Math.max(...cells.map(({ length }) => length)) }, (_, line) =>
      cells
        .map((cell, i) => style((cell[line] ?? '').padEnd(widths[i]!), line, i))
        .join('  ')
        .trimEnd(),
    ).join('\n');
  const head = row([['scenario'], ['demanded'], ['seen'], ['200'], ['429']], (text) => paint('soft', text));
  return [
    head,
    ...results.map((result) =>
      row(
        [
          [`${signs[result.verdict]} ${result.name}`, result.verdict],
          wrapped(result.demanded, widths[1]!, ''),
          seenLines(result).flatMap((line) => wrapped(visible(line), widths[2]!, '')),
          latencyLines(result.latency200),
          latencyLines(result.latency429),
        ],
        (text, line, cell) => (cell !== 0 ? text : line === 0 ? paint('bold', text) : paint(result.verdict, text)),
      ),
    ),
  ];
}

/** A scenario where there is no room for columns. */
function blockOf(result: ScenarioResult, width: number, paint: Paint): string {
  const field = (label: string, lines: readonly string[]) =>
    lines.flatMap((line, i) => {
      const [first = '', ...rest] = wrapped(visible(line), width, ' '.repeat(12));
      return [`  ${paint('soft', (i === 0 ? label : '').padEnd(10))}${first.slice(12)}`, ...rest];
    });
  const of = (latency: Latency | undefined) => (latency === undefined ? [] : [latencyLines(latency).join(', ')]);
  return [
    `${paint(result.verdict, `${signs[result.verdict]} ${result.verdict}`)} ${paint('bold', result.name)}`,
    ...field('demanded', [result.demanded]),
    ...field('seen', seenLines(result)),
    ...field('200', of(result.latency200)),
    ...field('429', of(result.latency429)),
  ].join('\n');
}

/** What was seen, and what of it breaks a demand or keeps it from being judged. */
export function seenLines({ seen, reason, failures }: ScenarioResult): readonly string[] {
  return [
    ...failures.map((failure) => `${failure}.`),
    ...(seen === undefined ? [] : [seen]),
    ...(reason === undefined ? [] : [reason]),
  ];
}

function latencyLines(latency: Latency | undefined): string[] {
  if (latency === undefined) return ['–'];
  return [`p50 ${milliseconds(latency.p50)}`, `p99 ${milliseconds(latency.p99)}`, `n ${grouped(latency.n)}`];
}

/** The verdict on the server, in one sentence. */
export function conclusion({ exitCode, totals, aborted }: LimitsReport): string {
  if (exitCode === 1) return `${count(totals.failed, 'demand was', 'demands were')} not met.`;
  if (aborted !== undefined) return `Not tested to the end: ${aborted}.`;
  if (totals.inconclusive > 0) return `Nothing failed, but ${count(totals.inconclusive, 'scenario')} stayed inconclusive.`;
  return exitCode === 0 ? 'Every demand was met.' : 'Nothing was tested.';
}

function lastLine(report: LimitsReport, paint: Paint): string {
  const style: Verdict = report.exitCode === 0 ? 'passed' : report.exitCode === 1 ? 'failed' : 'inconclusive';
  const word = { 0: 'ALL DEMANDS MET', 1: 'NOT ALL DEMANDS MET', 2: 'NOT TESTED TO THE END' }[report.exitCode];
  const counts = verdicts.map((verdict) => `${report.totals[verdict]} ${verdict}`).join(', ');
  const sent = report.sent.withKey + report.sent.withoutKey;
  const end = `${word}: ${counts} (${grouped(sent)} of at most ${count(report.sent.most, 'request')}, ${duration(report.seconds)})`;
  return `${paint(style, word)}${end.slice(word.length)}${report.aborted === undefined ? '' : `; ${visible(report.aborted)}`}`;
}

function about(seconds: number): string {
  return duration(Math.max(1, Math.round(seconds)))
    .replace('.0 s', ' s')
    .replace(' 0 s', '');
}
