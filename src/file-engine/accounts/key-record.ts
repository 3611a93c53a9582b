/** The lines of keys.json. */
import { arrayMember, optionalNumberMember, objectMember, stringMember, timeMember } from '../files/members.ts';
import { JsonObject } from '../../json/read.ts';
import { planOf } from '../../limits/plans.ts';
import type { Key } from '../../keys/key.ts';

/** Returns a key as a line of keys.json. */
export function encodeKey(key: Key): string {
  return JSON.stringify(key, (name, value: unknown) => {
    return name.endsWith('At') && typeof value === 'number' ? new Date(value).toISOString() : value;
  });
}

/** Decodes a line of keys.json. Throws an Error that names the invalid member. */
export function decodeKey(record: JsonObject): Key {
  const raw = objectMember(record, 'plan');
  const id = stringMember(record, 'id');
  if (!/^k[1-9][0-9]{0,14}$/.test(id)) throw new Error('"id" must be k and a number from 1');
  return {
    id,
    name: stringMember(record, 'name'),
    plan: planOf(
      stringMember(raw, 'name'), optionalNumberMember(raw, 'perMinute'), optionalNumberMember(raw, 'perDay'),
    ),
    createdAt: timeMember(record, 'createdAt'),
    expiresAt: optionalTime(record, 'expiresAt'),
    revokedAt: optionalTime(record, 'revokedAt'),
    secrets: arrayMember(record, 'secrets').items.map((secret) => {
      if (!(secret instanceof JsonObject)) throw new Error('"secrets" must contain objects');
      const sha256 = stringMember(secret, 'sha256');
      if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error('"sha256" must be 64 hexadecimal digits');
      return { sha256, last4: stringMember(secret, 'last4'), expiresAt: optionalTime(secret, 'expiresAt') };
    }),
  };
}

function optionalTime(parent: JsonObject, name: string): number | null {
  return parent.get(name) === null ? null : timeMember(parent, name);
}
