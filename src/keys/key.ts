import { OperatorError } from '../domain/operator-error.ts';
import type { Plan } from '../limits/plans.ts';
import { hashSecret } from './secret.ts';

/** One secret of a key. Times are milliseconds since the epoch, here and below. */
export interface KeySecret {
  /** SHA-256 in hexadecimal. */
  readonly sha256: string;
  /** Its last four characters, by which people recognise it. */
  readonly last4: string;
  /** The time from which it is refused because a newer secret replaced it, or null. */
  readonly expiresAt: number | null;
}

/** An API key: a name, a plan and its secrets. */
export interface Key {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** The newest last. A revoked key has none. */
  readonly secrets: readonly KeySecret[];
}

/** Returns whether a key is neither revoked nor expired. */
export function isActive(key: Key, now: number): boolean {
  return key.revokedAt === null && (key.expiresAt === null || now < key.expiresAt);
}

/** Returns a new key. `expiresAt` null: it does not expire. */
export function newKey(
  id: string, name: string, plan: Plan, expiresAt: number | null, now: number, secret: string,
): Key {
  return { id, name, plan, createdAt: now, expiresAt, revokedAt: null, secrets: [storedSecret(secret)] };
}

/** Returns a key with a further secret. Its other secrets expire after `graceMs` at the latest. */
export function rotated(key: Key, graceMs: number, now: number, secret: string): Key {
  const until = now + graceMs;
  const older = key.secrets
    .map((one) => ({ ...one, expiresAt: Math.min(one.expiresAt ?? Infinity, until) }))
    .filter(({ expiresAt }) => expiresAt > now);
  return { ...key, secrets: [...older, storedSecret(secret)] };
}

/** Returns a key that is revoked at `now`. */
export function revoked(key: Key, now: number): Key {
  return { ...key, revokedAt: now, secrets: [] };
}

/** Throws an OperatorError if a key is revoked, or has expired at `now`: `-Infinity` permits expired keys. */
export function requireActive(key: Key, now: number): void {
  if (isActive(key, now)) return;
  const state = key.revokedAt === null ? 'has expired' : 'is revoked';
  throw new OperatorError(`key ${key.id} ${state}; create a new one with "petstore keys create"`);
}

/** The error for an id that no key has. */
export function noSuchKey(id: string): OperatorError {
  return new OperatorError(`there is no key with the id ${id}; "petstore keys list" shows all keys`);
}

function storedSecret(secret: string): KeySecret {
  return { sha256: hashSecret(secret), last4: secret.slice(-4), expiresAt: null };
}
