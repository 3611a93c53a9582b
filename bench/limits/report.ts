/**
 * What limits.json holds, and what the other forms of the report are made from. `format` counts up when it changes in a way that a
 * reader of the old one would misread. No key stands in it. Times are in milliseconds or seconds as their names say; a latency in
 * milliseconds is that of one request of autocannon's clients, first requests on a connection left out.
 */
import type { Verdict } from '../../conformance/verdicts/results.ts';
import type { Latency } from './latency.ts';
import type { Figures } from './scenario.ts';
import type { ScenarioName } from './scenarios.ts';
import type { Settings } from './settings.ts';

/** What became of one scenario. */
export interface ScenarioResult {
  readonly name: ScenarioName;
  /** What it does. */
  readonly text: string;
  readonly demanded: string;
  readonly verdict: Verdict;
  /** What was seen; absent where it was skipped, or nothing could be said. */
  readonly seen?: string;
  /** Why it is inconclusive or skipped. */
  readonly reason?: string;
  /** Which demands were not met, in words. */
  readonly failures: readonly string[];
  /** What was measured, by name: numbers, or a few words. */
  readonly figures: Figures;
  /** Answers with a key: 2xx, 429, and the others; and all answers without a key. */
  readonly admitted: number;
  readonly refused: number;
  readonly other: number;
  readonly withoutKey: number;
  /** Latencies of the answers with a key; absent where there are none. */
  readonly latency200?: Latency;
  readonly latency429?: Latency;
  /** When it began, in seconds after `timeline` does, and how long it took; 0 where it was not begun. */
  readonly at: number;
  readonly seconds: number;
}

/** What became of a scenario, its answers apart. */
export type Outcome = Pick<ScenarioResult, 'verdict' | 'failures' | 'figures' | 'seen' | 'reason'>;

/**
 * What came in one second of the run, by the server's clock. An answer of a window that came just after the window's end counts to
 * the second before. Seconds in which nothing came are left out.
 */
export interface Second {
  /** In whole seconds after `timeline` begins. */
  readonly at: number;
  readonly scenario: ScenarioName;
  /** Answers with a key: 2xx, 429, and the others; and all answers without a key. */
  readonly admitted: number;
  readonly refused: number;
  readonly other: number;
  readonly withoutKey: number;
  /**
   * What `X-RateLimit-Remaining` told the key under load first and last in this second; absent where it told nothing. `key` counts the
   * keys of the run: where it changes, another key was told.
   */
  readonly remaining?: { readonly key: number; readonly first: number; readonly last: number };
}

/** A moment at which a window of the key under load ended, as its `X-RateLimit-Reset` said. Absent where windows move. */
export interface Border {
  /** In seconds after `timeline` begins: whole ones, since Reset is. */
  readonly at: number;
  /** The same as Unix time, in seconds: what `X-RateLimit-Reset` said. */
  readonly reset: number;
}

/** A ban of the key, from the refusal that told of it to the time that its Retry-After named. */
export interface BanSeen {
  /** In seconds after `timeline` begins. */
  readonly from: number;
  readonly to: number;
}

export interface LimitsReport {
  readonly format: 1;
  readonly bench: { readonly name: 'petstore-bench-limits'; readonly version: string; readonly node: string };
  readonly target: string;
  /** Whether the server was this project's own, started for the run. */
  readonly ownServer: boolean;
  /** RFC 3339, UTC. */
  readonly startedAt: string;
  readonly seconds: number;
  /** What the run was told: the flags, but for keys and addresses. `promised` is absent where the headers' Limit was believed. */
  readonly settings: Settings;
  readonly sent: {
    readonly withKey: number;
    readonly withoutKey: number;
    /** What was said beforehand to be sent at most. */
    readonly most: number;
  };
  /** Why the run could not be finished. */
  readonly aborted?: string;
  readonly totals: Readonly<Record<Verdict, number>>;
  /** 0 every demand was met, 1 one was not, 2 it could not be tested to the end. */
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
