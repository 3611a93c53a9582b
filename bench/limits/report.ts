/**
 * The content of limits.json, from which the other forms of the report are made. `format` increases if readers of the
 * old format would misread the new one. It contains no key. Times are in milliseconds or seconds, as their names say.
 * Latencies are measured by the bench, from the time when a request was due if the load has a rate. They exclude the
 * first request on each connection.
 */
import type { Verdict } from '../../conformance/verdicts/results.ts';
import type { Latency } from './responses.ts';
import type { ScenarioName, Settings } from './settings.ts';

/**
 * The number of responses to requests with a key, by status: 2xx, 429 or another; and the number of responses to
 * requests without a valid key.
 */
export interface Counts {
  readonly admitted: number;
  readonly refused: number;
  readonly other: number;
  readonly withoutKey: number;
}

/** Numbers, whose names end in the unit, or short texts: `admitted_requests` → 120, `windows` → `fixed`. */
export type Figures = Readonly<Record<string, number | string>>;

/** The result of a scenario without its responses. */
export interface Outcome {
  readonly verdict: Verdict;
  /** What was observed; absent if the scenario was skipped or observed nothing. */
  readonly seen?: string;
  /** Why the scenario is inconclusive or skipped. */
  readonly reason?: string;
  /** The demands that were not met, in words. */
  readonly failures: readonly string[];
  /** What was measured. */
  readonly figures: Figures;
}

/** The result of one scenario. */
export interface ScenarioResult extends Outcome, Counts {
  readonly name: ScenarioName;
  /** What the scenario does. */
  readonly text: string;
  readonly demanded: string;
  /** Latencies of the responses with a key; absent if there are none. */
  readonly latency200?: Latency;
  readonly latency429?: Latency;
  /** When it began, in seconds after the start of `timeline`, and how long it took; 0 if it did not begin. */
  readonly at: number;
  readonly seconds: number;
}

/**
 * What a scenario received in one second of the run, by the server's clock. Responses of a window that are received
 * just after its end count for the last second of the window. Seconds without a response are left out.
 */
export interface Second extends Counts {
  /** In whole seconds after the beginning of `timeline`. */
  readonly at: number;
  readonly scenario: ScenarioName;
  /**
   * The first and last `X-RateLimit-Remaining` of the key under load in this second; absent if there was none. `key` is
   * the number of that key within the run.
   */
  readonly remaining?: { readonly key: number; readonly first: number; readonly last: number };
  /** The counts of the responses to the quiet key; absent if there are none. */
  readonly quiet?: Counts;
}

/** The end of a window of the key under load, according to `X-RateLimit-Reset`. There is none if windows move. */
export interface Border {
  /** In seconds after the start of `timeline`: an integer, as Reset is. */
  readonly at: number;
  /** The `X-RateLimit-Reset`: the same time as a Unix timestamp. */
  readonly reset: number;
}

/** A ban of the key, from the refusal that showed it to the time in its Retry-After. */
export interface BanSeen {
  /** In seconds after the beginning of `timeline`. */
  readonly from: number;
  readonly to: number;
}

/** All figures and latencies, by names that do not change: `exact.admitted_requests`. */
export type Metrics = Readonly<Record<string, number>>;

export interface LimitsReport {
  readonly format: 2;
  readonly bench: { readonly name: 'petstore-bench-limits'; readonly version: string; readonly node: string };
  readonly target: string;
  /** Whether the server was this project's own, started for the run. */
  readonly ownServer: boolean;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  readonly seconds: number;
  /** The flags without keys and addresses. `promised` is absent if the limits were taken from the headers. */
  readonly settings: Settings;
  readonly sent: {
    readonly withKey: number;
    readonly withoutKey: number;
    /** The announced maximum. */
    readonly most: number;
  };
  /** Why the run could not be finished. */
  readonly aborted?: string;
  readonly totals: Readonly<Record<Verdict, number>>;
  readonly metrics: Metrics;
  /** 0 if every demand was met, 1 if one was not, 2 if the server could not be tested to the end. */
  readonly exitCode: 0 | 1 | 2;
  /** In the order in which they ran. */
  readonly scenarios: readonly ScenarioResult[];
  /** Starts with the second of the server's clock in which the run began. */
  readonly timeline: {
    readonly seconds: readonly Second[];
    readonly borders: readonly Border[];
    readonly bans: readonly BanSeen[];
  };
}
