/**
 * The only code of the bench that sends requests. Each connection of a load is a client of the conformance kit, which
 * sends its share of the requests one after the other. It never sends more than its share, even if it repeats a request
 * whose connection broke.
 */
import type { Clock } from '../../conformance/client/clock.ts';
import { bearer, nobody, token } from '../../conformance/client/credentials.ts';
import type { Target } from '../../conformance/client/obstacles.ts';
import { Response as KitResponse } from '../../conformance/client/response.ts';
import { ServerClock } from '../../conformance/client/server-clock.ts';
import { count, grouped } from '../../conformance/report/words.ts';
import type { Pet } from '../../conformance/client/pet.ts';
import type { Credential, Request } from '../../conformance/client/request.ts';
import { createPet, getPet, listOrders, listPets } from '../../conformance/client/requests.ts';
import { allEnded, Client, NoRequestsLeft, NoResponse } from '../../conformance/client/client.ts';
import { wrongKey, type Key } from './keys.ts';
import { responseOf, type Response } from './responses.ts';
import type { LoadOperation } from './settings.ts';

/** What to send: one operation, `amount` times. */
export interface Load {
  /** Undefined: the requests have no key. */
  readonly key: Key | undefined;
  /** In a load without a key, every second request has a wrong key instead, of the same form as this one. */
  readonly wrongLike?: Key;
  /** By default `GET /pets?limit=1`. */
  readonly operation?: LoadOperation;
  readonly amount: number;
  readonly connections: number;
  /**
   * Requests per second of all connections together, which determines when each request is due. Undefined: each
   * connection sends its next request as soon as it has a response. If no connection is free when a request is due, its
   * latency includes that wait: otherwise most of the delay that a stalling server causes would not be measured.
   */
  readonly rate?: number;
  /** The load ends at the first response for which this returns true. */
  readonly until?: (response: Response) => boolean;
  /** If no request gets a response, that is a result and not an error. */
  readonly mayAllBeLost?: true;
}

export interface Sent {
  /** In the order in which they were received. */
  readonly responses: readonly Response[];
  /** Requests without a response. */
  readonly lost: number;
  /** The longest delay of the bench itself, in milliseconds: it shows how busy this machine is. */
  readonly lateMs: number;
}

export interface ClientOptions extends Target {
  readonly clock: Clock;
  /** Ends all loads. */
  readonly signal: AbortSignal;
  /** The time in milliseconds, accurate to a microsecond, by which latencies are measured; set only by tests. */
  readonly stopwatch?: () => number;
  /** Whether rates are kept. False in tests whose clock does not move while requests are in flight. */
  readonly paced?: boolean;
}

/** The load would exceed the number of requests that was announced. */
export class BudgetSpent extends Error {
  override readonly name = 'BudgetSpent';
}

/**
 * The time after its Reset at which a window is considered to have ended: a tick of the clock, or more if no Date has
 * shown the server's clock.
 */
const [tickMs, unknownClockMs] = [50, 1_000];

export class LimitsClient {
  /** The most requests that may be sent in total. */
  budget = 0;
  #taken = 0;
  readonly sent = { withKey: 0, withoutKey: 0 };
  /** How many requests of each key have been sent by the loads that are over, and have ended. */
  readonly #counts = new Map<Key | undefined, { sent: number; ended: number }>();
  readonly #options: ClientOptions;
  readonly #onResponse: (response: Response, key: Key | undefined) => void;
  readonly serverClock = new ServerClock();
  #turn = 0;
  /** An animal of the server. */
  #pet: Pet | undefined;

  constructor(options: ClientOptions, onResponse: (response: Response, key: Key | undefined) => void) {
    this.#options = options;
    this.#onResponse = onResponse;
  }

  /** Whether a list has shown an animal, which `getPet` needs. */
  get knowsPet(): boolean {
    return this.#pet !== undefined;
  }

  /**
   * Converts a time of our clock to the server's. If our clock agrees with every Date, both are considered equal,
   * because most clocks are right.
   */
  serverTime(now: number): number {
    const { least, most } = this.serverClock;
    return least <= 0 && most >= 0 ? now : now + least;
  }

  /** Converts a time of the server's clock to ours. */
  ourTime(server: number): number {
    return server - this.serverTime(0);
  }

  /** The uncertainty of `serverTime`, plus a tick. */
  get marginMs(): number {
    const { isKnown, most } = this.serverClock;
    if (!isKnown) return unknownClockMs;
    return this.serverTime(0) === 0 ? tickMs : Math.max(0, most - this.serverTime(0)) + tickMs;
  }

  /** The time of our clock at which the server's has passed a time, whatever the uncertainty. */
  timeAfter(server: number): number {
    return server - this.serverClock.time(0) + (this.serverClock.isKnown ? tickMs : unknownClockMs);
  }

  /**
   * Sends a load. Resolves when every request has a response or is lost, at `until`, or when the run is interrupted.
   *
   * @throws BudgetSpent before anything is sent
   * @throws NoResponse if no request got a response, unless `mayAllBeLost`
   */
  async send(load: Load): Promise<Sent> {
    const { signal, clock, stopwatch = () => performance.now() } = this.#options;
    if (load.amount < 1 || signal.aborted) return { responses: [], lost: 0, lateMs: 0 };
    if (this.#taken + load.amount > this.budget) {
      throw new BudgetSpent(`${count(load.amount, 'more request')} would exceed the ${grouped(this.budget)} announced`);
    }
    this.#taken += load.amount;
    const connections = Math.min(load.connections, load.amount);
    const share = (i: number) => Math.floor(load.amount / connections) + (i < load.amount % connections ? 1 : 0);
    const { baseUrl, proxy } = this.#options;
    const targets = Array.from({ length: connections }, (_, i) =>
      new Client({ baseUrl, proxy, clock, wait: (ms) => clock.sleep(ms), maxRequests: share(i) }));
    const close = () => targets.forEach((target) => target.close());
    signal.addEventListener('abort', close);
    const counts = this.#counts.get(load.key) ?? { sent: 0, ended: 0 };
    this.#counts.set(load.key, counts);
    const sentNow = () => targets.reduce((sum, target) => sum + sentBy(target), 0);
    const under: Underway = {
      ...{ responses: [], departures: 0, startedMs: stopwatch(), lateMs: 0, over: false, problem: undefined, counts },
      sent: () => counts.sent + sentNow(),
    };
    await allEnded(targets.map((target, i) => this.#sendShare(target, share(i), load, under)));
    signal.removeEventListener('abort', close);
    close();
    const sent = sentNow();
    counts.sent += sent;
    this.sent[load.key === undefined ? 'withoutKey' : 'withKey'] += sent;
    const { responses, problem, lateMs } = under;
    if (responses.length === 0 && problem !== undefined && load.mayAllBeLost !== true && !signal.aborted) throw problem;
    return { responses, lost: sent - responses.length, lateMs };
  }

  #requestOf({ key, wrongLike, operation = 'listPets' }: Load, nth: number): Request {
    const wrong = (like: Key): Credential => token(wrongKey(like.secret), '$WRONG_KEY');
    const credential = key !== undefined
      ? bearer(key.secret)
      : wrongLike !== undefined && nth % 2 === 1 ? wrong(wrongLike) : nobody;
    const { id = 1n, categoryId = 1n } = this.#pet ?? {};
    switch (operation) {
      case 'listPets': return listPets(credential, { limit: 1 });
      case 'getPet': return getPet(credential, id);
      case 'listOrders': return listOrders(credential);
      case 'createPet': return createPet(credential, { name: 'limits bench', categoryId });
    }
  }

  async #sendShare(target: Client, share: number, load: Load, under: Underway): Promise<void> {
    const { clock, signal, stopwatch = () => performance.now(), paced = true } = this.#options;
    const isOver = () => under.over || signal.aborted;
    let opening = true;
    while (!isOver() && sentBy(target) < share) {
      const nth = under.departures++;
      let waitedMs = 0;
      if (paced && load.rate !== undefined) {
        const dueMs = under.startedMs + (nth * 1_000) / load.rate;
        const earlyMs = dueMs - stopwatch();
        if (earlyMs > 0) {
          await clock.sleep(earlyMs);
          under.lateMs = Math.max(under.lateMs, stopwatch() - dueMs);
        } else {
          waitedMs = -earlyMs;
        }
        if (isOver()) return;
      }
      const request = this.#requestOf(load, nth);
      const moment = () => ({ at: clock.now(), turn: ++this.#turn, ...under.counts, sent: under.sent() });
      const before = moment();
      const [sent, sentMs, sentBefore] = [{ ...before, sent: before.sent + 1 }, stopwatch(), sentBy(target)];
      try {
        const received = await target.exchange(request);
        const latencyMs = stopwatch() - sentMs + waitedMs;
        const { status, headers, body } = received;
        const ordered = new KitResponse(request, status, headers, body, sent, moment());
        const repeated = sentBy(target) > sentBefore + 1; // its connection broke, and the kit opened another one
        const response = responseOf(ordered, latencyMs, opening || repeated);
        opening = /\bclose\b/i.test(ordered.all('Connection').join());
        this.serverClock.learn(ordered);
        this.#pet ??= ordered.pets[0];
        under.responses.push(response);
        this.#onResponse(response, load.key);
        under.over ||= load.until?.(response) === true;
      } catch (error) {
        if (error instanceof NoResponse) under.problem = error;
        else if (!(error instanceof NoRequestsLeft)) throw error;
        opening = true;
      } finally {
        under.counts.ended += sentBy(target) - sentBefore;
      }
    }
  }
}

/** A load that is being sent. */
interface Underway {
  readonly responses: Response[];
  departures: number;
  /** By the stopwatch. */
  readonly startedMs: number;
  lateMs: number;
  over: boolean;
  problem: NoResponse | undefined;
  readonly counts: { readonly sent: number; ended: number };
  /** How many requests of the key have been sent, by this load and the earlier ones. */
  readonly sent: () => number;
}

function sentBy({ sent }: Client): number {
  return sent.withKey + sent.withoutKey;
}
