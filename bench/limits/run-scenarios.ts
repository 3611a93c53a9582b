/** Runs the scenarios in turn: estimates their cost, compares it with the key's day, and collects the results. */
import { Inconclusive, Skipped } from '../../conformance/verdicts/outcome.ts';
import { processStops, type Stops } from '../../conformance/client/clock.ts';
import { gatewayText, isDoubtful, noResponseText, refusalText } from '../../conformance/client/obstacles.ts';
import { longWindowMs, plans } from '../../conformance/client/pacing.ts';
import { nameOf } from '../../conformance/client/request.ts';
import type { Verdict } from '../../conformance/verdicts/results.ts';
import { count, grouped, verdicts } from '../../conformance/report/words.ts';
import { Untestable } from '../../conformance/session/session.ts';
import { NoResponse } from '../../conformance/client/client.ts';
import { withBan } from './bans.ts';
import { BudgetSpent, LimitsClient, type ClientOptions } from './client.ts';
import { ScenarioContext, DemandNotMet, type ContextOptions } from './context.ts';
import { bordersOf, countsOf, secondsOf, type Entry } from './log.ts';
import { metricsOf } from './metrics.ts';
import type { LimitsReport, Outcome, ScenarioResult } from './report.ts';
import { isAdmitted, isRefused, latencyOf, type Reading } from './responses.ts';
import type { Cost, Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';
import type { ScenarioName } from './settings.ts';
import { withThresholds } from './thresholds.ts';
import { isTimestamp } from './windows.ts';

/** The user has interrupted the run. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/**
 * The most requests that a run will send, by scenario and in total, including the first one; and what is left of the
 * day.
 */
export type Estimate = Awaited<ReturnType<Run['open']>>;

export interface RunOptions extends ClientOptions, ContextOptions {
  readonly names: readonly ScenarioName[];
  /** The flag or variable that the key comes from. */
  readonly keySource?: string | undefined;
  /** The stops of this process, except in tests. */
  readonly stops?: Stops;
}

/** The request that shows the key's limits before the estimate. */
const firstRequest = 1;

/** The most requests that a run may send to another machine: enough for all scenarios with a Business key. */
const maxRemoteRequests = 20_000;

export class Run {
  readonly #options: RunOptions;
  readonly #client: LimitsClient;
  readonly #context: ScenarioContext;
  readonly #log: Entry[] = [];
  readonly #results: ScenarioResult[] = [];
  readonly #startedAt: number;
  #current: ScenarioName;
  /** The stops of this process until the last response: judging takes long, too. */
  #stops = 0;
  #aborted: string | undefined;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
    this.#current = options.names[0]!;
    const { stops = processStops } = options;
    this.#client = new LimitsClient(options, (response, key) => {
      this.#stops = stops.count;
      const role = key === undefined ? 'none' : key.quiet ? 'quiet' : 'driven';
      this.#log.push({ scenario: this.#current, role, key: key?.number ?? 0, response });
    });
    this.#client.budget = firstRequest;
    this.#context = new ScenarioContext(options, this.#client);
  }

  /**
   * Sends one request with the key, and returns what all scenarios will cost. From then on the run sends no more.
   *
   * @throws Untestable if there is no response, or the key is rejected
   */
  async open() {
    const { names, settings, keys, baseUrl, keySource = 'API_KEY' } = this.#options;
    let first;
    try {
      first = await this.#context.probe(keys.main, 'listPets');
    } catch (error) {
      if (error instanceof NoResponse) throw new Untestable(await noResponseText(error, this.#options));
      throw error;
    }
    const refusal = await refusalText(first.message, this.#options, keySource);
    if (refusal !== undefined) throw new Untestable(refusal);
    if (isDoubtful(first.message, baseUrl))
      throw new Untestable(gatewayText(first.message, this.#options, nameOf(first.message.request)));
    if (!isAdmitted(first) && !isRefused(first)) {
      throw new Untestable(`GET /pets?limit=1 with the key returned ${first.status} instead of 200`);
    }
    if (settings.operation === 'getPet' && isAdmitted(first) && !this.#client.knowsPet) {
      throw new Untestable('--operation getPet needs an animal, and the list has none');
    }
    const limit = this.#limitOf(first.reading);
    const hasQuiet = keys.unlimited || (await keys.quiet()) !== undefined;
    const conditions = { ...settings, limit, unlimitedKeys: keys.unlimited, hasQuiet };
    const chosen = scenarios.filter(({ name }) => names.includes(name));
    const costs = chosen.map((scenario) => ({ scenario, cost: scenario.cost(conditions) }));
    const sum = (of: keyof Cost) => costs.reduce((all, { cost }) => all + (cost[of] ?? 0), 0);
    const [withKey, quiet, withoutKey] = [sum('withKey') + firstRequest, sum('quiet'), sum('withoutKey')];
    const most = withKey + quiet + withoutKey;
    if (settings.remote && most > maxRemoteRequests) {
      const least = `${grouped(most)} requests, and to another machine it sends ${grouped(maxRemoteRequests)} at most`;
      throw new Untestable(`the scenarios may take ${least}: name fewer of them`);
    }
    this.#client.budget = most;
    const total = { withKey, quiet, withoutKey, seconds: sum('seconds') };
    return { scenarios: costs, total, limit, most, dayLeft: this.#dayLeft() };
  }

  /** Runs the scenarios, and calls `ended` with the result of each. */
  async run(estimate: Estimate, ended: (result: ScenarioResult) => void = () => {}): Promise<void> {
    let secondsLeft = estimate.total.seconds;
    for (const { scenario, cost } of estimate.scenarios) {
      this.#options.watcher.begin(scenario.name, secondsLeft);
      this.#results.push(await this.#runOne(scenario, cost));
      ended(this.#results.at(-1)!);
      secondsLeft -= cost.seconds;
    }
  }

  /** The report of everything measured so far. */
  report(about: Pick<LimitsReport, 'bench' | 'ownServer'>): LimitsReport {
    const { baseUrl, settings, clock, keys } = this.#options;
    const totalOf = (verdict: Verdict) => this.#results.filter((result) => result.verdict === verdict).length;
    const totals = Object.fromEntries(verdicts.map((verdict) => [verdict, totalOf(verdict)])) as LimitsReport['totals'];
    const untested = this.#aborted !== undefined || totals.inconclusive > 0 || totals.passed === 0;
    // The timeline starts at a whole second of the server's clock, because windows end at whole seconds.
    const client = this.#client;
    const origin = client.ourTime(Math.floor(client.serverTime(this.#startedAt) / 1_000) * 1_000);
    const at = (time: number) => Math.round(time - origin) / 1_000;
    const report: LimitsReport = {
      ...{ format: 2, ...about, target: baseUrl, startedAt: new Date(this.#startedAt).toISOString() },
      seconds: Math.round(clock.now() - this.#startedAt) / 1_000,
      settings,
      sent: { ...client.sent, most: client.budget },
      ...(this.#aborted !== undefined && { aborted: this.#aborted }),
      totals,
      metrics: metricsOf(this.#results),
      exitCode: totals.failed > 0 ? 1 : untested ? 2 : 0,
      scenarios: this.#results.map((result) => ({ ...result, at: at(this.#startedAt + result.at * 1_000) })),
      timeline: {
        seconds: secondsOf(this.#log.slice(firstRequest), client, origin),
        borders: bordersOf(this.#log, client, origin, clock.now()),
        bans: this.#context.bans.seen.map(({ from, to }) => ({ from: at(from), to: at(to) })),
      },
    };
    return redacted(report, (text) => keys.redact(text)) as LimitsReport;
  }

  async #runOne(scenario: Scenario, cost: Cost): Promise<ScenarioResult> {
    const { clock } = this.#options;
    const { name, text, demanded } = scenario;
    this.#current = name;
    const { seen: bans } = this.#context.bans;
    const [from, began, bansBefore] = [this.#log.length, clock.now(), bans.length];
    const { stops = processStops } = this.#options;
    const stopsBefore = stops.count;
    this.#stops = stopsBefore;
    const judged = await this.#outcomeOf(scenario, cost);
    const outcome = this.#stops === stopsBefore ? judged : afterStop(judged);
    const ban = name === 'ban' ? undefined : bans[bansBefore];
    const entries = this.#log.slice(from);
    const keyed = entries.filter(({ role }) => role !== 'none').map(({ response }) => response);
    const [ok, refused] = [latencyOf(keyed.filter(isAdmitted)), latencyOf(keyed.filter(isRefused))];
    return {
      ...{ name, text, demanded },
      ...(ban === undefined ? outcome : withBan(outcome, ban)),
      ...countsOf(entries),
      ...(ok !== undefined && { latency200: ok }),
      ...(refused !== undefined && { latency429: refused }),
      at: Math.round(began - this.#startedAt) / 1_000,
      seconds: Math.round(clock.now() - began) / 1_000,
    };
  }

  async #outcomeOf(scenario: Scenario, cost: Cost): Promise<Outcome> {
    const nothing = { failures: [], figures: {} };
    if (this.#aborted !== undefined) return { verdict: 'skipped', reason: this.#aborted, ...nothing };
    const left = this.#dayLeft();
    if (left !== undefined && cost.withKey > left) {
      const reason = `it may take ${count(cost.withKey, 'request')}, and the key's day has only ${grouped(left)} left`;
      return { verdict: 'inconclusive', reason, ...nothing };
    }
    const began = this.#options.clock.now();
    try {
      const { failures, figures, seen } = await scenario.run(this.#context);
      // Most servers count windows by a clock that can be set. If it was, the failure may not be a fault of the server.
      if (failures.length > 0 && this.#client.serverClock.wasSetAfter(began)) {
        throw new Inconclusive(`the server's clock was set during the scenario: ${failures[0]}`);
      }
      const outcome = { verdict: failures.length > 0 ? 'failed' : 'passed', failures, figures, seen } as const;
      return scenario.hasThresholds ? withThresholds(outcome, this.#options.settings.thresholds) : outcome;
    } catch (error) {
      const { signal } = this.#options;
      // Ctrl-C also stops our own server and its command, so an error after it is a consequence of it.
      const { message: reason } = (signal.aborted ? signal.reason : error) as Error;
      if (signal.aborted) this.#aborted = reason;
      else if (error instanceof Skipped) return { verdict: 'skipped', reason, ...nothing };
      else if (error instanceof DemandNotMet) return { verdict: 'failed', ...nothing, failures: [reason] };
      else if (error instanceof NoResponse) {
        const none = `no request got a response: ${reason}`;
        if (await this.#responds()) return { verdict: 'inconclusive', reason: none, ...nothing };
        this.#aborted = `the server does not respond any more: ${reason}`;
      } else if (!(error instanceof Inconclusive || error instanceof BudgetSpent)) throw error;
      return { verdict: 'inconclusive', reason: this.#aborted ?? reason, ...nothing };
    }
  }

  /** Whether a request with the key still gets a response. */
  async #responds(): Promise<boolean> {
    try {
      await this.#context.probe(this.#options.keys.main);
      return true;
    } catch (error) {
      if (error instanceof NoResponse || error instanceof BudgetSpent || this.#options.signal.aborted) return false;
      throw error;
    }
  }

  /**
   * The key's requests per minute: as promised, otherwise as the headers state. If the headers show the limit of the
   * day, it identifies the plan and thus the limit per minute.
   *
   * @throws Untestable if neither states it
   */
  #limitOf(reading: Reading | undefined): number {
    const { promised } = this.#options.settings;
    if (promised !== undefined) return promised.perMinute;
    if (reading === undefined) {
      throw new Untestable('the response has no X-RateLimit headers: --plan, or --per-minute and --per-day');
    }
    const ofDay = this.#isLong(reading) && Object.values(plans).find(({ perDay }) => perDay === reading.limit);
    return ofDay ? ofDay.perMinute : reading.limit;
  }

  /**
   * What is left of the key's day: what the headers state if they show the day, otherwise what was promised less what
   * was sent. Undefined if neither is known, or the key was created for this run.
   */
  #dayLeft(): number | undefined {
    const { keys, settings } = this.#options;
    if (keys.main.own) return undefined;
    const reading = this.#context.lastOf(keys.main)?.reading;
    if (reading !== undefined && this.#isLong(reading)) return reading.remaining;
    return settings.promised && Math.max(0, settings.promised.perDay - this.#client.sent.withKey);
  }

  /** Whether the window of a reading is that of the day. */
  #isLong({ reset }: Reading): boolean {
    return isTimestamp(reset) && reset * 1_000 - this.#client.serverTime(this.#options.clock.now()) > longWindowMs;
  }
}

/** An outcome of a scenario during which this process stopped: its failures say nothing about the server. */
function afterStop(outcome: Outcome): Outcome {
  const [failure] = outcome.failures;
  if (failure === undefined) return outcome;
  const reason = `this process did not run for some time during the scenario: ${failure}`;
  return { ...outcome, verdict: 'inconclusive', reason, failures: [] };
}

/** A copy of a value in which every text is redacted. */
function redacted(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((one) => redacted(one, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, redacted(one, redact)]));
}
