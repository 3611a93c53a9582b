/** Reads members of a record in a file of ours. Each function throws an Error that names the member and the rule. */
import { readDateTime } from '../../domain/date-time.ts';
import { JsonArray, JsonNumber, JsonObject } from '../../json/read.ts';

/** A member that is an object. */
export function objectMember(parent: JsonObject, name: string): JsonObject {
  const value = parent.get(name);
  if (!(value instanceof JsonObject)) throw new Error(`"${name}" must be an object`);
  return value;
}

/** A member that is an array. */
export function arrayMember(parent: JsonObject, name: string): JsonArray {
  const value = parent.get(name);
  if (!(value instanceof JsonArray)) throw new Error(`"${name}" must be an array`);
  return value;
}

/** A member that is a string. */
export function stringMember(parent: JsonObject, name: string): string {
  const value = parent.get(name);
  if (typeof value !== 'string') throw new Error(`"${name}" must be a string`);
  return value;
}

/** The value of a member that is a number, to a double's precision; undefined if it is anything else, or missing. */
export function optionalNumberMember(parent: JsonObject, name: string): number | undefined {
  const value = parent.get(name);
  return value instanceof JsonNumber ? Number(value.text) : undefined;
}

/** A member that is a whole number from 0. */
export function countMember(parent: JsonObject, name: string): number {
  const value = optionalNumberMember(parent, name);
  if (value !== undefined && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`"${name}" must be a whole number from 0`);
}

/** A member that is a time (RFC 3339), in milliseconds since the epoch. */
export function timeMember(parent: JsonObject, name: string): number {
  const text = stringMember(parent, name);
  const value = readDateTime(text) ?? isoTime(text);
  if (value === null) throw new Error(`"${name}" must be a time like 2026-01-31T12:00:00.000Z`);
  return value;
}

/** The time of a text that `Date.toISOString` has written, also beyond the year 9999; null if it has not. */
function isoTime(text: string): number | null {
  const value = Date.parse(text);
  return !Number.isNaN(value) && new Date(value).toISOString() === text ? value : null;
}
