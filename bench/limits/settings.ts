/** The settings of a run: which scenarios, what the key may send, and how strong the load is. */
import type { KeyLimits } from '../measure/own-server.ts';
import type { Thresholds } from './thresholds.ts';

/** In the order in which they run: one that waits for the end of a window comes after others have filled the time. */
export const scenarioNames = ['exact', 'recovery', 'neighbour', 'refusal', 'strangers', 'boundary', 'ban'] as const;
export type ScenarioName = (typeof scenarioNames)[number];

/** The operations that a load can consist of. */
export const operations = ['listPets', 'getPet', 'listOrders', 'createPet'] as const;
export type LoadOperation = (typeof operations)[number];

export interface Settings {
  /** What the key may send. Absent: what the headers show. */
  readonly promised?: KeyLimits;
  /** Which operation is loaded. */
  readonly operation: LoadOperation;
  /** How many connections drive the key. */
  readonly connections: number;
  /** How long the floods last at most, in seconds. */
  readonly duration: number;
  /** Requests per second of the floods. */
  readonly rate: number;
  readonly untilBan: boolean;
  readonly thresholds: Thresholds;
  /** The server is on another machine. */
  readonly remote: boolean;
}
