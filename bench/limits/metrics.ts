/** Everything that a run has measured, by names that never change and end in a unit: `latency.p50_ratio`. */
import type { Metrics, Outcome, ScenarioResult } from './report.ts';
import { percentiles } from './responses.ts';

/** The figures that are numbers, and the latencies of one scenario, by names without that of the scenario. */
export function measuredIn({ figures, latencies }: Pick<Outcome, 'figures' | 'latencies'>): Metrics {
  const numbers = Object.entries(figures).filter((figure): figure is [string, number] => typeof figure[1] === 'number');
  const ofLatencies = Object.entries(latencies).flatMap(([of, latency]) => [
    [`latency_${of}_responses`, latency.n] as const,
    ...percentiles.map((percentile) => [`latency_${of}_${percentile}_ms`, latency[percentile]] as const),
  ]);
  return Object.fromEntries([...numbers, ...ofLatencies]);
}

/** The metrics of all scenarios, each by the name of its scenario and its own. */
export function metricsOf(results: readonly ScenarioResult[]): Metrics {
  return Object.fromEntries(results.flatMap((result) =>
    Object.entries({ ...measuredIn(result), duration_s: result.seconds })
      .map(([name, value]) => [`${result.name}.${name}`, value])));
}
