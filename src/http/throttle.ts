/**
 * Bounds the time and the memory that clients without a valid key can take from those with one.
 *
 * The problem. Node handles all that has arrived in one turn of the event loop, and it parses a chunk of 64 KB to its
 * end even if the connection is destroyed meanwhile. A chunk of 2,400 requests takes more than 10 ms, and up to 3 MB
 * until the turn has ended. If hundreds of connections send such chunks, a turn takes seconds and exhausts the memory.
 *
 * The idea. A connection is trusted if its latest request had a valid key. When the other connections have taken 5 ms
 * of a turn, they are held: nothing is read from them, and none of their requests begins. After a rest, which is a
 * multiple of the time that they took, they are released in the order in which they arrived, a few in each turn. New
 * connections are held behind them. When a connection is destroyed because it sends too much, the trusted ones are held
 * too until the turn has ended.
 *
 * The invariants.
 * - While a connection is in the queue, all connections that are not trusted are in it, except those that were released
 *   since the last rest.
 * - A turn reads no further chunk after one that made a connection exceed its bounds.
 */

/** A connection as the throttle sees it. */
export interface Throttled {
  /** From now on, the connection reads nothing and begins no request. */
  hold(): void;
  /** Ends that. */
  release(): void;
}

/** How much of a turn the connections that are not trusted may take. */
const maxTurnMs = 4;
/** How many times as long as such a turn they rest, if a trusted connection had a request in the last second. */
const restFactor = 8;
const trustedForMs = 1_000;
/** How many of them are released in one turn. */
const maxReleased = 16;

export class Throttle {
  readonly #monotonic: () => number;
  readonly #trusted = new Set<Throttled>();
  /** The connections that are neither trusted nor held. */
  readonly #open = new Set<Throttled>();
  /** The connections that are held, in the order in which they will be released. */
  #queue = new Set<Throttled>();
  /** How much of this turn the connections that are not trusted have taken. */
  #spentMs = 0;
  /** When one of them last began something; null if a trusted one has done so since. */
  #lastAt: number | null = null;
  /** Whether a trusted connection has begun something since the last rest, and when one was known to have. */
  #isTrustedActive = false;
  #trustedAt = -Infinity;
  #isInTurn = false;
  #beganAt = 0;
  #isFlooded = false;
  #isResting = false;
  /** Ends the rest; undefined before the turn has ended in which it began. */
  #timer: NodeJS.Timeout | undefined;

  /** `monotonic` is a clock that only goes forward, in milliseconds. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Adds a connection that is not trusted. Holds it if others are held, and returns whether it does not. */
  add(connection: Throttled): boolean {
    const isOpen = !this.#isResting && this.#queue.size === 0;
    (isOpen ? this.#open : this.#queue).add(connection);
    if (!isOpen) connection.hold();
    return isOpen;
  }

  /** Removes a closed connection. */
  delete(connection: Throttled): void {
    for (const connections of [this.#trusted, this.#open, this.#queue]) connections.delete(connection);
  }

  /** Called when it turns out whether the latest request of a connection had a valid key, if that has changed. */
  setTrusted(connection: Throttled, isTrusted: boolean): void {
    const wasHeld = this.#queue.has(connection);
    this.delete(connection);
    if (!isTrusted) return void this.add(connection);
    this.#trusted.add(connection);
    if (wasHeld) connection.release();
  }

  /**
   * Called before a connection that is not trusted begins something. It may be held then, and must wait. `ms` is added
   * for time that passes later.
   */
  spend(ms = 0): void {
    const now = this.#monotonic();
    if (this.#lastAt !== null) this.#spentMs += now - this.#lastAt;
    this.#spentMs += ms;
    this.#lastAt = now;
    this.#awaitEndOfTurn();
    if (this.#spentMs > maxTurnMs) this.#rest();
  }

  /** Called before a trusted connection begins something: that is not to be counted as time of the others. */
  interrupt(): void {
    this.#lastAt = null;
    this.#isTrustedActive = true;
  }

  /** Called when a connection is destroyed because it has sent too much, while Node parses what it has sent. */
  flooded(): void {
    this.#awaitEndOfTurn();
    if (this.#isFlooded) return;
    this.#isFlooded = true;
    for (const connection of this.#trusted) connection.hold();
    this.#rest();
  }

  #awaitEndOfTurn(): void {
    if (this.#isInTurn) return;
    this.#isInTurn = true;
    this.#beganAt = this.#monotonic();
    setImmediate(() => this.#endTurn());
  }

  #endTurn(): void {
    const beganAt = this.#beganAt;
    // Node closes destroyed sockets at the end of the turn, after this.
    if (this.#isResting && this.#timer === undefined) setImmediate(() => this.#beginRest(beganAt));
    this.#spentMs = 0;
    this.#lastAt = null;
    this.#isInTurn = false;
    if (!this.#isFlooded) return;
    this.#isFlooded = false;
    for (const connection of this.#trusted) connection.release();
  }

  #rest(): void {
    if (this.#isResting) return;
    this.#isResting = true;
    for (const connection of this.#open) connection.hold();
    this.#queue = new Set([...this.#open, ...this.#queue]);
    this.#open.clear();
  }

  #beginRest(beganAt: number): void {
    const now = this.#monotonic();
    if (this.#isTrustedActive) this.#trustedAt = now;
    this.#isTrustedActive = false;
    const isNeeded = now - this.#trustedAt < trustedForMs;
    this.#timer = setTimeout(() => this.#endRest(), isNeeded ? (now - beganAt) * restFactor : 0).unref();
  }

  #endRest(): void {
    this.#timer = undefined;
    this.#isResting = false;
    this.#releaseSome();
  }

  /** Releases the first connections of the queue, and the next ones in the next turn. */
  #releaseSome(): void {
    if (this.#isResting) return; // one that was released has taken too long already
    let count = 0;
    for (const connection of this.#queue) {
      if (this.#isResting || ++count > maxReleased) break;
      this.#queue.delete(connection);
      this.#open.add(connection);
      connection.release();
    }
    if (this.#queue.size > 0) setImmediate(() => this.#releaseSome());
  }
}
