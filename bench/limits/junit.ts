/** JUnit XML of a run: one suite with a case for each scenario. Inconclusive counts as skipped, as in the kit. */
import { element, text } from '../../conformance/report/junit.ts';
import type { LimitsReport, ScenarioResult } from './report.ts';

/** The report as JUnit XML. */
export function limitsJunit({ bench, target, startedAt, seconds, totals, scenarios }: LimitsReport): string {
  const counts = {
    tests: String(scenarios.length),
    failures: String(totals.failed),
    errors: '0',
    skipped: String(totals.inconclusive + totals.skipped),
    time: seconds.toFixed(3),
  };
  // Ant's schema allows no time zone and no fraction.
  const about = { name: '8 Limits', ...counts, timestamp: startedAt.slice(0, 19) };
  const suite = element('testsuite', about, `\n${scenarios.map(testcase).join('')}`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n`
    + element('testsuites', { name: `${bench.name} ${target}`, ...counts }, `\n${suite}`);
}

function testcase({ name, demanded, verdict, failures, reason, seen, seconds }: ScenarioResult): string {
  const content = [
    ...(verdict === 'failed' ? [element('failure', { message: failures.join('; '), type: verdict })] : []),
    ...(verdict === 'inconclusive' || verdict === 'skipped'
      ? [element('skipped', { message: `${verdict}: ${reason ?? 'no reason'}` })]
      : []),
    ...(seen === undefined ? [] : [element('system-out', {}, text(seen))]),
  ];
  const attributes = { classname: '8 Limits', name: `${name}: ${demanded}`, time: seconds.toFixed(3) };
  return element('testcase', attributes, content.length > 0 ? `\n${content.join('')}` : '');
}
