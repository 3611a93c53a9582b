import { arrayMember, optionalNumberMember, objectMember, stringMember, timeMember } from '../json/members.ts';
import { JsonObject } from '../json/read.ts';
import { planOf, type Plan } from '../limits/plans.ts';

/** One secret of a key. Times are milliseconds since the epoch, here and below. */
export interface KeySecret {
  /** SHA-256 in hexadecimal. */
  readonly sha256: string;
  /** Its last four characters, for people to tell secrets apart. */
  readonly last4: string;
  /** From when on it is refused: set when a newer one took its place. */
  readonly expiresAt: number | null;
}

/** An API key: a name, a plan, and the secrets that stand for it. */
export interface Key {
  readonly id: string;
  readonly name: string;
  readonly plan: Plan;
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** The newest last; none when revoked. */
  readonly secrets: readonly KeySecret[];
}

/** Whether the key may still be used: not revoked, not expired. */
export function isActive(key: Key, now: number): boolean {
  return key.revokedAt === null && (key.expiresAt === null || now < key.expiresAt);
}

/** A key as a line of keys.json. */
export function encodeKey(key: Key): string {
  return JSON.stringify(key, (name, value: unknown) => {
    return name.endsWith('At') && typeof value === 'number' ? new Date(value).toISOString() : value;
  });
}

/** The key in a record that `encodeKey` made. Throws an Error that names the member at fault. */
export function decodeKey(record: JsonObject): Key {
  const plan = objectMember(record, 'plan');
  const id = stringMember(record, 'id');
  if (!/^k[1-9][0-9]{0,14}$/.test(id)) throw new Error('"id" must be k and a number');
  return {
    id,
    name: stringMember(record, 'name'),
    plan: planOf(
      stringMember(plan, 'name'),
      optionalNumberMember(plan, 'perMinute'),
      optionalNumberMember(plan, 'perDay'),
    ),
    createdAt: timeMember(record, 'createdAt'),
    expiresAt: optionalTime(record, 'expiresAt'),
    revokedAt: optionalTime(record, 'revokedAt'),
    secrets: arrayMember(record, 'secrets').map((secret) => {
      if (!(secret instanceof JsonObject)) throw new Error('"secrets" must hold objects');
      const sha256 = stringMember(secret, 'sha256');
      if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error('"sha256" must be 64 hexadecimal digits');
      return { sha256, last4: stringMember(secret, 'last4'), expiresAt: optionalTime(secret, 'expiresAt') };
    }),
  };
}

function optionalTime(parent: JsonObject, name: string): number | null {
  return parent.get(name) === null ? null : timeMember(parent, name);
}
