/**
 * What the scenarios share: sending, waiting, and where a key stands.
 *
 * A window is known by what the server says of it: its Reset, by the server's clock. Nothing is taken for granted of how windows
 * turn: they may be fixed, begin with the first request, slide, or be a bucket that fills.
 */
import type { Clock } from '../../conformance/client/clock.ts';
import { Inconclusive } from '../../conformance/verdicts/outcome.ts';
import { count, duration } from '../../conformance/report/words.ts';
import { isAdmitted, isRefused, retryAfterMs, wrongOf, type Answer, type Told } from './answer.ts';
import { Bans } from './bans.ts';
import type { Drive, Load, Sent } from './drive.ts';
import type { Key, Keys } from './keys.ts';
import type { Watcher } from './progress.ts';
import { Unmet } from './scenario.ts';
import type { ServerClock } from './server-clock.ts';
import type { Settings } from './settings.ts';
import { wrongReset } from './windows.ts';

/** Whoever runs the bench has had enough. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** The headers must speak of a window that one can wait for. */
const maxWindowMs = 120_000;

/** What is to be done in one window must have so much of it left. */
const roomMs = 10_000;

/** In so much time all requests of a minute have come back, however its windows turn. */
const calmMs = 61_000;

/** Windows that are waited for until one is fresh. */
const maxTurns = 3;

/** Requests beyond what remains, until a refusal must have come: where a window slides, room comes back meanwhile. */
const maxBeyond = 10;

/** What `fresh` and `drained` send at most besides what remains. */
export const freshCost = maxTurns + 1;
export const drainedCost = freshCost + maxBeyond;

/** A larger number of requests is not worth anybody's while. */
export const maxRemaining = 20_000;

export interface BenchOptions {
  readonly settings: Settings;
  readonly keys: Keys;
  readonly drive: Drive;
  readonly clock: Clock;
  readonly serverClock: ServerClock;
  readonly signal: AbortSignal;
  readonly watcher: Watcher;
}

export class Bench {
  readonly settings: Settings;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly serverClock: ServerClock;
  readonly #drive: Drive;
  readonly #signal: AbortSignal;
  readonly #watcher: Watcher;
  /** The last that each key was told. */
  readonly #told = new Map<Key, Told>();
  readonly #refused = new Map<Key, Answer>();
  readonly bans: Bans;

  constructor({ settings, keys, drive, clock, serverClock, signal, watcher }: BenchOptions) {
    this.settings = settings;
    this.keys = keys;
    this.clock = clock;
    this.serverClock = serverClock;
    this.bans = new Bans(serverClock);
    this.#drive = drive;
    this.#signal = signal;
    this.#watcher = watcher;
  }

  /** Sends a load. */
  async send(load: Load): Promise<Sent> {
    const sent = await this.#drive.send(load);
    for (const answer of sent.answers) if (load.key !== undefined) this.#learn(load.key, answer);
    this.#signal.throwIfAborted();
    return sent;
  }

  /** Sends two loads side by side, and gives neither before both have come to their end. */
  async sendBoth(one: Load, other: Load): Promise<readonly [Sent, Sent]> {
    const [first, second] = await Promise.allSettled([this.send(one), this.send(other)]);
    if (first.status === 'rejected') throw first.reason;
    if (second.status === 'rejected') throw second.reason;
    return [first.value, second.value];
  }

  /** Sends one request. */
  async probe(key: Key): Promise<Answer> {
    const { answers } = await this.send({ key, amount: 1, connections: 1 });
    return answers[0]!;
  }

  /** What the key was told last; undefined where it has not been used. */
  told(key: Key): Told | undefined {
    return this.#told.get(key);
  }

  /** Says what is being done. */
  doing(what: string): void {
    this.#watcher.doing(what);
  }

  async sleep(ms: number, why: string): Promise<void> {
    if (ms <= 0) return;
    this.#watcher.waiting(why, ms);
    let wake = (): void => {};
    const aborted = new Promise<void>((resolve) => (wake = resolve));
    this.#signal.addEventListener('abort', wake);
    await Promise.race([this.clock.sleep(ms), aborted]);
    this.#signal.removeEventListener('abort', wake);
    this.#signal.throwIfAborted();
  }

  /** Sleeps until the server's clock has certainly passed a moment. */
  async untilServer(moment: number, why: string): Promise<void> {
    await this.sleep(this.serverClock.ours(moment) + this.serverClock.marginMs - this.clock.now(), why);
  }

  /**
   * Waits until the key has all of its requests, or all that others leave of them, in a window that lasts a while. Gives the answer
   * that says so: the first of that window.
   *
   * @throws Inconclusive where the headers do not allow it, or the key is not valid
   * @throws Unmet where they break the specification
   */
  async fresh(key: Key): Promise<Told> {
    const before = this.#told.get(key);
    if (before !== undefined) this.#mustBeMinute(key, before);
    // Whoever has nothing left does not ask, and is not refused.
    if (before !== undefined && (isRefused(before) || before.standing.remaining === 0)) await this.#untilReset(key, before);
    else if (before !== undefined && this.#isFresh(before)) return before;
    for (let turn = 1; ; turn++) {
      const answer = await this.probe(key);
      // No window that one could wait for changes that.
      if (answer.status === 401) throw new Inconclusive(`the ${key === this.keys.main ? '' : 'second '}key was answered 401, where 200 was due`);
      const told = withStanding(answer);
      const { limit, remaining } = told.standing;
      this.#mustBeMinute(key, told);
      if (this.#isFresh(told) || (isAdmitted(told) && turn > maxTurns)) {
        if (remaining > maxRemaining) throw new Inconclusive(`${remaining} requests remain, more than ${maxRemaining}`);
        if (remaining < 1) throw new Inconclusive('Remaining is 0 at the beginning of a window');
        return told;
      }
      if (turn > maxTurns)
        throw new Inconclusive(`the key is not admitted when its own Reset has passed: it was answered ${told.status}`);
      // Where a whole window has passed and most is still missing, room comes back little by little.
      if (turn > 1 && remaining < limit / 2) await this.sleep(calmMs, "all of the key's requests to come back");
      else await this.#untilReset(key, told);
    }
  }

  /**
   * Sends until the key is refused in a window that lasts a while, unless it is already. Gives the refusal.
   *
   * @throws Inconclusive where it is not refused
   */
  async drained(key: Key): Promise<Answer> {
    const before = this.#refused.get(key);
    if (before !== undefined && (this.retryAt(before) ?? 0) - this.clock.now() >= roomMs) return before;
    const { standing } = await this.fresh(key);
    const { lost } = await this.send({ key, amount: standing.remaining + 1, connections: this.settings.connections });
    for (let i = 1; i < maxBeyond && this.#refused.get(key) === before; i++) await this.probe(key);
    const refused = this.#refused.get(key);
    if (refused === undefined || refused === before)
      throw new Inconclusive(
        `no 429 came, though ${maxBeyond} requests more were sent than remained${lost > 0 ? `; ${count(lost, 'request')} got no answer` : ''}`,
      );
    return refused;
  }

  /** When a refused client may come again, by the bench's clock; undefined where Retry-After does not say. */
  retryAt(refusal: Answer): number | undefined {
    const ms = retryAfterMs(refusal, this.serverClock.at(refusal.receivedAt));
    return ms === undefined ? undefined : refusal.receivedAt + ms;
  }

  /** Whether an answer was the first of a window, which lasts for a while yet. */
  #isFresh(told: Told): boolean {
    const { limit, remaining } = told.standing;
    const left = this.#leftMs(told);
    return isAdmitted(told) && remaining === limit - 1 && remaining <= maxRemaining && left >= roomMs && left <= maxWindowMs;
  }

  /**
   * @throws Inconclusive where the headers speak of a window that nobody waits for, or of more than the run was planned for
   * @throws Unmet where they name no moment that can come
   */
  #mustBeMinute(key: Key, told: Told): void {
    const { limit, remaining } = told.standing;
    const wrong = wrongReset(told, this.serverClock);
    if (wrong !== undefined) throw new Unmet(wrong);
    const bannedMs = this.bans.leftMs(key, this.clock.now());
    if (bannedMs > maxWindowMs) throw new Inconclusive(`the key is banned for another ${duration(bannedMs / 1_000)}`);
    const left = this.#leftMs(told);
    if (left > maxWindowMs)
      throw new Inconclusive(
        `the headers speak of a window that ends in ${count(Math.ceil(left / 60_000), 'minute')}, too long to wait for ` +
          `(${remaining} of ${limit} remain)`,
      );
    const unpromised = key.otherPlan === true ? undefined : this.unpromised(told);
    if (unpromised !== undefined) throw new Inconclusive(unpromised);
  }

  /** How an answer says that the key is not what it was said to be; undefined where it is. */
  unpromised({ standing: { limit } }: Told): string | undefined {
    const { promised } = this.settings;
    if (promised === undefined || limit === promised.perMinute || limit === promised.perDay) return undefined;
    return `X-RateLimit-Limit is ${limit}, where the key is promised ${promised.perMinute} a minute`;
  }

  /** How long the window of an answer still lasts. */
  #leftMs({ standing }: Told): number {
    return standing.reset * 1_000 - this.serverClock.at(this.clock.now());
  }

  async #untilReset(key: Key, { standing }: Told): Promise<void> {
    await this.sleep(this.bans.leftMs(key, this.clock.now()), 'the end of a ban');
    await this.untilServer(standing.reset * 1_000, 'a fresh window of the key');
  }

  #learn(key: Key, answer: Answer): void {
    if (isRefused(answer)) this.#refused.set(key, answer);
    this.bans.answered(key, answer, this.retryAt(answer));
    const { standing } = answer;
    if (standing === undefined) return;
    const before = this.#told.get(key);
    // Of answers under way together the last to come is not the last to be counted.
    const stale = before?.standing.reset === standing.reset && before.standing.remaining < standing.remaining;
    if (!stale) this.#told.set(key, { ...answer, standing });
  }
}

/** @throws Unmet where a header is missing */
export function withStanding(answer: Answer): Told {
  const { standing } = answer;
  if (standing === undefined) throw new Unmet(wrongOf([answer]).join('; '));
  return { ...answer, standing };
}
