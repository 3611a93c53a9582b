/**
 * Bounds the time and the memory that clients without a valid key can take from those with one.
 *
 * The problem. Node handles all that has arrived in one turn of the event loop, and it parses a chunk of 64 KB to its
 * end even if the connection is destroyed meanwhile. A chunk of 2,400 requests takes 6 ms and more, and up to 3 MB
 * until the turn has ended. If hundreds of connections send such chunks, a turn takes seconds and exhausts the memory.
 *
 * The idea. A connection is trusted if its latest request had a valid key that was within its limits. When the other
 * connections have taken 2 ms of a turn, they are held: nothing is read from them, and none of their requests begins.
 * After a multiple of the time that the turn took, they are released, a few in each turn: first those that have taken no
 * time yet, the newest first, so that a new client does not wait behind all attackers; then the others, in the order in
 * which they were held. When they have taken 10 ms, or a connection is destroyed because it sends too much, the trusted
 * ones are held too until the turn has ended.
 *
 * The invariants.
 * - Each connection is in one of the sets. While one is held, all that are not trusted are, except those that have
 *   been released since.
 * - A turn reads no further chunk after one that made a connection exceed its bounds.
 */

/** A connection as the throttle sees it. */
export interface Throttled {
  /** From now on, the connection reads nothing and begins no request. */
  hold(): void;
  /** Ends that. */
  release(): void;
  /** Whether its release takes all the time of a turn. It is then released alone. */
  readonly isExpensive?: boolean;
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
/** They are never held longer. A turn can take long because the machine is busy, which must not keep new clients out. */
const maxHoldMs = 1_000;
/** To parse what they sent and then to close their sockets takes Node up to so many times what is measured. */
const maxClosing = 4;
const trustedForMs = 1_000;
/** How many of them are released in one turn. */
const maxReleased = 16;

export class Throttle {
  readonly #monotonic: () => number;
  readonly #trusted = new Set<Throttled>();
  /** The connections that are neither trusted nor held: those that have taken no time yet, and the others. */
  readonly #new = new Set<Throttled>();
  readonly #used = new Set<Throttled>();
  /** The same of those that are held. */
  readonly #heldNew = new Set<Throttled>();
  readonly #heldUsed = new Set<Throttled>();
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
    return this.#admit(connection, this.#new, this.#heldNew);
  }

  /** Removes a closed connection. */
  delete(connection: Throttled): void {
    for (const connections of [this.#trusted, this.#new, this.#used, this.#heldNew, this.#heldUsed]) {
      connections.delete(connection);
    }
  }

  /** Called when it turns out whether the latest request of a connection had a valid key, if that has changed. */
  setTrusted(connection: Throttled, isTrusted: boolean): void {
    const wasHeld = this.#heldNew.has(connection) || this.#heldUsed.has(connection);
    this.delete(connection);
    if (!isTrusted) return void this.#admit(connection, this.#used, this.#heldUsed);
    this.#trusted.add(connection);
    if (wasHeld) connection.release();
  }

  /**
   * Called before a connection that is not trusted begins something. It may be held then, and must wait. `ms` is added
   * for time that passes later.
   */
  beginUntrusted(connection: Throttled, ms = 0): void {
    if (this.#heldNew.delete(connection)) this.#heldUsed.add(connection); // Node reports the rest of a chunk anyway
    const now = this.#monotonic();
    if (this.#lastAt !== null) this.#spentMs += now - this.#lastAt;
    this.#spentMs += ms;
    this.#lastAt = now;
    this.#awaitEndOfTurn();
    if (this.#spentMs > maxTurnMs) this.#holdUntrusted();
    if (this.#spentMs > maxLongTurnMs) this.#holdAll(); // a trusted connection may send such requests too
    if (this.#new.delete(connection)) this.#used.add(connection); // not if it is held now: others took the time
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

  #admit(connection: Throttled, open: Set<Throttled>, held: Set<Throttled>): boolean {
    const isOpen = !this.#isHolding && this.#heldNew.size + this.#heldUsed.size === 0;
    (isOpen ? open : held).add(connection);
    if (!isOpen) connection.hold();
    return isOpen;
  }

  #holdUntrusted(): void {
    if (this.#isHolding) return;
    this.#isHolding = true;
    for (const [open, held] of [[this.#new, this.#heldNew], [this.#used, this.#heldUsed]] as const) {
      for (const connection of open) {
        held.add(connection);
        connection.hold();
      }
      open.clear();
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
    this.#releaseSome();
  }

  /** Releases some connections, and the next ones in the next turn. */
  #releaseSome(): void {
    if (this.#isHolding) return; // one of the last batch has taken too long
    const batch: Throttled[] = [];
    for (const connection of [...[...this.#heldNew].reverse(), ...this.#heldUsed]) {
      if (batch.length === maxReleased) break;
      // After an expensive one all others are held again, so nothing would be read from those before it.
      if (connection.isExpensive === true && batch.length > 0) break;
      batch.push(connection);
    }
    // In the order of their arrival: so the newest are the first again if they are held before anything is read.
    for (const connection of batch.toReversed()) if (this.#heldNew.delete(connection)) this.#new.add(connection);
    for (const connection of batch) if (this.#heldUsed.delete(connection)) this.#used.add(connection);
    for (const connection of batch) {
      if (this.#isHolding) return;
      connection.release();
    }
    if (this.#heldNew.size + this.#heldUsed.size > 0) setImmediate(() => this.#releaseSome());
  }
}
