/** Everything that a run has measured, by names that never change and end in a unit: `exact.admitted_requests`. */
import type { Metrics, ScenarioResult } from './report.ts';
import { percentiles } from './responses.ts';

/** The metrics of all scenarios that have any. */
export function metricsOf(results: readonly ScenarioResult[]): Metrics {
  const metrics: Record<string, number> = {};
  for (const { name, figures, latency200, latency429, seconds } of results) {
    for (const [figure, value] of Object.entries(figures)) {
      if (typeof value === 'number') metrics[`${name}.${figure}`] = value;
    }
    for (const [status, latency] of Object.entries({ 200: latency200, 429: latency429 })) {
      if (latency === undefined) continue;
      metrics[`${name}.latency_${status}_responses`] = latency.n;
      for (const of of percentiles) metrics[`${name}.latency_${status}_${of}_ms`] = latency[of];
    }
    metrics[`${name}.duration_s`] = seconds;
  }
  return metrics;
}
