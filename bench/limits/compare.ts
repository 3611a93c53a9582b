/** Compares a run with an earlier limits.json: of the same server at two times, or of two servers. */
import { block, blocksText } from '../../conformance/report/terminal.ts';
import { visible } from '../../conformance/report/visible.ts';
import { dateText, grouped } from '../../conformance/report/words.ts';
import type { LimitsReport } from './report.ts';
import { headlines } from './terminal.ts';

/**
 * Reads a limits.json.
 *
 * @param name the name of the file, for error messages
 * @throws Error with one line if it is not a report of this bench
 */
export function readEarlier(json: string, name: string): LimitsReport {
  const fail = (problem: string) => new Error(`${visible(name)}: ${problem}`);
  let report: Partial<LimitsReport> | null;
  try {
    report = JSON.parse(json) as Partial<LimitsReport> | null;
  } catch (error) {
    throw fail(`not JSON: ${visible((error as Error).message)}`);
  }
  if (report?.bench?.name !== 'petstore-bench-limits') throw fail('not a report of this bench');
  if (report.format !== 3) throw fail(`a report of format ${String(report.format)}; this bench reads format 3`);
  return report as LimitsReport;
}

/** The comparison as text: the verdicts that have changed, and the metrics that differ. */
export function comparisonText(before: LimitsReport, now: LimitsReport): string {
  const side = ({ target, startedAt, exitCode }: LimitsReport) =>
    `${target}, ${dateText(startedAt)}: ${headlines[exitCode].toLowerCase()}`;
  const changed = now.scenarios.flatMap(({ name, verdict }) => {
    const was = before.scenarios.find((one) => one.name === name)?.verdict;
    return was === undefined || was === verdict ? [] : [`  ${name}: ${was} → ${verdict}`];
  });
  const inBoth = now.scenarios.filter(({ name }) => before.scenarios.some((one) => one.name === name));
  const names = Object.keys({ ...before.metrics, ...now.metrics }).toSorted()
    .filter((metric) => inBoth.some(({ name }) => metric.startsWith(`${name}.`)));
  const rows = names.filter((name) => before.metrics[name] !== now.metrics[name]).map((name) => {
    const [was, is] = [before.metrics[name], now.metrics[name]];
    const ratio = was === undefined || is === undefined || was === 0 ? '' : `×${(is / was).toFixed(2)}`;
    return `  ${name.padEnd(40)} ${valueText(was)} → ${valueText(is)}   ${ratio}`.trimEnd();
  });
  return blocksText([
    [`Before  ${side(before)}`, `Now     ${side(now)}`],
    block('Verdicts that differ', changed),
    block('Metrics that differ', rows),
  ]);
}

function valueText(value: number | undefined): string {
  return (value === undefined ? '–' : grouped(value)).padStart(10);
}
