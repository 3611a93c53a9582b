/** Everything that a run has measured, by names that never change and end in a unit: `latency.p50_ratio`. */
import type { Metrics, ScenarioResult } from './report.ts';
import { percentiles } from './responses.ts';

/** The metrics of all scenarios that have any. */
export function metricsOf(results: readonly ScenarioResult[]): Metrics {
  const metrics: Record<string, number> = {};
  for (const { name, figures, latencies, seconds } of results) {
    for (const [figure, value] of Object.entries(figures)) {
      if (typeof value === 'number') metrics[`${name}.${figure}`] = value;
    }
    for (const [of, latency] of Object.entries(latencies)) {
      metrics[`${name}.latency_${of}_responses`] = latency.n;
      for (const percentile of percentiles) metrics[`${name}.latency_${of}_${percentile}_ms`] = latency[percentile];
    }
    metrics[`${name}.duration_s`] = seconds;
  }
  return metrics;
}
