/** A scenario sends requests, and returns what it observed and which demands were not met. */
import type { ScenarioContext } from './context.ts';
import type { Outcome } from './report.ts';
import type { Settings } from './settings.ts';

/** What determines how much a scenario sends. */
export interface Conditions extends Settings {
  /** The key's requests per minute. */
  readonly limit: number;
  /** Whether keys are created as needed. */
  readonly unlimitedKeys: boolean;
  /** Whether there is a second key. */
  readonly hasQuiet: boolean;
}

/** The most requests that a scenario sends, and about how long it takes. */
export interface Cost {
  /** Requests with the key under load, or with the keys that are created in its place. */
  readonly withKey: number;
  /** Requests with the second key. */
  readonly quiet?: number;
  readonly withoutKey?: number;
  readonly seconds: number;
}

/**
 * What was observed, as a sentence without a capital and a full stop; the demands that were not met, each as such a
 * sentence; figures, and latencies.
 */
export type Finding = Pick<Required<Outcome>, 'seen' | 'failures' | 'figures'> & Partial<Pick<Outcome, 'latencies'>>;

export interface Scenario {
  readonly name: string;
  /** What the scenario does, in one line. */
  readonly text: string;
  /** What the scenario demands of any server that implements the specification. */
  readonly demanded: string;
  cost(conditions: Conditions): Cost;
  /**
   * @throws Inconclusive if the responses do not show whether the demand is met
   * @throws Skipped if it does not apply to this run
   */
  run(context: ScenarioContext): Promise<Finding>;
}
