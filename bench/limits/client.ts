/**
 * The only code of the bench that sends requests. Each key has a client of the conformance kit, and each connection of
 * a load sends its requests one after the other.
 */
import { allEnded, Client, NoRequestsLeft, NoResponse } from '../../conformance/client/client.ts';
import type { Clock } from '../../conformance/client/clock.ts';
import { bearer, nobody, token } from '../../conformance/client/credentials.ts';
import type { Target } from '../../conformance/client/proxy.ts';
import type { Connection, Credential, Request } from '../../conformance/client/request.ts';
import { ServerClock } from '../../conformance/client/server-clock.ts';
import { count, grouped } from '../../conformance/report/words.ts';
import { wrongKey, type Key } from './keys.ts';
import { operations } from './operations.ts';
import type { Response } from './responses.ts';

/** How many requests to send, and how. */
export interface Load {
  /** Undefined: the requests have no key. */
  readonly key: Key | undefined;
  /** In a load without a key, every second request has a wrong key instead, of the same form as this one. */
  readonly wrongLike?: Key;
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
  /** After so many milliseconds, no further request is sent: a slow server may not keep up with the rate. */
  readonly maxMs?: number;
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
  /** Why the load ended early, if the client sends no more requests. */
  readonly ended?: NoRequestsLeft;
}

export interface ClientOptions extends Target {
  readonly clock: Clock;
  /** Ends all loads. */
  readonly signal: AbortSignal;
  /** The time in milliseconds, accurate to a microsecond, by which latencies are measured; set only by tests. */
  readonly stopwatch?: () => number;
  /** The time limit for a complete response; 30 s if absent. */
  readonly timeoutMs?: number;
  /** Whether rates are kept. False in tests whose clock does not move while requests are in flight. */
  readonly paced?: boolean;
}

export class LimitsClient {
  /** The most requests that may be sent in total. */
  budget = 0;
  /** The request that all loads consist of. */
  requestWith: (credential: Credential) => Request = operations.listPets;
  readonly serverClock = new ServerClock();
  readonly #options: ClientOptions;
  /** The client of each key, and of requests without one. */
  readonly #clients = new Map<Key | undefined, Client>();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** How many requests have been sent. */
  get sent(): Readonly<Record<'withKey' | 'withoutKey', number>> {
    const all = [...this.#clients.values()].map(({ sent }) => sent);
    const sum = (of: 'withKey' | 'withoutKey') => all.reduce((total, sent) => total + sent[of], 0);
    return { withKey: sum('withKey'), withoutKey: sum('withoutKey') };
  }

  /**
   * Sends a load. Resolves when every request has a response or is lost, at `until`, or when the run is interrupted.
   *
   * @throws NoRequestsLeft before anything is sent, if the load would exceed the budget
   * @throws NoResponse if no request got a response, unless `mayAllBeLost`
   */
  async send(load: Load): Promise<Sent> {
    const { key, amount } = load;
    const { signal, stopwatch = () => performance.now() } = this.#options;
    if (amount < 1 || signal.aborted) return { responses: [], lost: 0, lateMs: 0 };
    const { withKey, withoutKey } = this.sent;
    if (withKey + withoutKey + amount > this.budget) {
      throw new NoRequestsLeft(`${count(amount, 'more request')} would exceed the ${grouped(this.budget)} announced`);
    }
    const client = this.#clientOf(key);
    const before = sentBy(client);
    client.maxRequests = before + amount;
    const connections = Array.from({ length: Math.min(load.connections, amount) }, () => client.connect());
    const end = () => {
      client.interrupt(signal.reason as Error);
      for (const connection of connections) connection.destroy();
    };
    signal.addEventListener('abort', end);
    const under: Underway =
      { responses: [], departures: 0, startedMs: stopwatch(), lateMs: 0, over: false, problem: undefined, ended: undefined };
    await allEnded(connections.map((connection) => this.#sendOn(connection, client, load, under)));
    signal.removeEventListener('abort', end);
    for (const connection of connections) connection.destroy();
    const { responses, problem, lateMs, ended } = under;
    if (responses.length === 0 && problem !== undefined && load.mayAllBeLost !== true && !signal.aborted) throw problem;
    const lost = sentBy(client) - before - responses.length;
    return { responses, lost, lateMs, ...(ended !== undefined && { ended }) };
  }

  #clientOf(key: Key | undefined): Client {
    const client = this.#clients.get(key) ?? new Client(this.#options);
    this.#clients.set(key, client);
    return client;
  }

  /** Sends requests of a load on one connection, until none is left. */
  async #sendOn(connection: Connection, client: Client, load: Load, under: Underway): Promise<void> {
    const { clock, signal, stopwatch = () => performance.now(), paced = true } = this.#options;
    const isOver = () =>
      under.over || signal.aborted || stopwatch() - under.startedMs > (load.maxMs ?? Infinity);
    while (!isOver() && under.departures < load.amount) {
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
      const request = { ...this.requestWith(credentialOf(load, nth)), connection };
      const sentMs = stopwatch();
      try {
        const received = await client.exchange(request);
        const latencyMs = stopwatch() - sentMs + waitedMs;
        const response: Response = Object.assign(received, { key: load.key, latencyMs });
        this.serverClock.learn(response);
        under.responses.push(response);
        under.over ||= load.until?.(response) === true;
      } catch (error) {
        if (under.over || signal.aborted) return;
        if (error instanceof NoRequestsLeft) {
          under.over = true;
          // Repetitions on other connections may have used up the amount.
          if (sentBy(client) < client.maxRequests) under.ended = error;
          return;
        }
        if (!(error instanceof NoResponse)) throw error;
        under.problem = error;
      }
    }
  }
}

/** The credential of the nth request of a load. */
function credentialOf({ key, wrongLike }: Load, nth: number): Credential {
  if (key !== undefined) return bearer(key.secret);
  return wrongLike === undefined || nth % 2 === 0 ? nobody : token(wrongKey(wrongLike.secret), '$WRONG_KEY');
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
  ended: NoRequestsLeft | undefined;
}

function sentBy({ sent }: Client): number {
  return sent.withKey + sent.withoutKey;
}
