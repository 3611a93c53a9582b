/**
 * The server under test, as a client that lives within its limits: it sends one request at a time, waits while the key has none
 * left, obeys a 429 and sends again, and never exceeds what the run may send in all.
 */
import { Agent as HttpAgent, request as httpRequest, type ClientRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Clock } from './clock.ts';
import { Response, urlOf, type Credential, type Moment, type Request } from './exchange.ts';
import { longWindowMs, Pacer } from './pacing.ts';
import { exchangeRaw } from './raw.ts';

/** How long a response may take, to its last byte. */
const answerTimeoutMs = 30_000;

/** More than any response of this interface could want. */
const maxAnswerBytes = 16 * 1024 * 1024;

/** The same for a message whose body never comes: it is to be answered at once. */
const rawTimeoutMs = 10_000;

/** Connections at once, for requests that are to arrive together. */
const maxConnections = 64;

/** No response came: the connection broke, or it took too long. */
export class NoResponse extends Error {
  override readonly name = 'NoResponse';
  readonly request: Request;

  constructor(request: Request, cause: Error) {
    const code = (cause as NodeJS.ErrnoException).code;
    super(code === undefined || cause.message.includes(code) ? cause.message : `${cause.message} (${code})`);
    this.request = request;
  }
}

/** The run may send no more: the cap of the run is reached, or the key is used up for longer than one waits. */
export class NoRequestsLeft extends Error {
  override readonly name = 'NoRequestsLeft';
  /** Whether it holds for every request; else only for those without the key that was used up. */
  readonly forAll: boolean;

  constructor(message: string, forAll = true) {
    super(message);
    this.forAll = forAll;
  }
}

/** Told while the kit waits: for how long in milliseconds, and why. Resolves when the time is over. */
export type Wait = (ms: number, why: string) => Promise<void>;

interface ClientOptions {
  /** Without a trailing slash. */
  readonly baseUrl: string;
  readonly clock: Clock;
  readonly wait: Wait;
  readonly maxRequests?: number;
  /** What the main key may do in a minute, where the user has told the plan. */
  readonly perMinute?: number;
}

export class Client {
  readonly baseUrl: string;
  readonly sent = { withKey: 0, withoutKey: 0, created: 0, unwanted429: 0, secondsWaited: 0 };
  readonly #options: ClientOptions;
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #pacers: Record<'main' | 'exhaust' | 'none', Pacer>;
  #turn = 0;
  #seen: (response: Response) => void = () => {};

  constructor(options: ClientOptions) {
    this.baseUrl = options.baseUrl;
    this.#options = options;
    const Agent = options.baseUrl.startsWith('https:') ? HttpsAgent : HttpAgent;
    this.#agent = new Agent({ keepAlive: true, maxSockets: maxConnections });
    this.#pacers = { main: new Pacer(options.perMinute), exhaust: new Pacer(), none: new Pacer() };
  }

  /** Whoever must see every response, those of 429 that are sent again included. */
  onResponse(seen: (response: Response) => void): void {
    this.#seen = seen;
  }

  /** The pace of a key. */
  pacer(key: 'main' | 'exhaust' | 'none'): Pacer {
    return this.#pacers[key];
  }

  /**
   * Sends a request as soon as the limits allow it, and again after a 429.
   *
   * @throws NoResponse where the connection breaks
   * @throws NoRequestsLeft where the run may send no more
   */
  async send(request: Request): Promise<Response> {
    const pacer = this.#pacers[request.credential.key];
    const { key } = request.credential;
    for (let refusals = 0, waited = 0; ; refusals++) {
      await this.room(key, 1);
      const response = await this.#exchange(request);
      if (response.status !== 429) return response;
      this.sent.unwanted429++;
      const said = retryAfterMs(response, pacer.serverTime(response.receivedAt)) ?? 0;
      // Who came again when he was told to, and was refused, backs off beyond that.
      const ms = said > 0 && refusals === 0 ? said : Math.max(said, backoffMs(refusals));
      if (waited > 0 && waited + ms > longWindowMs)
        throw new NoRequestsLeft(`the server has said 429 to ${refusals + 1} requests in a row`, key === 'main');
      waited += ms;
      await this.#wait(ms, 'the server said 429', key);
    }
  }

  /** Sends all at once, over many connections, whatever remains: see `room`. A 429 is a response like others. */
  async together(requests: readonly Request[]): Promise<Response[]> {
    return Promise.all(requests.map((request) => this.#exchange(request)));
  }

  /** Waits until `count` requests with that key have room. */
  async room(key: 'main' | 'exhaust' | 'none', count: number): Promise<void> {
    const pacer = this.#pacers[key];
    for (let ms; (ms = pacer.wait(this.#options.clock.now(), count)) > 0;)
      await this.#wait(ms, 'the key has no requests left in this window', key);
  }

  /** Closes its connections. */
  close(): void {
    this.#agent.destroy();
  }

  #moment(): Moment {
    return { at: this.#options.clock.now(), turn: ++this.#turn };
  }

  async #wait(ms: number, why: string, key: Credential['key']): Promise<void> {
    if (ms > longWindowMs)
      throw new NoRequestsLeft(`${why}; the next request would have to wait ${Math.ceil(ms / 60_000)} minutes`, key === 'main');
    this.sent.secondsWaited += ms / 1000;
    await this.#options.wait(ms, why);
  }

  async #exchange(request: Request): Promise<Response> {
    const response = await this.#once(request);
    // Who is not known is told of the limits of strangers.
    const { key } = request.credential;
    if (response.status !== 401 || key === 'none') this.#pacers[key].answered(response);
    if (request.operation === 'createPet' && response.status === 201) this.sent.created++;
    this.#seen(response);
    return response;
  }

  /** One request on the wire. Sent again where a kept connection turned out to be closed by the server meanwhile. */
  async #once(request: Request, again = false): Promise<Response> {
    const max = this.#options.maxRequests;
    if (max !== undefined && this.sent.withKey + this.sent.withoutKey >= max)
      throw new NoRequestsLeft(`--max-requests ${max} is reached`);
    if (request.credential.key === 'none') this.sent.withoutKey++;
    else this.sent.withKey++;
    this.#pacers[request.credential.key].sending(this.#options.clock.now());
    const sent = this.#moment();
    let sending: ClientRequest | undefined;
    let begun = false;
    try {
      if (request.raw !== undefined) {
        const { status, headers, body, ...wire } = await exchangeRaw(
          this.baseUrl,
          Buffer.from(request.raw, 'latin1'),
          request.method,
          rawTimeoutMs,
        );
        return new Response(request, status, headers, body, sent, this.#moment(), wire);
      }
      return await new Promise((resolve, reject) => {
        const send = this.baseUrl.startsWith('https:') ? httpsRequest : httpRequest;
        const { header } = request.credential;
        const headers = [...request.headers, ...(header === undefined ? [] : [['Authorization', header] as const])].flat();
        if (request.body !== undefined) headers.push('Content-Length', String(request.body.length));
        sending = send(
          urlOf(request, this.baseUrl),
          {
            method: request.method,
            agent: this.#agent,
            headers: ['Host', new URL(this.baseUrl).host, ...headers],
          },
          (response) => {
            begun = true;
            const chunks: Buffer[] = [];
            let bytes = 0;
            response.on('data', (chunk: Buffer) => {
              chunks.push(chunk);
              if ((bytes += chunk.length) > maxAnswerBytes)
                sending!.destroy(new Error(`a response of more than ${maxAnswerBytes} bytes`));
            });
            response.on('error', reject);
            response.on('aborted', () => reject(new Error('the response was cut off')));
            response.on('end', () => {
              const raw = response.rawHeaders;
              const pairs = Array.from({ length: raw.length / 2 }, (_, i) => [raw[2 * i]!, raw[2 * i + 1]!] as const);
              resolve(new Response(request, response.statusCode!, pairs, Buffer.concat(chunks), sent, this.#moment()));
            });
          },
        );
        const late = setTimeout(
          () => sending!.destroy(new Error(`no response within ${answerTimeoutMs / 1000} s`)),
          answerTimeoutMs,
        );
        sending.on('close', () => clearTimeout(late));
        sending.on('error', reject);
        sending.end(request.body);
      });
    } catch (error) {
      if (
        !again &&
        !begun &&
        sending?.reusedSocket === true &&
        ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '')
      )
        return this.#once(request, true);
      // A mistake of ours is not the server's silence.
      if (error instanceof TypeError || error instanceof ReferenceError) throw error;
      throw new NoResponse(request, error as Error);
    }
  }
}

/**
 * What Retry-After says (RFC 9110, section 10.2.3: seconds, or a date), in milliseconds from `now`, the server's time; undefined
 * where it is missing or neither.
 */
export function retryAfterMs(response: Response, now: number): number | undefined {
  const value = response.all('retry-after')[0];
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** 1, 2, 4 … s, at most a minute, each lengthened by up to a quarter, so that clients do not wake together. */
function backoffMs(refusals: number): number {
  return Math.min(60_000, 1000 * 2 ** refusals) * (1 + Math.random() / 4);
}
