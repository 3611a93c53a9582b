/**
 * Handles a request: steps 2 to 4 of "Order of checks" in decisions.md. Step 1, the head of the message, is in http/head.ts.
 */
import { ApiError, refusal, type Refusal } from './domain/api-error.ts';
import { bearerToken } from './http/bearer.ts';
import { clientAddress } from './http/client-address.ts';
import type { Handler } from './http/connection.ts';
import { isJsonInUtf8 } from './http/media-type.ts';
import { emptyBody } from './http/body.ts';
import { errorReply, type Reply } from './http/reply.ts';
import type { Request, Sender } from './http/request.ts';
import { Router, type Route } from './http/router.ts';
import { parseQuery } from './http/url.ts';
import type { KeyRing } from './keys/key-ring.ts';
import type { Key } from './keys/key.ts';
import type { Limiter } from './limits/limiter.ts';
import { limitsOf } from './limits/plans.ts';
import { keyLimited, strangerLimited } from './limits/refusals.ts';
import type { Standing } from './limits/standing.ts';
import { createPet } from './operations/create-pet.ts';
import { getPet } from './operations/get-pet.ts';
import { health, readiness, shuttingDown } from './operations/health.ts';
import { listOrders } from './operations/list-orders.ts';
import { listPets } from './operations/list-pets.ts';
import { openApi } from './operations/openapi.ts';
import type { Finish, Operation } from './operations/operation.ts';
import type { OrderStore } from './store/order-store.ts';
import type { PetStore } from './store/pet-store.ts';

export interface ServiceOptions {
  /** Where the interface stands: `/v1`. */
  readonly basePath: string;
  /** The number of trusted proxies in front of the server. Each appends an address to `X-Forwarded-For`. */
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
  readonly #basePath: string;
  readonly #secured: Router<Operation>;
  readonly #public: Router<Operation>;
  #stopping = false;

  constructor({ basePath, trustedProxies, keys, limiter, pets, orders, now, log }: ServiceOptions) {
    this.#trustedProxies = trustedProxies;
    this.#keys = keys;
    this.#limiter = limiter;
    this.#now = now;
    this.#log = log;
    this.#basePath = basePath;
    this.#secured = new Router<Operation>()
      .add('GET', `${basePath}/pets`, listPets(pets, basePath))
      .add('POST', `${basePath}/pets`, createPet(pets, basePath))
      .add('GET', `${basePath}/pets/{petId}`, getPet(pets, basePath))
      .add('GET', `${basePath}/store/orders`, listOrders(orders, basePath));
    this.#public = new Router<Operation>()
      .add('GET', '/healthz', health())
      .add('GET', '/readyz', readiness(pets, () => this.#stopping))
      .add('GET', '/openapi.json', openApi(basePath));
  }

  /** From now on requests are refused: the process is about to end. */
  stop(): void {
    this.#stopping = true;
  }

  /** Answers a request whose head is good, and which arrived `waitedMs` ago. Neither throws nor rejects. */
  answer(request: Request, waitedMs: number): Reply | Promise<Reply> {
    const now = this.#now();
    const securedRoute = this.#secured.find(request.path);
    const secured = securedRoute !== null || this.#isUnderBase(request.path);
    const route = secured ? securedRoute : this.#findPublic(request.path);
    const asked = operationOf(route, request);
    let admission = nobody;
    try {
      admission = secured ? this.#admit(request, asked, now, waitedMs) : this.#visit(request, now);
      if (admission.refusal !== null) return complete(errorReply(admission.refusal), admission);
      const operation = accept(request, route, asked);
      const finish = operation.begin({ parameter: route?.parameter ?? '', query: request.query, now });
      const { body } = request;
      if (body !== null) return this.#whenRead(body.read(operation.takesJson), finish, request, admission);
      const reply = finish(emptyBody);
      return reply instanceof Promise ? this.#whenDone(reply, request, admission) : complete(reply, admission);
    } catch (error) {
      return this.#failed(error, request, admission);
    }
  }

  /** Refuses a connection or a message that is not handled, with its own status in any case. */
  refuse(sender: Sender, refused: ApiError, counts: boolean): Reply {
    const now = this.#now();
    const admission = counts ? admitted(this.#limiter.admitAddress(this.#addressOf(sender), now)) : this.#visit(sender, now);
    return complete(errorReply(refused), admission);
  }

  /** Whether a path is under the base path, where a key is asked for before all else. */
  #isUnderBase(path: string): boolean {
    return path === this.#basePath || path.startsWith(`${this.#basePath}/`);
  }

  #findPublic(path: string): Route<Operation> | null {
    return path === '*' ? wholeServer : this.#public.find(path);
  }

  /** 2. and 3.: whether the request is let in. */
  #admit(request: Request, operation: Operation | undefined, now: number, waitedMs: number): Admission {
    const key = this.#authenticate(request, now);
    if ('code' in key) {
      const standing = this.#limiter.admitAddress(this.#addressOf(request), now);
      return { standing, headers: none, refusal: standing.refusedBy === null ? key : strangerLimited(standing, now) };
    }
    const standing = this.#limiter.admitKey(key.id, limitsOf(key.plan), now, waitedMs);
    const refused = standing.refusedBy !== null ? keyLimited(standing, now) : this.#stopping ? shuttingDown() : null;
    return { standing, headers: operation?.responseHeaders?.(now) ?? none, refusal: refused };
  }

  /** A request that needs no key: it is not counted, and the response shows the limits of its address. */
  #visit(sender: Sender, now: number): Admission {
    return admitted(this.#limiter.standingOf(this.#addressOf(sender), now));
  }

  /** 2. The API key (specification.md section 5; RFC 6750): the key, or why there is none. */
  #authenticate(request: Request, now: number): Key | Refusal {
    const { authorization } = request.headers; // of several, all: no secret has a comma
    const secret = authorization === undefined ? null : bearerToken(authorization);
    if (secret !== null) return this.#keys.find(secret, now) ?? invalidKey;
    // RFC 6750 section 3.1: no error code for a request that presents no bearer token at all.
    return request.isRepeated('authorization') ? invalidKey : missingKey;
  }

  #addressOf(sender: Sender): string {
    return clientAddress(sender, this.#trustedProxies);
  }

  async #whenRead(body: Promise<Buffer>, finish: Finish, request: Request, admission: Admission): Promise<Reply> {
    try {
      return complete(await finish(await body), admission);
    } catch (error) {
      return this.#failed(error, request, admission);
    }
  }

  async #whenDone(reply: Promise<Reply>, request: Request, admission: Admission): Promise<Reply> {
    try {
      return complete(await reply, admission);
    } catch (error) {
      return this.#failed(error, request, admission);
    }
  }

  #failed(error: unknown, request: Request, admission: Admission): Reply {
    return complete(errorReply(error instanceof ApiError ? error : this.#bug(request, error)), admission);
  }

  #bug(request: Request, error: unknown): ApiError {
    const trace = error instanceof Error ? error.stack : String(error);
    this.#log(`request ${request.id} failed by a fault of this program: ${trace}`);
    return new ApiError('internal_error', `Something went wrong here; it is logged under ${request.id}.`);
  }
}

const missingKey = refusal('missing_api_key', 'Send your API key: Authorization: Bearer <API_KEY>.');
const invalidKey = refusal('invalid_api_key', 'The API key is not valid.');
/** Where `OPTIONS *` leads. */
const wholeServer: Route<Operation> = { operations: new Map(), parameter: '', allow: 'GET, HEAD, POST, OPTIONS' };

/** The result of authentication and rate limiting. */
interface Admission {
  readonly standing: Standing | null;
  /** The headers of every response of the operation. */
  readonly headers: readonly string[];
  readonly refusal: Refusal | null;
}

/** The admission of a request before any check has run. */
const none: readonly string[] = [];
const nobody: Admission = { standing: null, headers: none, refusal: null };

function admitted(standing: Standing): Admission {
  return { standing, headers: none, refusal: null };
}

/** Adds what every answer carries: the headers of specification.md section 8, and those of the operation. */
function complete(reply: Reply, { standing, headers }: Admission): Reply {
  const both = headers.length === 0 ? reply.headers : reply.headers.length === 0 ? headers : [...reply.headers, ...headers];
  return { status: reply.status, headers: both, limits: standing, body: reply.body };
}

/** 4. Path, method, expectation, content type. Gives the operation that `route` has for the request. */
function accept(request: Request, route: Route<Operation> | null, asked: Operation | undefined): Operation {
  if (route === null) throw new ApiError('not_found', 'There is nothing at this path.');
  const operation = request.method === 'OPTIONS' ? tellAllow(route) : asked;
  if (operation === undefined) throw new ApiError('method_not_allowed', `This path has ${route.allow}.`, { allow: route.allow });
  checkExpectation(request);
  if (operation.takesJson) checkContentType(request);
  if (request.query.includes('%')) parseQuery(request.query); // a broken escape is an error also where no parameter is known
  return operation;
}

function checkExpectation(request: Request): void {
  const { expect } = request.headers;
  if (expect === undefined) return;
  const expectations = expect.toLowerCase().split(',').map((text) => text.trim());
  if (expectations.some((expectation) => expectation !== '' && expectation !== '100-continue')) {
    throw new ApiError('expectation_failed', 'The only expectation this server knows is 100-continue.');
  }
}

function checkContentType(request: Request): void {
  const { 'content-type': type, 'content-encoding': codings } = request.headers;
  if (type === undefined || request.isRepeated('content-type') || !isJsonInUtf8(type)) {
    throw new ApiError('unsupported_media_type', 'The Content-Type of the body must be application/json, in UTF-8.');
  }
  if (codings !== undefined && codings.toLowerCase().split(',').some((coding) => coding.trim() !== '' && coding.trim() !== 'identity')) {
    throw new ApiError('unsupported_media_type', 'The body must have no Content-Encoding.');
  }
}

/** The operation that a method asks for: HEAD is a GET whose body is left out. */
function operationOf(route: Route<Operation> | null, { method }: Request): Operation | undefined {
  return route?.operations.get(method === 'HEAD' ? 'GET' : method);
}

/** OPTIONS (RFC 9110 section 9.3.7). */
function tellAllow({ allow }: Route<Operation>): Operation {
  return { takesJson: false, begin: () => () => ({ status: 204, headers: ['Allow', allow], body: null }) };
}
