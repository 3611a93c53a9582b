/** Checks that only send combinations: those that prove a requirement or show gaps. */
import type { Response } from '../client/response.ts';
import { costOf } from '../model/plan.ts';
import type { GapId } from '../requirements/gaps.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import { check, observe, type Check } from '../session/check.ts';
import type { Cost } from '../session/cost.ts';

/** A check that sends all combinations that prove a requirement. */
export function checkCases(id: RequirementId, cost: Cost = {}): Check {
  return check(id, { ...cost, planned: costOf(id) }, async (t) => void (await t.sendCases(id)));
}

/** Observes gaps by the responses to their combinations. */
export function observeCases(
  gaps: readonly GapId[],
  behaviour: (response: Response, gap: GapId) => string,
  cost: Cost = {},
): Check {
  return observe(gaps, { ...cost, planned: costOf(...gaps) }, async (t) => {
    for (const { of, response } of await t.sendCases(...gaps))
      t.observe(of as GapId, behaviour(response, of as GapId), response);
  });
}
