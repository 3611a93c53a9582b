/** Administers the keys in the database. A change is in force for all servers when it is committed. */
import { activityIn, usageOf } from '../control/activity.ts';
import type { Activity, ChangedKey, KeyAdmin, Usage } from '../engine.ts';
import { newKey, noSuchKey, requireActive, revoked, rotated, type Key } from '../keys/key.ts';
import type { Plan } from '../limits/plans.ts';
import type { Connection, Execute } from './connection.ts';
import { refuseWhileCopied } from './schema.ts';
import { LockedUsage, saveUsages } from './usage-row.ts';

/** The newest usage of each key; $1 null: of all keys. */
export const newestUsage = `
  select k.number, k.record, u.seq, u.updates, u.state, petstore.now_ms()
  from petstore.keys k
  left join lateral (select * from petstore.usage u where u.number = k.number order by u.seq desc limit 1) u on true
  where $1::bigint is null or k.number = $1
  order by k.number`;
const lockKey = 'select record from petstore.keys where number = $1 for no key update';

export class DatabaseKeys implements KeyAdmin {
  readonly #connection: Connection;
  readonly #now: (() => number) | null;

  /** `now`, for tests, replaces the clock of the database. */
  constructor(connection: Connection, now: (() => number) | null) {
    this.#connection = connection;
    this.#now = now;
  }

  async list(): Promise<readonly Key[]> {
    return (await this.#connection.query('select record from petstore.keys order by number')).map(keyIn);
  }

  async get(id: string): Promise<Key> {
    const [row] = await this.#connection.query('select record from petstore.keys where number = $1', [numberOf(id)]);
    if (row === undefined) throw noSuchKey(id);
    return keyIn(row);
  }

  create(name: string, plan: Plan, expiresAt: number | null, now: number, secret: string): Promise<ChangedKey> {
    return this.#change(async (execute) => {
      // With this lock, other transactions can lock rows, but not add a key.
      await execute('lock table petstore.keys in share row exclusive mode');
      const [[number] = []] = await execute('select coalesce(max(number), 0) + 1 from petstore.keys');
      const key = newKey(`k${String(number)}`, name, plan, expiresAt, now, secret);
      await execute('insert into petstore.keys (number, record) values ($1, $2)', [number, JSON.stringify(key)]);
      await addSecrets(execute, number, key);
      return { key, unsynced: null };
    });
  }

  rotate(id: string, graceMs: number, now: number, secret: string): Promise<ChangedKey> {
    return this.#edit(id, now, (key) => rotated(key, graceMs, now, secret));
  }

  revoke(id: string, now: number): Promise<ChangedKey> {
    return this.#edit(id, -Infinity, (key) => revoked(key, now));
  }

  setPlan(id: string, plan: Plan, now: number): Promise<ChangedKey> {
    return this.#edit(id, now, (key) => ({ ...key, plan }));
  }

  async usage(key: Key): Promise<Usage> {
    const [used] = await this.#usages(numberOf(key.id));
    if (used === undefined) throw noSuchKey(key.id);
    return usageOf(key, used.locked);
  }

  unban(id: string): Promise<{ key: Key; unbanned: boolean }> {
    return this.#change(async (execute) => {
      const number = numberOf(id);
      const [row] = await execute(lockKey, [number]);
      if (row === undefined) throw noSuchKey(id);
      const [used] = (await execute(newestUsage, [number])).map((one) => this.#usedIn(one));
      const { locked } = used!;
      const unbanned = locked.usage.unban(locked.time);
      locked.isChanged = unbanned;
      await saveUsages(execute, [locked]);
      return { key: keyIn(row), unbanned };
    });
  }

  async activity(count: number): Promise<Activity> {
    const used = (await this.#usages(null)).map(({ key, locked: { usage, time } }) => ({ key, usage, time }));
    return activityIn(used, count);
  }

  async #usages(number: string | null) {
    return (await this.#connection.query(newestUsage, [number])).map((row) => this.#usedIn(row));
  }

  #usedIn(row: readonly unknown[]): { key: Key; locked: LockedUsage } {
    const [number, record, seq, updates, state, time] =
      row as [string, string, string | null, number | null, string | null, string];
    const now = this.#now?.() ?? Number(time);
    return { key: JSON.parse(record) as Key, locked: new LockedUsage(number, seq, updates, state, now) };
  }

  #change<T>(change: (execute: Execute) => Promise<T>): Promise<T> {
    return this.#connection.transaction(async (execute) => {
      await execute(refuseWhileCopied);
      return change(execute);
    });
  }

  /** Replaces a key that is active at `now` by the result of `change`. */
  #edit(id: string, now: number, change: (key: Key) => Key): Promise<ChangedKey> {
    return this.#change(async (execute) => {
      const number = numberOf(id);
      const [row] = await execute(lockKey, [number]);
      if (row === undefined) throw noSuchKey(id);
      requireActive(keyIn(row), now);
      const key = change(keyIn(row));
      await execute('update petstore.keys set record = $2 where number = $1', [number, JSON.stringify(key)]);
      await execute('delete from petstore.secrets where number = $1', [number]);
      await addSecrets(execute, number, key);
      return { key, unsynced: null };
    });
  }
}

/** Stores the hashes of the secrets of a key. Rejects as `execute` does. */
export async function addSecrets(execute: Execute, number: unknown, key: Key): Promise<void> {
  const hashes = key.secrets.map(({ sha256 }) => sha256);
  await execute('insert into petstore.secrets (sha256, number) select unnest($2::text[]), $1', [number, hashes]);
}

/** Returns the key in a row. */
export function keyIn([record]: readonly unknown[]): Key {
  return JSON.parse(record as string) as Key;
}

/** Returns the number in the id of a key. Throws an OperatorError if no key can have this id. */
export function numberOf(id: string): string {
  const [, number] = /^k([1-9][0-9]{0,14})$/.exec(id) ?? [];
  if (number === undefined) throw noSuchKey(id);
  return number;
}
