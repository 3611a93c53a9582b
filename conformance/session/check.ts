/**
 * What a check is. One requirement, one check: it makes the situations in which a server could break the requirement, sends
 * them, and says of each response what was required.
 *
 *     check('create.empty', { requests: 1, writes: true }, async (t) => {
 *       const response = await t.send(createPetOf(t.key, ''));
 *       t.require(response.status === 400, response, '400, since the body is empty');
 *     });
 *
 * A check that saw no response which could have failed it is inconclusive by itself. Whatever a check asks, every response is also
 * judged by all of rules.ts; a check whose requirement is kept there only has to ask.
 */
import type { GapId } from '../requirements/gaps.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import type { CheckContext } from './context.ts';

/** What a check sends at most, retries and shrinking apart. What all share (fixtures.ts) is counted once for all. */
interface Cost {
  readonly requests?: number;
  /** Requests without a valid key, not counted in `requests`. */
  readonly keyless?: number;
  /** How many animals a server that conforms creates for it. */
  readonly creates?: number;
  /** It is left out where nothing may be created: it sends what a server might response by creating an animal. */
  readonly writes?: true;
  /** For each generated case, on top: what it sends; what part of --runs there are (1 unless told), and how many at most. */
  readonly perRun?: {
    readonly requests: number;
    readonly keyless?: number;
    readonly creates?: number;
    readonly share?: number;
    readonly most?: number;
  };
  /** It drives a key to its limit. */
  readonly exhausts?: true;
}

export interface Check {
  /** The requirement it tests, or undefined where it only looks at gaps. */
  readonly requirement?: RequirementId;
  /** The gaps it looks at. */
  readonly gaps: readonly GapId[];
  readonly cost: Cost;
  readonly run: (t: CheckContext) => Promise<void>;
}

/** A check of a requirement. */
export function check(requirement: RequirementId, cost: Cost, run: (t: CheckContext) => Promise<void>): Check {
  return { requirement, gaps: [], cost, run };
}

/** A look at gaps: `run` observes each of them, and judges nothing. */
export function look(gaps: readonly GapId[], cost: Cost, run: (t: CheckContext) => Promise<void>): Check {
  return { gaps, cost, run };
}

/** A check of which the rules of every response are all there is. */
export function onEveryAnswer(id: RequirementId): Check {
  return check(id, {}, async (t) => t.fixtures.tour());
}

/** How many cases are generated for a check under `--runs`. */
export function casesOf(cost: Cost, runs: number): number {
  if (cost.perRun === undefined) return 0;
  const { share = 1, most = Infinity } = cost.perRun;
  return Math.min(most, Math.max(1, Math.ceil(runs * share)));
}

/** What a check costs at most under `--runs`. */
export function totalCost(cost: Cost, runs: number): { requests: number; keyless: number; creates: number } {
  const cases = casesOf(cost, runs);
  return {
    requests: Math.ceil((cost.requests ?? 0) + cases * (cost.perRun?.requests ?? 0)),
    keyless: (cost.keyless ?? 0) + cases * (cost.perRun?.keyless ?? 0),
    creates: (cost.creates ?? 0) + cases * (cost.perRun?.creates ?? 0),
  };
}
