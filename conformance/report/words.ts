/** The words and signs that all forms of the report share. */
import type { Combined } from '../model/plan.ts';
import { requirements as all, sections } from '../requirements/requirements.ts';
import { isOutdated } from '../verdicts/known.ts';
import { isLeftOut, type Verdict } from '../verdicts/results.ts';
import type { Report } from './report.ts';

/** The verdicts in the order of all counts. */
export const verdicts: readonly Verdict[] = ['passed', 'failed', 'known', 'inconclusive', 'skipped'];

/** The verdicts to show: without `known` if there are none, because most runs have no file of known deviations. */
export function countedVerdicts({ known }: Readonly<Record<Verdict, number>>): readonly Verdict[] {
  return verdicts.filter((verdict) => verdict !== 'known' || known > 0);
}

/** Signs, so that a verdict can be recognized without colour. */
export const signs: Readonly<Record<Verdict, string>> = {
  passed: '✓', failed: '✗', known: '!', inconclusive: '?', skipped: '–',
};

/** `1 animal`, `1,204 animals`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${grouped(number)} ${number === 1 ? one : many}`;
}

/** `1,204`. */
export function grouped(number: number): string {
  return number.toLocaleString('en-US');
}

/** `8.1 s`, `4 min 12 s`. */
export function duration(seconds: number): string {
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${grouped(Math.floor(whole / 60))} min ${whole % 60} s`;
}

/** `2026-11-21 19:21:02 UTC`. */
export function dateText(startedAt: string): string {
  return startedAt.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC');
}

/** The number of all requests of a run. */
export function requestsSent({ sent }: Report): number {
  return sent.withKey + sent.withoutKey;
}

/** `16 of 640 requests (1 in 40) got 503, and …`, or undefined if none did. */
export function unavailableText(report: Report): string | undefined {
  const { recovered503 = 0 } = report.sent;
  if (recovered503 === 0) return undefined;
  const sent = requestsSent(report);
  const oneIn = grouped(Math.round(sent / recovered503));
  const rate = `${grouped(recovered503)} of ${count(sent, 'request')} (1 in ${oneIn})`;
  return `${rate} got 503, and were served when they were repeated. No requirement forbids this; it is not judged.`;
}

/** How many values and pairs a run combined for one operation, their dimensions, and the values that it did not use. */
export function combinedLines({
  operation, dimensions, values, pairs, possible, requests, unused,
}: Combined): readonly string[] {
  const covered = `${grouped(pairs)} of ${count(possible, 'pair')} of ${count(values, 'value')}`;
  return [
    `${operation}: ${covered} in ${count(requests, 'request')}`,
    `${operation}: combines ${dimensions.join(', ')}`,
    ...unused.map(({ reason, values }) => `${operation}: never used (${reason}): ${values.join('; ')}`),
  ];
}

/** Whether requirements that were not judged count as failures. */
export function isStrict(report: Report): boolean {
  return report.mode.includes('strict');
}

/**
 * `56 of 76 requirements judged`, and which option requires more if the run has failed because of it. The total
 * includes requirements that were not selected.
 */
export function judgedText(report: Report): string {
  const { totals, mode } = report;
  const judged = `${totals.passed + totals.failed + totals.known} of ${count(all.length, 'requirement')} judged`;
  if (headline(report) !== 'Not shown to conform') return judged;
  const demands = mode.filter((option) => /^(strict|min-judged)\b/.test(option)).map((option) => `--${option}`);
  return `${judged}, fewer than ${demands.join(' or ')} requires`;
}

/** `55 passed, 1 failed, 0 inconclusive, 6 skipped, 13 not selected`. */
export function countsText({ totals, requirements }: Report): string {
  const excluded = requirements.filter(({ restriction }) => restriction === 'exclude').length;
  const counts = countedVerdicts(totals).map((verdict): readonly [number, string] => {
    return [totals[verdict] - (verdict === 'skipped' ? excluded : 0), verdict];
  });
  const rest = ([[excluded, 'excluded'], [all.length - requirements.length, 'not selected']] as const);
  return [...counts, ...rest.filter(([number]) => number > 0)].map((pair) => pair.join(' ')).join(', ');
}

/** The result of the run in a few words. */
export function headline(report: Report): string {
  if (report.totals.failed > 0) return 'Does not conform';
  if (report.aborted !== undefined) return 'Not tested to the end';
  if (report.known.some(isOutdated)) return 'Known deviations are out of date';
  if (!report.conforms) return 'Not shown to conform';
  const isKnown = report.totals.known > 0;
  // Some requirements were not judged that a default run judges, because of the options or the server.
  if (report.requirements.length < all.length || report.requirements.some(isLeftOut))
    return isKnown ? 'Only known violations found' : 'No violation found';
  return isKnown ? 'Conforms except for known deviations' : 'Conforms';
}

/** The result of the run in one sentence. */
export function conclusion(report: Report): string {
  const { failed } = report.totals;
  if (failed === 0 && report.aborted !== undefined) return `${headline(report)}: ${report.aborted}.`;
  const failures = failed > 0 ? `${count(failed, 'requirement')} failed` : 'nothing failed';
  const known = report.totals.known > 0 ? `, ${count(report.totals.known, 'known deviation')}` : '';
  const end = report.aborted === undefined ? '' : `, not tested to the end: ${report.aborted}`;
  return `${headline(report)}: ${failures}${known}, ${judgedText(report)}${end}.`;
}

/** `4.1 List animals`. */
export function sectionTitle(section: string): string {
  const title = sections.find(([number]) => number === section)?.[1];
  return title === undefined ? section : `${section} ${title}`;
}
