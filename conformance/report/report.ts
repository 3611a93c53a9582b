/**
 * The report of one run: what report.json holds, and what the other forms are made from. The README documents the shape;
 * `format` counts up when it changes in a way that a reader of the old one would misread. No key stands in it.
 */
import type { GapId } from '../requirements/gaps.ts';
import type { Profile, RequirementId } from '../requirements/requirements.ts';

export type Verdict = 'passed' | 'failed' | 'inconclusive' | 'skipped';

/** One way in which a requirement was not kept. */
export interface Failure {
  /** What was required, in words. */
  readonly required: string;
  /** What came instead. */
  readonly came: string;
  /** The smallest case: the value, the body or the sequence at fault. */
  readonly smallestCase: string;
  /** One line for a POSIX shell that sends the request again; the key is `$API_KEY`. */
  readonly curl: string;
  /** The answer, as far as it is worth reading: status line, headers, the first bytes of the body. */
  readonly answer: string;
  /** How to have this very case generated again: options for the kit. Absent where nothing was generated. */
  readonly replay?: string;
}

/** What became of one requirement. */
export interface RequirementResult {
  readonly id: RequirementId;
  readonly section: string;
  readonly profile: Profile;
  readonly text: string;
  readonly verdict: Verdict;
  /** Why it is inconclusive or skipped. */
  readonly reason?: string;
  /** How many answers could have failed it. */
  readonly judged: number;
  /** Some of those answers, in words: `GET /pets?limit=1 → 200, 1 animal`. */
  readonly evidence: readonly string[];
  /** The first few failures; `failed` says how many there were. */
  readonly failures: readonly Failure[];
  readonly failed: number;
}

/** How the server fills one gap. */
export interface Observation {
  readonly id: GapId;
  readonly section: string;
  readonly question: string;
  /** The server's answer, in words that are the same for the same behaviour; absent: not looked at, and `reason` says why. */
  readonly answer?: string;
  readonly example?: string;
  readonly reason?: string;
}

export interface Report {
  readonly format: 1;
  readonly kit: { readonly name: 'petstore-conformance'; readonly version: string; readonly node: string };
  readonly target: string;
  readonly profile: Profile;
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
