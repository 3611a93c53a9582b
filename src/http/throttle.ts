/**
 * Bounds the time and the memory that clients without a valid key can take from those with one.
 *
 * The problem. Node handles all that has arrived in one turn of the event loop, and it parses a chunk of 64 KB to its
 * end even if the connection is destroyed meanwhile. A chunk of 2,400 requests takes 6 ms and more, and up to 3 MB
 * until the turn has ended. If hundreds of connections send such chunks, a turn takes seconds and exhausts the memory.
 *
 * The idea. A connection is trusted if its latest request had a valid key that was within its limits. When the other
 * connections have taken 2 ms of a turn, they are held: nothing is read from them, and none of their requests begins.
 * After a multiple of the time that the turn took, they are released: first those that have taken no time yet, the
 * newest first, so that a new client does not wait behind all attackers; then the others, that which has waited longest
 * first. When they have taken 10 ms, or a connection is destroyed because it sends too much, the trusted ones are held
 * too until the turn has ended.
 *
 * The invariants.
 * - While one connection is held, all that are not trusted are, except those that have been released since.
 * - At most one connection is released in each turn, so what it has sent is read before that of the next one.
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
const maxTurnMs = 2;
/** When they have taken this much of a turn, the trusted connections are held too, until the turn has ended. */
const maxLongTurnMs = 10;
/**
 * How many times as long as such a turn they are held, if a trusted connection had a request in the last second or one
 * was destroyed because it sent too much.
 */
const holdFactor = 10;
/** They are never held longer. A turn can take long because the machine is busy: that must not keep new clients out. */
const maxHoldMs = 1_000;
/** To parse what they sent and then to close their sockets takes Node up to so many times what is measured. */
const maxClosing = 4;
const trustedForMs = 1_000;

export class Throttle {
  readonly #monotonic: () => number;
  readonly #trusted = new Set<Throttled>();
  /** The connections that are not trusted and have taken no time yet, in the order of their arrival. */
  readonly #new = new Set<Throttled>();
  /** Those that have taken time, in the order in which they last did. */
  readonly #used = new Set<Throttled>();
  /** Those of both that are held. */
  readonly #held = new Set<Throttled>();
  /** Those to be released, the next one last. It can name connections that are not held any more. */
  #queue: Throttled[] = [];
  /** How much of this turn the connections that are not trusted have taken. */
  #spentMs = 0;
  /** When one of them last began something; null if a trusted one has done so since. */
  #lastAt: number | null = null;
  /** Whether a trusted connection has begun something since the others were held, and when one was known to have. */
  #isTrustedActive = false;
  #trustedAt = -Infinity;
  #isInTurn = false;
  #beganAt = 0;
  /** Whether a connection was destroyed in this turn because it has sent too much. */
  #isFlooded = false;
  /** Whether all connections are held until the turn has ended. */
  #holdsAll = false;
  /** Whether new connections are held, too. */
  #isHolding = false;
  /** Releases the connections; undefined before the turn has ended in which they were held. */
  #timer: NodeJS.Timeout | undefined;

  /** `monotonic` is a clock that only goes forward, in milliseconds. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Adds a connection that has taken no time yet. Returns whether it may begin: if others are held, it is held too. */
  add(connection: Throttled): boolean {
    this.#new.add(connection);
    return this.#admit(connection);
  }

  /** Removes a closed connection. */
  delete(connection: Throttled): void {
    for (const connections of [this.#trusted, this.#new, this.#used, this.#held]) connections.delete(connection);
  }

  /** Called when it turns out whether the latest request of a connection had a valid key, if that has changed. */
  setTrusted(connection: Throttled, isTrusted: boolean): void {
    const wasHeld = this.#held.has(connection);
    this.delete(connection);
    if (isTrusted) {
      this.#trusted.add(connection);
      if (wasHeld) connection.release();
    } else {
      this.#used.add(connection);
      this.#admit(connection);
    }
  }

  /**
   * Called before a connection that is not trusted begins something. It may be held then, and must wait. `ms` is added
   * for time that passes later.
   */
  beginUntrusted(connection: Throttled, ms = 0): void {
    const wasHeld = this.#held.has(connection);
    const now = this.#monotonic();
    if (this.#lastAt !== null) this.#spentMs += now - this.#lastAt;
    this.#spentMs += ms;
    this.#lastAt = now;
    this.#awaitEndOfTurn();
    if (this.#spentMs > maxTurnMs) this.#holdUntrusted();
    if (this.#spentMs > maxLongTurnMs) this.#holdAll(); // a trusted connection may send such requests too
    // It keeps its place if it is held only now, because others have taken the time. Otherwise it takes time itself: if
    // it was held before, Node reports the rest of a chunk.
    if (!wasHeld && this.#held.has(connection)) return;
    if (this.#new.delete(connection) || this.#used.delete(connection)) this.#used.add(connection);
  }

  /** Called before a trusted connection begins something, so that its time is not counted as time of the others. */
  beginTrusted(): void {
    this.#lastAt = null;
    this.#isTrustedActive = true;
  }

  /**
   * Called when a connection is destroyed because it has sent too much, and Node still parses what it has sent. Holds
   * all others until the turn has ended.
   */
  noteFlood(): void {
    this.#isFlooded = true;
    this.#holdAll();
  }

  #holdAll(): void {
    this.#awaitEndOfTurn();
    if (this.#holdsAll) return;
    this.#holdsAll = true;
    for (const connection of this.#trusted) connection.hold();
    this.#holdUntrusted();
  }

  #awaitEndOfTurn(): void {
    if (this.#isInTurn) return;
    this.#isInTurn = true;
    this.#beganAt = this.#monotonic();
    setImmediate(() => this.#endTurn());
  }

  #endTurn(): void {
    const [beganAt, spentMs, wasFlooded] = [this.#beganAt, this.#spentMs, this.#isFlooded];
    if (this.#isHolding && this.#timer === undefined) {
      // Node closes destroyed sockets at the end of the turn, after this.
      setImmediate(() => this.#scheduleRelease(beganAt, spentMs, wasFlooded));
    }
    this.#spentMs = 0;
    this.#lastAt = null;
    this.#isInTurn = false;
    this.#isFlooded = false;
    if (!this.#holdsAll) return;
    this.#holdsAll = false;
    for (const connection of this.#trusted) connection.release();
  }

  /** Holds a connection if others are held. Returns whether it may begin. */
  #admit(connection: Throttled): boolean {
    if (!this.#isHolding && this.#held.size === 0) return true;
    this.#held.add(connection);
    connection.hold();
    if (this.#new.has(connection)) this.#queue.push(connection); // the newest is the next
    return false;
  }

  #holdUntrusted(): void {
    if (this.#isHolding) return;
    this.#isHolding = true;
    for (const connections of [this.#new, this.#used]) {
      for (const connection of connections) {
        if (this.#held.has(connection)) continue;
        this.#held.add(connection);
        connection.hold();
      }
    }
  }

  #scheduleRelease(beganAt: number, spentMs: number, wasFlooded: boolean): void {
    const now = this.#monotonic();
    const tookMs = Math.min(now - beganAt, maxClosing * spentMs); // the rest of the turn may be work for trusted ones
    if (this.#isTrustedActive) this.#trustedAt = now;
    this.#isTrustedActive = false;
    // While a handler is pending, Node keeps all requests of a chunk, even after the connection was destroyed.
    const isNeeded = wasFlooded || now - this.#trustedAt < trustedForMs;
    this.#timer = setTimeout(() => this.#endHold(), isNeeded ? Math.min(tookMs * holdFactor, maxHoldMs) : 0).unref();
  }

  #endHold(): void {
    this.#timer = undefined;
    this.#isHolding = false;
    this.#queue = [];
    this.#releaseNext();
  }

  /** Releases a connection, and the next one in the next turn. */
  #releaseNext(): void {
    if (this.#isHolding) return; // the last one has taken too long
    if (this.#queue.length === 0) this.#queue = [...[...this.#used].reverse(), ...this.#new];
    let next;
    do next = this.#queue.pop(); while (next !== undefined && !this.#held.has(next));
    if (next !== undefined) {
      this.#held.delete(next);
      next.release();
    }
    if (this.#held.size > 0) setImmediate(() => this.#releaseNext());
  }
}
