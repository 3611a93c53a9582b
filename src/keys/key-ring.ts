import { join } from 'node:path';
import { OperatorError } from '../domain/operator-error.ts';
import { readRecords, writeRecords } from '../files/record-file.ts';
import type { Plan } from '../limits/plans.ts';
import { decodeKey, encodeKey, isActive, type Key, type KeySecret } from './key.ts';
import { hashSecret, isSecret, newSecret } from './secret.ts';

/** A key and its new secret, which is kept nowhere. */
export interface IssuedKey {
  readonly key: Key;
  readonly secret: string;
}

interface KnownSecret {
  readonly key: Key;
  readonly secret: KeySecret;
}

const format = 'petstore-keys';
/** So many secrets that were used lately are found without hashing them. */
const maxRecent = 10_000;

/** The API keys: `keys.json`, and how a secret is looked up. A change holds once it is on the disk. */
export class KeyRing {
  readonly #path: string;
  #keys: readonly Key[] = [];
  #byHash = new Map<string, KnownSecret>();
  readonly #recent = new Map<string, KnownSecret>();
  #changes: Promise<unknown> = Promise.resolve();

  /** Reads the keys of a data folder. Throws OperatorError that names the line where the file is damaged. */
  constructor(folder: string) {
    this.#path = join(folder, 'keys.json');
    this.#setKeys(readRecords(this.#path, format, decodeKey));
  }

  /** All keys, revoked and expired ones too, oldest first. */
  get keys(): readonly Key[] {
    return this.#keys;
  }

  /** The key of this id, revoked and expired ones too. Throws OperatorError if there is none. */
  get(id: string): Key {
    const key = this.#keys.find((other) => other.id === id);
    if (key === undefined) throw new OperatorError(`there is no key ${id}; "petstore keys list" shows them`);
    return key;
  }

  /** The active key that a secret stands for at this time, or null. */
  find(secret: string, now: number): Key | null {
    const known = this.#recent.get(secret) ?? this.#lookUp(secret);
    if (known === null || !isActive(known.key, now)) return null;
    return known.secret.expiresAt === null || now < known.secret.expiresAt ? known.key : null;
  }

  /** Makes a key. `expiresAt` null: it does not expire. Rejects with what the disk reports; nothing is changed then. */
  create(name: string, plan: Plan, expiresAt: number | null, now: number): Promise<IssuedKey> {
    return this.#change(() => {
      const secret = newSecret();
      // A key is never removed, and a new one's number is above all others, so that no id comes twice.
      const highest = this.#keys.reduce((number, { id }) => Math.max(number, Number(id.slice(1))), 0);
      const id = `k${highest + 1}`;
      const key = { id, name, plan, createdAt: now, expiresAt, revokedAt: null, secrets: [storedSecret(secret)] };
      return { keys: [...this.#keys, key], result: { key, secret } };
    });
  }

  /** Gives a key a further secret; those it has end after `graceMs` at the latest. Throws OperatorError: no such key. */
  rotate(id: string, graceMs: number, now: number): Promise<IssuedKey> {
    const secret = newSecret();
    return this.#edit(id, (key) => {
      assertActive(key, now);
      const until = now + graceMs;
      const older = key.secrets
        .map((old) => ({ ...old, expiresAt: Math.min(old.expiresAt ?? Infinity, until) }))
        .filter((old) => old.expiresAt > now);
      return { ...key, secrets: [...older, storedSecret(secret)] };
    }).then((key) => ({ key, secret }));
  }

  /** Ends a key for good, an expired one too: the clock may be set back. Throws OperatorError: no such key. */
  revoke(id: string, now: number): Promise<Key> {
    return this.#edit(id, (key) => ({ ...key, revokedAt: now, secrets: [] }));
  }

  /** Moves a key to another plan. Throws OperatorError: no such key. */
  setPlan(id: string, plan: Plan, now: number): Promise<Key> {
    return this.#edit(id, (key) => {
      assertActive(key, now);
      return { ...key, plan };
    });
  }

  #edit(id: string, edit: (key: Key) => Key): Promise<Key> {
    return this.#change(() => {
      const old = this.get(id);
      if (old.revokedAt !== null) throw new OperatorError(`the key ${id} is revoked`);
      const result = edit(old);
      return { keys: this.#keys.map((key) => (key === old ? result : key)), result };
    });
  }

  /** One change after the other, each from what the one before left, each in force only when it is on the disk. */
  #change<T>(change: () => { keys: readonly Key[]; result: T }): Promise<T> {
    const done = this.#changes.then(async () => {
      const { keys, result } = change();
      await writeRecords(this.#path, format, keys.map(encodeKey));
      this.#setKeys(keys);
      return result;
    });
    this.#changes = done.catch(() => {});
    return done;
  }

  #setKeys(keys: readonly Key[]): void {
    this.#keys = keys;
    this.#byHash = new Map(keys.flatMap((key) => key.secrets.map((secret) => [secret.sha256, { key, secret }])));
    this.#recent.clear();
  }

  #lookUp(secret: string): KnownSecret | null {
    const known = isSecret(secret) ? this.#byHash.get(hashSecret(secret)) : undefined;
    if (known === undefined) return null;
    if (this.#recent.size >= maxRecent) this.#recent.clear();
    this.#recent.set(secret, known);
    return known;
  }
}

function assertActive(key: Key, now: number): void {
  if (!isActive(key, now)) throw new OperatorError(`the key ${key.id} is expired`);
}

function storedSecret(secret: string): KeySecret {
  return { sha256: hashSecret(secret), last4: secret.slice(-4), expiresAt: null };
}
