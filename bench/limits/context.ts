/**
 * What the scenarios share: sending, waiting, and what is known about each key.
 *
 * All that is known about a window is its Reset, by the server's clock. The specification leaves the kind of window
 * open: windows may be fixed, start with the first request, slide, or be a token bucket.
 */
import type { Clock } from '../../conformance/client/clock.ts';
import { allEnded } from '../../conformance/client/client.ts';
import { Inconclusive } from '../../conformance/verdicts/outcome.ts';
import { count, duration } from '../../conformance/report/words.ts';
import { Bans } from './bans.ts';
import type { LimitsClient, Load, Sent } from './client.ts';
import { contradictionIn } from './history.ts';
import type { Key, Keys } from './keys.ts';
import type { Watcher } from './progress.ts';
import { isAdmitted, isRefused, retryAt, wrongIn, type Read, type Response } from './responses.ts';
import type { Settings } from './settings.ts';
import { wrongReset } from './windows.ts';

/** A demand is not met, and nothing else can be measured. */
export class DemandNotMet extends Error {
  override readonly name = 'DemandNotMet';
}

/** The longest window that a run waits for. */
const maxWindowMs = 120_000;
/** How much of a window must be left at least when a scenario starts to use it. */
const minLeftMs = 10_000;
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
const maxRemaining = 20_000;

export interface ContextOptions {
  readonly settings: Settings;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly watcher: Watcher;
}

export class ScenarioContext {
  readonly settings: Settings;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly client: LimitsClient;
  readonly bans: Bans;
  readonly #options: ContextOptions;
  /** For each key: the last reading, and all responses. */
  readonly #read = new Map<Key, Read>();
  readonly #responses = new Map<Key, Response[]>();

  constructor(options: ContextOptions, client: LimitsClient) {
    this.#options = options;
    ({ settings: this.settings, keys: this.keys, clock: this.clock } = options);
    this.client = client;
    this.bans = new Bans(client);
  }

  /** Sends a load of the operation under test, unless the load names another. */
  async send(load: Load): Promise<Sent> {
    let refused = 0;
    const guarded = load.key?.own === false && !this.settings.untilBan;
    const until = (response: Response) => isRefused(response) && ++refused >= maxRefused;
    const { operation } = this.settings;
    const sent = await this.client.send({ operation, ...(guarded && { until }), ...load });
    for (const response of sent.responses) if (load.key !== undefined) this.#received(load.key, response);
    this.#options.signal.throwIfAborted();
    return sent;
  }

  /** Sends two loads concurrently, and waits for both even if one fails. */
  async sendBoth(one: Load, other: Load): Promise<readonly [Sent, Sent]> {
    const [first, second] = await allEnded([this.send(one), this.send(other)]);
    return [first!, second!];
  }

  /** Sends one request. */
  async probe(key: Key, operation = this.settings.operation): Promise<Response> {
    return (await this.send({ key, amount: 1, connections: 1, operation })).responses[0]!;
  }

  /** The last reading of a key; undefined if it has none. */
  lastOf(key: Key): Read | undefined {
    return this.#read.get(key);
  }

  /** Shows the current step. */
  doing(what: string): void {
    this.#options.watcher.doing(what);
  }

  async sleep(ms: number, why: string): Promise<void> {
    if (ms <= 0) return;
    const { watcher, signal } = this.#options;
    watcher.waiting(why, ms);
    let wake = (): void => {};
    const aborted = new Promise<void>((resolve) => (wake = resolve));
    signal.addEventListener('abort', wake);
    await Promise.race([this.clock.sleep(ms), aborted]);
    signal.removeEventListener('abort', wake);
    signal.throwIfAborted();
  }

  /**
   * Sleeps until the server's clock has passed a time, whatever its uncertainty.
   *
   * @throws Inconclusive if the wait would be too long, as it may be after the server's clock was set
   */
  async untilServer(time: number, why: string): Promise<void> {
    const ms = this.client.timeAfter(time) - this.clock.now();
    if (ms > 2 * maxWindowMs) throw new Inconclusive(`it would take ${duration(ms / 1_000)} ${why}`);
    await this.sleep(ms, why);
  }

  /**
   * Waits for a window that lasts long enough and in which a key has all of its requests, or all that other users
   * leave. Returns the first response of that window.
   *
   * @throws Inconclusive if the headers do not allow it, or the key is not valid
   * @throws DemandNotMet if they violate the specification
   */
  async fresh(key: Key): Promise<Read> {
    const before = this.#read.get(key);
    if (before !== undefined) {
      this.#requireMinute(key, before);
      // If nothing remains, the server would refuse a request.
      if (isRefused(before) || before.reading.remaining === 0) await this.#untilReset(key, before);
      else if (this.#isFresh(before)) return before;
    }
    for (let turn = 1; ; turn++) {
      const response = await this.probe(key);
      const name = key === this.keys.main ? 'key' : 'second key';
      if (response.status === 401) throw new Inconclusive(`the ${name} returned 401 instead of 200`);
      const read = requireReading(response);
      const { limit, remaining } = read.reading;
      this.#requireMinute(key, read);
      if (this.#isFresh(read) || (isAdmitted(read) && turn > maxTurns)) {
        if (remaining > maxRemaining) throw new Inconclusive(`${remaining} requests remain, more than ${maxRemaining}`);
        if (remaining < 1) throw new Inconclusive('Remaining is 0 at the beginning of a window');
        return read;
      }
      if (turn > maxTurns) throw new Inconclusive(`the key got ${read.status} after its own Reset`);
      // If most requests are still missing after a whole window, they return gradually.
      if (turn > 1 && remaining < limit / 2) await this.sleep(minuteMs, 'until all requests of the key are back');
      else await this.#untilReset(key, read);
    }
  }

  /** When a refused client may retry, by the bench's clock; undefined if Retry-After does not state it. */
  retryAt(refusal: Response): number | undefined {
    return retryAt(refusal, this.client.serverTime(refusal.receivedAt));
  }

  /** What the history of a key contradicts since a response, in a sentence; none if nothing. */
  contradictions(key: Key, since: Response): readonly string[] {
    const found = contradictionIn(this.#responses.get(key) ?? [], since);
    return found === undefined ? [] : [found];
  }

  /** Whether a response was the first of a window that lasts long enough. */
  #isFresh(read: Read): boolean {
    const { limit, remaining } = read.reading;
    const left = this.#leftMs(read);
    const first = isAdmitted(read) && remaining === limit - 1 && remaining <= maxRemaining;
    return first && left >= minLeftMs && left <= maxWindowMs;
  }

  /**
   * @throws Inconclusive if the key's window or ban is too long to wait for, or its limit is not the promised one
   * @throws DemandNotMet if X-RateLimit-Reset cannot be when the limit resets
   */
  #requireMinute(key: Key, read: Read): void {
    const { limit, remaining } = read.reading;
    const wrong = wrongReset(read);
    if (wrong !== undefined) throw new DemandNotMet(wrong);
    const bannedMs = this.bans.leftMs(key, this.clock.now());
    if (bannedMs > maxWindowMs) throw new Inconclusive(`the key is banned for another ${duration(bannedMs / 1_000)}`);
    const left = this.#leftMs(read);
    if (left > maxWindowMs) {
      const minutes = count(Math.ceil(left / 60_000), 'minute');
      throw new Inconclusive(`the headers show a window that ends in ${minutes} (${remaining} of ${limit} remain)`);
    }
    const { promised } = this.settings;
    const isExpected = promised === undefined || limit === promised.perMinute || limit === promised.perDay;
    if (isExpected || (key.quiet && !key.own)) return;
    throw new Inconclusive(`X-RateLimit-Limit is ${limit}, but the key is promised ${promised.perMinute} a minute`);
  }

  /** The milliseconds until the window of a response ends. */
  #leftMs({ reading }: Read): number {
    return reading.reset * 1_000 - this.client.serverTime(this.clock.now());
  }

  async #untilReset(key: Key, { reading }: Read): Promise<void> {
    await this.sleep(this.bans.leftMs(key, this.clock.now()), 'until the end of a ban');
    await this.untilServer(reading.reset * 1_000, 'until the key has a fresh window');
  }

  #received(key: Key, response: Response): void {
    const responses = this.#responses.get(key) ?? [];
    this.#responses.set(key, responses);
    responses.push(response);
    this.bans.received(key, response, this.retryAt(response));
    const { reading } = response;
    if (reading === undefined) return;
    const before = this.#read.get(key)?.reading;
    // The server may not count concurrent requests in the order in which it responds.
    const stale = before?.reset === reading.reset && before.remaining < reading.remaining;
    if (!stale) this.#read.set(key, { ...response, reading });
  }
}

/** @throws DemandNotMet if a header is missing */
export function requireReading(response: Response): Read {
  const { reading } = response;
  if (reading === undefined) throw new DemandNotMet(wrongIn([response]).join('; '));
  return { ...response, reading };
}
