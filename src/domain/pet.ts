import { isUtf8 } from 'node:buffer';
import { decimal } from '../json/decimal.ts';
import { jsonString } from '../json/encode.ts';
import { JsonNumber, JsonObject, type JsonValue } from '../json/read.ts';
import { bytesOf, byteText, type ByteText } from './byte-text.ts';
import { UntracedError } from './untraced-error.ts';
import { counted } from './counted.ts';
import { int64OfJsonNumber, isInt64 } from './int64.ts';

/** PetStatus (specification.md section 2). */
export const petStatuses = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof petStatuses)[number];

/** Integers of at most 15 digits are exact as JavaScript numbers, and the files have no longer ones. */
export const maxPetId = 999_999_999_999_999;
/** The operator is warned if fewer ids are left. No shop gets there by creates: only an import can keep such ids. */
const fewIds = 1_000_000;

/** Returns what the operator should know if few or no ids are larger than the last one; null otherwise. */
export function idWarning(lastId: number): string | null {
  const left = maxPetId - lastId;
  if (left >= fewIds) return null;
  const effect = left <= 0 ? 'no animal can be added' : `only ${counted(left, 'animal')} can be added`;
  const advice = 'export the animals, and import them without --keep-ids into a new data folder or database';
  return `the id ${lastId} has been assigned, and ids end at ${maxPetId}, so ${effect}; ${advice}`;
}

/** The message for a client if no id is left for an animal. */
export const noIdsLeft = 'The animal could not be saved, and no later one can be: ' +
  `all ids up to ${maxPetId} have been assigned. ` +
  'The operator of this service can export the animals, and import them with new ids into a new data folder or database.';

/** A NewPet with its status. `categoryId` is an int64; `name` may contain any UTF-16, lone surrogates included. */
export interface NewPet {
  readonly name: string;
  readonly categoryId: bigint;
  readonly status: PetStatus;
}

/** Why a JSON value is not a NewPet. */
export class InvalidPetError extends UntracedError {}

/**
 * Reads a NewPet (specification.md section 2; decisions.md, "Pets").
 * Throws InvalidPetError; the message names every invalid field with its rule, and calls the value `what`.
 */
export function readNewPet(value: JsonValue, what = 'The body'): NewPet {
  if (!(value instanceof JsonObject)) throw new InvalidPetError(`${what} must be a JSON object: a NewPet.`);
  const errors: string[] = [];
  const name = value.get('name');
  if (name === undefined) errors.push('name is required');
  else if (typeof name !== 'string') errors.push('name must be a string');

  const category = value.get('categoryId');
  const categoryId = category instanceof JsonNumber ? int64OfJsonNumber(category.text) : null;
  if (category === undefined) errors.push('categoryId is required');
  else if (categoryId === null) {
    errors.push('categoryId must be an integer from -9223372036854775808 to 9223372036854775807');
  }

  const given = value.get('status');
  const status = given === undefined ? 'available' : petStatuses.find((known) => known === given);
  if (status === undefined) errors.push(`status must be one of ${petStatuses.join(', ')}`);

  if (typeof name !== 'string' || categoryId === null || status === undefined) {
    throw new InvalidPetError(`${what} is not a NewPet: ${errors.join('; ')}.`);
  }
  return { name, categoryId, status };
}

/** A Pet in the form in which it is stored: `line` is the result of `petLine`. */
export interface StoredPet {
  readonly id: number;
  readonly line: ByteText;
  readonly status: PetStatus;
}

/** Returns a Pet as one line of JSON, its form in storage and in responses. `status` is the last member. */
export function petText(id: number, pet: NewPet): string {
  const name = jsonString(pet.name); // with escapes for lone surrogates, so that they survive UTF-8
  return `{"id":${decimal(id)},"name":${name},"categoryId":${pet.categoryId},"status":"${pet.status}"}`;
}

/** Returns the bytes of `petText`. */
export function petLine(id: number, pet: NewPet): ByteText {
  return bytesOf(petText(id, pet));
}

const petHead = /^\{"id":[1-9]\d{0,14},"name":"/;
const petTail = new RegExp(`^","categoryId":(0|-?[1-9]\\d{0,18}),"status":"(?:${petStatuses.join('|')})"\\}$`);
/** The only escapes in a name: the one form of each control character, and those of lone surrogates. */
const escape = /\\(?:["\\bfnrt]|u00(?:0[0-7bef]|1[0-9a-f])|ud(?:[89ab][0-9a-f]{2}(?!\\ud[c-f])|[c-f][0-9a-f]{2}))/;
const nameCharacters = new RegExp(`[^"\\\\\\x00-\\x1f]*(?:${escape.source}[^"\\\\\\x00-\\x1f]*)*`, 'y');

/** Whether the bytes from `start` to `end` are what `petLine` returns. Faster than reading them. */
export function hasPetLine(bytes: Buffer, start = 0, end = bytes.length): boolean {
  if (!isUtf8(bytes.subarray(start, end))) return false;
  const text = byteText(bytes, start, end);
  const head = petHead.exec(text);
  if (head === null) return false;
  nameCharacters.lastIndex = head[0].length;
  nameCharacters.test(text);
  const tail = petTail.exec(text.slice(nameCharacters.lastIndex));
  return tail !== null && isInt64(tail[1]!);
}

/** Returns the status in the line of `petLine` from `start` to `end` of `bytes`; null if it is not such a line. */
export function statusOfLine(bytes: Uint8Array, start = 0, end = bytes.length): PetStatus | null {
  // This runs for every animal at a start, so the bytes are compared in place, from the end, where the statuses differ.
  for (let index = 0; index < statusTails.length; index++) {
    const tail = statusTails[index]!;
    let same = 0;
    while (same < tail.length && bytes[end - 1 - same] === tail[tail.length - 1 - same]) same++;
    if (same === tail.length && same <= end - start) return petStatuses[index]!;
  }
  return null;
}

/** Whether the id in the line of `petLine` from `start` of `bytes` is greater than `maxPetId`. */
export function hasLongId(bytes: Uint8Array, start = 0): boolean {
  const from = start + '{"id":'.length;
  for (let at = from + 1; at <= from + 15; at++) if (bytes[at] === 0x2c) return false;
  return true;
}

const statusTails = petStatuses.map((status) => Buffer.from(`,"status":"${status}"}`));
