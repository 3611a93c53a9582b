/**
 * JUnit XML, as GitLab, Jenkins and GitHub actions read it: a suite for each section, a case for each requirement. Some
 * readers show only the first `<failure>` of a case, so each case has at most one, which contains all failures.
 */
import { isOutdated, knownText, type KnownResult } from '../verdicts/known.ts';
import { isOpen, type Failure, type RequirementResult } from '../verdicts/results.ts';
import { escaped } from './markup.ts';
import { fieldsOf } from './outline.ts';
import type { Report } from './report.ts';
import { visible, visibleLines } from './visible.ts';
import { bySection, count, isStrict, sectionTitle } from './words.ts';

type Attributes = Readonly<Record<string, string>>;

/** A test case, and what its suite counts it as. */
interface Case {
  readonly xml: string;
  readonly kind: 'passed' | 'failures' | 'skipped';
  readonly seconds: number;
}

/**
 * The report as JUnit XML. Requirements that --strict counts are failures. The lines of the file of known deviations
 * are a separate suite.
 */
export function reportJunit(report: Report): string {
  const strict = isStrict(report);
  const sections = bySection(report.requirements).map(([section, results]): readonly [string, readonly Case[]] => {
    const title = sectionTitle(section);
    return [title, results.map((result) => testcase(title, result, strict))];
  });
  const known: readonly [string, readonly Case[]] = ['Known deviations', report.known.map(knownCase)];
  const suites = [...sections, known].filter(([, cases]) => cases.length > 0);
  const attributes = {
    name: `${report.kit.name} ${report.target}`,
    ...counts(suites.flatMap(([, cases]) => cases)),
    time: report.seconds.toFixed(3),
  };
  const content = suites.map(([title, cases]) => suite(report, title, cases)).join('');
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('testsuites', attributes, `\n${content}`)}`;
}

function suite(report: Report, name: string, cases: readonly Case[]): string {
  const attributes = {
    name,
    ...counts(cases),
    time: cases.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(3),
    // Ant's schema allows no time zone and no fraction.
    timestamp: report.startedAt.slice(0, 19),
  };
  const facts = {
    target: report.target,
    mode: report.mode.join(', '),
    seed: String(report.seed),
    runs: String(report.runs),
    kit: report.kit.version,
  };
  const properties = Object.entries(facts).map(([name, value]) => element('property', { name, value }));
  const content = cases.map(({ xml }) => xml).join('');
  return element('testsuite', attributes, `\n${element('properties', {}, `\n${properties.join('')}`)}${content}`);
}

function counts(cases: readonly Case[]): Attributes {
  const of = (wanted: Case['kind']) => String(cases.filter(({ kind }) => kind === wanted).length);
  return { tests: String(cases.length), failures: of('failures'), errors: '0', skipped: of('skipped') };
}

function testcase(title: string, result: RequirementResult, strict: boolean): Case {
  const { id, text: requirement, verdict, reason, seconds = 0, judged, evidence, failures, failed } = result;
  const isFailure = verdict === 'failed' || (strict && isOpen(result));
  const content = [];
  if (verdict === 'failed') {
    const [first] = failures;
    const message =
      first === undefined ? count(failed, 'failure') : `required: ${first.required}; received: ${first.received}`;
    content.push(element('failure', { message, type: 'failed' }, text(failures.map(details).join('\n\n'))));
  } else if (verdict !== 'passed') {
    const message = `${verdict}: ${reason ?? 'no reason'}`;
    content.push(isFailure ? element('failure', { message, type: verdict }) : element('skipped', { message }));
  }
  if (judged > 0) {
    const deviations = verdict === 'known' ? failures.map(details) : [];
    const lines = [...deviations, `${count(judged, 'response')} judged`, ...evidence];
    content.push(element('system-out', {}, text(lines.join('\n'))));
  }
  const attributes = { classname: title, name: `${id}: ${requirement}`, time: seconds.toFixed(3) };
  const xml = element('testcase', attributes, content.length > 0 ? `\n${content.join('')}` : '');
  return { xml, kind: isFailure ? 'failures' : verdict === 'passed' ? 'passed' : 'skipped', seconds };
}

/** A line of the file of known deviations: a failure if it is out of date. */
function knownCase(deviation: KnownResult): Case {
  const { id, state } = deviation;
  const [message, isFailure] = [knownText(deviation), isOutdated(deviation)];
  const end = isFailure ? element('failure', { message, type: state }) : element('skipped', { message });
  const attributes = { classname: 'Known deviations', name: id, time: '0.000' };
  return { xml: element('testcase', attributes, `\n${end}`), kind: isFailure ? 'failures' : 'skipped', seconds: 0 };
}

function details(failure: Failure): string {
  return fieldsOf(failure).map(([label, value]) => `${label}: ${value}`).join('\n');
}

/** XML 1.0 cannot represent control characters and lone surrogates, not even escaped. `visible` writes them as text. */
export function text(content: string): string {
  return visibleLines(escaped(content));
}

/** An XML element with its attributes; `content` must be escaped. */
export function element(name: string, attributes: Attributes, content = ''): string {
  const list = Object.entries(attributes).map(([key, value]) => ` ${key}="${visible(escaped(value))}"`);
  return content === '' ? `<${name}${list.join('')}/>\n` : `<${name}${list.join('')}>${content}</${name}>\n`;
}
