/** JUnit XML of a run: one suite with a case for each scenario. Inconclusive counts as skipped, as in the kit. */
import { junitXml, kindOf, type Case } from '../../conformance/report/junit.ts';
import type { LimitsReport } from './report.ts';

/** The report as JUnit XML. */
export function limitsJunit({ bench, target, startedAt, scenarios }: LimitsReport): string {
  const cases = scenarios.map(({ name, demanded, verdict, failures, reason, seen, seconds }): Case => {
    const message = verdict === 'failed' ? failures.join('; ') : `${verdict}: ${reason}`;
    const kind = kindOf(verdict);
    return { name: `${name}: ${demanded}`, kind, type: verdict, message, details: seen ?? '', seconds };
  });
  return junitXml(`${bench.name} ${target}`, startedAt, [['8 Limits', cases]]);
}
