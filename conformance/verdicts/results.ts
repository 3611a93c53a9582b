/**
 * What a run concludes. These types are part of report.json (see report/report.ts), so their fields keep their names.
 */
import type { Gap } from '../requirements/gaps.ts';
import type { Requirement } from '../requirements/requirements.ts';

/** `known`: a response violated the requirement, and the file of --known lists it. */
export type Verdict = 'passed' | 'failed' | 'known' | 'inconclusive' | 'skipped';

/** The number of results by verdict. */
export function totalsOf(results: readonly { readonly verdict: Verdict }[]): Readonly<Record<Verdict, number>> {
  const totals = { passed: 0, failed: 0, known: 0, inconclusive: 0, skipped: 0 };
  for (const { verdict } of results) totals[verdict]++;
  return totals;
}

/** What a response had to be, and what it was, in words. */
export interface Violation {
  readonly required: string;
  readonly received: string;
}

/** One violation of a requirement, as it is reported. */
export interface Failure extends Violation {
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
export interface RequirementResult extends Omit<Requirement, 'untested'> {
  readonly verdict: Verdict;
  /** Why it is inconclusive or skipped; or the reason in the file of --known. */
  readonly reason?: string;
  /** Whether no options would change that it is skipped: it cannot be tested, or does not apply to the server. */
  readonly inapplicable?: true;
  /** The option because of which no run with the same options can judge it. */
  readonly restriction?: Restriction;
  /** The duration of its check. Absent if no check ran. */
  readonly seconds?: number;
  /** The number of responses that could have violated it. */
  readonly judged: number;
  /** Some of these responses: `GET /pets?limit=1 → 200, 1 animal`. */
  readonly evidence: readonly string[];
  /** One failure of each kind, of the first few kinds. */
  readonly failures: readonly Failure[];
  /** The number of all failures. */
  readonly failed: number;
}

/** How the server fills one gap of the specification. */
export interface Observation extends Gap {
  /** The same text for the same behaviour. Absent if the gap was not observed; then `reason` says why. */
  readonly behaviour?: string;
  readonly example?: string;
  readonly reason?: string;
}

/** The options that prevent a run from judging a requirement if they are given or missing, and the reason to report. */
export const restrictions = {
  exclude: 'excluded by --exclude',
  write: 'only with --write on a remote server',
  'read-only': 'not with --read-only',
  exhaust: 'only with --exhaust',
  plan: 'the plan is unknown: set --plan free, pro or business',
} as const;

export type Restriction = keyof typeof restrictions;

/** Whether a requirement was judged, and why not. */
export type Judgeable = Pick<RequirementResult, 'verdict' | 'inapplicable' | 'restriction'>;

/** Whether a requirement was not judged although a run with the same options could judge it: --strict fails then. */
export function isUnjudged({ verdict, inapplicable, restriction }: Judgeable): boolean {
  return ['inconclusive', 'skipped'].includes(verdict) && inapplicable !== true && restriction === undefined;
}

/** Whether a requirement was not judged although a run without options might have judged it. */
export function isLeftOut(result: Judgeable): boolean {
  const { restriction } = result;
  return isUnjudged(result) || (restriction !== undefined && restriction !== 'exhaust' && restriction !== 'plan');
}
