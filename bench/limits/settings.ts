/** The settings of a run: which scenarios, what the key may send, and how strong the load is. */
import type { KeyLimits } from '../measure/own-server.ts';

/** In the order in which they run. */
export const scenarioNames = ['latency', 'neighbour', 'strangers', 'boundary', 'ban'] as const;
export type ScenarioName = (typeof scenarioNames)[number];

/** The operations that a load can consist of. */
export const operations = ['listPets', 'getPet', 'listOrders', 'createPet'] as const;
export type LoadOperation = (typeof operations)[number];

/** The flags that limit the latencies of `neighbour` and `strangers`, each with the figure that it limits. */
export const thresholds = {
  'max-p50-ratio': 'p50_ratio',
  'max-p99-ratio': 'p99_ratio',
  'max-p99-ms': 'p99_beside_ms',
} as const;
export type Threshold = keyof typeof thresholds;
export type Thresholds = Readonly<Partial<Record<Threshold, number>>>;

export interface Settings {
  /** What the key may send. If absent, what the headers show. */
  readonly promised?: KeyLimits;
  /** The operation that the load consists of. */
  readonly operation: LoadOperation;
  /** The number of connections that send requests with the key. */
  readonly connections: number;
  /** The longest duration of a flood, in seconds. */
  readonly duration: number;
  /** Requests per second of the floods. */
  readonly rate: number;
  readonly untilBan: boolean;
  readonly thresholds: Thresholds;
  /** The server is on another machine. */
  readonly remote: boolean;
}
