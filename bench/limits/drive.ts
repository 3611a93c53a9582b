/**
 * The one place that sends: every request of the bench leaves by `Drive.send`, through autocannon, and out of the budget.
 *
 * What autocannon does, and what is made of it. Each connection sends its share of `amount`, one request after the other, and never
 * one twice: where a connection breaks, the request under way is lost and the next one leaves on a new connection. A rate is kept by
 * sending a second's share in a burst as the second begins; so the connections are dealt out to several instances that start at
 * different parts of the second.
 *
 * It would also write the next request into a connection whose end the last answer announced, and once a connection has ended it
 * times each answer from an earlier request. So its clients are made to open a new connection after `Connection: close`, and the
 * times are the bench's own: each answer belongs to the oldest request that left on its connection.
 */
import autocannon from 'autocannon';
import type { Clock } from '../../conformance/client/clock.ts';
import { answerOf, type Answer, type Timing } from './answer.ts';
import type { Budget } from './budget.ts';
import type { Key } from './keys.ts';
import { relayTo, type Relay } from './relay.ts';

/** What to send: `GET /pets?limit=1`, so many times. */
export interface Load {
  /** Undefined: without a key. */
  readonly key: Key | undefined;
  readonly amount: number;
  readonly connections: number;
  /** Requests a second, from all connections; undefined: each as soon as the one before is answered. */
  readonly rate?: number;
  /** Sends no more as soon as an answer is such. */
  readonly until?: (answer: Answer) => boolean;
  /** That none is answered is a finding, too: it is not thrown. */
  readonly mayAllBeLost?: true;
}

/** What came of it. */
export interface Sent {
  /** In the order in which they came. */
  readonly answers: readonly Answer[];
  /** Requests that got no answer. */
  readonly lost: number;
}

export interface DriveOptions {
  readonly baseUrl: string;
  readonly clock: Clock;
  /** Milliseconds, to a microsecond, by which latencies are measured. */
  readonly stopwatch: () => number;
  readonly budget: Pick<Budget, 'take'>;
  /** Ends whatever is under way. */
  readonly signal: AbortSignal;
  /** Hears of every answer as it comes. */
  readonly heard: (answer: Answer, key: Key | undefined) => void;
  /** Whether rates are kept: not in a test, whose clock stands still while requests are under way. */
  readonly paced: boolean;
}

/** Nothing was answered at all. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** How often autocannon looks whether it is done. */
const sampleMs = 25;

/** An answer that takes longer is lost. */
const answerTimeoutS = 10;

/** Into so many parts a second is divided at most. */
const maxPhases = 10;

/** What http-parser-js tells of an answer's head. */
interface Head {
  readonly headers: readonly string[];
  readonly shouldKeepAlive: boolean;
}

/** autocannon's client: one connection after the other. */
interface Client extends NodeJS.EventEmitter {
  /** The connection on which the next request leaves. */
  readonly conn: object;
  readonly destroyed: boolean;
  /** Sends the next request, or ends where all are sent. */
  _doRequest(): void;
  /** Opens a new connection, and sends the next request on it. */
  _resetConnection(): void;
}

/** A request on its way. */
type Departure = Pick<Timing, 'sentAt' | 'sentTurn' | 'opening'> & { readonly leftMs: number };

export class Drive {
  readonly #options: DriveOptions;
  #relay: Promise<Relay> | undefined;
  #turn = 0;
  /** Requests that left, with a key and without. */
  readonly sent = { withKey: 0, withoutKey: 0 };

  constructor(options: DriveOptions) {
    this.#options = options;
  }

  /**
   * Sends a load, and resolves when all of it is answered or lost, when `until` says so, or when the signal does.
   *
   * @throws BudgetSpent before anything is sent, if the budget does not hold it
   * @throws NoAnswer if nothing was answered, unless that may be
   */
  async send(load: Load): Promise<Sent> {
    const { budget, signal } = this.#options;
    if (load.amount < 1 || signal.aborted) return { answers: [], lost: 0 };
    budget.take(load.amount);
    const relay = await this.#open();
    const under = new Underway();
    const end = () => under.end();
    signal.addEventListener('abort', end);
    const parts = partsOf(load, this.#options.paced);
    await Promise.all(
      parts.map(async ({ amount, connections, rate }, phase) => {
        if (phase > 0 && rate !== undefined) await this.#options.clock.sleep((phase * 1_000) / parts.length);
        if (under.over) return;
        await under.run({
          url: `${relay?.baseUrl ?? this.#options.baseUrl}/pets?limit=1`,
          headers: {
            ...(relay !== undefined && { Host: new URL(this.#options.baseUrl).host }),
            ...(load.key !== undefined && { Authorization: `Bearer ${load.key.secret}` }),
          },
          amount,
          connections,
          ...(rate !== undefined && { overallRate: rate }),
          timeout: answerTimeoutS,
          sampleInt: sampleMs,
          skipAggregateResult: true,
          setupClient: (client: NodeJS.EventEmitter) => this.#follow(client as Client, load, under),
        });
      }),
    );
    signal.removeEventListener('abort', end);
    if (under.answers.length === 0 && load.mayAllBeLost !== true && !signal.aborted)
      throw new NoAnswer(relay?.problem()?.message ?? under.problem ?? 'it closes every connection without an answer');
    return { answers: under.answers, lost: under.left - under.answers.length };
  }

  /** Closes what it holds open. */
  async close(): Promise<void> {
    (await this.#relay)?.close();
  }

  async #open(): Promise<Relay | undefined> {
    if (this.#options.baseUrl.startsWith('https:')) this.#relay ??= relayTo(this.#options.baseUrl);
    return this.#relay;
  }

  /** Listens to one client, from before its first request on. */
  #follow(client: Client, load: Load, under: Underway): void {
    const { clock, stopwatch, heard } = this.#options;
    const send = client._doRequest.bind(client);
    let [connection, departures]: [object | undefined, Departure[]] = [undefined, []];
    let head: Head = { headers: [], shouldKeepAlive: true };
    client._doRequest = () => {
      if (head.shouldKeepAlive || client.conn !== connection) return send();
      if (!client.destroyed) client._resetConnection();
    };
    client.on('request', () => {
      const opening = client.conn !== connection;
      // What left on the connection before will not be answered any more.
      if (opening) [connection, departures] = [client.conn, []];
      departures.push({ sentAt: clock.now(), sentTurn: ++this.#turn, opening, leftMs: stopwatch() });
      under.left++;
      this.sent[load.key === undefined ? 'withoutKey' : 'withKey']++;
    });
    client.on('headers', (told: Head) => void (head = told));
    client.on('response', (status: number) => {
      const departure = departures.shift();
      // An answer that nobody asked for.
      if (departure === undefined) return;
      const { leftMs, ...sent } = departure;
      const came = { latencyMs: stopwatch() - leftMs, receivedAt: clock.now(), receivedTurn: ++this.#turn };
      const answer = answerOf(status, head.headers, { ...sent, ...came });
      under.answers.push(answer);
      heard(answer, load.key);
      if (load.until?.(answer) === true || under.answers.length === load.amount) under.end();
    });
    client.on('connError', (error: Error) => void (under.problem = error.message));
    client.on('timeout', () => void (under.problem = `no answer within ${answerTimeoutS} s`));
  }
}

/** A load on its way. */
class Underway {
  readonly answers: Answer[] = [];
  readonly #instances: autocannon.Instance[] = [];
  /** Requests that left. */
  left = 0;
  /** Why one of them was lost. */
  problem: string | undefined;
  over = false;

  /** Runs one instance of autocannon to its end. */
  run(options: autocannon.Options): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#instances.push(autocannon(options, (error: unknown) => (error == null ? resolve() : reject(error as Error))));
    });
  }

  /** Nothing more is sent. */
  end(): void {
    this.over = true;
    for (const instance of this.#instances) instance.stop();
  }
}

/**
 * A load dealt out to instances of autocannon. First to connections, then these to instances: so the sum is what it was, and each
 * instance has at least as many requests, and as high a rate, as it has connections.
 */
export function partsOf(
  { amount, connections, rate }: Pick<Load, 'amount' | 'connections' | 'rate'>,
  paced: boolean,
): Pick<Load, 'amount' | 'connections' | 'rate'>[] {
  if (rate === undefined || !paced) return [{ amount, connections: Math.min(connections, amount) }];
  const all = Math.min(connections, amount, rate);
  const phases = Math.min(all, maxPhases);
  const share = (whole: number, connection: number) => Math.floor(whole / all) + (connection < whole % all ? 1 : 0);
  return Array.from({ length: phases }, (_, phase) => {
    const own = Array.from({ length: all }, (_, connection) => connection).filter((connection) => connection % phases === phase);
    const sum = (whole: number) => own.reduce((total, connection) => total + share(whole, connection), 0);
    return { connections: own.length, amount: sum(amount), rate: sum(rate) };
  });
}
