/**
 * What a check is. Each requirement has one check. It sends requests whose responses could violate the requirement, and
 * states what is required of each:
 *
 *     check('create.empty', { requests: 1, writes: true }, async (t) => {
 *       const response = await t.send(createPetOf(t.key, ''));
 *       t.require(response.status === 400, response, '400, because the body is empty');
 *     });
 *
 * If no response could have violated the requirement, the verdict is inconclusive. The rules (verdicts/rules/) judge
 * every response, whichever check has sent the request; if a rule covers the requirement, its check only sends
 * requests.
 */
import type { GapId } from '../requirements/gaps.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import type { CheckContext } from './context.ts';
import type { Cost } from './cost.ts';

export interface Check {
  /** The requirement it tests; undefined if it only observes gaps. */
  readonly requirement?: RequirementId;
  /** The gaps it observes. */
  readonly gaps: readonly GapId[];
  readonly cost: Cost;
  readonly run: (t: CheckContext) => Promise<void>;
}

/** A check of a requirement. */
export function check(requirement: RequirementId, cost: Cost, run: (t: CheckContext) => Promise<void>): Check {
  return { requirement, gaps: [], cost, run };
}

/** Observes gaps: `run` reports how the server fills each of them, and judges nothing. */
export function observe(gaps: readonly GapId[], cost: Cost, run: (t: CheckContext) => Promise<void>): Check {
  return { gaps, cost, run };
}
