/** What a run is told to do, as far as the scenarios see it. */
import type { Plan } from '../../conformance/client/pacing.ts';

/** What the key is promised: a plan's numbers, or others. */
export interface Promised {
  readonly plan?: Plan;
  readonly perMinute: number;
  readonly perDay: number;
}

export interface Settings {
  /** Absent: what the headers say is believed. */
  readonly promised?: Promised;
  /** How many connections drive the key. */
  readonly connections: number;
  /** How long the floods last at most, in seconds. */
  readonly duration: number;
  /** Requests a second of the floods. */
  readonly rate: number;
  readonly untilBan: boolean;
}
