/** Compares a run with an earlier limits.json: of the same server at two times, or of two servers. */
import { block, blocksText } from '../../conformance/report/terminal.ts';
import { visible } from '../../conformance/report/visible.ts';
import { dateText, grouped, verdicts } from '../../conformance/report/words.ts';
import type { LimitsReport } from './report.ts';
import { headlines } from './terminal.ts';

/** The fields of an earlier report that are read. */
export type Earlier = Pick<LimitsReport, 'target' | 'startedAt' | 'exitCode' | 'metrics'>
  & { readonly scenarios: readonly Pick<LimitsReport['scenarios'][number], 'name' | 'verdict'>[] };

/**
 * Reads a limits.json.
 *
 * @param name the name of the file, for error messages
 * @throws Error with one line if it is not a report of this bench
 */
export function readEarlier(json: string, name: string): Earlier {
  const fail = (problem: string) => new Error(`${visible(name)}: ${problem}`);
  let report: Partial<LimitsReport> | null;
  try {
    report = JSON.parse(json) as Partial<LimitsReport> | null;
  } catch (error) {
    throw fail(`not JSON: ${visible((error as Error).message)}`);
  }
  if (report?.bench?.name !== 'petstore-bench-limits') throw fail('not a report of this bench');
  if (report.format !== 3) throw fail(`a report of format ${String(report.format)}; this bench reads format 3`);
  const { target, startedAt, exitCode, metrics, scenarios } = report;
  const isWhole = typeof target === 'string' && typeof startedAt === 'string' && Array.isArray(scenarios)
    && [0, 1, 2].some((code) => code === exitCode) && typeof metrics === 'object' && metrics !== null
    && Object.values(metrics).every(Number.isFinite)
    && scenarios.every((one) => typeof one?.name === 'string' && verdicts.includes(one.verdict));
  if (!isWhole) throw fail('not a complete report of format 3');
  return { target, startedAt, exitCode: exitCode!, metrics, scenarios };
}

/** The comparison as text: the verdicts and the metrics that differ. */
export function comparisonText(before: Earlier, now: Earlier): string {
  const side = ({ target, startedAt, exitCode }: Earlier) =>
    `${target}, ${dateText(startedAt)}: ${headlines[exitCode].toLowerCase()}`;
  const changed = now.scenarios.flatMap(({ name, verdict }) => {
    const was = before.scenarios.find((one) => one.name === name)?.verdict;
    if (was === undefined || was === verdict) return [];
    return [`  ${name}: ${was} → ${verdict}`];
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
