/** The settings of a run: what the key may send, and how strong the load is. */
import type { Plan } from '../../conformance/client/pacing.ts';

export interface Settings {
  /** The plan of the key. If absent, its limits are what the headers show. */
  readonly plan?: Plan;
  /** The number of connections that send requests with the key. */
  readonly connections: number;
  /** The longest duration of a flood, in seconds. */
  readonly duration: number;
  /** Requests per second of the floods. */
  readonly rate: number;
  readonly untilBan: boolean;
  /** The server is on another machine. */
  readonly remote: boolean;
}
