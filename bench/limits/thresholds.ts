/** Judges what `neighbour` and `strangers` have measured by the thresholds that the user has set. */
import { measuredIn } from './metrics.ts';
import { minRatioLatencies } from './responses.ts';
import type { Finding } from './scenario.ts';
import { thresholds, type Threshold, type Thresholds } from './settings.ts';

/**
 * The thresholds that a finding exceeds, each in words, and why another one could not be judged. A finding without the
 * latencies of a quiet client is not judged.
 */
export function judgeThresholds(
  { figures, latencies = {} }: Finding,
  given: Thresholds,
): { readonly exceeded: readonly string[]; readonly unmeasured: string | undefined } {
  const { alone, beside } = latencies;
  if (alone === undefined || beside === undefined) return { exceeded: [], unmeasured: undefined };
  const measured = measuredIn({ figures, latencies });
  const found = (Object.entries(given) as [Threshold, number][])
    .map(([flag, most]) => ({ flag, most, metric: thresholds[flag], value: measured[thresholds[flag]] }));
  const missing = found.find(({ value }) => value === undefined);
  return {
    exceeded: found.flatMap(({ flag, most, metric, value }) =>
      value !== undefined && value > most ? [`${metric} is ${value}, more than --${flag} ${most}`] : []),
    unmeasured: missing && `--${missing.flag} needs ${minRatioLatencies} latencies without the flood and with it: `
      + `${alone.n} and ${beside.n} were measured; a longer --duration measures more`,
  };
}
