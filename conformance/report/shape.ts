/** Says where a value read from a file is not what it should be. */
import { clipped, visible } from './visible.ts';

/** What is wrong with `value`, which stands at `at`; nothing where it is right. */
export type Check = (value: unknown, at: string) => string | undefined;

/** A string. */
export const text: Check = rule('must be a string', (value) => typeof value === 'string');
/** A number. */
export const number: Check = rule('must be a number', Number.isFinite);
/** A count: 0, 1, 2 … */
export const natural: Check = rule('must be a whole number, 0 or more', (value) => Number.isSafeInteger(value) && Number(value) >= 0);
/** true or false. */
export const boolean: Check = rule('must be true or false', (value) => typeof value === 'boolean');

/** One of these values. */
export function oneOf(...values: readonly string[]): Check {
  return rule(`must be ${values.join(' or ')}`, (value) => values.some((known) => known === value));
}

/** The check, or nothing there. */
export function optional(check: Check): Check {
  return (value, at) => (value === undefined ? undefined : check(value, at));
}

/** A list whose every element fits. */
export function listOf(check: Check): Check {
  return (value, at) => {
    if (!Array.isArray(value)) return wrong(value, at, 'must be a list');
    return first(value.map((element: unknown, index) => () => check(element, `${at}[${index}]`)));
  };
}

/** An object with these fields; others are let be. */
export function object(fields: Readonly<Record<string, Check>>): Check {
  return (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return wrong(value, at, 'must be an object');
    const own: Readonly<Record<string, unknown>> = { ...value };
    return first(Object.entries(fields).map(([name, check]) => () => check(own[name], at === '' ? name : `${at}.${name}`)));
  };
}

function rule(demand: string, holds: (value: unknown) => boolean): Check {
  return (value, at) => (holds(value) ? undefined : wrong(value, at, demand));
}

function first(questions: readonly (() => string | undefined)[]): string | undefined {
  for (const ask of questions) {
    const answer = ask();
    if (answer !== undefined) return answer;
  }
  return undefined;
}

function wrong(value: unknown, at: string, demand: string): string {
  if (value === undefined) return `${at} is missing`;
  return visible(`${at === '' ? 'it' : at} ${demand}, not ${clipped(JSON.stringify(value), 40)}`);
}
