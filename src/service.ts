/**
 * What a request goes through: the order of checks of decisions.md, from 2 on. (1, the head of the message, is the
 * listener's: http/head.ts.)
 */
import { ApiError } from './domain/api-error.ts';
import { clientAddress } from './http/client-address.ts';
import type { Handler } from './http/listener.ts';
import { isJsonInUtf8 } from './http/media-type.ts';
import { errorReply, type Reply } from './http/reply.ts';
import type { Request, Sender } from './http/request.ts';
import { Router, type Route } from './http/router.ts';
import { parseQuery, splitPath } from './http/url.ts';
import type { KeyRing } from './keys/key-ring.ts';
import type { Key } from './keys/key.ts';
import type { Limiter } from './limits/limiter.ts';
import { limitsOf } from './limits/plans.ts';
import { retryAfter, type Standing } from './limits/standing.ts';
import { createPet } from './operations/create-pet.ts';
import { getPet } from './operations/get-pet.ts';
import { health, readiness, shuttingDown } from './operations/health.ts';
import { listOrders } from './operations/list-orders.ts';
import { listPets } from './operations/list-pets.ts';
import { openApi } from './operations/openapi.ts';
import type { Operation } from './operations/operation.ts';
import type { OrderStore } from './store/order-store.ts';
import type { PetStore } from './store/pet-store.ts';

export interface ServiceOptions {
  /** Where the interface stands: `/v1`. */
  readonly basePath: string;
  /** So many proxies stand before the server, each of which tells by `X-Forwarded-For` who it was sent the request by. */
  readonly trustedProxies: number;
  readonly keys: KeyRing;
  readonly limiter: Limiter;
  readonly pets: PetStore;
  readonly orders: OrderStore;
  /** The time in milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: (line: string) => void;
}

export class Service implements Handler {
  readonly #trustedProxies: number;
  readonly #keys: KeyRing;
  readonly #limiter: Limiter;
  readonly #now: () => number;
  readonly #log: (line: string) => void;
  readonly #base: readonly string[];
  readonly #secured: Router<Operation>;
  readonly #public: Router<Operation>;
  #stopping = false;

  constructor({ basePath, trustedProxies, keys, limiter, pets, orders, now, log }: ServiceOptions) {
    this.#trustedProxies = trustedProxies;
    this.#keys = keys;
    this.#limiter = limiter;
    this.#now = now;
    this.#log = log;
    this.#base = basePath.slice(1).split('/');
    this.#secured = new Router<Operation>()
      .add('GET', 'pets', listPets(pets, basePath))
      .add('POST', 'pets', createPet(pets, basePath))
      .add('GET', 'pets/{petId}', getPet(pets, basePath))
      .add('GET', 'store/orders', listOrders(orders, basePath));
    this.#public = new Router<Operation>()
      .add('GET', 'healthz', health())
      .add('GET', 'readyz', readiness(pets, () => this.#stopping))
      .add('GET', 'openapi.json', openApi(basePath));
  }

  /** From now on requests are refused: the process is about to end. */
  stop(): void {
    this.#stopping = true;
  }

  /** Answers a request whose head is good, and which arrived `waitedMs` ago. Never rejects. */
  async answer(request: Request, waitedMs: number): Promise<Reply> {
    const now = this.#now();
    const path = splitPath(request.path);
    const secured = this.#base.every((segment, index) => segment === path[index]);
    const route =
      request.path === '*' ? wholeServer
      : secured ? this.#secured.find(path.slice(this.#base.length))
      : this.#public.find(path);
    let headers: readonly string[] = [];
    try {
      if (secured) {
        const admission = this.#admit(request, route, now, waitedMs);
        headers = admission.headers;
        if (admission.refusal !== null) throw admission.refusal;
      } else {
        headers = this.#addressHeaders(request, now);
      }
      const reply = await this.#operate(request, route, now);
      return { ...reply, headers: [...headers, ...reply.headers] };
    } catch (error) {
      return replyTo(error instanceof ApiError ? error : this.#bug(request, error), headers);
    }
  }

  /** Answers a message whose head is broken. It counts, but it always gets its own status. */
  answerBroken(sender: Sender, fault: ApiError): Reply {
    return replyTo(fault, limitHeaders(this.#limiter.admitAddress(this.#addressOf(sender), this.#now())));
  }

  /** Answers where the listener serves nobody. */
  answerUnserved(sender: Sender, refusal: ApiError): Reply {
    return replyTo(refusal, this.#addressHeaders(sender, this.#now()));
  }

  /** 2. and 3.: whether the request is let in, and the headers that its answer then has in any case. */
  #admit(request: Request, route: Route<Operation> | null, now: number, waitedMs: number): { headers: readonly string[]; refusal: ApiError | null } {
    const key = this.#authenticate(request, now);
    if (key instanceof ApiError) {
      const standing = this.#limiter.admitAddress(this.#addressOf(request), now);
      return { headers: limitHeaders(standing), refusal: standing.refusedBy === null ? key : strangerLimited(standing, now) };
    }
    const standing = this.#limiter.admitKey(key.id, limitsOf(key.plan), now, waitedMs);
    const refusal = standing.refusedBy !== null ? keyLimited(standing, now) : this.#stopping ? shuttingDown() : null;
    return { headers: [...limitHeaders(standing), ...this.#answerHeaders(request, route, now)], refusal };
  }

  /** 2. The API key (specification.md section 5; RFC 6750): the key, or why there is none. */
  #authenticate(request: Request, now: number): Key | ApiError {
    const [given, second] = request.headerLines('authorization');
    const credentials = /^bearer +(.+)$/i.exec(given ?? '')?.[1];
    const key = credentials === undefined || second !== undefined ? null : this.#keys.find(credentials, now);
    if (key !== null) return key;
    // RFC 6750 section 3.1: no error code for a request that presents no bearer token at all.
    if (credentials === undefined && second === undefined) {
      const message = 'Send your API key: Authorization: Bearer <API_KEY>.';
      return new ApiError('missing_api_key', message, ['WWW-Authenticate', challenge]);
    }
    return new ApiError('invalid_api_key', 'The API key is not valid.', ['WWW-Authenticate', `${challenge}, error="invalid_token"`]);
  }

  /** 4. Path, method, expectation, content type, parameters, body; then the operation itself. */
  async #operate(request: Request, route: Route<Operation> | null, now: number): Promise<Reply> {
    if (route === null) throw new ApiError('not_found', 'There is nothing at this path.');
    const operation = route.operations.get(request.method === 'HEAD' ? 'GET' : request.method);
    if (operation === undefined && request.method !== 'OPTIONS') {
      throw new ApiError('method_not_allowed', `This path has ${route.allow}.`, ['Allow', route.allow]);
    }
    checkExpectation(request);
    if (operation?.takesJson) checkContentType(request);
    const query = parseQuery(request.query);
    const finish = operation?.begin({ parameter: route.parameter, query, now });
    const body = await request.readBody();
    return finish === undefined ? noContent(route.allow) : finish(body);
  }

  /** The headers of every answer to this operation. */
  #answerHeaders(request: Request, route: Route<Operation> | null, now: number): readonly string[] {
    const operation = route?.operations.get(request.method === 'HEAD' ? 'GET' : request.method);
    return operation?.answerHeaders?.(now) ?? [];
  }

  #addressOf(sender: Sender): string {
    return clientAddress(sender, this.#trustedProxies);
  }

  /** The numbers of an answer for which no key is known, where nothing is counted. */
  #addressHeaders(sender: Sender, now: number): readonly string[] {
    return limitHeaders(this.#limiter.standingOf(this.#addressOf(sender), now));
  }

  #bug(request: Request, error: unknown): ApiError {
    const trace = error instanceof Error ? error.stack : String(error);
    this.#log(`request ${request.id} failed by a fault of this program: ${trace}`);
    return new ApiError('internal_error', `Something went wrong here; it is logged under ${request.id}.`);
  }
}

const challenge = 'Bearer realm="petstore"';
/** Where `OPTIONS *` leads. */
const wholeServer: Route<Operation> = { operations: new Map(), parameter: '', allow: 'GET, HEAD, POST, OPTIONS' };

function replyTo(error: ApiError, headers: readonly string[]): Reply {
  const reply = errorReply(error);
  return { ...reply, headers: [...headers, ...reply.headers] };
}

/** The headers of specification.md section 8. */
function limitHeaders({ limit, remaining, reset }: Standing): readonly string[] {
  return ['X-RateLimit-Limit', String(limit), 'X-RateLimit-Remaining', String(remaining), 'X-RateLimit-Reset', String(reset)];
}

/** 3. The refusal by the key's ban, or by its limits. */
function keyLimited(standing: Standing, now: number): ApiError {
  const seconds = retryAfter(standing, now);
  const headers = ['Retry-After', String(seconds)];
  if (standing.refusedBy === 'window') {
    return new ApiError('rate_limited', `The key's ${standing.limit} requests a ${standing.window} are used up; try again in ${seconds} s.`, headers);
  }
  return new ApiError('key_banned', `The key is banned, as requests went on and on after 429; try again in ${seconds} s.`, headers);
}

function strangerLimited(standing: Standing, now: number): ApiError {
  const seconds = retryAfter(standing, now);
  const message = `Too many requests without a valid API key came from this address; try again in ${seconds} s.`;
  return new ApiError('rate_limited', message, ['Retry-After', String(seconds)]);
}

function checkExpectation(request: Request): void {
  const expectations = request.headerLines('expect').join(',').toLowerCase().split(',').map((text) => text.trim());
  if (expectations.some((expectation) => expectation !== '' && expectation !== '100-continue')) {
    throw new ApiError('expectation_failed', 'The only expectation this server knows is 100-continue.');
  }
}

function checkContentType(request: Request): void {
  const [type, second] = request.headerLines('content-type');
  if (type === undefined || second !== undefined || !isJsonInUtf8(type)) {
    throw new ApiError('unsupported_media_type', 'The Content-Type of the body must be application/json, in UTF-8.');
  }
  const codings = request.headerLines('content-encoding').join(',').toLowerCase().split(',');
  if (codings.some((coding) => coding.trim() !== '' && coding.trim() !== 'identity')) {
    throw new ApiError('unsupported_media_type', 'The body must have no Content-Encoding.');
  }
}

function noContent(allow: string): Reply {
  return { status: 204, headers: ['Allow', allow], body: null };
}
