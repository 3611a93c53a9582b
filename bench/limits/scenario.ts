/** What a scenario is: it sends requests, and returns what it has seen and which requirements that violates. */
import type { ScenarioContext } from './context.ts';
import type { Outcome } from './report.ts';
import type { ScenarioName, Settings } from './settings.ts';

/** What decides how much a scenario sends. */
export interface Conditions extends Settings {
  /** The key's requests per minute. */
  readonly limit: number;
  /** Keys are created as they are needed. */
  readonly unlimitedKeys: boolean;
  /** There is a second key. */
  readonly hasQuiet: boolean;
}

/** What a scenario sends at most, and about how long it takes. */
export interface Cost {
  /** Of the key that is measured, or of those created in its place. */
  readonly withKey: number;
  /** Of the second key. */
  readonly quiet?: number;
  readonly withoutKey?: number;
  readonly seconds: number;
}

/**
 * What was seen, in a sentence without a capital or a full stop; the violated requirements, each in such a sentence;
 * and figures.
 */
export type Finding = Pick<Required<Outcome>, 'seen' | 'failures' | 'figures'>;

export interface Scenario {
  readonly name: ScenarioName;
  /** What it does, in one line. */
  readonly text: string;
  /** What it requires of any server of the specification. */
  readonly demanded: string;
  /** The thresholds of the user apply to its latencies. */
  readonly hasThresholds?: true;
  cost(conditions: Conditions): Cost;
  /**
   * @throws Inconclusive if the responses can neither meet nor violate the requirement
   * @throws Violated if there is nothing but a failure to report
   * @throws Skipped if it does not apply to this run
   */
  run(context: ScenarioContext): Promise<Finding>;
}
