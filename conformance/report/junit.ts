/**
 * JUnit XML, as GitLab, Jenkins and GitHub actions read it: a suite for each section, a case for each requirement. Some
 * readers show only the first `<failure>` of a case, so each case has at most one, which contains all failures.
 */
import { sections } from '../requirements/requirements.ts';
import { isOutdated, knownText, type KnownResult } from '../verdicts/known.ts';
import { isUnjudged, type RequirementResult, type Verdict } from '../verdicts/results.ts';
import { escaped } from './markup.ts';
import { fieldsOf } from './outline.ts';
import type { Report } from './report.ts';
import { visible, visibleLines } from './visible.ts';
import { isStrict } from './words.ts';

export interface Case {
  readonly name: string;
  readonly kind: 'passed' | 'failure' | 'skipped';
  readonly type: string;
  readonly message: string;
  readonly details?: string;
  readonly seconds?: number | undefined;
}

export type Suite = readonly [title: string, cases: readonly Case[]];

/** What a case with a verdict counts as. */
export function kindOf(verdict: Verdict): Case['kind'] {
  if (verdict === 'failed') return 'failure';
  return verdict === 'passed' ? 'passed' : 'skipped';
}

/**
 * The report as suites: one for each section, and one for the lines of the file of known deviations. Requirements that
 * --strict counts are failures.
 */
export function suitesOf(report: Report): readonly Suite[] {
  const suites = sections.map(([number, title]): Suite => {
    const results = report.requirements.filter(({ section }) => section === number);
    return [`${number} ${title}`, results.map((result) => requirementCase(result, isStrict(report)))];
  });
  return [...suites, ['Known deviations', report.known.map(knownCase)]];
}

/** The report as JUnit XML. */
export function reportJunit(report: Report): string {
  return junitXml(`${report.kit.name} ${report.target}`, report.startedAt, suitesOf(report));
}

function requirementCase(result: RequirementResult, strict: boolean): Case {
  const { id, text, verdict, reason, seconds, failures } = result;
  const [first] = failures;
  const message =
    verdict === 'failed' ? `required: ${first?.required}; received: ${first?.received}` : `${verdict}: ${reason}`;
  const details = failures.map((failure) => fieldsOf(failure).map((field) => field.join(': ')).join('\n'));
  const kind = strict && isUnjudged(result) ? 'failure' : kindOf(verdict);
  return { name: `${id}: ${text}`, kind, type: verdict, message, details: details.join('\n\n'), seconds };
}

/** A line of the file of known deviations: a failure if it is out of date. */
function knownCase(deviation: KnownResult): Case {
  const kind = isOutdated(deviation) ? 'failure' : 'skipped';
  return { name: deviation.id, kind, type: deviation.state, message: knownText(deviation) };
}

/** A report as JUnit XML. Suites without cases are left out. */
export function junitXml(name: string, startedAt: string, suites: readonly Suite[]): string {
  const shown = suites.filter(([, cases]) => cases.length > 0).map(([title, cases]) => {
    // Ant's schema allows no time zone and no fraction.
    const attributes = { name: title, ...totals(cases), timestamp: startedAt.slice(0, 19) };
    return element('testsuite', attributes, `\n${cases.map((one) => testcase(title, one)).join('')}`);
  });
  const all = totals(suites.flatMap(([, cases]) => cases));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('testsuites', { name, ...all }, `\n${shown.join('')}`)}`;
}

function totals(cases: readonly Case[]): Readonly<Record<string, string>> {
  const of = (wanted: Case['kind']) => String(cases.filter(({ kind }) => kind === wanted).length);
  const time = cases.reduce((sum, { seconds = 0 }) => sum + seconds, 0).toFixed(3);
  return { tests: String(cases.length), failures: of('failure'), errors: '0', skipped: of('skipped'), time };
}

function testcase(classname: string, { name, kind, type, message, details = '', seconds = 0 }: Case): string {
  const attributes = { classname, name, time: seconds.toFixed(3) };
  if (kind === 'passed') return element('testcase', attributes);
  // XML cannot represent control characters and lone surrogates, not even escaped. `visible` writes them as text.
  const content = visibleLines(escaped(details));
  const about = { message, ...(kind === 'failure' && { type }) };
  return element('testcase', attributes, `\n${element(kind, about, content)}`);
}

/** An XML element with its attributes; `content` must be escaped. */
function element(name: string, attributes: Readonly<Record<string, string>>, content = ''): string {
  const list = Object.entries(attributes).map(([key, value]) => ` ${key}="${visible(escaped(value))}"`);
  return content === '' ? `<${name}${list.join('')}/>\n` : `<${name}${list.join('')}>${content}</${name}>\n`;
}
