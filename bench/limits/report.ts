/**
 * The content of limits.json, from which the other forms of the report are made. `format` increases if readers of the
 * old format would misread the new one. It contains no key. Times are in milliseconds or seconds, as their names say.
 * Latencies are measured by the bench, from the time when a request was due if the load has a rate. They exclude the
 * first request on each connection.
 */
import type { RunReport } from '../../conformance/report/report.ts';
import type { Verdict } from '../../conformance/verdicts/results.ts';
import type { Latency } from './responses.ts';
import type { Settings } from './settings.ts';

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

/** Numbers, whose names end in the unit, or short texts: `limit_requests` → 60, `windows` → `fixed`. */
export type Figures = Readonly<Record<string, number | string>>;

/**
 * Latencies by their names: those of all admitted (`200`) and refused (`429`) requests of a scenario; and those of a
 * quiet client `alone` and `beside` a flood.
 */
export type Latencies = Readonly<Record<string, Latency>>;

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
  readonly latencies: Latencies;
}

/** The client with the key under load, the quiet client, or one without a valid key. */
export type Client = 'load' | 'quiet' | 'no key';

/** What a client received in one second of the run. Seconds without a response are left out. */
export interface Second extends Counts {
  /** In whole seconds after the start of the run. */
  readonly at: number;
  readonly client: Client;
  /** The first and last `X-RateLimit-Remaining`; absent if there was none. */
  readonly remaining?: readonly [first: number, last: number];
}

/** The result of one scenario. */
export interface ScenarioResult extends Outcome, Counts {
  readonly name: string;
  /** What the scenario does. */
  readonly text: string;
  readonly demanded: string;
  readonly seconds: number;
  readonly timeline: readonly Second[];
}

/** Numbers by names that never change and end in the unit: `boundary.limit_requests`. */
export type Metrics = Readonly<Record<string, number>>;

export interface LimitsReport extends RunReport {
  readonly format: 3;
  readonly bench: { readonly name: 'petstore-bench-limits'; readonly version: string; readonly node: string };
  /** Whether the server was this project's own, started for the run. */
  readonly ownServer: boolean;
  /** The flags without keys and addresses. `plan` is absent if the limits were taken from the headers. */
  readonly settings: Settings;
  readonly sent: {
    readonly withKey: number;
    readonly withoutKey: number;
    /** The announced maximum. */
    readonly most: number;
  };
  /** All numbers that the scenarios have measured. */
  readonly metrics: Metrics;
  /** 0 if every demand was met, 1 if one was not, 2 if the server could not be tested to the end. */
  readonly exitCode: 0 | 1 | 2;
  /** In the order in which they ran. */
  readonly scenarios: readonly ScenarioResult[];
}
