/**
 * Admits requests with a key in groups. A group is one transaction: it locks its keys, reads what they have used and
 * the clock, decides by the same rules as the file engine (limits/key-usage.ts), and stores the result. Requests of
 * other servers for the same keys wait for the lock, so all servers together admit exactly the plan.
 */
import type { Accounts, Admission } from '../engine.ts';
import { isActive, type Key } from '../keys/key.ts';
import { hashSecret, isSecret } from '../keys/secret.ts';
import { limitsOf } from '../limits/plans.ts';
import { unavailable, type Connection } from './connection.ts';
import { Group } from './group.ts';
import { LockedUsage, saveUsages } from './usage-row.ts';

/** A larger group would hold its locks too long. */
const maxItems = 500;

interface Item {
  readonly hash: string;
  readonly counts: boolean;
  /** When the request arrived, by the monotonic clock of this process. */
  readonly arrivedAt: number;
}

/** What is known of a secret while its key is locked. */
interface Found {
  readonly key: Key;
  readonly locked: LockedUsage;
}

export class Admissions implements Accounts {
  readonly group: Group<Item, Admission | null>;
  readonly #connection: Connection;
  readonly #checkStore: (id: string, version: number) => void;
  readonly #now: (() => number) | null;

  /** `checkStore` throws if this is not the store that the server serves. `now`, for tests, replaces the clock. */
  constructor(
    connection: Connection, checkStore: (id: string, version: number) => void, now: (() => number) | null,
  ) {
    this.#connection = connection;
    this.#checkStore = checkStore;
    this.#now = now;
    this.group = new Group(maxItems, (items) => this.#admitAll(items));
  }

  admit(secret: string, _now: number, waitedMs: number, counts: boolean): Promise<Admission | null> | null {
    if (!isSecret(secret)) return null;
    return this.group.add({ hash: hashSecret(secret), counts, arrivedAt: performance.now() - waitedMs });
  }

  #admitAll(items: readonly Item[]): Promise<readonly (Admission | null)[]> {
    return this.#connection.transaction(async (execute, commit) => {
      const hashes = [...new Set(items.map(({ hash }) => hash))];
      const rows = await execute('select * from petstore.lock_keys($1)', [hashes]);
      const usages = new Map<string, LockedUsage>();
      const known = new Map<string, Found>();
      if (rows.length === 0) throw unavailable(); // the store is being restored
      for (const [hash, number, record, seq, updates, state, time, store, version] of rows as LockedRow[]) {
        this.#checkStore(store, version);
        if (hash === null) break; // no key has one of these secrets
        const now = this.#now?.() ?? Number(time);
        const locked = usages.get(number) ?? new LockedUsage(number, seq, updates, state, now);
        usages.set(number, locked);
        const key = JSON.parse(record) as Key;
        // While the lock was awaited, the key may have been changed: it may not have this secret any more.
        const secret = key.secrets.find(({ sha256 }) => sha256 === hash);
        if (secret === undefined || !isActive(key, now)) continue;
        if (secret.expiresAt === null || now < secret.expiresAt) known.set(hash, { key, locked });
      }
      const monotonic = performance.now();
      const admissions = items.map((item) => {
        const found = known.get(item.hash);
        return found === undefined ? null : admitOne(found, item, monotonic);
      });
      const saved = saveUsages(execute, usages.values());
      await Promise.all([saved, commit()]);
      return admissions;
    }, false);
  }
}

type LockedRow = readonly [
  hash: string | null, number: string, record: string, seq: string | null, updates: number | null, state: string | null,
  time: string, store: string, version: number,
];

function admitOne({ key, locked }: Found, { counts, arrivedAt }: Item, monotonic: number): Admission {
  const { usage, time } = locked;
  const plan = limitsOf(key.plan);
  const limits = counts ? usage.admit(plan, time, time - (monotonic - arrivedAt)) : usage.status(plan);
  // A refusal by a ban that was in force before changes nothing.
  if (counts && (limits.refusedBy !== 'ban' || limits.began !== undefined)) locked.isChanged = true;
  return { key: key.id, name: key.name, limits, time };
}
