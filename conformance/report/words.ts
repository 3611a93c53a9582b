/** The words and signs that every form of the report shares. */
import { sections } from '../requirements/requirements.ts';
import type { Report } from './report.ts';
import type { Verdict } from '../verdicts/results.ts';

/** In the order in which counts are told. */
export const verdicts: readonly Verdict[] = ['passed', 'failed', 'inconclusive', 'skipped'];

/** A verdict must be told without colour too. */
export const signs: Readonly<Record<Verdict, string>> = { passed: '✓', failed: '✗', inconclusive: '?', skipped: '–' };

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

/** All requests of a run. */
export function requestsSent({ sent }: Report): number {
  return sent.withKey + sent.withoutKey;
}

/** Whether inconclusive counts as failed. */
export function isStrict(report: Report): boolean {
  return report.mode.includes('strict');
}

/** The verdict on the server, in one sentence. */
export function conclusion(report: Report): string {
  const { passed, failed, inconclusive } = report.totals;
  if (failed > 0) return `Does not conform: ${count(failed, 'requirement')} failed.`;
  if (report.aborted !== undefined) return `Could not be tested to the end: ${report.aborted}.`;
  if (!report.conforms) return `Does not conform: nothing failed, but under --strict ${count(inconclusive, 'requirement')} may not stay inconclusive.`;
  if (passed === 0) return 'Nothing failed, but nothing was shown to hold either.';
  if (inconclusive > 0) return `Conforms, as far as could be seen: nothing failed, and ${count(inconclusive, 'requirement')} stayed inconclusive.`;
  return `Conforms: nothing failed.`;
}

/** `4.1 List animals`; a heading of our own decisions stands for itself. */
export function sectionTitle(section: string): string {
  const title = sections.find(([number]) => number === section)?.[1];
  return title === undefined ? section : `${section} ${title}`;
}

/** What belongs to each section, sections in the order of the specification, then all others as they come. */
export function bySection<Item extends { readonly section: string }>(items: readonly Item[]): readonly (readonly [section: string, items: readonly Item[]])[] {
  const groups = new Map<string, Item[]>(sections.map(([number]) => [number, []]));
  for (const item of items) {
    const group = groups.get(item.section);
    if (group === undefined) groups.set(item.section, [item]);
    else group.push(item);
  }
  return [...groups].filter(([, group]) => group.length > 0);
}
