/** Runs the scenarios in turn: estimates their cost, compares it with the key's day, and collects the results. */
import { Inconclusive, Skipped } from '../../conformance/verdicts/outcome.ts';
import { gatewayText, isDoubtful, noResponseText, refusalText } from '../../conformance/client/obstacles.ts';
import { plans } from '../../conformance/client/pacing.ts';
import { shortened } from '../../conformance/client/json.ts';
import { nameOf } from '../../conformance/client/request.ts';
import { History } from '../../conformance/verdicts/history.ts';
import { totalsOf } from '../../conformance/verdicts/results.ts';
import { limitRules } from '../../conformance/verdicts/rules/limits.ts';
import { count, duration, grouped } from '../../conformance/report/words.ts';
import { Untestable } from '../../conformance/session/session.ts';
import { NoRequestsLeft, NoResponse } from '../../conformance/client/client.ts';
import { LimitsClient, type ClientOptions } from './client.ts';
import { maxRemaining, ScenarioContext, type ContextOptions } from './context.ts';
import { countsOf, keyedIn, secondsOf } from './log.ts';
import { metricsOf } from './metrics.ts';
import { operations } from './operations.ts';
import type { LimitsReport, Outcome, ScenarioResult } from './report.ts';
import { isAdmitted, isRefused, latencyOf, type Reading, type Response } from './responses.ts';
import type { Cost, Scenario } from './scenario.ts';
import { scenarios } from './scenarios.ts';
import { judgeThresholds } from './thresholds.ts';

/** The user has interrupted the run. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  readonly exitCode: number;

  constructor(message: string, exitCode: number) {
    super(message);
    this.exitCode = exitCode;
  }
}

/**
 * The most requests that a run will send, by scenario and in total, including the first one.
 */
export type Estimate = Awaited<ReturnType<Run['open']>>;

export interface RunOptions extends ClientOptions, ContextOptions {
  readonly names: readonly string[];
  /** The flag or variable that the key comes from. */
  readonly keySource?: string | undefined;
}

/** The request that shows the key's limits before the estimate. */
const firstRequest = 1;

/** The most requests that a run may send to another machine: enough for all scenarios with a Business key. */
const maxRemoteRequests = 20_000;

export class Run {
  readonly #options: RunOptions;
  readonly #client: LimitsClient;
  readonly #context: ScenarioContext;
  readonly #results: ScenarioResult[] = [];
  readonly #startedAt: number;
  #aborted: string | undefined;
  /** How many responses of the log have been judged by the rules; the first one precedes all scenarios. */
  #judged = 0;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#startedAt = options.clock.now();
    this.#client = new LimitsClient(options);
    this.#client.budget = firstRequest;
    this.#context = new ScenarioContext(options, this.#client);
  }

  /**
   * Sends one request with the key, and returns what all scenarios will cost. From then on the run sends no more.
   *
   * @throws Untestable if there is no response, or the key is rejected
   */
  async open() {
    const { names, settings, keys, keySource = 'API_KEY' } = this.#options;
    let first;
    try {
      first = await this.#context.probe(keys.main);
    } catch (error) {
      if (error instanceof NoResponse) throw new Untestable(await noResponseText(error, this.#options));
      throw error;
    }
    const refusal = await refusalText(first, this.#options, keySource);
    if (refusal !== undefined) throw new Untestable(refusal);
    if (isDoubtful(first))
      throw new Untestable(gatewayText(first, this.#options, nameOf(first.request)));
    if (!isAdmitted(first) && !isRefused(first)) {
      throw new Untestable(`GET /pets?limit=1 with the key returned ${first.status} instead of 200`);
    }
    const [{ operation }, [pet]] = [settings, first.pets];
    if (operation === 'getPet' && pet === undefined) {
      throw new Untestable(`--operation getPet needs an animal, and GET /pets?limit=1 listed none (${first.status})`);
    }
    this.#client.requestWith = (credential) => operations[operation](credential, pet);
    const limit = this.#limitOf(first.rateLimits);
    const hasQuiet = keys.main.own || (await keys.quiet()) !== undefined;
    const conditions = { ...settings, limit, unlimitedKeys: keys.main.own, hasQuiet };
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
    return { scenarios: costs, total, limit, most };
  }

  /** Runs the scenarios, and calls `ended` with the result of each. */
  async run(estimate: Estimate, ended: (result: ScenarioResult) => void = () => {}): Promise<void> {
    let secondsLeft = estimate.total.seconds;
    for (const { scenario, cost } of estimate.scenarios) {
      this.#context.name = scenario.name;
      this.#context.doing(`begins, about ${duration(secondsLeft)} left`);
      this.#results.push(await this.#runOne(scenario));
      ended(this.#results.at(-1)!);
      secondsLeft -= cost.seconds;
    }
  }

  /** The report of everything measured so far. */
  report(about: Pick<LimitsReport, 'bench' | 'ownServer'>): LimitsReport {
    const { baseUrl, settings, clock, keys } = this.#options;
    const totals = totalsOf(this.#results);
    const client = this.#client;
    const untested = this.#aborted !== undefined || totals.inconclusive > 0 || totals.passed === 0;
    const report: LimitsReport = {
      ...{ format: 3, ...about, target: baseUrl, startedAt: new Date(this.#startedAt).toISOString() },
      seconds: Math.round(clock.now() - this.#startedAt) / 1_000,
      settings,
      sent: { ...client.sent, most: client.budget },
      ...(this.#aborted !== undefined && { aborted: this.#aborted }),
      totals,
      metrics: metricsOf(this.#results),
      exitCode: totals.failed > 0 ? 1 : untested ? 2 : 0,
      scenarios: this.#results,
    };
    const redacted = (_: string, value: unknown) => (typeof value === 'string' ? keys.redact(value) : value);
    return JSON.parse(JSON.stringify(report), redacted) as LimitsReport;
  }

  async #runOne(scenario: Scenario): Promise<ScenarioResult> {
    const { clock } = this.#options;
    const { name, text, demanded } = scenario;
    const context = this.#context;
    const [from, began] = [context.log.length, clock.now()];
    const judged = await this.#outcomeOf(scenario);
    const responses = context.log.slice(from);
    const outcome = withHeaders(judged, context.log.slice(this.#judged));
    this.#judged = context.log.length;
    const keyed = keyedIn(responses);
    const [ok, refused] = [latencyOf(keyed.filter(isAdmitted)), latencyOf(keyed.filter(isRefused))];
    return {
      ...{ name, text, demanded },
      ...outcome,
      latencies: { ...(ok && { 200: ok }), ...(refused && { 429: refused }), ...outcome.latencies },
      ...countsOf(responses),
      seconds: Math.round(clock.now() - began) / 1_000,
      timeline: secondsOf(responses, this.#startedAt),
    };
  }

  async #outcomeOf(scenario: Scenario): Promise<Outcome> {
    const nothing = { failures: [], figures: {}, latencies: {} };
    if (this.#aborted !== undefined) return { verdict: 'skipped', reason: this.#aborted, ...nothing };
    const [began, stops] = [this.#options.clock.now(), this.#context.stops];
    try {
      const found = await scenario.run(this.#context);
      const { exceeded, unmeasured } = judgeThresholds(found, this.#options.settings.thresholds);
      const finding = { latencies: {}, ...found, failures: [...found.failures, ...exceeded] };
      const [failure] = finding.failures;
      if (failure === undefined) {
        return unmeasured === undefined
          ? { verdict: 'passed', ...finding }
          : { verdict: 'inconclusive', reason: unmeasured, ...finding };
      }
      // Most servers count windows by a clock that can be set. If it was, the failure may not be a fault of the server.
      const isSet = this.#client.serverClock.wasSetAfter(began);
      if (!isSet && this.#context.stops === stops) return { verdict: 'failed', ...finding };
      const cause = isSet ? "the server's clock was set" : 'this process did not run for some time';
      const reason = `${cause} during the scenario: ${failure}`;
      return { ...finding, verdict: 'inconclusive', reason, failures: [] };
    } catch (error) {
      const { signal } = this.#options;
      // Ctrl-C also stops our own server and its command, so an error after it is a consequence of it.
      const { message: reason } = (signal.aborted ? signal.reason : error) as Error;
      if (signal.aborted) this.#aborted = reason;
      else if (error instanceof Skipped) return { verdict: 'skipped', reason, ...nothing };
      else if (error instanceof NoResponse) {
        return { verdict: 'inconclusive', reason: `no request got a response: ${reason}`, ...nothing };
      } else if (!(error instanceof Inconclusive || error instanceof NoRequestsLeft)) {
        const isFull = ['EMFILE', 'ENFILE'].includes((error as NodeJS.ErrnoException).code ?? '');
        const advice = isFull ? '; use fewer --connections, or allow this process more open files (ulimit -n)' : '';
        this.#aborted = `error in the bench: ${reason}${advice}`;
        return { verdict: 'inconclusive', reason: this.#aborted, ...nothing };
      }
      return { verdict: 'inconclusive', reason, ...nothing };
    }
  }

  /**
   * The key's requests per minute: those of its plan, otherwise as the headers state. A limit that is only that of a
   * day identifies the plan and thus the limit per minute.
   *
   * @throws Untestable if neither states it, or if a run cannot use it up
   */
  #limitOf(reading: Reading | undefined): number {
    const { plan } = this.#options.settings;
    if (plan !== undefined) return plans[plan].perMinute;
    if (reading === undefined) throw new Untestable('the response has no X-RateLimit headers');
    const known = Object.values(plans);
    const isOfMinute = known.some(({ perMinute }) => perMinute === reading.limit);
    const ofDay = isOfMinute ? undefined : known.find(({ perDay }) => perDay === reading.limit);
    const limit = ofDay?.perMinute ?? reading.limit;
    if (limit >= 1 && limit <= maxRemaining) return limit;
    const range = `the bench needs one from 1 to ${grouped(maxRemaining)}, or --plan`;
    throw new Untestable(`X-RateLimit-Limit is ${shortened(String(limit), 30)}, and ${range}`);
  }
}

/** Adds what the kit's rules find wrong with the rate limit headers of these responses. */
function withHeaders(outcome: Outcome, responses: readonly Response[]): Outcome {
  const none = new History();
  const wrong = limitRules.flatMap(({ id, judge }) => {
    const judgements = responses.map((response) => judge(response, none));
    const violations = judgements.filter((judgement) => typeof judgement === 'object');
    const [first] = violations;
    if (first === undefined) return [];
    return [`${id} in ${count(violations.length, 'response')}: required ${first.required}; received ${first.received}`];
  });
  return wrong.length === 0 ? outcome : { ...outcome, verdict: 'failed', failures: [...outcome.failures, ...wrong] };
}
