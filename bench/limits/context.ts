/**
 * What the scenarios share: sending, waiting, and what is known about each key.
 *
 * All that is known about a window is its Reset, by the server's clock. The specification leaves the kind of window
 * open: windows may be fixed, start with the first request, slide, or be a token bucket.
 */
import { processStops, type Clock, type Stops } from '../../conformance/client/clock.ts';
import { retryAfterMs } from '../../conformance/client/limit-readings.ts';
import { plans } from '../../conformance/client/pacing.ts';
import { count, duration } from '../../conformance/report/words.ts';
import { Inconclusive } from '../../conformance/verdicts/outcome.ts';
import type { LimitsClient, Load, Sent } from './client.ts';
import type { Key, Keys } from './keys.ts';
import { isAdmitted, isRead, isRefused, type Read, type Response } from './responses.ts';
import type { Settings } from './settings.ts';

/** The longest window that a run waits for. */
const maxWindowMs = 120_000;
/** How much of a window must be left at least when a scenario starts to use it. */
const minLeftMs = 15_000;
/** After this time, all requests of a minute are available again, whatever the kind of window. */
const minuteMs = 61_000;
/** The number of windows that `fresh` waits for. */
const maxTurns = 3;
/**
 * The number of refusals in a row after which a load with a key of the user ends, without --until-ban: a server may ban
 * the key for a third one. Requests that are in flight at the second refusal can still be refused.
 */
const maxRefused = 2;

/** The most requests that `fresh` sends. */
export const freshCost = maxTurns + 1;

/** The most requests that a run sends in one window. */
export const maxRemaining = 20_000;

export interface ContextOptions {
  readonly settings: Settings;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Shows the current step. */
  readonly show: (what: string) => void;
  /** The stops of this process, except in tests. */
  readonly stops?: Stops;
}

export class ScenarioContext {
  readonly settings: Settings;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly client: LimitsClient;
  /** The name of the current scenario. */
  name = '';
  /** All responses of the run. */
  readonly log: Response[] = [];
  /** The stops of this process until the last response: judging takes long, too. */
  stops: number;
  readonly #options: ContextOptions;
  readonly #aborted: Promise<unknown>;

  constructor(options: ContextOptions, client: LimitsClient) {
    this.#options = options;
    ({ settings: this.settings, keys: this.keys, clock: this.clock } = options);
    this.client = client;
    this.#aborted = new Promise((resolve) => options.signal.addEventListener('abort', resolve));
    this.stops = (options.stops ?? processStops).count;
  }

  /**
   * Sends a load. With a key of the user, it ends at the second refusal, unless a ban is permitted.
   *
   * @throws NoRequestsLeft if the client sends no more requests, such as to a server that is too slow
   */
  async send(load: Load): Promise<Sent> {
    let refused = 0;
    const guarded = load.key?.own === false && !this.settings.untilBan;
    const until = (response: Response) => isRefused(response) && ++refused >= maxRefused;
    const sent = await this.client.send({ ...(guarded && { until }), ...load });
    for (const response of sent.responses) this.log.push(response);
    this.stops = (this.#options.stops ?? processStops).count;
    this.#options.signal.throwIfAborted();
    if (sent.ended !== undefined) throw sent.ended;
    return sent;
  }

  /** Sends one request. */
  async probe(key: Key): Promise<Response> {
    return (await this.send({ key, amount: 1, connections: 1 })).responses[0]!;
  }

  /** All responses to a key, as they were received. */
  responsesOf(key: Key): readonly Response[] {
    return this.log.filter((response) => response.key === key);
  }

  /** Shows the current step. */
  doing(what: string): void {
    this.#options.show(`${this.name}: ${what}`);
  }

  async sleep(ms: number, why: string): Promise<void> {
    if (ms <= 0) return;
    const { signal } = this.#options;
    this.doing(`waiting ${Math.ceil(ms / 1_000)} s ${why}`);
    await Promise.race([this.clock.sleep(ms), this.#aborted]);
    signal.throwIfAborted();
  }

  /**
   * Sleeps until the server's clock has passed a time, whatever its uncertainty.
   *
   * @throws Inconclusive if the wait would be too long, as it may be after the server's clock was set
   */
  async untilServer(time: number, why: string): Promise<void> {
    const ms = this.client.serverClock.timeAfter(time) - this.clock.now();
    if (ms > 2 * maxWindowMs) throw new Inconclusive(`it would take ${duration(ms / 1_000)} ${why}`);
    await this.sleep(ms, why);
  }

  /**
   * Waits for a window that lasts long enough and in which a key has all of its requests, or all that other users
   * leave. Returns the first response of that window.
   *
   * @throws Inconclusive if the headers do not allow it, or the key is not valid
   */
  async fresh(key: Key): Promise<Read> {
    const before = this.#lastOf(key);
    if (before !== undefined) {
      this.#requireShort(key, before);
      // If nothing remains, the server would refuse a request.
      if (isRefused(before) || before.rateLimits.remaining === 0) await this.#untilOpen(before);
      else if (this.#isFresh(before)) return before;
    }
    for (let turn = 1; ; turn++) {
      const response = await this.probe(key);
      const name = key === this.keys.main ? 'key' : 'second key';
      const { operation } = this.settings;
      // A wait helps if a server wrongly has another status than 429 at the limit.
      const isSpent = response.status !== 401 && isRead(response) && response.rateLimits.remaining === 0;
      if (response.status < 500 && !isAdmitted(response) && !isRefused(response) && !isSpent)
        throw new Inconclusive(`${operation} with the ${name} returned ${response.status} instead of 2xx`);
      if (!isRead(response)) throw new Inconclusive(`a ${response.status} has no X-RateLimit headers`);
      const { limit, remaining } = response.rateLimits;
      this.#requireShort(key, response);
      if (this.#isFresh(response) || (isAdmitted(response) && turn > maxTurns)) {
        if (remaining > maxRemaining) throw new Inconclusive(`${remaining} requests remain, more than ${maxRemaining}`);
        if (remaining < 1) throw new Inconclusive('Remaining is 0 at the beginning of a window');
        return response;
      }
      if (turn > maxTurns) throw new Inconclusive(`the key got ${response.status} after it waited as told`);
      // If most requests are still missing after a whole window, they return gradually.
      if (turn > 1 && remaining < limit / 2) await this.sleep(minuteMs, 'until all requests of the key are back');
      else await this.#untilOpen(response);
    }
  }

  /** When a refused client may retry, by the bench's clock; undefined if Retry-After does not state it. */
  retryAt(response: Response): number | undefined {
    const { receivedAt } = response;
    const ms = retryAfterMs(response, this.client.serverClock.time(receivedAt));
    return ms === undefined ? undefined : receivedAt + ms;
  }

  /** The milliseconds until the window of a response ends, at most. */
  leftMs({ rateLimits }: Read): number {
    return rateLimits.reset * 1_000 - this.client.serverClock.time(this.clock.now());
  }

  /** Whether a response was the first of a window that lasts long enough. */
  #isFresh(read: Read): boolean {
    const { limit, remaining } = read.rateLimits;
    const left = this.leftMs(read);
    const first = isAdmitted(read) && remaining === limit - 1 && remaining <= maxRemaining;
    return first && left >= minLeftMs && left <= maxWindowMs;
  }

  /** @throws Inconclusive if a key has to wait too long, as after a ban, or its limit is not that of its plan */
  #requireShort(key: Key, read: Read): void {
    const { limit, remaining } = read.rateLimits;
    const banned = this.#refusedMs(read);
    const more = Number.isFinite(banned) ? `another ${duration(banned / 1_000)}` : 'too large';
    const longer = `Retry-After is ${more}: perhaps a ban`;
    if (banned > maxWindowMs) throw new Inconclusive(longer);
    const left = this.leftMs(read);
    if (left > maxWindowMs) {
      const minutes = count(Math.ceil(left / 60_000), 'minute');
      throw new Inconclusive(`the headers show a window that ends in ${minutes} (${remaining} of ${limit} remain)`);
    }
    const { plan } = this.settings;
    if (plan === undefined || Object.values<number>(plans[plan]).includes(limit) || (key.quiet && !key.own)) return;
    throw new Inconclusive(`X-RateLimit-Limit is ${limit}, which is no limit of the plan ${plan}`);
  }

  /** The milliseconds until a refused client may retry; 0 if it was admitted. */
  #refusedMs(read: Read): number {
    return isRefused(read) ? Math.max(0, (this.retryAt(read) ?? 0) - this.clock.now()) : 0;
  }

  /** Waits until both Retry-After and Reset have passed. */
  async #untilOpen(read: Read): Promise<void> {
    await this.sleep(this.#refusedMs(read), 'as long as Retry-After says');
    await this.untilServer(read.rateLimits.reset * 1_000, 'until the key has a fresh window');
  }

  /** The last response of a key with the three headers. */
  #lastOf(key: Key): Read | undefined {
    let last: Read | undefined;
    for (const response of this.responsesOf(key).filter(isRead)) {
      const { reset, remaining } = response.rateLimits;
      // The server may not count concurrent requests in the order in which it responds.
      const isStale = last?.rateLimits.reset === reset && last.rateLimits.remaining < remaining;
      if (!isStale) last = response;
    }
    return last;
  }
}
