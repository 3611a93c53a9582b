/** Where a client stands with its limits, once a request of its was admitted or refused. */
export interface LimitStatus {
  /** The window with the fewer requests remaining; on a tie, the one that ends later. */
  readonly window: 'minute' | 'day';
  /** How many requests that window admits. */
  readonly limit: number;
  /** How many requests remain in that window; 0 after a refusal. */
  readonly remaining: number;
  /** When that window ends; after a refusal, from when on a request would be admitted. In whole seconds since the epoch. */
  readonly reset: number;
  /** Why the request was refused: a window without room, or a ban, which this refusal itself may have brought. */
  readonly refusedBy: 'window' | 'ban' | null;
}
