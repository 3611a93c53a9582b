/** Compares a run with an earlier report.json: of the same server at two times, or of two servers. */
import type { Report } from './report.ts';
import { block, blocksText } from './terminal.ts';
import { clipped, visible } from './visible.ts';
import { dateText, headline } from './words.ts';

const maxBehaviourLength = 400;

/**
 * Reads a report.json.
 *
 * @param name of the file, for error messages
 * @throws Error with one line if it is not a report of format 1
 */
export function readReport(json: string, name: string): Report {
  const fail = (problem: string) => new Error(`${visible(name)}: ${problem}`);
  let report: Partial<Report> | null;
  try {
    report = JSON.parse(json) as Partial<Report> | null;
  } catch (error) {
    throw fail(`not JSON: ${visible((error as Error).message)}`);
  }
  if (report?.kit?.name !== 'petstore-conformance') throw fail('not a report of this kit');
  if (report.format !== 1) throw fail(`a report of format ${String(report.format)}; this kit reads format 1`);
  return report as Report;
}

/** What has changed from one report to another: the verdicts that differ, then the gaps. */
export function comparisonText(before: Report, now: Report): string {
  const sideText = (report: Report) =>
    `${report.target}, ${dateText(report.startedAt)}: ${headline(report).toLowerCase()}`;
  const verdicts = changes(before.requirements, now.requirements, ({ verdict }) => verdict, 'not selected');
  const verdictLines = verdicts.map(({ item: { id, text }, was, is }) => `  ${id}: ${was} → ${is}. ${text}`);
  const gaps = changes(before.gaps, now.gaps, ({ behaviour }) => behaviour, 'not observed');
  const gapLines = gaps.flatMap(({ item, was, is }) => [
    `  ${item.id}: ${item.question}`,
    `      before: ${clipped(was, maxBehaviourLength)}`,
    `      now:    ${clipped(is, maxBehaviourLength)}`,
  ]);
  return blocksText([
    [`Before  ${sideText(before)}`, `Now     ${sideText(now)}`],
    block('Verdicts that differ', verdictLines),
    block('Gaps filled differently', gapLines),
    verdicts.length + gaps.length === 0 ? ['Nothing has changed.'] : [],
  ]);
}

/** The items whose value has changed. `absent` is the value of an item that one of the lists lacks. */
function changes<Item extends { readonly id: string }>(
  before: readonly Item[],
  now: readonly Item[],
  valueOf: (item: Item) => string | undefined,
  absent: string,
): readonly { readonly item: Item; readonly was: string; readonly is: string }[] {
  const removed = before.filter(({ id }) => !now.some((item) => item.id === id));
  return [...now, ...removed].flatMap((item) => {
    const [was = absent, is = absent] = [before, now].map((items) => {
      const one = items.find(({ id }) => id === item.id);
      return one && valueOf(one);
    });
    return was === is ? [] : [{ item, was, is }];
  });
}
