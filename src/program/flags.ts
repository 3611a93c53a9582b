/** Checks flags and environment variables, for both programs. All errors are OperatorErrors with exit code 2. */
import { resolve } from 'node:path';
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { hasControlCharacters } from '../domain/control-characters.ts';
import { readDateTime } from '../domain/date-time.ts';
import { OperatorError } from '../domain/operator-error.ts';

export const defaultFolder = 'data/store';
const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const maxDurationMs = 100 * 365 * 86_400_000;

/** Returns the error of an invalid command line. If a URL is in it, its password is not shown. */
export function usageError(what: string): OperatorError {
  return new OperatorError(`${withoutPassword(what)}; see --help`, 2);
}

/**
 * Returns the end of a message about an unknown word: ` (did you mean …?)` if a known one is at most two typos away.
 * `known` maps these words to what they mean.
 */
export function suggestion(unknown: string, known: ReadonlyMap<string, string>): string {
  const near = [...known].map(([word, meant]) => ({ meant, typos: typosBetween(unknown, word) }));
  const [nearest] = near.filter(({ typos }) => typos <= 2).sort((one, other) => one.typos - other.typos);
  return nearest === undefined ? '' : ` (did you mean ${nearest.meant}?)`;
}

/** How many letters must be inserted, removed, replaced or exchanged with the next one to turn `one` into `two`. */
function typosBetween(one: string, two: string): number {
  const rows = [Array.from({ length: two.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= one.length; i++) {
    const row = [i];
    for (let j = 1; j <= two.length; j++) {
      const replaced = rows[i - 1]![j - 1]! + (one[i - 1] === two[j - 1] ? 0 : 1);
      row[j] = Math.min(replaced, rows[i - 1]![j]! + 1, row[j - 1]! + 1);
      const isExchange = i > 1 && j > 1 && one[i - 1] === two[j - 2] && one[i - 2] === two[j - 1];
      if (isExchange) row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
    }
    rows.push(row);
  }
  return rows[one.length]![two.length]!;
}

function withoutPassword(text: string): string {
  return text.replace(/:\/\/\S*@/g, '://…@');
}

/** Returns the error of an invalid value, likewise. `name` is the flag or variable that contains it, here and below. */
export function invalidValue(name: string, value: string, rule: string): OperatorError {
  return new OperatorError(`${name} must be ${rule}, not ${withoutPassword(JSON.stringify(value))}`, 2);
}

/**
 * Not in settings either: a byte order mark, U+FFFD, which Node puts in place of bytes that are not UTF-8, and invisible
 * characters at the ends, which come with copied text.
 */
const notInSettings = /[\ufeff\ufffd]|^[\u00ad\u200b-\u200f\u2060]|[\u00ad\u200b-\u200f\u2060]$/;

/**
 * Returns the value of a setting: all flags, arguments and variables pass through here. One with the end of a line of
 * Windows, for example, would silently name another folder. Throws an OperatorError.
 */
function checkedValue(name: string, value: string): string {
  if (!hasControlCharacters(value) && !notInSettings.test(value) && value.trim() === value) return value;
  const rule = 'a text in UTF-8 without control characters, and without white space or invisible characters at its ends';
  if (['--database', 'DATABASE_URL'].includes(name)) throw new OperatorError(`${name} must be ${rule}`, 2); // a password
  throw invalidValue(name, value, rule);
}

/** Returns the value of an environment variable; '' if it is not set. Throws an OperatorError. */
export function variable(environment: NodeJS.ProcessEnv, name: string): string {
  return checkedValue(name, environment[name] ?? '');
}

/** Returns the result of `parseArgs`. Its errors become one line. */
export function parseFlags<Config extends ParseArgsConfig>(config: Config) {
  let parsed: ReturnType<typeof parseArgs<Config>>;
  try {
    parsed = parseArgs(config);
  } catch (error) {
    const message = (error as Error).message.split(/\.\s/)[0]!;
    const [, unknown] = /^Unknown option '(--[^']+)'/.exec(message) ?? [];
    const flags = new Map(Object.keys(config.options ?? {}).map((name) => [`--${name}`, `--${name}`]));
    throw usageError(message + (unknown === undefined ? '' : suggestion(unknown, flags)));
  }
  for (const [name, value] of Object.entries(parsed.values)) {
    for (const one of [value].flat()) if (typeof one === 'string') checkedValue(`--${name}`, one);
  }
  for (const value of parsed.positionals) checkedValue('an argument', value);
  return parsed;
}

/** Returns the absolute path of the data folder. `flag` is the value of --data. */
export function dataFolder(flag: string | undefined, environment: NodeJS.ProcessEnv): string {
  const inEnvironment = variable(environment, 'DATA_DIR') || defaultFolder; // checked even if the flag overrides it
  const value = flag ?? inEnvironment;
  if (/^[a-z]+:\/\//i.test(value)) throw new OperatorError('--data must be a path; --database names a database', 2);
  if (value !== '') return resolve(value);
  throw invalidValue('--data', value, 'a path');
}

/** Where the data is: in a folder, given by its absolute path, or in the database with a URL. */
export type Place = { readonly folder: string } | {
  /** The flag or the variable that contains the URL. */
  readonly name: string;
  readonly url: string;
};

/** Returns where the data is. A flag takes precedence over both variables, and DATABASE_URL over DATA_DIR. */
export function placeOf(flags: { data?: string; database?: string }, environment: NodeJS.ProcessEnv): Place {
  const { data, database } = flags;
  if (data !== undefined && database !== undefined) throw usageError('--data and --database cannot be used together');
  const [url, folder] = [variable(environment, 'DATABASE_URL'), dataFolder(data, environment)];
  if (database !== undefined) return { name: '--database', url: database };
  return data !== undefined || url === '' ? { folder } : { name: 'DATABASE_URL', url };
}

/** Returns a whole number from `min` to `max`. */
export function wholeNumber(name: string, value: string, min: number, max: number): number {
  const number = /^[0-9]{1,16}$/.test(value) ? Number(value) : NaN;
  if (number >= min && number <= max) return number;
  throw invalidValue(name, value, `a whole number from ${min} to ${max}`);
}

/** Returns the milliseconds of a duration like `90s`, `30m`, `24h` or `7d`. */
export function parseDuration(name: string, value: string): number {
  const match = /^([0-9]{1,9})([smhd])$/.exec(value);
  const duration = match === null ? NaN : Number(match[1]) * unitMs[match[2]!]!;
  if (duration <= maxDurationMs) return duration;
  throw invalidValue(name, value, 'a duration like 90s, 30m, 24h or 7d, at most 100 years');
}

/** Returns a time: the start of a date in UTC, an RFC 3339 time, or a duration from `now`. All in milliseconds. */
export function parseTime(name: string, value: string, now: number): number {
  if (/^[0-9]+[smhd]$/.test(value)) return now + parseDuration(name, value);
  const isDate = /^[0-9-]+$/.test(value);
  const withSeconds = value.replace(/(T[0-9]{2}:[0-9]{2})(?=[Z+-])/, '$1:00');
  const time = readDateTime(isDate ? `${value}T00:00:00Z` : withSeconds);
  if (time !== null) return time;
  throw invalidValue(name, value, 'a date like 2027-01-31, a time like 2027-01-31T12:00:00Z or a duration like 90d');
}
