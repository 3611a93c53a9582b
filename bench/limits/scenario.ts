/** What a scenario is: it sends something, and says what it saw and which of its demands that breaks. */
import type { Bench } from './bench.ts';
import type { Settings } from './settings.ts';

/** What decides how much a scenario sends. */
export interface Asked extends Settings {
  /** The key's requests a minute. */
  readonly limit: number;
  /** Keys are made as they are needed. */
  readonly plenty: boolean;
  /** There is a second key. */
  readonly hasQuiet: boolean;
}

/** What a scenario sends at most, and about how long it takes. */
export interface Cost {
  /** Of the key that is measured, or of those made in its place. */
  readonly withKey: number;
  /** Of the second key. */
  readonly quiet?: number;
  readonly withoutKey?: number;
  readonly seconds: number;
}

/** A demand is not met in a way that leaves nothing else to be measured. */
export class Unmet extends Error {
  override readonly name = 'Unmet';
}

/** A number or a few words that the report shows beside the verdict: `admitted in any 60 s` → 120. */
export type Figures = Readonly<Record<string, number | string>>;

export interface Finding {
  /** What was seen, in one sentence without a capital or a full stop. */
  readonly seen: string;
  /** The demands that were not met, each in such a sentence; none: passed. */
  readonly failures: readonly string[];
  readonly figures: Figures;
}

export interface Scenario<Name extends string = string> {
  readonly name: Name;
  /** What it does, in one line. */
  readonly text: string;
  /** What is demanded of any server of the specification. */
  readonly demanded: string;
  cost(asked: Asked): Cost;
  /**
   * @throws Inconclusive if what came can neither meet nor break the demand
   * @throws Unmet if nothing but a failure can be told
   * @throws Skipped if it does not apply to this run
   */
  run(bench: Bench): Promise<Finding>;
}
