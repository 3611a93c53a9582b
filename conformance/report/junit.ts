/**
 * JUnit XML, as GitLab, Jenkins and GitHub actions read it: a suite for each section, a case for each requirement. Some
 * readers show only the first `<failure>` of a case, so each case has at most one, which contains all failures.
 */
import { isOpen, type Failure, type RequirementResult } from '../verdicts/results.ts';
import { escaped } from './markup.ts';
import type { Report } from './report.ts';
import { visible, visibleLines } from './visible.ts';
import { bySection, count, isStrict, sectionTitle } from './words.ts';

type Attributes = Readonly<Record<string, string>>;

/** The report as JUnit XML. Under --strict, requirements that were not judged are failures. */
export function reportJunit(report: Report): string {
  const suites = bySection(report.requirements).map(([section, results]) => suite(report, section, results));
  const attributes = {
    name: `${report.kit.name} ${report.target}`,
    ...counts(report.requirements, isStrict(report)),
    time: report.seconds.toFixed(3),
  };
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('testsuites', attributes, `\n${suites.join('')}`)}`;
}

function suite(report: Report, section: string, results: readonly RequirementResult[]): string {
  const title = sectionTitle(section);
  const strict = isStrict(report);
  const attributes = {
    name: title,
    ...counts(results, strict),
    time: results.reduce((sum, { seconds = 0 }) => sum + seconds, 0).toFixed(3),
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
  const cases = results.map((result) => testcase(title, result, strict));
  return element(
    'testsuite',
    attributes,
    `\n${element('properties', {}, `\n${properties.join('')}`)}${cases.join('')}`,
  );
}

function counts(results: readonly RequirementResult[], strict: boolean): Attributes {
  const failures = results.filter((result) => isFailure(result, strict)).length;
  const passed = results.filter(({ verdict }) => verdict === 'passed').length;
  return {
    tests: String(results.length),
    failures: String(failures),
    errors: '0',
    skipped: String(results.length - failures - passed),
  };
}

function isFailure(result: RequirementResult, strict: boolean): boolean {
  return result.verdict === 'failed' || (strict && isOpen(result));
}

function testcase(title: string, result: RequirementResult, strict: boolean): string {
  const { id, text: requirement, verdict, reason, seconds = 0, judged, evidence, failures, failed } = result;
  const content = [];
  if (verdict === 'failed') {
    const [first] = failures;
    const message =
      first === undefined ? count(failed, 'failure') : `required: ${first.required}; received: ${first.received}`;
    content.push(element('failure', { message, type: 'failed' }, text(failures.map(details).join('\n\n'))));
  } else if (verdict !== 'passed') {
    const message = `${verdict}: ${reason ?? 'no reason'}`;
    content.push(
      isFailure(result, strict) ? element('failure', { message, type: verdict }) : element('skipped', { message }),
    );
  }
  if (judged > 0) {
    const lines = [`${count(judged, 'response')} judged`, ...evidence];
    content.push(element('system-out', {}, text(lines.join('\n'))));
  }
  const attributes = { classname: title, name: `${id}: ${requirement}`, time: seconds.toFixed(3) };
  return element('testcase', attributes, content.length > 0 ? `\n${content.join('')}` : '');
}

function details({ required, received, smallestCase, curl, replay, response }: Failure): string {
  return [
    `required: ${required}`,
    `received: ${received}`,
    `smallest case: ${smallestCase}`,
    `curl: ${curl}`,
    ...(replay === undefined ? [] : [`replay: ${replay}`]),
    `response:\n${response}`,
  ].join('\n');
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
