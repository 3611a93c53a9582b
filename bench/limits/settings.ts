/** The settings of a run: which scenarios, what the key may send, and how strong the load is. */
import type { KeyLimits } from '../measure/own-server.ts';

/** In the order in which they run: one that waits for the end of a window comes after others have filled the time. */
export const scenarioNames = ['exact', 'recovery', 'neighbour', 'refusal', 'strangers', 'boundary', 'ban'] as const;
export type ScenarioName = (typeof scenarioNames)[number];

export interface Settings {
  /** What the key may send. Absent: what the headers show. */
  readonly promised?: KeyLimits;
  /** How many connections drive the key. */
  readonly connections: number;
  /** How long the floods last at most, in seconds. */
  readonly duration: number;
  /** Requests per second of the floods. */
  readonly rate: number;
  readonly untilBan: boolean;
}
