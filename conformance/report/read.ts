/** Reads an earlier report.json, and verifies the shape of what a comparison reads. */
import type { Observation } from '../verdicts/results.ts';
import type { ComparedReport } from './compare.ts';
import { clipped, visible } from './visible.ts';
import { verdicts } from './words.ts';

/** Returns why the value at a path is invalid, or undefined. */
type Shape = (value: unknown, path: string) => string | undefined;

const text = rule('a string', (value) => typeof value === 'string');
const natural = rule('an integer, 0 or more', (value) => Number.isSafeInteger(value) && Number(value) >= 0);
const boolean = rule('true or false', (value) => typeof value === 'boolean');

// Only what a comparison reads. `satisfies` makes the shapes complete: a field of the type that the shape lacks does not
// compile. Ids are any text, because the report may be of an older or newer version.
const requirement = {
  id: text,
  section: text,
  text,
  verdict: oneOf(...verdicts),
  inapplicable: optional(boolean),
  restriction: optional(text),
} satisfies Record<keyof ComparedReport['requirements'][number], Shape>;
const gap = {
  id: text,
  section: text,
  question: text,
  behaviour: optional(text),
  example: optional(text),
  reason: optional(text),
} satisfies Record<keyof Observation, Shape>;
const report = object({
  target: text,
  startedAt: text,
  totals: object({ failed: natural, known: optional(natural) }),
  aborted: optional(text),
  conforms: boolean,
  known: optional(listOf(object({ state: text }))),
  requirements: listOf(object(requirement)),
  gaps: listOf(object(gap)),
} satisfies Record<keyof ComparedReport, Shape>);

/**
 * Reads a report.json.
 *
 * @param name of the file, for error messages
 * @throws Error with one line if it is not a report of format 1
 */
export function readReport(json: string, name: string): ComparedReport {
  const fail = (problem: string): Error => new Error(`${visible(name)}: ${problem}`);
  let value: unknown;
  try {
    value = JSON.parse(json.replace(/^\ufeff/, ''));
  } catch (error) {
    throw fail(`not JSON: ${visible((error as Error).message)}`);
  }
  const header = object({ format: rule('a number', Number.isFinite) })(value, '');
  if (header !== undefined) throw fail(`not a report of this kit: ${header}`);
  const { format } = value as { readonly format: number };
  if (format !== 1) throw fail(`a report of format ${String(format)}; this kit reads format 1`);
  const problem = report(value, '');
  if (problem !== undefined) throw fail(`not a report of format 1: ${problem}`);
  const { totals, known = [], requirements, gaps } = value as ComparedReport;
  const duplicate = duplicateId(requirements) ?? duplicateId(gaps);
  if (duplicate !== undefined) throw fail(`not a report of format 1: ${visible(duplicate)} is there twice`);
  // Versions without --known wrote neither of the two.
  return { ...(value as ComparedReport), known, totals: { ...totals, known: totals.known ?? 0 } };
}

function duplicateId(items: readonly { readonly id: string }[]): string | undefined {
  const ids = items.map(({ id }) => id);
  return ids.find((id, i) => ids.indexOf(id) !== i);
}

function oneOf(...values: readonly string[]): Shape {
  return rule(values.join(' or '), (value) => values.some((known) => known === value));
}

function optional(shape: Shape): Shape {
  return (value, path) => (value === undefined ? undefined : shape(value, path));
}

function listOf(shape: Shape): Shape {
  return (value, path) => {
    if (!Array.isArray(value)) return invalid(value, path, 'a list');
    return firstOf(value.map((element: unknown, index) => () => shape(element, `${path}[${index}]`)));
  };
}

/** An object with these fields. Other fields are ignored. */
function object(fields: Readonly<Record<string, Shape>>): Shape {
  return (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return invalid(value, path, 'an object');
    const own: Readonly<Record<string, unknown>> = { ...value };
    const prefix = path === '' ? '' : `${path}.`;
    return firstOf(
      Object.entries(fields).map(
        ([name, shape]) =>
          () =>
            shape(own[name], prefix + name),
      ),
    );
  };
}

function rule(description: string, isValid: (value: unknown) => boolean): Shape {
  return (value, path) => (isValid(value) ? undefined : invalid(value, path, description));
}

function firstOf(problems: readonly (() => string | undefined)[]): string | undefined {
  for (const find of problems) {
    const problem = find();
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function invalid(value: unknown, path: string, description: string): string {
  if (value === undefined) return `${path} is missing`;
  // JSON.stringify recurses, and a value in a file can be nested to any depth.
  const isContainer = typeof value === 'object' && value !== null;
  const kind = Array.isArray(value) ? 'a list' : 'an object';
  const received = isContainer ? kind : clipped(JSON.stringify(value), 40);
  return visible(`${path === '' ? 'it' : path} must be ${description}, not ${received}`);
}
