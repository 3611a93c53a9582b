/** Reads report.json, and verifies its shape. */
import type { KnownResult } from '../verdicts/known.ts';
import type { Failure, Observation, RequirementResult, Verdict } from '../verdicts/results.ts';
import type { Report } from './report.ts';
import { clipped, visible } from './visible.ts';
import { verdicts } from './words.ts';

/** Returns why the value at a path is invalid, or undefined. */
type Shape = (value: unknown, path: string) => string | undefined;

const text = rule('a string', (value) => typeof value === 'string');
const number = rule('a number', Number.isFinite);
const natural = rule('an integer, 0 or more', (value) => Number.isSafeInteger(value) && Number(value) >= 0);
const boolean = rule('true or false', (value) => typeof value === 'boolean');

// `satisfies` makes the shapes complete: a field of the type that the shape lacks does not compile. Ids are any text,
// because the report may be of an older or newer version.
const failure = {
  required: text,
  received: text,
  smallestCase: text,
  curl: text,
  response: text,
  replay: optional(text),
} satisfies Record<keyof Failure, Shape>;
const requirement = {
  id: text,
  section: text,
  text,
  verdict: oneOf(...verdicts),
  reason: optional(text),
  inapplicable: optional(boolean),
  restriction: optional(text),
  seconds: optional(number),
  judged: natural,
  evidence: listOf(text),
  failures: listOf(object(failure)),
  failed: natural,
} satisfies Record<keyof RequirementResult, Shape>;
const gap = {
  id: text,
  section: text,
  question: text,
  behaviour: optional(text),
  example: optional(text),
  reason: optional(text),
} satisfies Record<keyof Observation, Shape>;
const sent = {
  withKey: natural,
  withoutKey: natural,
  created: natural,
  unwanted429: natural,
  recovered503: optional(natural),
  secondsWaited: number,
} satisfies Record<keyof Report['sent'], Shape>;
const totals = {
  passed: natural,
  failed: natural,
  known: optional(natural),
  inconclusive: natural,
  skipped: natural,
} satisfies Record<Verdict, Shape>;
const known = {
  id: text,
  expires: text,
  reason: text,
  file: text,
  line: natural,
  state: text,
} satisfies Record<keyof KnownResult, Shape>;
const report = object({
  format: number,
  kit: object({ name: oneOf('petstore-conformance'), version: text, node: text }),
  target: text,
  startedAt: text,
  seconds: number,
  seed: number,
  runs: number,
  mode: listOf(text),
  sent: object(sent),
  totals: object(totals),
  aborted: optional(text),
  conforms: boolean,
  known: optional(listOf(object(known))),
  requirements: listOf(object(requirement)),
  gaps: listOf(object(gap)),
} satisfies Record<keyof Report, Shape>);

/**
 * Reads a report.json.
 *
 * @param name of the file, for error messages
 * @throws Error with one line if it is not a report of format 1
 */
export function readReport(json: string, name: string): Report {
  const fail = (problem: string): Error => new Error(`${visible(name)}: ${problem}`);
  let value: unknown;
  try {
    value = JSON.parse(json.replace(/^\ufeff/, ''));
  } catch (error) {
    throw fail(`not JSON: ${visible((error as Error).message)}`);
  }
  const header = object({ format: number })(value, '');
  if (header !== undefined) throw fail(`not a report of this kit: ${header}`);
  const { format } = value as Report;
  if (format !== 1) throw fail(`a report of format ${String(format)}; this kit reads format 1`);
  const problem = report(value, '');
  if (problem !== undefined) throw fail(`not a report of format 1: ${problem}`);
  const { requirements, gaps } = value as Report;
  const duplicate = duplicateId(requirements) ?? duplicateId(gaps);
  if (duplicate !== undefined) throw fail(`not a report of format 1: ${visible(duplicate)} is there twice`);
  // Versions without --known wrote neither of the two.
  const { totals: counts, known: deviations = [] } = value as Report;
  return { ...(value as Report), totals: { ...counts, known: counts.known ?? 0 }, known: deviations };
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
