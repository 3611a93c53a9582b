/** The scenarios in turn: what they will cost, whether the key's day has room for them, and what became of each. */
import type { Clock } from '../../conformance/client/clock.ts';
import { Inconclusive, Skipped } from '../../conformance/verdicts/outcome.ts';
import { longWindowMs } from '../../conformance/client/pacing.ts';
import { count, grouped } from '../../conformance/report/words.ts';
import type { Verdict } from '../../conformance/verdicts/results.ts';
import { isAdmitted, isRefused, type Answer } from './answer.ts';
import { withBan } from './bans.ts';
import { Bench } from './bench.ts';
import { Budget, BudgetSpent } from './budget.ts';
import { Drive, NoAnswer } from './drive.ts';
import type { Key, Keys } from './keys.ts';
import { latencyOf } from './latency.ts';
import { bordersOf, countedBy, secondsOf, type Entry, type Role } from './log.ts';
import type { Watcher } from './progress.ts';
import { firstRequest, limitOf, planOf, Untestable, type Plan } from './plan.ts';
import type { LimitsReport, Outcome, ScenarioResult } from './report.ts';
import { Unmet, type Cost, type Finding, type Scenario } from './scenario.ts';
import type { ScenarioName } from './scenarios.ts';
import { ServerClock } from './server-clock.ts';
import type { Settings } from './settings.ts';
import { isTimestamp } from './windows.ts';

export interface RunOptions {
  readonly baseUrl: string;
  readonly keys: Keys;
  readonly settings: Settings;
  readonly names: readonly ScenarioName[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly watcher: Watcher & { begin?(name: string, secondsLeft: number): void };
  /** See `DriveOptions`: the machine's own, unless a test has another. */
  readonly stopwatch?: () => number;
  /** See `DriveOptions`: true, unless a test says otherwise. */
  readonly paced?: boolean;
}

export class Run {
  readonly #options: RunOptions;
  readonly #drive: Drive;
  readonly #serverClock = new ServerClock();
  readonly #bench: Bench;
  readonly #log: Entry[] = [];
  readonly #results: ScenarioResult[] = [];
  readonly #quiet = new Set<Key>();
  /** The keys counted as they come into use. */
  readonly #numbers = new Map<Key, number>();
  readonly #startedAt: number;
  #current: ScenarioName;
  #budget = new Budget(firstRequest);
  #plan: Plan | undefined;
  #aborted: string | undefined;

  constructor(options: RunOptions) {
    this.#options = options;
    const { clock, keys, signal, watcher, settings, baseUrl, stopwatch = () => performance.now(), paced = true } = options;
    this.#startedAt = clock.now();
    this.#current = options.names[0]!;
    const budget = { take: (requests: number) => this.#budget.take(requests) };
    const heard = (answer: Answer, key: Key | undefined) => {
      this.#serverClock.answered(answer);
      const role: Role = key === undefined ? 'nobody' : this.#quiet.has(key) ? 'quiet' : 'driven';
      if (key !== undefined && !this.#numbers.has(key)) this.#numbers.set(key, this.#numbers.size + 1);
      this.#log.push({ scenario: this.#current, role, key: key === undefined ? 0 : this.#numbers.get(key)!, answer });
      watcher.answered(answer, key !== undefined);
    };
    this.#drive = new Drive({ baseUrl, clock, stopwatch, budget, signal, heard, paced });
    const known: Keys = {
      main: keys.main,
      plenty: keys.plenty,
      spare: () => keys.spare(),
      redact: (text) => keys.redact(text),
      quiet: async () => {
        const key = await keys.quiet();
        if (key !== undefined) this.#quiet.add(key);
        return key;
      },
    };
    this.#bench = new Bench({
      settings,
      keys: known,
      drive: this.#drive,
      clock,
      serverClock: this.#serverClock,
      signal,
      watcher,
    });
  }

  /**
   * Asks where the key stands, with one request, and says what all scenarios will cost. From here on no more than that is sent.
   *
   * @throws Untestable where there is no answer, or not to this key
   */
  async open(): Promise<Plan> {
    const { names, settings, keys } = this.#options;
    let answer;
    try {
      answer = await this.#bench.probe(keys.main);
    } catch (error) {
      if (error instanceof NoAnswer) throw new Untestable(`${this.#options.baseUrl} does not answer: ${error.message}`);
      throw error;
    }
    if (!isAdmitted(answer) && !isRefused(answer))
      throw new Untestable(`GET /pets?limit=1 with the key was answered ${answer.status}, where 200 was due`);
    const told = this.#bench.told(keys.main)?.standing;
    const limit = limitOf(told, settings.promised, told !== undefined && this.#isLong(told.reset));
    const hasQuiet = keys.plenty || (await keys.quiet()) !== undefined;
    this.#plan = planOf(names, { ...settings, limit, plenty: keys.plenty, hasQuiet }, this.#dayLeft());
    this.#budget = new Budget(this.#plan.most);
    this.#budget.take(firstRequest);
    return this.#plan;
  }

  /** Runs the scenarios, and tells of each as it ends. */
  async run(ended: (result: ScenarioResult) => void = () => {}): Promise<void> {
    const plan = this.#plan ?? (await this.open());
    let secondsLeft = plan.total.seconds;
    for (const { scenario, cost } of plan.scenarios) {
      this.#options.watcher.begin?.(scenario.name, secondsLeft);
      this.#results.push(await this.#one(scenario, cost));
      ended(this.#results.at(-1)!);
      secondsLeft -= cost.seconds;
    }
  }

  /** What was seen so far. */
  report(about: Pick<LimitsReport, 'bench' | 'ownServer'>): LimitsReport {
    const { baseUrl, settings, clock, keys } = this.#options;
    const total = (verdict: Verdict) => this.#results.filter((result) => result.verdict === verdict).length;
    const totals = {
      passed: total('passed'),
      failed: total('failed'),
      inconclusive: total('inconclusive'),
      skipped: total('skipped'),
    };
    const untested = this.#aborted !== undefined || totals.inconclusive > 0 || totals.passed === 0;
    // From a whole second of the server's, so that its windows end where seconds do.
    const origin = this.#serverClock.ours(Math.floor(this.#serverClock.at(this.#startedAt) / 1_000) * 1_000);
    const at = (moment: number) => Math.round(moment - origin) / 1_000;
    const report: LimitsReport = {
      format: 1,
      ...about,
      target: baseUrl,
      startedAt: new Date(this.#startedAt).toISOString(),
      seconds: Math.round(clock.now() - this.#startedAt) / 1_000,
      settings,
      sent: { ...this.#drive.sent, most: this.#budget.most },
      ...(this.#aborted !== undefined && { aborted: this.#aborted }),
      totals,
      exitCode: totals.failed > 0 ? 1 : untested ? 2 : 0,
      scenarios: this.#results.map((result) => ({ ...result, at: at(this.#startedAt + result.at * 1_000) })),
      timeline: {
        seconds: secondsOf(this.#log, this.#serverClock, origin),
        borders: bordersOf(this.#log, this.#serverClock, origin, clock.now()),
        bans: this.#bench.bans.seen.map(({ from, to }) => ({ from: at(from), to: at(to) })),
      },
    };
    return redacted(report, (text) => keys.redact(text)) as LimitsReport;
  }

  /** Closes what is held open. */
  close(): Promise<void> {
    return this.#drive.close();
  }

  async #one(scenario: Scenario<ScenarioName>, cost: Cost): Promise<ScenarioResult> {
    const { clock } = this.#options;
    this.#current = scenario.name;
    const [from, began] = [this.#log.length, clock.now()];
    const bans = this.#bench.bans.seen.length;
    const outcome = await this.#outcome(scenario, cost);
    const ban = scenario.name === 'ban' ? undefined : this.#bench.bans.seen[bans];
    const entries = this.#log.slice(from);
    const keyed = entries.filter(({ role }) => role !== 'nobody').map(({ answer }) => answer);
    const [ok, refused] = [latencyOf(keyed.filter(isAdmitted)), latencyOf(keyed.filter(isRefused))];
    const { name, text, demanded } = scenario;
    return {
      ...{ name, text, demanded },
      ...(ban === undefined ? outcome : withBan(outcome, ban)),
      ...countedBy(entries),
      ...(ok !== undefined && { latency200: ok }),
      ...(refused !== undefined && { latency429: refused }),
      at: Math.round(began - this.#startedAt) / 1_000,
      seconds: Math.round(clock.now() - began) / 1_000,
    };
  }

  async #outcome(
    scenario: Scenario<ScenarioName>,
    cost: Cost,
  ): Promise<Outcome> {
    const nothing = { failures: [], figures: {} };
    if (this.#aborted !== undefined) return { verdict: 'skipped', reason: this.#aborted, ...nothing };
    const short = this.#tooLittle(cost);
    if (short !== undefined) return { verdict: 'inconclusive', reason: short, ...nothing };
    try {
      const { failures, figures, seen }: Finding = await scenario.run(this.#bench);
      return { verdict: failures.length > 0 ? 'failed' : 'passed', failures, figures, seen };
    } catch (error) {
      const { signal } = this.#options;
      // Ctrl-C ends our own server and its command, too: whatever fails then fails for that.
      const { message: reason } = (signal.aborted ? signal.reason : error) as Error;
      if (signal.aborted) this.#aborted = reason;
      else if (error instanceof Skipped) return { verdict: 'skipped', reason, ...nothing };
      else if (error instanceof Unmet) return { verdict: 'failed', ...nothing, failures: [reason] };
      else if (error instanceof NoAnswer) {
        if (await this.#answers()) return { verdict: 'inconclusive', reason: `nothing was answered: ${reason}`, ...nothing };
        this.#aborted = `the server does not answer any more: ${reason}`;
      } else if (!(error instanceof Inconclusive || error instanceof BudgetSpent)) throw error;
      return { verdict: 'inconclusive', reason: this.#aborted ?? reason, ...nothing };
    }
  }

  /** Whether whoever has the key is answered still. */
  async #answers(): Promise<boolean> {
    try {
      await this.#bench.probe(this.#options.keys.main);
      return true;
    } catch (error) {
      if (error instanceof NoAnswer || error instanceof BudgetSpent || this.#options.signal.aborted) return false;
      throw error;
    }
  }

  /** Why a scenario would use up the key's day; undefined where there is room for it. */
  #tooLittle({ withKey }: Cost): string | undefined {
    const left = this.#dayLeft();
    if (left === undefined || withKey <= left) return undefined;
    return `it may take ${count(withKey, 'request')}, and of the key's day only ${grouped(left)} are left`;
  }

  /**
   * What is left of the key's day: what the headers say where they speak of it, else what was promised less what was sent. Undefined
   * where neither is known, or the key was made for this run.
   */
  #dayLeft(): number | undefined {
    const { keys, settings } = this.#options;
    if (keys.main.own) return undefined;
    const told = this.#bench.told(keys.main)?.standing;
    if (told !== undefined && this.#isLong(told.reset)) return told.remaining;
    return settings.promised && Math.max(0, settings.promised.perDay - this.#drive.sent.withKey);
  }

  #isLong(reset: number): boolean {
    return isTimestamp(reset) && reset * 1_000 - this.#serverClock.at(this.#options.clock.now()) > longWindowMs;
  }
}

/** A value with every text in it redacted. */
function redacted(value: unknown, redact: (text: string) => string): unknown {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((one) => redacted(one, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, redacted(one, redact)]));
}
