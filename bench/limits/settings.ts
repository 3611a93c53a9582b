/** The settings of a run: what the key may send, and how strong the load is. */
import type { Plan } from '../../conformance/client/pacing.ts';
import type { LoadOperation } from './operations.ts';

/** The flags that limit the latencies of `neighbour` and `strangers`, each with the metric that it limits. */
export const thresholds = {
  'max-p50-ratio': 'p50_ratio',
  'max-p99-ratio': 'p99_ratio',
  'max-p99-ms': 'latency_beside_p99_ms',
} as const;
export type Threshold = keyof typeof thresholds;
export type Thresholds = Readonly<Partial<Record<Threshold, number>>>;

export interface Settings {
  /** The plan of the key. If absent, its limits are what the headers show. */
  readonly plan?: Plan;
  /** The operation that all loads consist of. */
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
