/** Test support: runs of the bench in this process, against servers on a clock on which nobody waits. */
import { once } from 'node:events';
import { Agent, createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../conformance/client/clock.ts';
import type { Plan } from '../../conformance/client/pacing.ts';
import type { Hooks } from '../../conformance/mutants/server/hooks.ts';
import { mutants } from '../../conformance/mutants/mutants.ts';
import { startSmallServer } from '../../conformance/mutants/server/small-server.ts';
import { variants, type Variant } from '../../conformance/mutants/variants.ts';
import { fakeClock } from '../../conformance/testing/responses.ts';
import { answerOf, type Answer } from './answer.ts';
import { givenKeys, madeKeys, type Keys } from './keys.ts';
import type { Watcher } from './progress.ts';
import type { LimitsReport, ScenarioResult } from './report.ts';
import { Run, type RunOptions } from './run.ts';
import { scenarios, type ScenarioName } from './scenarios.ts';

interface Ending {
  after(end: () => unknown): void;
}

export const silent: Watcher = { doing: () => {}, waiting: () => {}, answered: () => {} };

export const about = { bench: { name: 'petstore-bench-limits', version: '0.1.0', node: 'v20.0.0' }, ownServer: false } as const;

/** An answer, a 200 unless told. */
export function answer(told: Partial<Answer> = {}): Answer {
  const timing = { sentAt: 0, receivedAt: 0, sentTurn: 1, receivedTurn: 2, latencyMs: 1, opening: false };
  return { ...answerOf(200, [], timing), ...told };
}

/** Keys of the form that many services use: none holds a third of another. */
export const [mainSecret, quietSecret] = ['test_Kb7rT2xVq9KdLw4sHc8NpZa3', 'demo-Yw5mQ1jGf6UuEo0iRx9BtCn7'];

export interface TestOptions extends Partial<Pick<RunOptions, 'names' | 'signal' | 'watcher'>> {
  readonly fault?: string | Partial<Hooks>;
  readonly variant?: string | Variant;
  readonly plan?: Plan;
  /** That of the second key; the same unless told. */
  readonly quietPlan?: Plan;
  /** In place of which answers the connection is ended, by their status and whose they are. */
  readonly cuts?: (status: number, authorization: string | undefined) => boolean;
  readonly settings?: Partial<RunOptions['settings']>;
  readonly clock?: Clock;
  /** By which latencies are measured. Unless told, none is longer for what the machine does meanwhile. */
  readonly stopwatch?: () => number;
  /** Keys as they are needed, as with our own server; else two that are given. */
  readonly plenty?: boolean;
  /** What the server's keys may do is not told to the bench. */
  readonly unpromised?: boolean;
}

const numbers = {
  free: { plan: 'free', perMinute: 60, perDay: 1_000 },
  pro: { plan: 'pro', perMinute: 300, perDay: 10_000 },
  business: { plan: 'business', perMinute: 1_000, perDay: 100_000 },
} as const;

/** A run that is about to begin, and its clock. */
export async function runAgainst(t: Ending, options: TestOptions = {}): Promise<Run> {
  const { fault, variant, plan = 'free', quietPlan = plan, cuts, settings, plenty = false, unpromised = false } = options;
  const clock = options.clock ?? fakeClock();
  const spare = Array.from({ length: 40 }, (_, i) => `spare${String(i).padStart(2, '0')}-${quietSecret.slice(5)}`);
  const { baseUrl, close } = await startSmallServer({
    clock,
    keys: [mainSecret, quietSecret, ...spare].map((secret) => ({ secret, plan: secret === quietSecret ? quietPlan : plan })),
    hooks: {
      ...(typeof variant === 'string' ? variants.find(({ id }) => id === variant)! : variant)?.hooks,
      ...(typeof fault === 'string' ? mutants.find(({ id }) => id === fault)!.hooks : fault),
    },
  });
  t.after(close);
  const keys: Keys = plenty ? await madeKeys(async () => spare.shift()!) : givenKeys(mainSecret, quietSecret);
  const run = new Run({
    baseUrl: cuts === undefined ? baseUrl : await cutting(t, baseUrl, cuts),
    keys,
    settings: {
      ...(unpromised ? {} : { promised: numbers[plan] }),
      ...{ connections: 10, duration: 1, rate: 100, untilBan: false },
      ...settings,
    },
    names: options.names ?? scenarios.map(({ name }) => name),
    clock,
    stopwatch: options.stopwatch ?? ticking(),
    signal: options.signal ?? new AbortController().signal,
    watcher: options.watcher ?? silent,
    paced: false,
  });
  t.after(() => run.close());
  return run;
}

/** A stopwatch that goes on by a hundredth of a millisecond with each reading. */
function ticking(): () => number {
  let ms = 0;
  return () => (ms += 0.01);
}

/** Stands before a server, and ends the connection in place of some answers. */
async function cutting(t: Ending, baseUrl: string, cuts: NonNullable<TestOptions['cuts']>): Promise<string> {
  const agent = new Agent({ keepAlive: true });
  const server = createServer((request, response) => {
    const { headers, url, socket } = request;
    send(new URL(url!, baseUrl), { headers, agent }, (came) => {
      if (cuts(came.statusCode!, headers.authorization)) return void (came.resume(), socket.end());
      response.sendDate = false;
      came.pipe(response.writeHead(came.statusCode!, came.rawHeaders));
    }).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
    agent.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

/** The report of a run to its end. */
export async function reportOf(t: Ending, options: TestOptions = {}): Promise<LimitsReport> {
  const run = await runAgainst(t, options);
  await run.run();
  return run.report(about);
}

/** What became of one scenario. */
export async function resultOf(t: Ending, name: ScenarioName, options: TestOptions = {}): Promise<ScenarioResult> {
  return (await reportOf(t, { ...options, names: [name] })).scenarios[0]!;
}

/** Verdicts by scenario: `exact` → `passed`. */
export function verdicts({ scenarios: results }: LimitsReport): Record<string, string> {
  return Object.fromEntries(results.map(({ name, verdict }) => [name, verdict]));
}

/** What a run said, for the message of an assertion. */
export function told(results: readonly ScenarioResult[]): string {
  return results
    .map(({ name, verdict, reason, failures, seen }) => [name, verdict, reason, ...failures, seen].join(' | '))
    .join('\n');
}
