import type { Plan } from '../limits/plans.ts';

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
