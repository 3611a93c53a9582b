/** Compares a run with an earlier report: of the same server at two times, or of two servers. */
import type { Report, RunReport } from './report.ts';
import { block, blocksText } from './terminal.ts';
import { clipped, visible } from './visible.ts';
import { dateText, headline } from './words.ts';

const maxBehaviourLength = 400;

/** A program that writes reports. */
interface Author {
  /** The field of its reports that names it. */
  readonly field: 'kit' | 'bench';
  readonly program: string;
  readonly format: number;
  /** The fields that a comparison needs. */
  readonly fields: readonly string[];
}

const kit: Author = {
  field: 'kit',
  program: 'petstore-conformance',
  format: 1,
  fields: ['target', 'startedAt', 'totals', 'known', 'requirements', 'gaps'],
};

/**
 * Reads a report, by default a report.json of the kit.
 *
 * @throws Error with one line if it is not a report of that program and format
 */
export function readReport<R extends RunReport = Report>(
  json: string,
  { field, program, format, fields }: Author = kit,
): R {
  let report: (Partial<Record<Author['field'], { readonly name?: unknown } | null>> & { format?: unknown }) | null;
  try {
    report = JSON.parse(json) as typeof report;
  } catch (error) {
    throw new Error(`not JSON: ${visible((error as Error).message)}`);
  }
  if (report?.[field]?.name !== program) throw new Error(`not a report of this ${field}`);
  if (report.format !== format) {
    throw new Error(`a report of format ${String(report.format)}; this ${field} reads format ${format}`);
  }
  const missing = fields.find((name) => !Object.hasOwn(report, name));
  if (missing !== undefined) throw new Error(`a report without the field ${missing}`);
  return report as R;
}

/** What has changed from one report of the kit to another: the verdicts that differ, then the gaps. */
export function comparisonText(before: Report, now: Report): string {
  const verdicts = changes(before.requirements, now.requirements, ({ verdict }) => verdict, 'not selected');
  const verdictLines = verdicts.map(({ item: { id, text }, was, is }) => `  ${id}: ${was} → ${is}. ${text}`);
  const gaps = changes(before.gaps, now.gaps, ({ behaviour }) => behaviour, 'not observed');
  const gapLines = gaps.flatMap(({ item, was, is }) => [
    `  ${item.id}: ${item.question}`,
    `      before: ${clipped(was, maxBehaviourLength)}`,
    `      now:    ${clipped(is, maxBehaviourLength)}`,
  ]);
  return changesText(before, now, headline, [
    block('Verdicts that differ', verdictLines),
    block('Gaps filled differently', gapLines),
  ], 'Nothing has changed.');
}

/** Two runs, and blocks of what has changed between them, or the line `nothing` if they are all empty. */
export function changesText<R extends RunReport>(
  before: R,
  now: R,
  headlineOf: (report: R) => string,
  blocks: readonly (readonly string[])[],
  nothing: string,
): string {
  const sideText = (report: R) =>
    `${report.target}, ${dateText(report.startedAt)}: ${headlineOf(report).toLowerCase()}`;
  return blocksText([
    [`Before  ${sideText(before)}`, `Now     ${sideText(now)}`],
    ...blocks,
    blocks.every(({ length }) => length === 0) ? [nothing] : [],
  ]);
}

/** The items whose value has changed. `absent` is the value of an item that one of the lists lacks. */
export function changes<Item extends { readonly id: string }>(
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
