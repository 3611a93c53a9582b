import { badLine } from '../files/read-json.ts';
import { JsonNumber, JsonObject, type JsonValue } from '../json/read.ts';
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

const version = 1;

/** The number in a key's id. A key is never removed, and a new one's is above all others, so that no id comes twice. */
export function idNumber(key: Key): number {
  return Number(key.id.slice(1));
}

/** The text of keys.json: one JSON document with one key per line. */
export function encodeKeys(keys: readonly Key[]): string {
  const lines = keys.map((key) => JSON.stringify(key, (name, value: unknown) => (isTime(name) ? isoTime(value) : value)));
  return `{"format":"petstore-keys","version":${version},"keys":[\n${lines.join(',\n')}\n]}\n`;
}

/** The keys in a JSON document that `encodeKeys` made. Throws OperatorError that names the line of what is wrong. */
export function decodeKeys(path: string, document: JsonValue): Key[] {
  if (!(document instanceof JsonObject)) throw badLine(path, 1, 'this is not a petstore key file');
  const keys = document.members.get('keys');
  if (document.members.get('format') !== 'petstore-keys' || !Array.isArray(keys)) {
    throw badLine(path, document.line, 'this is not a petstore key file');
  }
  if (number(document, 'version') !== version) {
    throw badLine(path, document.line, `"version" is not ${version}: another version of petstore wrote this key file`);
  }
  const ids = new Set<string>();
  return keys.map((value) => {
    if (!(value instanceof JsonObject)) throw badLine(path, document.line, '"keys" must hold objects');
    try {
      const key = decodeKey(value);
      if (ids.has(key.id)) throw new Error(`there is another key ${key.id} above`);
      ids.add(key.id);
      return key;
    } catch (error) {
      throw badLine(path, value.line, error instanceof Error ? error.message : String(error));
    }
  });
}

function decodeKey(value: JsonObject): Key {
  const plan = object(value, 'plan');
  const secrets = value.members.get('secrets');
  if (!Array.isArray(secrets)) throw new Error('"secrets" must be an array');
  const id = string(value, 'id');
  if (!/^k[1-9][0-9]{0,14}$/.test(id)) throw new Error('"id" must be k and a number');
  return {
    id,
    name: string(value, 'name'),
    plan: planOf(string(plan, 'name'), number(plan, 'perMinute'), number(plan, 'perDay')),
    createdAt: time(value, 'createdAt'),
    expiresAt: optionalTime(value, 'expiresAt'),
    revokedAt: optionalTime(value, 'revokedAt'),
    secrets: secrets.map((secret) => {
      if (!(secret instanceof JsonObject)) throw new Error('"secrets" must hold objects');
      const sha256 = string(secret, 'sha256');
      if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error('"sha256" must be 64 hexadecimal digits');
      return { sha256, last4: string(secret, 'last4'), expiresAt: optionalTime(secret, 'expiresAt') };
    }),
  };
}

function isTime(name: string): boolean {
  return name.endsWith('At');
}

function isoTime(value: unknown): string | null {
  return typeof value === 'number' ? new Date(value).toISOString() : null;
}

function object(parent: JsonObject, name: string): JsonObject {
  const value = parent.members.get(name);
  if (!(value instanceof JsonObject)) throw new Error(`"${name}" must be an object`);
  return value;
}

function string(parent: JsonObject, name: string): string {
  const value = parent.members.get(name);
  if (typeof value !== 'string') throw new Error(`"${name}" must be a string`);
  return value;
}

function number(parent: JsonObject, name: string): number | undefined {
  const value = parent.members.get(name);
  return value instanceof JsonNumber ? Number(value.text) : undefined;
}

function time(parent: JsonObject, name: string): number {
  const value = Date.parse(string(parent, name));
  if (Number.isNaN(value)) throw new Error(`"${name}" must be a time like 2026-01-31T12:00:00.000Z`);
  return value;
}

function optionalTime(parent: JsonObject, name: string): number | null {
  return parent.members.get(name) === null ? null : time(parent, name);
}
