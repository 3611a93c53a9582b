/**
 * JUnit XML, as GitLab, Jenkins and the readers of GitHub take it: a suite a section, a case a requirement. They differ on
 * several `<failure>` in one case (some read only the first), so each case has at most one, with all failures in its text.
 */
import { escaped } from './markup.ts';
import type { Report } from './report.ts';
import type { Failure, RequirementResult } from '../verdicts/results.ts';
import { visible, visibleLines } from './visible.ts';
import { bySection, count, isStrict, sectionTitle } from './words.ts';

/** The report as JUnit XML. Under --strict what is inconclusive is a failure. */
export function reportJunit(report: Report): string {
  const strict = isStrict(report);
  const suites = bySection(report.requirements).map(([section, results]) => suite(report, sectionTitle(section), results, strict));
  const all = { name: `${report.kit.name} ${report.target}`, ...counts(report.requirements, strict), time: report.seconds.toFixed(3) };
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('testsuites', all, `\n${suites.join('')}`)}`;
}

function suite(report: Report, title: string, results: readonly RequirementResult[], strict: boolean): string {
  // A run is one budget of requests for all checks at once, so only the whole of it has a time. Some readers stumble where
  // `time` is absent, hence 0. The schema of Ant has a timestamp without zone or fraction.
  const attributes = { name: title, ...counts(results, strict), time: '0', timestamp: report.startedAt.slice(0, 19) };
  const properties = Object.entries({
    target: report.target,
    profile: report.profile,
    mode: report.mode.join(', '),
    seed: String(report.seed),
    runs: String(report.runs),
    kit: report.kit.version,
  }).map(([name, value]) => element('property', { name, value }));
  const cases = results.map((result) => testcase(title, result, strict));
  return element('testsuite', attributes, `\n${element('properties', {}, `\n${properties.join('')}`)}${cases.join('')}`);
}

function counts(results: readonly RequirementResult[], strict: boolean): Record<'tests' | 'failures' | 'errors' | 'skipped', string> {
  const failures = results.filter((result) => isFailure(result, strict)).length;
  const passed = results.filter(({ verdict }) => verdict === 'passed').length;
  return { tests: String(results.length), failures: String(failures), errors: '0', skipped: String(results.length - failures - passed) };
}

function isFailure({ verdict }: RequirementResult, strict: boolean): boolean {
  return verdict === 'failed' || (strict && verdict === 'inconclusive');
}

function testcase(title: string, result: RequirementResult, strict: boolean): string {
  const outcome = [];
  if (result.verdict === 'failed') {
    const first = result.failures[0];
    const message = first === undefined ? count(result.failed, 'failure') : `required: ${first.required}; came: ${first.came}`;
    outcome.push(element('failure', { message, type: 'failed' }, text(result.failures.map(details).join('\n\n'))));
  } else if (result.verdict !== 'passed') {
    const message = `${result.verdict}: ${result.reason ?? 'no reason given'}`;
    outcome.push(isFailure(result, strict) ? element('failure', { message, type: result.verdict }) : element('skipped', { message }));
  }
  if (result.judged > 0) outcome.push(element('system-out', {}, text([`${count(result.judged, 'answer')} judged`, ...result.evidence].join('\n'))));
  return element('testcase', { classname: title, name: `${result.id}: ${result.text}`, time: '0' }, outcome.length > 0 ? `\n${outcome.join('')}` : '');
}

function details(failure: Failure): string {
  return [
    `required: ${failure.required}`,
    `came: ${failure.came}`,
    `smallest case: ${failure.smallestCase}`,
    `curl: ${failure.curl}`,
    ...(failure.replay === undefined ? [] : [`replay: ${failure.replay}`]),
    `answer:\n${failure.answer}`,
  ].join('\n');
}

/** XML 1.0 has no way at all to write most control characters, nor half a surrogate pair: they are written as text. */
function text(content: string): string {
  return visibleLines(escaped(content));
}

function element(name: string, attributes: Readonly<Record<string, string>>, content = ''): string {
  const list = Object.entries(attributes).map(([key, value]) => ` ${key}="${visible(escaped(value))}"`);
  return content === '' ? `<${name}${list.join('')}/>\n` : `<${name}${list.join('')}>${content}</${name}>\n`;
}
