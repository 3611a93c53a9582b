/**
 * Admits requests with a key in groups. A group is one transaction: it locks its keys, reads what they have used and
 * the clock, decides by the same rules as the file engine (limits/key-usage.ts), and stores the result. Requests of
 * other servers for the same keys wait for the lock, so all servers together admit exactly the plan.
 */
import type { Accounts, Admission, Soon } from '../engine.ts';
import { isActive, type Key } from '../keys/key.ts';
import { hashSecret, isSecret } from '../keys/secret.ts';
import { limitsOf } from '../limits/plans.ts';
import { stateOf, unavailable, type CheckStore, type Connection } from './connection.ts';
import { Group, maxPendingMs, tooSlow } from './group.ts';
import { wordArray } from './literals.ts';
import { LockedUsage, saveUsages } from './usage-row.ts';

/** A larger group would hold its locks too long. */
const maxItems = 500;
/** Within this time after its admission began, a request gets a response, unless that leaves too little time. */
const maxRequestMs = 2_700;
/** The time that an operation has in any case. */
const minMsLeft = 400;
/** The SQLSTATE of a statement that could not get a lock within `lock_timeout`. */
const lockNotAvailable = '55P03';

interface Item {
  readonly hash: string;
  readonly counts: boolean;
  /** When the request arrived, by the monotonic clock of this process. */
  readonly arrivedAt: number;
  /** When its admission began. */
  readonly beganAt: number;
}

/** The valid key that a secret belongs to, and its usage. The key is locked. */
interface Found {
  readonly key: Key;
  readonly locked: LockedUsage;
}

export class Admissions implements Accounts {
  readonly #group: Group<Item, Admission | null>;
  /**
   * Requests with keys that another transaction has locked for a long time, for example that of a suspended server.
   * They wait on another connection, so that they do not delay requests with other keys.
   */
  readonly #lockedGroup: Group<Item, Admission | null>;
  /** How long the requests that were decided last had waited, at most, in milliseconds. */
  #lastMs = 0;
  /** The secrets of these keys. */
  readonly #locked = new Set<string>();
  readonly #checkStore: CheckStore;
  readonly #now: (() => number) | null;

  /** `second` is the connection for keys that stay locked. `now`, for tests, replaces the clock of the database. */
  constructor(connection: Connection, second: Connection, checkStore: CheckStore, now: (() => number) | null) {
    this.#checkStore = checkStore;
    this.#now = now;
    this.#group = new Group(maxItems, (items) => this.#admitAll(items, connection, (item) => {
      this.#locked.add(item.hash);
      return this.#lockedGroup.add(item, maxPendingMs - (performance.now() - item.beganAt));
    }));
    this.#lockedGroup = new Group(maxItems, async (items) => {
      const stillLocked = new Set<string>();
      const admissions = await this.#admitAll(items, second, ({ hash }) => {
        stillLocked.add(hash);
        return Promise.reject(tooSlow());
      });
      for (const { hash } of items) if (!stillLocked.has(hash)) this.#locked.delete(hash);
      return admissions;
    });
  }

  admit(secret: string, _now: number, waitedMs: number, counts: boolean): Promise<Admission | null> | null {
    if (!isSecret(secret)) return null;
    const now = performance.now();
    const item = { hash: hashSecret(secret), counts, arrivedAt: now - waitedMs, beganAt: now };
    return (this.#locked.has(item.hash) ? this.#lockedGroup : this.#group).add(item);
  }

  /**
   * How long an operation may take after its admission, in milliseconds, so that its client has a response within 3 s.
   * Called when a request has been admitted.
   */
  get msLeft(): number {
    return Math.max(minMsLeft, maxRequestMs - this.#lastMs);
  }

  /** The number of groups and of their requests, and how many requests wait for their group. */
  get counts(): { readonly groups: number; readonly items: number; readonly waiting: number } {
    const [one, other] = [this.#group, this.#lockedGroup];
    return {
      groups: one.groups + other.groups, items: one.items + other.items, waiting: one.waiting + other.waiting,
    };
  }

  /**
   * Admits requests. If another transaction keeps the lock of a key, `whenLocked` returns the result of each request
   * with that key. Rejects with an UnavailableError if the requests cannot be decided.
   */
  async #admitAll(
    items: readonly Item[], connection: Connection, whenLocked: (item: Item) => Promise<Admission | null>,
  ): Promise<readonly Soon<Admission | null>[]> {
    const results = await this.#tryAll(items, connection, true).catch((error: unknown) => {
      const { cause } = error as Error;
      if (stateOf(cause) !== lockNotAvailable) throw error;
      return this.#tryAll(items, connection, false);
    });
    return results.map((result, index) => {
      if (result !== 'locked') return result;
      const admission = whenLocked(items[index]!);
      admission.catch(() => {}); // if the group has refused the request already, nobody else handles this rejection
      return admission;
    });
  }

  /**
   * Admits requests in one transaction. If `mayWait` is false, requests whose keys are locked get the result `locked`;
   * otherwise, it rejects if a lock is not available in time.
   */
  #tryAll(
    items: readonly Item[], connection: Connection, mayWait: boolean,
  ): Promise<readonly (Admission | 'locked' | null)[]> {
    return connection.transaction(async (execute, commit) => {
      const hashes = wordArray([...new Set(items.map(({ hash }) => hash))]);
      const rows = await execute(`select * from petstore.lock_keys(${hashes}, ${mayWait})`);
      const usages = new Map<string, LockedUsage>();
      const known = new Map<string, Found | 'locked'>();
      if (rows.length === 0) throw unavailable(); // the store is being restored
      for (const [hash, number, record, seq, updates, state, time, store, minVersion] of rows as LockedRow[]) {
        this.#checkStore(store, minVersion);
        if (hash === null) break; // no key has one of these secrets
        if (number === null) {
          known.set(hash, 'locked');
          continue;
        }
        const now = this.#now?.() ?? Number(time);
        const locked = usages.get(number) ?? new LockedUsage(number, seq, updates, state, now);
        usages.set(number, locked);
        const key = JSON.parse(record!) as Key;
        // While the transaction waited for the lock, the key may have been changed and lost this secret.
        const secret = key.secrets.find(({ sha256 }) => sha256 === hash);
        if (secret === undefined || !isActive(key, now)) continue;
        if (secret.expiresAt === null || now < secret.expiresAt) known.set(hash, { key, locked });
      }
      const monotonic = performance.now();
      this.#lastMs = monotonic - items[0]!.beganAt;
      const admissions = items.map((item) => {
        const found = known.get(item.hash) ?? null;
        return found === null || found === 'locked' ? found : admitOne(found, item, monotonic);
      });
      await saveUsages(commit, usages.values());
      return admissions;
    }, false);
  }
}

type LockedRow = readonly [
  hash: string | null, number: string | null, record: string | null, seq: string | null, updates: number | null,
  state: string | null, time: string, store: string, minVersion: number,
];

function admitOne({ key, locked }: Found, { counts, arrivedAt }: Item, monotonic: number): Admission {
  const { usage, time } = locked;
  const plan = limitsOf(key.plan);
  const limits = counts ? usage.admit(plan, time, time - (monotonic - arrivedAt)) : usage.status(plan);
  // A refusal because of an earlier ban changes nothing.
  if (counts && (limits.refusedBy !== 'ban' || limits.began !== undefined)) locked.isChanged = true;
  return { key: key.id, name: key.name, limits, time };
}
