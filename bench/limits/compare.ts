/** Compares a run of the rate-limit bench with an earlier limits.json. */
import { changes, changesText, readReport } from '../../conformance/report/compare.ts';
import { block } from '../../conformance/report/terminal.ts';
import { grouped } from '../../conformance/report/words.ts';
import { ratioText } from '../table.ts';
import type { LimitsReport } from './report.ts';
import { conclusions } from './terminal.ts';

/** Equal runs differ by less than this: their latencies, and ratios of them, by a factor of two on a busy machine. */
const factorOf = (metric: string): number => (/_(ms|ratio)$/.test(metric) ? 2 : 1.1);
/** Durations depend on when the windows of the server end, and p99.9 on single responses. */
const isChance = /\.duration_s$|_p999_ms$/;
const shares = 'latencies and ratios by more than a factor of 2, others by more than 10 %';

/**
 * Reads a limits.json.
 *
 * @throws Error with one line if it is not a report of this bench
 */
export function readEarlier(json: string): LimitsReport {
  const fields = ['target', 'startedAt', 'exitCode', 'settings', 'scenarios', 'metrics'];
  return readReport(json, { field: 'bench', program: 'petstore-bench-limits', format: 3, fields });
}

/** What has changed from one run to another: the settings, the verdicts, and metrics that both runs have. */
export function comparisonText(before: LimitsReport, now: LimitsReport): string {
  const entries = ({ settings }: LimitsReport) => Object.entries(settings).map(([id, value]) => ({ id, value }));
  const settings = changes(entries(before), entries(now), ({ value }) => JSON.stringify(value), 'not given');
  const items = ({ scenarios }: LimitsReport) => scenarios.map(({ name, verdict }) => ({ id: name, verdict }));
  const verdicts = changes(items(before), items(now), ({ verdict }) => verdict, 'not run');
  const metrics = Object.entries(now.metrics).flatMap(([name, is]) => {
    const was = before.metrics[name];
    if (was === undefined || isChance.test(name)) return [];
    if (Math.max(was, is) <= factorOf(name) * Math.min(was, is)) return [];
    const [wasText, isText] = [was, is].map((value) => grouped(value).padStart(10));
    return [`  ${name.padEnd(40)} ${wasText} → ${isText}${was === 0 ? '' : `   ×${ratioText(is / was)}`}`];
  });
  return changesText(before, now, ({ exitCode }) => conclusions[exitCode][1], [
    block('Settings that differ', settings.map(({ item: { id }, was, is }) => `  ${id}: ${was} → ${is}`)),
    block('Verdicts that differ', verdicts.map(({ item: { id }, was, is }) => `  ${id}: ${was} → ${is}`)),
    block(`Metrics that differ: ${shares}`, metrics),
  ], `No verdict has changed, and no metric much: ${shares}.`);
}
