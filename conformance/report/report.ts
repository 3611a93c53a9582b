/**
 * The report of a run: the content of report.json, from which all other forms are made. It contains no key. `format`
 * changes if a reader of the previous format would misread the new one.
 */
import type { Combined } from '../model/plan.ts';
import type { KnownResult } from '../verdicts/known.ts';
import type { Observation, RequirementResult, Verdict } from '../verdicts/results.ts';

export interface Report extends RunReport {
  readonly format: 1;
  readonly kit: { readonly name: 'petstore-conformance'; readonly version: string; readonly node: string };
  readonly seed: number;
  readonly runs: number;
  /**
   * The options of the run: `write` or `read-only`, and `only list.`, `exclude list.`, `known known.txt`, `path 3:0`,
   * `exhaust`, `plan free`, `thorough-auth`, `strict`, `min-judged 60`, `max-requests 100`.
   */
  readonly mode: readonly string[];
  readonly sent: {
    readonly withKey: number;
    readonly withoutKey: number;
    /** The number of animals created. They remain on the server. */
    readonly created: number;
    /** The number of 429 responses that the kit did not provoke. */
    readonly unwanted429: number;
    /** The number of 503 responses after which the repeated request was served. Earlier versions did not repeat it. */
    readonly recovered503?: number;
    readonly secondsWaited: number;
  };
  /**
   * Whether nothing failed, as much was judged as --strict and --min-judged require, and no known deviation is out of
   * date: whether the exit code is 0.
   */
  readonly conforms: boolean;
  /** What the run has found about each known deviation. */
  readonly known: readonly KnownResult[];
  readonly requirements: readonly RequirementResult[];
  readonly gaps: readonly Observation[];
  /** What was combined, for each operation. Absent in reports of earlier versions. */
  readonly combined?: readonly Combined[];
}

/** What the reports of the kit and of the rate-limit bench have in common. */
export interface RunReport {
  /** The base URL of the server. */
  readonly target: string;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  readonly seconds: number;
  readonly totals: Readonly<Record<Verdict, number>>;
  /** Why the server could not be tested to the end. */
  readonly aborted?: string;
}
