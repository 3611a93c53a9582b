/** What a run is going to send, said before it is sent. */
import { plans } from '../../conformance/client/pacing.ts';
import type { Standing } from './answer.ts';
import type { Asked, Cost, Scenario } from './scenario.ts';
import { scenarios, type ScenarioName } from './scenarios.ts';
import type { Promised } from './settings.ts';

/** The server does not answer, or not to this key: nothing can be measured. */
export class Untestable extends Error {
  override readonly name = 'Untestable';
}

/** What each scenario will cost, and all of them. */
export interface Plan {
  readonly scenarios: readonly { readonly scenario: Scenario<ScenarioName>; readonly cost: Cost }[];
  readonly total: Required<Cost>;
  /** The requests a minute that it was made for. */
  readonly limit: number;
  /** All requests at most, the first one included. */
  readonly most: number;
  /** What is left of the key's day; undefined where nobody knows, or needs to. */
  readonly dayLeft: number | undefined;
}

/** The request that tells where the key stands. */
export const firstRequest = 1;

/**
 * The key's requests a minute: as promised, else as the headers say. A Limit of the day gives away the plan, and with it the minute.
 *
 * @throws Untestable where neither says anything
 */
export function limitOf(told: Standing | undefined, promised: Promised | undefined, isOfTheDay: boolean): number {
  if (promised !== undefined) return promised.perMinute;
  if (told === undefined)
    throw new Untestable(
      'the answer lacks the X-RateLimit headers: --plan, or --per-minute and --per-day, say what the key may do',
    );
  const plan = isOfTheDay ? Object.values(plans).find(({ perDay }) => perDay === told.limit) : undefined;
  return plan?.perMinute ?? told.limit;
}

export function planOf(names: readonly ScenarioName[], asked: Asked, dayLeft: number | undefined): Plan {
  const chosen: readonly Scenario<ScenarioName>[] = scenarios.filter(({ name }) => names.includes(name));
  const costs = chosen.map((scenario) => ({ scenario, cost: scenario.cost(asked) }));
  const sum = (of: (cost: Cost) => number) => costs.reduce((all, { cost }) => all + of(cost), 0);
  const total = {
    withKey: sum(({ withKey }) => withKey) + firstRequest,
    quiet: sum(({ quiet }) => quiet ?? 0),
    withoutKey: sum(({ withoutKey }) => withoutKey ?? 0),
    seconds: sum(({ seconds }) => seconds),
  };
  return { scenarios: costs, total, limit: asked.limit, most: total.withKey + total.quiet + total.withoutKey, dayLeft };
}
