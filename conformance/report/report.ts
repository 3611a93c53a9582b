/**
 * The report of one run: what report.json holds, and what the other forms are made from. The README documents the shape;
 * `format` counts up when it changes in a way that a reader of the old one would misread. No key stands in it.
 */
import type { Observation, RequirementResult, Verdict } from '../verdicts/results.ts';

export interface Report {
  readonly format: 1;
  readonly kit: { readonly name: 'petstore-conformance'; readonly version: string; readonly node: string };
  readonly target: string;
  /** Constant: earlier versions had more than one profile. */
  readonly profile: 'spec';
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  readonly seconds: number;
  readonly seed: number;
  readonly runs: number;
  /** How the run was held back or let loose: `write` or `read-only`, `only list.`, `path 3:0`, `exhaust`, `plan free`, `strict`, `max-requests 100`. */
  readonly mode: readonly string[];
  readonly sent: {
    readonly withKey: number;
    readonly withoutKey: number;
    /** Animals created, which stay. */
    readonly created: number;
    /** 429 that the kit did not ask for. */
    readonly unwanted429: number;
    readonly secondsWaited: number;
  };
  readonly totals: Readonly<Record<Verdict, number>>;
  /** Why the run could not be finished. */
  readonly aborted?: string;
  /** Whether nothing failed (and, under --strict, nothing was inconclusive). */
  readonly conforms: boolean;
  readonly requirements: readonly RequirementResult[];
  readonly gaps: readonly Observation[];
}
