/**
 * A response as the kit receives it: the headers and bytes unchanged, and what they mean in terms of the specification.
 */
import { codingsIn } from './content-coding.ts';
import type { HttpResponse } from './http.ts';
import { JsonObject, parseJson, shortened, type Json } from './json.ts';
import { pet, type Pet } from './pet.ts';
import { nameOf, type Request } from './request.ts';

/** A time of the kit's clock in milliseconds, and its rank among all such moments: two can share a millisecond. */
export interface Moment {
  readonly at: number;
  readonly turn: number;
  /** How many requests of the key had been sent by then, and how many had ended; undefined if unknown. */
  readonly sent?: number;
  readonly ended?: number;
}

/** The statuses with which a proxy or a firewall refuses a request on its own, besides redirects and server errors. */
export const proxyStatuses = [403, 406, 407, 408, 411, 413, 414, 417, 421, 431, 451];

/** The most headers that a copy keeps, and the most characters of each. */
const [maxHeaders, maxHeaderLength] = [100, 1_000];

/** A complete response. */
export class Response {
  readonly request: Request;
  readonly status: number;
  /** Whether the connection had carried another request before. */
  readonly isReused: boolean;
  /** In the order in which they were received. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Decoded, unless its content codings cannot be undone. */
  readonly body: Uint8Array;
  /** Why the content codings of the body cannot be undone. */
  readonly decodingError: string | undefined;
  /** The kit's clock in milliseconds when the request was sent, and when the response was complete. */
  readonly sentAt: number;
  readonly receivedAt: number;
  /** The ranks of the same two moments. */
  readonly sentTurn: number;
  readonly receivedTurn: number;
  /**
   * The rank of the request among those of its key, how many of them had ended when it was sent, and how many had been
   * sent when the response was complete; NaN if unknown.
   */
  readonly number: number;
  readonly ended: number;
  readonly sentBy: number;
  readonly #sent: Moment;
  readonly #received: Moment;
  #json: Json | SyntaxError | undefined;
  #pets: readonly Pet[] | undefined;

  constructor(request: Request, message: HttpResponse, sent: Moment, received: Moment) {
    this.request = request;
    ({ status: this.status, isReused: this.isReused, headers: this.headers, body: this.body } = message);
    this.decodingError = message.decodingError;
    [this.#sent, this.#received] = [sent, received];
    this.sentAt = sent.at;
    this.receivedAt = received.at;
    this.sentTurn = sent.turn;
    this.receivedTurn = received.turn;
    this.number = sent.sent ?? NaN;
    this.ended = sent.ended ?? NaN;
    this.sentBy = received.sent ?? NaN;
  }

  /** A copy of limited size, with at most 2,500 bytes of the body: a run keeps thousands of them, to show in reports. */
  light(): Response {
    const body = Uint8Array.from(this.body.subarray(0, 2_500));
    const headers = this.headers.slice(0, maxHeaders).map(([name, value]) => {
      return [shortened(name, maxHeaderLength), shortened(value, maxHeaderLength)] as const;
    });
    return new Response(this.request, { ...this, headers, body }, this.#sent, this.#received);
  }

  /** All values of a header, by its name in any case. */
  all(name: string): string[] {
    return this.headers.filter(([n]) => n.toLowerCase() === name.toLowerCase()).map(([, value]) => value);
  }

  /** The value of a header that is present once and a decimal integer, otherwise undefined. */
  integer(name: string): number | undefined {
    const [value, ...more] = this.all(name);
    return value !== undefined && more.length === 0 && /^-?\d+$/.test(value) ? Number(value) : undefined;
  }

  /** The rate limit headers, or undefined if one of them is missing, repeated or not an integer. */
  get rateLimits(): { readonly limit: number; readonly remaining: number; readonly reset: number } | undefined {
    const limit = this.integer('x-ratelimit-limit');
    const remaining = this.integer('x-ratelimit-remaining');
    const reset = this.integer('x-ratelimit-reset');
    if (limit === undefined || remaining === undefined || reset === undefined) return undefined;
    return { limit, remaining, reset };
  }

  /** The time of the Date header in milliseconds, or undefined. */
  get date(): number | undefined {
    const time = Date.parse(this.all('date')[0] ?? '');
    return Number.isNaN(time) ? undefined : time;
  }

  /** The content codings of the body, such as gzip: `gzip, br`; undefined if it has none. */
  get codings(): string | undefined {
    const codings = codingsIn(this.all('content-encoding'));
    return codings.length === 0 || this.body.length === 0 ? undefined : codings.join(', ');
  }

  /** The body as JSON, or why it is not JSON. */
  get json(): Json | SyntaxError {
    if (this.#json === undefined) this.#json = this.#parsed();
    return this.#json;
  }

  #parsed(): Json | SyntaxError {
    const { decodingError, codings } = this;
    if (decodingError !== undefined) return new SyntaxError(decodingError);
    try {
      return parseJson(this.body);
    } catch (error) {
      // The coding may be one that the kit cannot decode.
      const note = codings === undefined ? '' : ` (Content-Encoding: ${codings})`;
      return new SyntaxError((error as Error).message + note);
    }
  }

  /** The media type in lower case, without parameters; empty if there is none. */
  get mediaType(): string {
    const [type = ''] = this.all('content-type');
    return type.split(';')[0]!.trim().toLowerCase();
  }

  /** Whether something else may have sent it: it has no JSON, no JSON media type and no rate limit header. */
  get isForeign(): boolean {
    const hasLimits = this.headers.some(([name]) => /^x-ratelimit-/i.test(name));
    return !hasLimits && this.mediaType !== 'application/json' && this.json instanceof SyntaxError;
  }

  /** Whether it looks like the refusal of a proxy or a firewall. */
  get isOfProxy(): boolean {
    return proxyStatuses.includes(this.status) && this.isForeign;
  }

  /** The objects that must be Pets: those of a list, or the one of a 201 or of getPet. */
  get petObjects(): readonly JsonObject[] {
    const { json } = this;
    if (this.request.operation === 'listPets' && this.status === 200)
      return Array.isArray(json) ? json.filter((e) => e instanceof JsonObject) : [];
    return this.mustBePet && json instanceof JsonObject ? [json] : [];
  }

  /** Whether the body must be a single Pet. */
  get mustBePet(): boolean {
    const { operation } = this.request;
    return (operation === 'createPet' && this.status === 201) || (operation === 'getPet' && this.status === 200);
  }

  /** The Pets without errors among them. */
  get pets(): readonly Pet[] {
    return (this.#pets ??= this.petObjects.map(pet).filter((p) => p !== undefined));
  }
}

/** Whether the server failed (5xx). The client has already repeated a request that got 503. */
export function isServerError({ status }: Response): boolean {
  return status >= 500;
}

/** A request and its response in one line: `GET /pets?limit=1 → 200, 1 animal`. */
export function summary(response: Response): string {
  const { request } = response;
  const body = request.body === undefined ? '' : ` ${shortened(Buffer.from(request.body).toString(), 80)}`;
  const animals =
    request.operation === 'listPets' && response.status === 200
      ? `, ${response.petObjects.length} animal${response.petObjects.length === 1 ? '' : 's'}`
      : '';
  return `${nameOf(request)}${body} → ${response.status}${animals}`;
}

/** The status, headers and first 2,000 characters of the body. */
export function transcript(response: Response): string {
  const headers = response.headers.map(([name, value]) => `${name}: ${value}`);
  const body = shortened(Buffer.from(response.body).toString(), 2000);
  return [`HTTP ${response.status}`, ...headers, ...(body === '' ? [] : ['', body])].join('\n');
}
