/**
 * What a response of another process must be: each reader returns a value of its type, or throws InvalidResponseError.
 * The process on the other end of a socket may be of another version, or another program.
 */
import { hasControlCharacters } from '../../domain/control-characters.ts';
import { visible } from '../../observe/line.ts';
import { InvalidResponseError } from './channel.ts';

/** Returns a copy of a value that has its type. Throws InvalidResponseError otherwise. */
export type Reader<T> = (value: unknown) => T;


/** Returns a reader of values of which `isValid` is true. */
export function where<T>(isValid: (value: unknown) => value is T): Reader<T> {
  return (value) => {
    if (isValid(value)) return value;
    throw new InvalidResponseError('the response has an invalid member');
  };
}

/** A whole number from 0. */
export const count = where((value): value is number => Number.isSafeInteger(value) && (value as number) >= 0);
/** The id of a process. */
export const pid = where((value): value is number => Number.isSafeInteger(value) && (value as number) >= 1);
/** A number from 0. */
export const amount = where((value): value is number => Number.isFinite(value) && (value as number) >= 0);
/** True or false. */
export const flag = where((value): value is boolean => typeof value === 'boolean');
/** Any text, such as a name in an edited keys.json. `petstore` escapes it when it prints it. */
export const text = where((value): value is string => typeof value === 'string');
/** A text without control characters. */
export const plain = where((value): value is string => typeof value === 'string' && !hasControlCharacters(value));
/** A time as `Date.toISOString` writes it. */
export const time = where((value): value is string => {
  const at = typeof value === 'string' ? Date.parse(value) : NaN;
  return !Number.isNaN(at) && new Date(at).toISOString() === value;
});
/** A message for a person, as one line of visible characters. */
export const message: Reader<string> = (value) => visible(text(value));

/** One of these values. */
export function oneOf<const T>(...values: readonly T[]): Reader<T> {
  return where((value): value is T => values.includes(value as T));
}

/** A text of this form. */
export function matching(form: RegExp): Reader<string> {
  return where((value): value is string => typeof value === 'string' && form.test(value));
}

/** null, or what a reader accepts. */
export function orNull<T>(read: Reader<T>): Reader<T | null> {
  return (value) => (value === null ? null : read(value));
}

const array = where((value): value is unknown[] => Array.isArray(value));

/** An array with at most `most` elements. */
export function listOf<T>(read: Reader<T>, most: number): Reader<T[]> {
  const short = where((value): value is unknown[] => array(value).length <= most);
  return (value) => short(value).map(read);
}

/** An array with one element for each reader. */
export function tuple<T extends readonly unknown[]>(...readers: { readonly [I in keyof T]: Reader<T[I]> }): Reader<T> {
  const same = where((value): value is unknown[] => array(value).length === readers.length);
  return (value) => same(value).map((item, index) => readers[index]!(item)) as unknown as T;
}

/** An object with these members. Others are left out, because a later version may have more. */
export function record<T extends object>(readers: { readonly [Name in keyof T]-?: Reader<T[Name]> }): Reader<T> {
  const object = where((value): value is Record<string, unknown> => typeof value === 'object' && value !== null);
  const entries = Object.entries<Reader<unknown>>(readers);
  return (value) => {
    const given = object(value);
    return Object.fromEntries(entries.map(([name, read]) => {
      return [name, read(Object.hasOwn(given, name) ? given[name] : undefined)];
    })) as T;
  };
}
