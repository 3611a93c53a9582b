import { join } from 'node:path';
import { counted } from '../../domain/counted.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import type { ChangedKey } from '../../engine.ts';
import { unsyncedReason } from '../../files/errors.ts';
import { readRecords, writeRecords, type RecordHead } from '../files/record-file.ts';
import { storeIdOf } from '../files/store-id.ts';
import type { Plan } from '../../limits/plans.ts';
import { decodeKey, encodeKey } from './key-record.ts';
import {
  isActive, newKey, noSuchKey, requireActive, revoked, rotated, type Key, type KeySecret,
} from '../../keys/key.ts';
import { hashSecret, isSecret, newSecret } from '../../keys/secret.ts';

interface KnownSecret {
  readonly key: Key;
  readonly secret: KeySecret;
}

export const keysName = 'keys.json';
export const keysFormat = { name: 'petstore-keys', member: 'keys' };

/** The number in an id has at most 15 digits (docs/files.md). */
const maxKeyNumber = 999_999_999_999_999;

/** The keys of a data folder, stored in `keys.json`. A change takes effect when the file has been replaced. */
export class KeyRing {
  readonly #path: string;
  readonly #checkLock: (() => void) | undefined;
  readonly #store: string;
  #keys: readonly Key[] = [];
  #byHash = new Map<string, KnownSecret>();
  /** The secrets used since the last change, so that these are not hashed again. */
  readonly #used = new Map<string, KnownSecret>();
  readonly #onChanged: () => void;
  #changes = 0;
  /** Settled when all changes so far are made. */
  #changing: Promise<unknown> = Promise.resolve();

  /**
   * Reads the keys of a data folder. Throws an OperatorError that names the line if the file is damaged. `checkLock`
   * throws if this process may not write to the folder any more. `store` is the id of the store. `onChanged` is called
   * after each change.
   */
  constructor(
    folder: string, checkLock?: () => void, store = storeIdOf(folder), onChanged = (): void => {},
  ) {
    this.#path = join(folder, keysName);
    this.#checkLock = checkLock;
    this.#store = store;
    this.#onChanged = onChanged;
    const { records, keyChanges } = readRecords(this.#path, keysFormat, decodeKey);
    this.#setKeys(records);
    this.#changes = keyChanges;
  }

  /** All keys, revoked and expired ones too, oldest first. */
  get keys(): readonly Key[] {
    return this.#keys;
  }

  /** What the file contains. */
  get contents(): { head: RecordHead; lines: readonly string[] } {
    return { head: { store: this.#store, keyChanges: this.#changes }, lines: this.#keys.map(encodeKey) };
  }

  /** How often the keys have been changed, over the life of the folder, as far as that is on disk. */
  get changes(): number {
    return this.#changes;
  }

  /** Throws an OperatorError if the last `recorded` changes of the keys are not in the file. */
  checkChanges(recorded: number): void {
    if (this.#changes >= recorded) return;
    const changes = counted(this.#changes, 'change was', 'changes were');
    const problem = `${this.#path} is missing or an old copy: ${changes} made to it`;
    const advice = 'restore it from a backup, or remove usage.json to go on without the later changes';
    throw new OperatorError(`${problem}, but ${recorded} according to usage.json; nothing was changed; ${advice}`);
  }

  /** Returns the key with this id, also if it is revoked or expired. Throws an OperatorError if there is none. */
  get(id: string): Key {
    const key = this.#keys.find((other) => other.id === id);
    if (key === undefined) throw noSuchKey(id);
    return key;
  }

  /** Returns the key with this secret, if it is valid at `now`; or null. */
  find(secret: string, now: number): Key | null {
    const known = this.#used.get(secret) ?? this.#lookUp(secret);
    if (known === null || !isActive(known.key, now)) return null;
    return known.secret.expiresAt === null || now < known.secret.expiresAt ? known.key : null;
  }

  /**
   * Creates a key and returns it with its secret, which is not stored. If `expiresAt` is null, it does not expire. A
   * secret that is given must be new.
   *
   * This and the other changes reject with an OperatorError, and change nothing, if the file cannot be written or if
   * the key does not exist, is revoked or (except for `revoke`) has expired.
   */
  async create(
    name: string,
    plan: Plan,
    expiresAt: number | null,
    now: number,
    secret = newSecret(),
  ): Promise<ChangedKey & { readonly secret: string }> {
    const created = await this.#change(() => {
      // Keys are never removed, so no id is used twice.
      const highest = this.#keys.reduce((number, { id }) => Math.max(number, Number(id.slice(1))), 0);
      if (highest >= maxKeyNumber) {
        throw new OperatorError(`${this.#path} has a key k${highest}, and larger ids cannot be assigned; renumber it`);
      }
      return newKey(`k${highest + 1}`, name, plan, expiresAt, now, secret);
    });
    return { ...created, secret };
  }

  /** Adds a secret to a key and returns both. Its other secrets expire after `graceMs` at the latest. */
  async rotate(
    id: string,
    graceMs: number,
    now: number,
    secret = newSecret(),
  ): Promise<ChangedKey & { readonly secret: string }> {
    return { ...(await this.#edit(id, now, (key) => rotated(key, graceMs, now, secret))), secret };
  }

  /** Revokes a key permanently. An expired key can be revoked too (`-Infinity`), because the clock may be set back. */
  revoke(id: string, now: number): Promise<ChangedKey> {
    return this.#edit(id, -Infinity, (key) => revoked(key, now));
  }

  /** Moves a key to another plan. */
  setPlan(id: string, plan: Plan, now: number): Promise<ChangedKey> {
    return this.#edit(id, now, (key) => ({ ...key, plan }));
  }

  /** Replaces a key that is active at `now` by the result of `edit`. */
  #edit(id: string, now: number, edit: (key: Key) => Key): Promise<ChangedKey> {
    return this.#change(() => {
      const key = this.get(id);
      requireActive(key, now);
      return edit(key);
    });
  }

  /** Adds or replaces the key that `change` returns. Changes are made one after the other. */
  #change(change: () => Key): Promise<ChangedKey> {
    const done = this.#changing.then(async () => {
      const key = change();
      const byId = new Map([...this.#keys, key].map((one) => [one.id, one])); // a replaced key keeps its place
      const keys = [...byId.values()];
      const head = { store: this.#store, keyChanges: this.#changes + 1 };
      const written = writeRecords(this.#path, keysFormat, head, keys.map(encodeKey), this.#checkLock);
      // If it is unsynced: after a start the new file is in force, so the change must be now, and whoever made it must
      // hear its result.
      const unsynced = await unsyncedReason(written);
      this.#setKeys(keys);
      if (unsynced === null) this.#changes++; // otherwise a power cut may bring back the file before it
      this.#onChanged();
      return { key, unsynced };
    });
    this.#changing = done.catch(() => {});
    return done;
  }

  #setKeys(keys: readonly Key[]): void {
    this.#keys = keys;
    this.#byHash = new Map(keys.flatMap((key) => key.secrets.map((secret) => [secret.sha256, { key, secret }])));
    this.#used.clear();
  }

  #lookUp(secret: string): KnownSecret | null {
    const known = isSecret(secret) ? this.#byHash.get(hashSecret(secret)) : undefined;
    if (known === undefined) return null;
    this.#used.set(secret, known);
    return known;
  }
}
