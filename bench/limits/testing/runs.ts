/** Test support: runs of the bench in this process, against servers whose clock moves only while something waits. */
import { Stops, type Clock } from '../../../conformance/client/clock.ts';
import { mutants } from '../../../conformance/mutants/mutants.ts';
import type { Plan } from '../../../conformance/client/pacing.ts';
import type { Hooks } from '../../../conformance/mutants/server/hooks.ts';
import { startSmallServer } from '../../../conformance/mutants/server/small-server.ts';
import type { Variant } from '../../../conformance/mutants/variant.ts';
import { variants } from '../../../conformance/mutants/variants.ts';
import { fakeClock, response as kitResponse, type ResponseFields } from '../../../conformance/testing/responses.ts';
import type { Owner } from '../../../harness/owner.ts';
import { faultProxy } from '../../../harness/proxy.ts';
import { givenKeys, madeKeys, type Keys } from '../keys.ts';
import type { LimitsReport, ScenarioResult } from '../report.ts';
import type { Settings } from '../settings.ts';
import type { Response } from '../responses.ts';
import { Run, type RunOptions } from '../run-scenarios.ts';
import { scenarios } from '../scenarios.ts';

export const about = {
  bench: { name: 'petstore-bench-limits', version: '0.1.0', node: 'v20.0.0' },
  ownServer: false,
} as const;

export const usualSettings: Settings = {
  ...{ operation: 'listPets', connections: 10, duration: 1, rate: 100, untilBan: false, thresholds: {}, remote: false },
};

/** A response of the kit, as the bench receives it. */
export function response(
  { key, latencyMs = 1, ...fields }: ResponseFields & Partial<Pick<Response, 'key' | 'latencyMs'>>,
): Response {
  return Object.assign(kitResponse(fields), { key, latencyMs });
}

/** Keys of a common form. None contains a third of another. */
export const [mainSecret, quietSecret] = ['test_Kb7rT2xVq9KdLw4sHc8NpZa3', 'demo-Yw5mQ1jGf6UuEo0iRx9BtCn7'];

export interface TestOptions extends Partial<Pick<RunOptions, 'names' | 'signal' | 'show' | 'paced' | 'stops' | 'timeoutMs'>> {
  readonly fault?: string | Partial<Hooks>;
  readonly variant?: string | Variant;
  readonly plan?: Plan;
  /** The plan of the second key; by default the same. */
  readonly quietPlan?: Plan;
  /** Whether to close the connection instead of sending a response with this status and Authorization. */
  readonly cuts?: (status: number, authorization: string | undefined) => boolean;
  readonly settings?: Partial<RunOptions['settings']>;
  readonly clock?: Clock;
  /** The time by which latencies are measured; by default independent of the load of the machine. */
  readonly stopwatch?: () => number;
  /** Whether keys are created as needed, as with our own server. Otherwise there are two keys of the user. */
  readonly unlimitedKeys?: boolean;
  /** Whether the run does not know the limits of the keys. */
  readonly unpromised?: boolean;
}

/** A run that is about to begin, and its clock. */
export async function runAgainst(t: Owner, options: TestOptions = {}): Promise<Run> {
  const {
    fault,
    variant,
    plan = 'free',
    quietPlan = plan,
    cuts,
    settings,
    unlimitedKeys = false,
    unpromised = false,
  } = options;
  const clock = options.clock ?? fakeClock();
  const spare = Array.from({ length: 40 }, (_, i) => `spare${String(i).padStart(2, '0')}-${quietSecret.slice(5)}`);
  const { baseUrl, close } = await startSmallServer({
    clock,
    keys: [mainSecret, quietSecret, ...spare].map((secret) => ({
      secret,
      plan: secret === quietSecret ? quietPlan : plan,
    })),
    hooks: {
      ...(typeof variant === 'string' ? variants.find(({ id }) => id === variant)! : variant)?.hooks,
      ...(typeof fault === 'string' ? mutants.find(({ id }) => id === fault)!.hooks : fault),
    },
  });
  t.after(close);
  const keys: Keys = unlimitedKeys ? await madeKeys(async () => spare.shift()!) : givenKeys(mainSecret, quietSecret);
  const proxied = cuts && (await faultProxy(t, baseUrl, ({ headers }, { status }) =>
    cuts(status, headers.authorization) ? 'cut' : undefined));
  const run = new Run({
    baseUrl: proxied?.baseUrl ?? baseUrl,
    keys,
    settings: {
      ...(!unpromised && { plan }),
      ...usualSettings,
      ...settings,
    },
    names: options.names ?? scenarios.map(({ name }) => name),
    clock,
    stopwatch: options.stopwatch ?? ticking(),
    signal: options.signal ?? new AbortController().signal,
    show: options.show ?? (() => {}),
    paced: options.paced ?? false,
    ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
    // Other tests in this process may judge for seconds, which is a stop.
    stops: options.stops ?? new Stops(() => 0),
  });
  return run;
}

/** A stopwatch that advances by a hundredth of a millisecond with each reading. */
function ticking(): () => number {
  let ms = 0;
  return () => (ms += 0.01);
}

/** Runs to the end and returns the report. */
export async function reportOf(t: Owner, options: TestOptions = {}): Promise<LimitsReport> {
  const run = await runAgainst(t, options);
  await run.run(await run.open());
  return run.report(about);
}

/** The result of one scenario. */
export async function resultOf(t: Owner, name: string, options: TestOptions = {}): Promise<ScenarioResult> {
  return (await reportOf(t, { ...options, names: [name] })).scenarios[0]!;
}

/** Verdicts by scenario: `latency` → `passed`. */
export function verdicts({ scenarios: results }: LimitsReport): Record<string, string> {
  return Object.fromEntries(results.map(({ name, verdict }) => [name, verdict]));
}

/** The results of a run, for the message of an assertion. */
export function textOf(results: readonly ScenarioResult[]): string {
  return results
    .map(({ name, verdict, reason, failures, seen }) => [name, verdict, reason, ...failures, seen].join(' | '))
    .join('\n');
}
