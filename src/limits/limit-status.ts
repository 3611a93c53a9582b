import type { Ban } from './bans.ts';

/** The state of a client's limits after a request was admitted or refused, as the response shows it. */
export interface LimitStatus {
  /** The window with fewer requests remaining; on a tie, the one that ends later. */
  readonly window: 'minute' | 'day';
  /** The number of requests that the window admits. */
  readonly limit: number;
  /** The number of requests that remain in the window; 0 after a refusal. */
  readonly remaining: number;
  /**
   * When the window ends; after a refusal, the time from which a request will be admitted.
   * In whole seconds since the epoch.
   */
  readonly reset: number;
  /** Why the request was refused: an exhausted window, or a ban (which this refusal may have caused). */
  readonly refusedBy: 'window' | 'ban' | null;
  /** The ban that this refusal has caused, if it has. */
  readonly began?: Ban;
}
