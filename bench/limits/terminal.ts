/** The output of a run: what it will send, the result of each scenario as it ends, and the verdict. */
import { plans } from '../../conformance/client/pacing.ts';
import type { Paint } from '../../conformance/report/terminal.ts';
import { visible } from '../../conformance/report/visible.ts';
import { count, countedVerdicts, duration, grouped, signs } from '../../conformance/report/words.ts';
import { table } from '../table.ts';
import type { LimitsReport, ScenarioResult } from './report.ts';
import { milliseconds, percentiles, type Latency } from './responses.ts';
import type { Estimate } from './run-scenarios.ts';
import type { Settings } from './settings.ts';

/** What the key may send, if its plan is known. */
export function planText({ plan }: Settings): string {
  if (plan === undefined) return 'limits as the headers show them';
  const { perMinute, perDay } = plans[plan];
  return `plan ${plan}: ${count(perMinute, 'request')} a minute, ${grouped(perDay)} a day`;
}

/** The load in words. */
export function loadText({ operation, connections, rate, duration: seconds }: Settings): string {
  const floods = `floods of ${count(rate, 'request')} a second, for ${seconds} s at most`;
  return `${operation} over ${count(connections, 'connection')}; ${floods}`;
}

/** What a run will send: printed before it starts. */
export function prefaceText(
  { scenarios, total, most, limit }: Estimate,
  { target, ownServer, settings }: Pick<LimitsReport, 'target' | 'ownServer' | 'settings'>,
): string {
  const rows = scenarios.map(({ scenario: { name }, cost: { withKey, quiet = 0, withoutKey = 0, seconds } }) =>
    [name, withKey === 0 ? 'skipped' : grouped(withKey + quiet), grouped(withoutKey), duration(seconds)]);
  const all = ['total', grouped(total.withKey + total.quiet), grouped(total.withoutKey), duration(total.seconds)];
  const use = ownServer
    ? 'The keys are created for this run, and nobody else needs them.'
    : `Every scenario uses up one or two minutes of the key (${grouped(limit)} requests each), and nobody else should
use it meanwhile. Of its day they take ${grouped(total.withKey)} at most.`;
  return [
    visible(`${target}${ownServer ? ", this project's own server" : ''}; ${planText(settings)}`),
    loadText(settings),
    `\n${table(['scenario', 'requests with a key', 'without', 'about'], [...rows, all])}\n`,
    `At most ${count(most, 'request')} in all, the first one included. ${use}\n`,
  ].join('\n');
}

/** What a report states about a scenario: labels and texts. Adjacent entries may have the same label. */
export function fieldsOf(result: ScenarioResult): readonly (readonly [label: string, text: string])[] {
  const { demanded, failures, seen, reason } = result;
  const lines = [...failures.map((failure) => `${failure}.`), seen, reason].filter((line) => line !== undefined);
  return [['demanded', demanded], ...lines.map((line) => ['seen', line] as const)];
}

/** The result of a scenario. */
export function resultText(result: ScenarioResult, paint: Paint): string {
  const { name, verdict, latencies } = result;
  const measured = Object.entries(latencies).map(([of, one]) => [of, latencyText(one)] as const);
  const fields = [...fieldsOf(result), ...measured];
  const lines = fields.map(([label, text]) => `  ${paint('soft', label.padEnd(10))}${visible(text)}`);
  return [`${paint(verdict, `${signs[verdict]} ${verdict}`)} ${paint('bold', name)}`, ...lines, ''].join('\n');
}

/** The verdict on the server by exit code, and in a few words, which the terminal shows in capitals and in colour. */
export const conclusions = {
  0: ['passed', 'All demands met'],
  1: ['failed', 'Not all demands met'],
  2: ['inconclusive', 'Not tested to the end'],
} as const;

/** The last line of a run: the verdict on the server. */
export function verdictText({ exitCode, totals, sent, seconds, aborted }: LimitsReport, paint: Paint): string {
  const [verdict, headline] = conclusions[exitCode];
  const counts = countedVerdicts(totals).map((one) => `${totals[one]} ${one}`).join(', ');
  const requests = `${grouped(sent.withKey + sent.withoutKey)} of at most ${count(sent.most, 'request')}`;
  const why = aborted === undefined ? '' : `; ${visible(aborted)}`;
  return `${paint(verdict, headline.toUpperCase())}: ${counts} (${requests}, ${duration(seconds)})${why}`;
}

/** `p50 0.41 ms, p90 0.60 ms, p99 1.2 ms, p99.9 2.0 ms of 50 responses`. */
function latencyText(latency: Latency): string {
  const values = percentiles.map((of) => `${of === 'p999' ? 'p99.9' : of} ${milliseconds(latency[of])}`);
  return `${values.join(', ')} of ${count(latency.n, 'response')}`;
}
