/** Judges an outcome by the thresholds that the user may set for the latencies of `neighbour` and `strangers`. */
import type { Outcome } from './report.ts';
import { minRatioLatencies } from './responses.ts';
import { thresholds, type Threshold, type Thresholds } from './settings.ts';

/** An outcome after the thresholds: failed if a figure exceeds one, inconclusive if a figure is missing. */
export function withThresholds(outcome: Outcome, given: Thresholds): Outcome {
  const { figures, failures, latencies } = outcome;
  const values: Readonly<Partial<Record<string, number | string>>> =
    { ...figures, ...(latencies['beside'] && { p99_beside_ms: latencies['beside'].p99 }) };
  const found = (Object.keys(thresholds) as Threshold[]).flatMap((flag) => {
    const [most, value] = [given[flag], values[thresholds[flag]]];
    return most === undefined ? [] : [{ flag, most, value }];
  });
  const beyond = found.flatMap(({ flag, most, value }) =>
    typeof value === 'number' && value > most ? [`${thresholds[flag]} is ${value}, more than --${flag} ${most}`] : []);
  if (beyond.length > 0) return { ...outcome, verdict: 'failed', failures: [...failures, ...beyond] };
  const missing = found.find(({ value }) => value === undefined);
  if (missing === undefined || failures.length > 0) return outcome;
  return { ...outcome, verdict: 'inconclusive', reason: `--${missing.flag} ${tooFew(outcome)}` };
}

function tooFew({ latencies: { alone, beside } }: Outcome): string {
  const needed = `needs ${minRatioLatencies} latencies with the flood and without it`;
  return `${needed}: ${beside?.n} and ${alone?.n} were measured`;
}
