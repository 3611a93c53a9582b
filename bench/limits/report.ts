/**
 * What limits.json has, and what the other forms of the report are made from. `format` increases when it changes so
 * that a reader of the old one would misread it. It has no key. Times are in milliseconds or seconds, as their names
 * say. A latency is that of one request of the bench's own client, from when it was due if the load has a rate; the
 * first request on each connection is left out.
 */
import type { Verdict } from '../../conformance/verdicts/results.ts';
import type { Metrics } from './metrics.ts';
import type { Latency } from './responses.ts';
import type { ScenarioName, Settings } from './settings.ts';

/**
 * How many responses with a key were 2xx, 429 or another status; and how many responses came to requests without a key.
 */
export interface Counts {
  readonly admitted: number;
  readonly refused: number;
  readonly other: number;
  readonly withoutKey: number;
}

/** Numbers, whose names end in their unit, or a few words: `admitted_requests` → 120, `windows` → `fixed`. */
export type Figures = Readonly<Record<string, number | string>>;

/** The result of a scenario without its responses. */
export interface Outcome {
  readonly verdict: Verdict;
  /** What was seen; absent if it was skipped, or nothing can be said. */
  readonly seen?: string;
  /** Why it is inconclusive or skipped. */
  readonly reason?: string;
  /** Which requirements were violated, in words. */
  readonly failures: readonly string[];
  /** What was measured. */
  readonly figures: Figures;
}

/** The result of one scenario. */
export interface ScenarioResult extends Outcome, Counts {
  readonly name: ScenarioName;
  /** What it does. */
  readonly text: string;
  readonly demanded: string;
  /** Latencies of the responses with a key; absent if there are none. */
  readonly latency200?: Latency;
  readonly latency429?: Latency;
  /** When it began, in seconds after the beginning of `timeline`, and how long it took; 0 if it did not begin. */
  readonly at: number;
  readonly seconds: number;
}

/**
 * What was received in one second of the run, by the server's clock. A response of a window that was received just
 * after the end of the window counts for the second before. Seconds without a response are left out.
 */
export interface Second extends Counts {
  /** In whole seconds after the beginning of `timeline`. */
  readonly at: number;
  readonly scenario: ScenarioName;
  /**
   * The first and last `X-RateLimit-Remaining` of the key under load in this second; absent if there was none. `key`
   * counts the keys of the run: if it changes, it was another key.
   */
  readonly remaining?: { readonly key: number; readonly first: number; readonly last: number };
}

/** When a window of the key under load ended, as its `X-RateLimit-Reset` said. Absent if windows move. */
export interface Border {
  /** In seconds after the beginning of `timeline`: whole ones, since Reset is. */
  readonly at: number;
  /** The same as Unix time in seconds: the `X-RateLimit-Reset`. */
  readonly reset: number;
}

/** A ban of the key, from the refusal that showed it to the time in its Retry-After. */
export interface BanSeen {
  /** In seconds after the beginning of `timeline`. */
  readonly from: number;
  readonly to: number;
}

export interface LimitsReport {
  readonly format: 2;
  readonly bench: { readonly name: 'petstore-bench-limits'; readonly version: string; readonly node: string };
  readonly target: string;
  /** Whether the server was this project's own, started for the run. */
  readonly ownServer: boolean;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  readonly seconds: number;
  /** The flags without keys and addresses. `promised` is absent if the limits are those that the headers showed. */
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
  /** All figures and latencies by names that do not change, such as `exact.admitted_requests`. */
  readonly metrics: Metrics;
  /** 0 every requirement was met, 1 one was not, 2 it could not be tested to the end. */
  readonly exitCode: 0 | 1 | 2;
  /** In the order in which they ran. */
  readonly scenarios: readonly ScenarioResult[];
  /** Begins with the second of the server's clock in which the run began. */
  readonly timeline: {
    readonly seconds: readonly Second[];
    readonly borders: readonly Border[];
    readonly bans: readonly BanSeen[];
  };
}
