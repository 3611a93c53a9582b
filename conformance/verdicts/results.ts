/**
 * What a run concludes. These types are part of report.json (see report/report.ts), so their fields keep their names.
 */
import type { GapId } from '../requirements/gaps.ts';
import type { RequirementId } from '../requirements/requirements.ts';

export type Verdict = 'passed' | 'failed' | 'inconclusive' | 'skipped';

/** What a response had to be, and what it was. */
export interface Violation {
  readonly required: string;
  readonly received: string;
}

/** One violation of a requirement, as it is reported. */
export interface Failure {
  /** What is required, in words. */
  readonly required: string;
  /** What was received instead. */
  readonly received: string;
  /** The smallest case found: the value, the body or the sequence of requests. */
  readonly smallestCase: string;
  /** A line for a POSIX shell that sends the request again, with the key as `$API_KEY`. */
  readonly curl: string;
  /** Status line, headers and the start of the body. */
  readonly response: string;
  /** The options of the kit that generate this case again. Absent if the case was not generated. */
  readonly replay?: string;
}

/** The verdict on one requirement, and its evidence. */
export interface RequirementResult {
  readonly id: RequirementId;
  readonly section: string;
  readonly text: string;
  readonly verdict: Verdict;
  /** Why it is inconclusive or skipped. */
  readonly reason?: string;
  /** Whether no options would change that it is skipped: it cannot be tested, or does not apply to the server. */
  readonly inapplicable?: true;
  /** The duration of its check. Absent if no check ran. */
  readonly seconds?: number;
  /** The number of responses that could have violated it. */
  readonly judged: number;
  /** Some of these responses: `GET /pets?limit=1 → 200, 1 animal`. */
  readonly evidence: readonly string[];
  /** The first few failures. */
  readonly failures: readonly Failure[];
  /** The number of all failures. */
  readonly failed: number;
}

/** How the server fills one gap of the specification. */
export interface Observation {
  readonly id: GapId;
  readonly section: string;
  readonly question: string;
  /** The same text for the same behaviour. Absent if the gap was not observed; then `reason` says why. */
  readonly behaviour?: string;
  readonly example?: string;
  readonly reason?: string;
}

/** Whether a requirement was not judged although another run could judge it. Under --strict it counts as a failure. */
export function isOpen({ verdict, inapplicable }: RequirementResult): boolean {
  return verdict === 'inconclusive' || (verdict === 'skipped' && inapplicable !== true);
}

/** Why a requirement is skipped that a run judges only with these options. */
export const optionalReasons = {
  exhaust: 'only with --exhaust',
  plan: 'the plan is unknown: set --plan free, pro or business',
} as const;

/** Whether a requirement was not judged although a run without options might have judged it. */
export function isLeftOut(result: RequirementResult): boolean {
  return isOpen(result) && !Object.values<string | undefined>(optionalReasons).includes(result.reason);
}
