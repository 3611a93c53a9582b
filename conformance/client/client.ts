/**
 * The HTTP client of the kit. It stays within the rate limits of a key: it waits while the key has no requests left,
 * waits and retries after a 429, and never sends more requests than the run may send.
 */
import { processStops, type Clock, type Stops } from './clock.ts';
import { exchangeHttp, StaleConnection, TooSlow, type HttpRequest, type HttpResponse } from './http.ts';
import { isOfNetwork } from './network-errors.ts';
import { longWindowMs, Pacer } from './pacing.ts';
import { exchangePipelined } from './pipeline.ts';
import { agentFor, type Target } from './proxy.ts';
import { spelled, type Connection, type Credential, type Request } from './request.ts';
import { Response, type Moment } from './response.ts';
import { explainedMs, retryAfterMs } from './limit-readings.ts';
import { ServerClock } from './server-clock.ts';

/** The number of connections for requests that are sent at the same time. */
const maxConnections = 64;

/** The run ends after `maxSlow` responses that took longer than `slowMs`. */
const slowMs = 10_000;
const maxSlow = 20;

/** The maximum number of cookies that are kept, and their maximum length: a server may refuse a long header. */
const [maxCookies, maxCookieLength] = [10, 200];

/**
 * How often a request that gets 503 is repeated. One repetition is not enough: a server that returns 503 at random to
 * one request in 40 returns two in a row to one in 1,600, which would affect a third of all runs.
 */
const maxRepetitions = 3;

/**
 * The longest wait before a request is repeated, even if Retry-After is longer: many responses may be 503. Requests
 * that are sent together wait less, so that their window does not end meanwhile.
 */
const maxUnavailableMs = 10_000;
const maxUnavailableTogetherMs = 2_000;

/** The number of requests that got only 503, after which no request is repeated for a 503. */
const maxUnavailable = 5;

/** No response was received: the connection broke, or the response took too long. */
export class NoResponse extends Error {
  override readonly name = 'NoResponse';
  readonly request: Request;

  constructor(request: Request, cause: Error) {
    const code = (cause as NodeJS.ErrnoException).code;
    // Node reports one error for each address of a host name.
    const all: readonly Error[] = cause instanceof AggregateError ? cause.errors : [cause];
    // OpenSSL's errors end with a line break, and contain the reason among internal details.
    const messages = all.map((one) => one.message.replace(/^.*SSL routines:[^:]*:([^:]*):.*$/s, 'TLS: $1'));
    const message = messages.join(', ');
    super(code === undefined || message.includes(code) ? message : `${message} (${code})`, { cause });
    this.request = request;
  }
}

/** The run may send no more: --max-requests is reached, or the key has no requests left for a long time. */
export class NoRequestsLeft extends Error {
  override readonly name = 'NoRequestsLeft';
  /** Whether it applies to all requests, and not only to those without a valid key. */
  readonly forAll: boolean;
  /** Whether the reason is that the server admits none. */
  readonly isRefused: boolean;

  constructor(message: string, forAll = true, isRefused = false) {
    super(message);
    this.forAll = forAll;
    this.isRefused = isRefused;
  }
}

/**
 * Waits until all promises have settled, even if one rejects, so that nothing is in flight when a check ends.
 *
 * @throws the first error of the kit, or if there is none, the first error of the server
 */
export async function allEnded<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const ends = await Promise.allSettled(promises);
  const errors: unknown[] = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []));
  const ofKit = errors.filter((error) => !(error instanceof NoResponse || error instanceof NoRequestsLeft));
  if (errors.length > 0) throw [...ofKit, ...errors][0];
  return ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
}

interface ClientOptions extends Target {
  readonly clock: Clock;
  readonly maxRequests?: number;
  /** The requests per minute of the main key, if its plan is known. */
  readonly perMinute?: number | undefined;
  /** The time limit for a complete response; 30 s if absent. */
  readonly timeoutMs?: number;
  /** The stops of this process, except in tests. */
  readonly stops?: Stops;
}

export class Client {
  /** The most requests that may be sent, and those of them without a valid key. */
  maxRequests: number;
  maxKeyless = Infinity;
  readonly baseUrl: string;
  readonly serverClock = new ServerClock();
  /** The cookies that responses to the API key have set, by name, at most `maxCookies`: `name=value`. */
  readonly cookies = new Map<string, string>();
  /** The pacer of each key. */
  readonly pacers: Readonly<Record<Credential['key'], Pacer>>;
  readonly sent = { withKey: 0, withoutKey: 0, created: 0, unwanted429: 0, recovered503: 0, secondsWaited: 0 };
  readonly #options: ClientOptions;
  readonly #agent: ReturnType<typeof agentFor>;
  /** Why a key is no longer used. */
  readonly #givenUp = new Map<Credential['key'], string>();
  readonly #closing = new AbortController();
  #interruption: Error | undefined;
  #turn = 0;
  /** How many requests of each key have been sent, and have ended. */
  readonly #counts = {
    main: { sent: 0, ended: 0 },
    exhaust: { sent: 0, ended: 0 },
    none: { sent: 0, ended: 0 },
  };
  #slow = 0;
  /** Whether the server has closed an idle connection on which a request was then sent. */
  #hasClosedIdle = false;
  /** The number of requests that got only 503. */
  #unavailable = 0;

  constructor(options: ClientOptions) {
    this.baseUrl = options.baseUrl;
    this.maxRequests = options.maxRequests ?? Infinity;
    this.#options = options;
    this.#agent = agentFor(options.baseUrl, options.proxy, { keepAlive: true, maxSockets: maxConnections });
    const pacer = (perMinute?: number) => new Pacer(perMinute, this.serverClock);
    this.pacers = { main: pacer(options.perMinute), exhaust: pacer(), none: pacer() };
  }

  /**
   * Sends a request as soon as the limits of its key allow it, and again after each 429. Yields every response, except
   * for a 503 that was repeated; the last one is not a 429.
   *
   * @throws NoResponse if the connection breaks
   * @throws NoRequestsLeft if the run may send no more
   */
  async *attempts(request: Request): AsyncGenerator<Response> {
    const { key } = request.credential;
    let hasTried = false;
    for (let refusals = 0, waited = 0; ; refusals++) {
      const response = await this.#available(request, maxUnavailableMs, () => this.room(key, 1));
      yield response;
      if (response.status !== 429) return;
      this.sent.unwanted429++;
      const serverTime = this.serverClock.time(response.receivedAt);
      const retryAfter = retryAfterMs(response, serverTime) ?? 0;
      // After a second refusal, back off even beyond Retry-After (section 8, behaviour 2).
      let ms = retryAfter > 0 && refusals === 0 ? retryAfter : Math.max(retryAfter, backoffMs(refusals));
      // Retry-After may be wrong, such as in milliseconds. Only a second refusal shows that it is not.
      if (!hasTried && ms > explainedMs(response, serverTime)) {
        hasTried = true;
        ms = explainedMs(response, serverTime);
      }
      if (waited > 0 && waited + ms > longWindowMs) {
        const most = `the waits would exceed ${longWindowMs / 60_000} minutes`;
        throw this.#giveUp(key, `the server returned 429 to ${refusals + 1} requests in a row, and ${most}`);
      }
      waited += ms;
      await this.#wait(ms, 'the server returned 429', key);
    }
  }

  /** Waits until the key has `count` requests left. */
  async room(key: Credential['key'], count: number): Promise<void> {
    const pacer = this.pacers[key];
    for (let ms; (ms = pacer.wait(this.#options.clock.now(), count)) > 0;) {
      await this.#wait(ms, pacer.reason, key);
      pacer.waited(ms);
    }
  }

  /**
   * Sends a request regardless of the limits, perhaps among others, and again after a 503 (see `maxRepetitions`).
   *
   * @throws NoResponse if the connection breaks
   * @throws NoRequestsLeft if --max-requests is reached
   */
  async available(request: Request): Promise<Response> {
    return this.#available(request, maxUnavailableTogetherMs);
  }

  /**
   * Sends requests on a new connection without waiting for responses, regardless of the limits. Those without a
   * response, or with the error of a proxy, are sent again, each on another connection.
   *
   * @throws NoResponse if a connection breaks
   * @throws NoRequestsLeft if --max-requests is reached
   */
  pipelined(requests: readonly Request[]): readonly Promise<Response>[] {
    const responses = this.#pipelined(requests);
    return requests.map(async (request, i) => {
      const response = (await responses)[i];
      const isServed = response !== undefined && ![502, 503, 504].includes(response.status) && !response.isOfProxy;
      return isServed ? response : this.available({ ...request, isSentAgain: true });
    });
  }

  /**
   * Sends a request once, regardless of the limits. A 429 or a 503 is a response like any other.
   *
   * @throws NoResponse if the connection breaks
   * @throws NoRequestsLeft if --max-requests is reached
   */
  async exchange(request: Request): Promise<Response> {
    return this.#learned(await this.#once(request));
  }

  /** Aborts the requests that are in flight, and sends no more. Requests then reject with `reason`. */
  interrupt(reason: Error): void {
    this.#interruption = reason;
    this.close();
  }

  /** A connection of its own, for `Request.connection`. */
  connect(): Connection {
    return agentFor(this.baseUrl, this.#options.proxy, { keepAlive: true, maxSockets: 1 });
  }

  /** Closes its connections. */
  close(): void {
    this.#closing.abort();
    this.#agent.destroy();
  }

  /**
   * Sends a request, and again after a 503, unless it repeats another. Then only the last response is returned. `ready`
   * is called each time before it is sent.
   */
  async #available(request: Request, maxWaitMs: number, ready = async () => {}): Promise<Response> {
    const { key } = request.credential;
    for (let refusals = 0; ; refusals++) {
      await ready();
      const response = await this.exchange(refusals > 0 ? { ...request, isSentAgain: true } : request);
      if (response.status !== 503) {
        this.sent.recovered503 += refusals;
        return response;
      }
      if (request.repeats || refusals === maxRepetitions || this.#unavailable >= maxUnavailable) {
        this.#unavailable++;
        return response;
      }
      const retryAfter = retryAfterMs(response, this.serverClock.time(response.receivedAt));
      await this.#wait(Math.min(retryAfter ?? backoffMs(refusals), maxWaitMs), 'the server returned 503', key);
    }
  }

  async #pipelined(requests: readonly Request[]): Promise<readonly Response[]> {
    this.#assertLeft(requests);
    const sent = requests.map((request) => {
      this.#count(request);
      return this.#moment(chargedBy(request).at(-1)!);
    });
    const responses: Response[] = [];
    const received = (message: HttpResponse) => {
      const [request, moment] = [requests[responses.length]!, sent[responses.length]!];
      responses.push(this.#learned(new Response(request, message, moment, this.#moment(chargedBy(request).at(-1)!))));
      for (const one of chargedBy(request)) this.#counts[one].ended++;
    };
    try {
      await exchangePipelined(requests.map((request) => this.#messageOf(request)), received, this.#closing.signal);
    } catch (error) {
      if (this.#interruption !== undefined) throw this.#interruption;
      if (!isOfNetwork(error)) throw error;
    } finally {
      for (const one of requests.slice(responses.length).flatMap(chargedBy)) this.#counts[one].ended++;
    }
    return responses;
  }

  #learned(response: Response): Response {
    const { request: { credential: { key }, operation }, status } = response;
    // A 401 shows the limits of requests without a key.
    if (status !== 401 || key === 'none') this.pacers[key].learn(response);
    if (operation === 'createPet' && status === 201) this.sent.created++;
    for (const cookie of key === 'main' ? response.all('set-cookie') : []) {
      const [pair = ''] = cookie.split(';');
      const [name = ''] = pair.split('=');
      const hasRoom = this.cookies.has(name) || this.cookies.size < maxCookies;
      if (hasRoom && pair.length <= maxCookieLength) this.cookies.set(name, pair);
    }
    return response;
  }

  #messageOf(request: Request): HttpRequest {
    const { credential: { header }, target, connection: agent = this.#agent } = request;
    const authorization = header === undefined ? [] : [['Authorization', header] as const];
    const all = [...request.headers, ...authorization];
    const headers = all.map(([name, value]) => [spelled(name, request), value] as const);
    const { proxy, timeoutMs, stops } = this.#options;
    return { ...request, url: this.baseUrl + target, headers, agent, proxy, timeoutMs, stops };
  }

  #moment(key: Credential['key']): Moment {
    return { at: this.#options.clock.now(), turn: ++this.#turn, ...this.#counts[key] };
  }

  async #wait(ms: number, reason: string, key: Credential['key']): Promise<void> {
    if (ms > longWindowMs)
      throw this.#giveUp(key, `${reason}; the next request would have to wait ${Math.ceil(ms / 60_000)} minutes`);
    this.sent.secondsWaited += ms / 1000;
    await this.#options.clock.sleep(ms, reason);
  }

  /** Remembers that a key is not admitted in reasonable time, so that no other request waits for it. */
  #giveUp(key: Credential['key'], reason: string): NoRequestsLeft {
    this.#givenUp.set(key, reason);
    return new NoRequestsLeft(reason, key === 'main', true);
  }

  /**
   * Sends a request, and once more if the server has closed the idle connection that it was sent on. If this process
   * stops meanwhile, the duration is not judged, and a request without a response is sent again: the server, a proxy or
   * the network has perhaps ended the connection because of the stop. If no more may be sent, it has no response.
   */
  async #once(request: Request, isRetry = false): Promise<Response> {
    this.#assertLeft([request]);
    this.#count(request);
    // Those without a valid key are few, so they are not spent on connections that the server may have closed.
    if (request.credential.key === 'none' && this.#hasClosedIdle) destroyIdle(request.connection ?? this.#agent);
    const { stops = processStops } = this.#options;
    const charged = chargedBy(request);
    const counted = charged.at(-1)!;
    const sent = this.#moment(counted);
    const stopsBefore = stops.noticed;
    const hasStopped = () => stops.count !== stopsBefore;
    try {
      const response = new Response(request, await exchangeHttp(this.#messageOf(request)), sent, this.#moment(counted));
      if (response.receivedAt - response.sentAt > slowMs && !hasStopped()) this.#slow++;
      return response;
    } catch (error) {
      if (this.#interruption !== undefined) throw this.#interruption;
      if (!isOfNetwork(error)) throw error;
      const noResponse = new NoResponse(request, error instanceof StaleConnection ? (error.cause as Error) : error);
      if (hasStopped() || (error instanceof StaleConnection && !isRetry)) {
        // What has ended one idle connection, such as a load balancer or NAT, has probably ended all of them.
        destroyIdle(this.#agent);
        this.#hasClosedIdle ||= error instanceof StaleConnection;
        const again = this.#once({ ...request, isSentAgain: true }, !hasStopped());
        return await again.catch((second: unknown) => {
          throw second instanceof NoRequestsLeft ? noResponse : second;
        });
      }
      if (error instanceof TooSlow) this.#slow++;
      throw noResponse;
    } finally {
      for (const one of charged) this.#counts[one].ended++;
    }
  }

  /** @throws NoRequestsLeft unless all of these requests may be sent */
  #assertLeft(requests: readonly Request[]): void {
    if (this.#interruption !== undefined) throw this.#interruption;
    if (this.sent.withKey + this.sent.withoutKey + requests.length > this.maxRequests)
      throw new NoRequestsLeft(`--max-requests ${this.maxRequests} is reached`);
    if (this.#slow >= maxSlow)
      throw new NoRequestsLeft(`the server is too slow: ${this.#slow} responses took more than ${slowMs / 1000} s`);
    const keys = requests.map(({ credential: { key } }) => key);
    for (const key of keys) {
      const givenUp = this.#givenUp.get(key);
      if (givenUp !== undefined) throw new NoRequestsLeft(givenUp, key === 'main', true);
    }
    const keyless = keys.filter((key) => key === 'none').length;
    if (keyless > 0 && this.sent.withoutKey + keyless > this.maxKeyless)
      throw new NoRequestsLeft(`a run sends at most ${this.maxKeyless} requests without a valid key`, false);
  }

  #count(request: Request): void {
    const { key } = request.credential;
    if (key === 'none') this.sent.withoutKey++;
    else this.sent.withKey++;
    for (const charged of chargedBy(request)) this.#counts[charged].sent++;
    this.pacers[key].sending(this.#options.clock.now());
  }
}

/** The keys that may be charged for a request, the one of its history last. */
function chargedBy({ credential: { key, acceptedAs } }: Request): readonly Credential['key'][] {
  return acceptedAs === undefined || acceptedAs === key ? [key] : [key, acceptedAs];
}

function destroyIdle(agent: Connection): void {
  for (const idle of Object.values(agent.freeSockets).flat()) idle?.destroy();
}

/** 1, 2, 4 … s, at most a minute, plus up to a quarter at random, so that clients do not retry at the same time. */
function backoffMs(refusals: number): number {
  return Math.min(60_000, 1000 * 2 ** refusals) * (1 + Math.random() / 4);
}
