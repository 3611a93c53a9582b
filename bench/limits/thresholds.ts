/** Judges an outcome by the thresholds that the user may set for the latencies of `neighbour` and `strangers`. */
import type { Figures, Outcome } from './report.ts';
import { minRatioLatencies } from './responses.ts';
import { thresholds, type Threshold, type Thresholds } from './settings.ts';

/** An outcome after the thresholds: failed if a figure exceeds one, inconclusive if a figure is missing. */
export function withThresholds(outcome: Outcome, given: Thresholds): Outcome {
  const { figures, failures } = outcome;
  const found = (Object.keys(thresholds) as Threshold[]).flatMap((flag) => {
    const [most, value] = [given[flag], figures[thresholds[flag]]];
    return most === undefined ? [] : [{ flag, most, value }];
  });
  const beyond = found.flatMap(({ flag, most, value }) =>
    typeof value === 'number' && value > most ? [`${thresholds[flag]} is ${value}, more than --${flag} ${most}`] : []);
  if (beyond.length > 0) return { ...outcome, verdict: 'failed', failures: [...failures, ...beyond] };
  const missing = found.find(({ value }) => value === undefined);
  if (missing === undefined || failures.length > 0) return outcome;
  return { ...outcome, verdict: 'inconclusive', reason: `--${missing.flag} ${tooFew(figures)}` };
}

function tooFew({ beside_latencies: beside, alone_latencies: alone }: Figures): string {
  return `needs ${minRatioLatencies} latencies with the flood and without it: ${beside} and ${alone} were measured`;
}
