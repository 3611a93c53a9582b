/** Two reports side by side: the same server at two times, or two servers. */
import type { Report } from './report.ts';
import type { Observation, RequirementResult, Verdict } from '../verdicts/results.ts';
import * as shape from './shape.ts';
import { clipped, visible } from './visible.ts';
import { dateText, sectionTitle, verdicts } from './words.ts';

/** Which run it was. */
export interface Side {
  readonly target: string;
  readonly startedAt: string;
  readonly conforms: boolean;
}

/**
 * `worse`: it failed now and did not before. `better`: it failed before and passed now. `other`: one of the two runs did not
 * judge it, which says nothing of the server; a failure that is merely no longer looked at is no progress.
 */
export type Direction = 'worse' | 'better' | 'other';

/** A requirement with another verdict. */
export interface Change {
  readonly id: string;
  readonly section: string;
  readonly text: string;
  readonly before: Verdict;
  readonly now: Verdict;
  readonly direction: Direction;
}

/** A gap that is filled in another way; an answer is absent where that run did not look. */
export interface GapChange {
  readonly id: string;
  readonly section: string;
  readonly question: string;
  readonly before?: string;
  readonly now?: string;
}

export interface Comparison {
  readonly before: Side;
  readonly now: Side;
  readonly changed: readonly Change[];
  /** Requirements that only the earlier, or only the later report has. */
  readonly onlyBefore: readonly RequirementResult[];
  readonly onlyNow: readonly RequirementResult[];
  readonly gaps: readonly GapChange[];
}

/** What changed from one report to the other. */
export function compare(before: Report, now: Report): Comparison {
  const earlier = new Map<string, RequirementResult>(before.requirements.map((result) => [result.id, result]));
  const later = new Set<string>(now.requirements.map(({ id }) => id));
  return {
    before: side(before),
    now: side(now),
    changed: now.requirements.flatMap((result) => {
      const was = earlier.get(result.id)?.verdict;
      if (was === undefined || was === result.verdict) return [];
      const { id, section, text, verdict } = result;
      return [{ id, section, text, before: was, now: verdict, direction: direction(was, verdict) }];
    }),
    onlyBefore: before.requirements.filter(({ id }) => !later.has(id)),
    onlyNow: now.requirements.filter(({ id }) => !earlier.has(id)),
    gaps: gapChanges(before.gaps, now.gaps),
  };
}

/** Whether the two reports say the same. */
export function isUnchanged(comparison: Comparison): boolean {
  return [comparison.changed, comparison.onlyBefore, comparison.onlyNow, comparison.gaps].every((list) => list.length === 0);
}

/** The requirements that changed in this direction. */
export function changedTo(comparison: Comparison, wanted: Direction): readonly Change[] {
  return comparison.changed.filter((change) => change.direction === wanted);
}

/** Gaps that both runs looked at, then those that only one did: only the former say something of the server. */
export function gapsByRuns({ gaps }: Comparison): { readonly both: readonly GapChange[]; readonly one: readonly GapChange[] } {
  const inBoth = ({ before, now }: GapChange): boolean => before !== undefined && now !== undefined;
  return { both: gaps.filter(inBoth), one: gaps.filter((gap) => !inBoth(gap)) };
}

function side({ target, startedAt, conforms }: Report): Side {
  return { target, startedAt, conforms };
}

function direction(before: Verdict, now: Verdict): Direction {
  if (now === 'failed') return 'worse';
  return before === 'failed' && now === 'passed' ? 'better' : 'other';
}

function gapChanges(before: readonly Observation[], now: readonly Observation[]): readonly GapChange[] {
  const answers = (gaps: readonly Observation[]): Map<string, string | undefined> => new Map(gaps.map(({ id, answer }) => [id, answer]));
  const earlier = answers(before);
  const later = answers(now);
  return [...now, ...before.filter(({ id }) => !later.has(id))].flatMap(({ id, section, question }) => {
    const was = earlier.get(id);
    const is = later.get(id);
    return was === is ? [] : [{ id, section, question, ...(was !== undefined && { before: was }), ...(is !== undefined && { now: is }) }];
  });
}

/** The heading of each direction. */
export const directionTitles: Readonly<Record<Direction, string>> = {
  worse: 'Worse: failed now, and did not before',
  better: 'Better: failed before, and passed now',
  other: 'Other: one of the two runs did not judge it',
};

/** In words for the terminal: what got worse, then better, then other changes, then gaps. */
export function comparisonText(comparison: Comparison): string {
  const { before, now, onlyBefore, onlyNow } = comparison;
  const gaps = gapsByRuns(comparison);
  const blocks = [
    [`Before  ${sideText(before)}`, `Now     ${sideText(now)}`],
    ...(['worse', 'better', 'other'] as const).map((wanted) => block(directionTitles[wanted], changedTo(comparison, wanted).flatMap(changeLines))),
    block('Only in the earlier report', onlyBefore.map(onlyLine)),
    block('Only in this report', onlyNow.map(onlyLine)),
    block('Gaps filled in another way', gaps.both.flatMap(gapLines)),
    block('Gaps that one of the two runs did not look at', gaps.one.map(gapLine)),
    isUnchanged(comparison) ? ['Nothing changed: the same verdicts, and the gaps filled in the same way.'] : [],
  ];
  return blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map((line) => visible(line)).join('\n'))
    .join('\n\n');
}

function block(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

function sideText({ target, startedAt, conforms }: Side): string {
  return `${target}, ${dateText(startedAt)}: ${conforms ? 'conforms' : 'does not conform'}`;
}

function changeLines({ id, section, text, before, now }: Change): readonly string[] {
  return [`  ${id}: ${before} → ${now}`, `      ${text} (${sectionTitle(section)})`];
}

function onlyLine({ id, text, verdict }: RequirementResult): string {
  return `  ${id}: ${verdict}. ${text}`;
}

function gapLines({ id, question, before, now }: GapChange): readonly string[] {
  return [`  ${id}: ${question}`, `      before: ${clipped(before ?? '', answerLength)}`, `      now:    ${clipped(now ?? '', answerLength)}`];
}

function gapLine({ id, before, now }: GapChange): string {
  return before === undefined ? `  ${id}: now ${clipped(now ?? '', answerLength)}` : `  ${id}: before ${clipped(before, answerLength)}`;
}

const answerLength = 400;

/** Reads a report.json; `name` is the file's, for the error, which is one line. */
export function readReport(json: string, name: string): Report {
  const fail = (problem: string): Error => new Error(`${visible(name)}: ${problem}`);
  let value: unknown;
  try {
    value = JSON.parse(json.replace(/^\ufeff/, ''));
  } catch (error) {
    throw fail(`not JSON: ${visible(String(error instanceof Error ? error.message : error))}`);
  }
  const header = shape.object({ format: shape.number })(value, '');
  if (header !== undefined) throw fail(`not a report of this kit: ${header}`);
  const { format } = value as Pick<Report, 'format'>;
  if (format !== 1) throw fail(`a report of format ${String(format)}; this kit reads format 1`);
  const problem = reportShape(value, '');
  if (problem !== undefined) throw fail(`not a report of format 1: ${problem}`);
  const report = value as Report;
  const twice = repeated(report.requirements) ?? repeated(report.gaps);
  if (twice !== undefined) throw fail(`not a report of format 1: ${visible(twice)} is there twice`);
  return report;
}

function repeated(items: readonly { readonly id: string }[]): string | undefined {
  const seen = new Set<string>();
  return items.find(({ id }) => seen.size === seen.add(id).size)?.id;
}

// `satisfies` holds the shapes to the types: a field that one has and the other lacks does not compile. An id is any text, for
// the report may be of an older or a newer kit.
const failure = {
  required: shape.text,
  came: shape.text,
  smallestCase: shape.text,
  curl: shape.text,
  answer: shape.text,
  replay: shape.optional(shape.text),
} satisfies Record<keyof RequirementResult['failures'][number], shape.Check>;
const requirement = {
  id: shape.text,
  section: shape.text,
  profile: shape.text,
  text: shape.text,
  verdict: shape.oneOf(...verdicts),
  reason: shape.optional(shape.text),
  judged: shape.natural,
  evidence: shape.listOf(shape.text),
  failures: shape.listOf(shape.object(failure)),
  failed: shape.natural,
} satisfies Record<keyof RequirementResult, shape.Check>;
const gap = {
  id: shape.text,
  section: shape.text,
  question: shape.text,
  answer: shape.optional(shape.text),
  example: shape.optional(shape.text),
  reason: shape.optional(shape.text),
} satisfies Record<keyof Observation, shape.Check>;
const reportShape = shape.object({
  format: shape.number,
  kit: shape.object({ name: shape.oneOf('petstore-conformance'), version: shape.text, node: shape.text }),
  target: shape.text,
  profile: shape.text,
  startedAt: shape.text,
  seconds: shape.number,
  seed: shape.number,
  runs: shape.number,
  mode: shape.listOf(shape.text),
  sent: shape.object({
    withKey: shape.natural,
    withoutKey: shape.natural,
    created: shape.natural,
    unwanted429: shape.natural,
    secondsWaited: shape.number,
  } satisfies Record<keyof Report['sent'], shape.Check>),
  totals: shape.object({ passed: shape.natural, failed: shape.natural, inconclusive: shape.natural, skipped: shape.natural } satisfies Record<Verdict, shape.Check>),
  aborted: shape.optional(shape.text),
  conforms: shape.boolean,
  requirements: shape.listOf(shape.object(requirement)),
  gaps: shape.listOf(shape.object(gap)),
} satisfies Record<keyof Report, shape.Check>);
