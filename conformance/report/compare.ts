/** Compares two reports: of the same server at two times, or of two servers. */
import type { Observation, RequirementResult, Verdict } from '../verdicts/results.ts';
import type { Report } from './report.ts';
import { headline, type JudgedReport } from './words.ts';

/** What a comparison reads of a report. */
export interface ComparedReport
  extends Pick<Report, 'target' | 'startedAt' | 'aborted' | 'conforms' | 'gaps'>, JudgedReport {
  readonly requirements: readonly ComparedResult[];
}

export type ComparedResult = JudgedReport['requirements'][number] & Pick<RequirementResult, 'id' | 'section' | 'text'>;

/** One of the two runs. */
export interface Side {
  readonly target: string;
  readonly startedAt: string;
  readonly conforms: boolean;
  /** Its result in a few words. */
  readonly headline: string;
}

/**
 * `worse`: it failed now, but not before. `better`: it failed before and passed now. `other`: one of the two runs did
 * not judge it, or it is a known deviation. A failure that is no longer judged is not an improvement.
 */
export type Direction = 'worse' | 'better' | 'other';

/** A requirement whose verdict has changed. */
export interface Change {
  readonly id: string;
  readonly section: string;
  readonly text: string;
  readonly before: Verdict;
  readonly now: Verdict;
  readonly direction: Direction;
}

/** A gap that is filled differently. `before` or `now` is absent if that run did not observe it. */
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
  readonly onlyBefore: readonly ComparedResult[];
  readonly onlyNow: readonly ComparedResult[];
  readonly gaps: readonly GapChange[];
}

/** The headings of the directions. */
export const directionTitles: Readonly<Record<Direction, string>> = {
  worse: 'Worse: failed now, but not before',
  better: 'Better: failed before, passed now',
  other: 'Other: not judged, or a known deviation, in one of the two runs',
};

/** What has changed from one report to another. */
export function compare(before: ComparedReport, now: ComparedReport): Comparison {
  const earlier = new Map<string, ComparedResult>(before.requirements.map((result) => [result.id, result]));
  const later = new Set<string>(now.requirements.map(({ id }) => id));
  return {
    before: sideOf(before),
    now: sideOf(now),
    changed: now.requirements.flatMap(({ id, section, text, verdict }) => {
      const was = earlier.get(id)?.verdict;
      if (was === undefined || was === verdict) return [];
      return [{ id, section, text, before: was, now: verdict, direction: directionOf(was, verdict) }];
    }),
    onlyBefore: before.requirements.filter(({ id }) => !later.has(id)),
    onlyNow: now.requirements.filter(({ id }) => !earlier.has(id)),
    gaps: gapChanges(before.gaps, now.gaps),
  };
}

/** Whether the two reports have the same results. */
export function isUnchanged({ changed, onlyBefore, onlyNow, gaps }: Comparison): boolean {
  return [changed, onlyBefore, onlyNow, gaps].every((list) => list.length === 0);
}

/** The changes of one direction. */
export function changedTo(comparison: Comparison, wanted: Direction): readonly Change[] {
  return comparison.changed.filter(({ direction }) => direction === wanted);
}

/** The gaps that both runs observed, whose changes concern the server, and those that only one of them did. */
export function gapsByRuns({ gaps }: Comparison): {
  readonly both: readonly GapChange[];
  readonly one: readonly GapChange[];
} {
  const isInBoth = ({ before, now }: GapChange): boolean => before !== undefined && now !== undefined;
  return { both: gaps.filter(isInBoth), one: gaps.filter((gap) => !isInBoth(gap)) };
}

function sideOf(report: ComparedReport): Side {
  const { target, startedAt, conforms } = report;
  return { target, startedAt, conforms, headline: headline(report) };
}

/** How a verdict has changed. */
export function directionOf(before: Verdict, now: Verdict): Direction {
  if (now === 'failed') return 'worse';
  return (before === 'failed' || before === 'known') && now === 'passed' ? 'better' : 'other';
}

function gapChanges(before: readonly Observation[], now: readonly Observation[]): readonly GapChange[] {
  const behaviours = (gaps: readonly Observation[]): ReadonlyMap<string, string | undefined> =>
    new Map(gaps.map(({ id, behaviour }) => [id, behaviour]));
  const [earlier, later] = [behaviours(before), behaviours(now)];
  return [...now, ...before.filter(({ id }) => !later.has(id))].flatMap(({ id, section, question }) => {
    const [was, is] = [earlier.get(id), later.get(id)];
    if (was === is) return [];
    return [{ id, section, question, ...(was !== undefined && { before: was }), ...(is !== undefined && { now: is }) }];
  });
}
