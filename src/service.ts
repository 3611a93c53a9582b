/**
 * Handles a request: steps 2 to 4 of decisions.md, "Order of checks". Step 1, the head of the message, is in http/head.ts.
 */
import { ApiError, refusal, type Refusal } from './domain/api-error.ts';
import { bearerToken } from './keys/bearer.ts';
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
import type { LimitStatus } from './limits/limit-status.ts';
import type { Limiter } from './limits/limiter.ts';
import { limitsOf } from './limits/plans.ts';
import { addressLimited, keyLimited } from './limits/refusals.ts';
import { createPet } from './operations/create-pet.ts';
import { getPet } from './operations/get-pet.ts';
import { health, readiness, shuttingDown } from './operations/health.ts';
import { listOrders } from './operations/list-orders.ts';
import { listPets } from './operations/list-pets.ts';
import { openApi } from './operations/openapi.ts';
import type { Operation } from './operations/operation.ts';
import type { LineTable } from './store/line-table.ts';
import type { PetStore } from './store/pet-store.ts';

export interface ServiceOptions {
  /** The path prefix of the operations: `/v1`. */
  readonly basePath: string;
  /** The number of trusted proxies in front of the server. Each appends an address to `X-Forwarded-For`. */
  readonly trustedProxies: number;
  readonly keys: KeyRing;
  readonly limiter: Limiter;
  readonly pets: PetStore;
  readonly orders: LineTable;
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

  /** Refuses all requests from now on: the process is about to end. */
  stop(): void {
    this.#stopping = true;
  }

  /** Responds to a request with a valid head that arrived `waitedMs` ago. Neither throws nor rejects. */
  respond(request: Request, waitedMs: number): Reply | Promise<Reply> {
    const now = this.#now();
    const securedRoute = this.#secured.find(request.path);
    const isSecured = securedRoute !== null || this.#isUnderBase(request.path);
    const route = isSecured ? securedRoute : this.#findPublic(request.path);
    const requested = operationOf(route, request);
    let admission = notAdmitted;
    try {
      admission = isSecured ? this.#admit(request, requested, now, waitedMs) : this.#admitPublic(request, now);
      if (admission.refusal !== null) return withLimits(errorReply(admission.refusal), admission);
      const operation = checkHead(request, route, requested);
      const finish = operation.begin({ parameter: route?.parameter ?? '', query: request.query, now });
      const { body } = request;
      if (body !== null) return this.#finishLater(body.read(operation.takesJson).then(finish), request, admission);
      const reply = finish(emptyBody);
      return reply instanceof Promise ? this.#finishLater(reply, request, admission) : withLimits(reply, admission);
    } catch (error) {
      return this.#failed(error, request, admission);
    }
  }

  /** Refuses a connection or a message. `counts`: whether it counts against the limit of its address. */
  refuse(sender: Sender, refused: ApiError, counts: boolean): Reply {
    const now = this.#now();
    const limits = counts ? this.#limiter.admitAddress(this.#addressOf(sender), now) : this.#addressStatus(sender, now);
    return withLimits(errorReply(refused), { ...notAdmitted, limits });
  }

  /** Whether a path is under the base path. Every such path requires a key, whether it exists or not. */
  #isUnderBase(path: string): boolean {
    return path === this.#basePath || path.startsWith(`${this.#basePath}/`);
  }

  #findPublic(path: string): Route<Operation> | null {
    return path === '*' ? wholeServer : this.#public.find(path);
  }

  /** Steps 2 and 3: the key and its limits, or those of the address. */
  #admit(request: Request, operation: Operation | undefined, now: number, waitedMs: number): Admission {
    const key = this.#authenticate(request, now);
    if ('code' in key) {
      const limits = this.#limiter.admitAddress(this.#addressOf(request), now);
      return { ...notAdmitted, limits, refusal: limits.refusedBy === null ? key : addressLimited(limits, now) };
    }
    const limits = this.#limiter.admitKey(key.id, limitsOf(key.plan), now, waitedMs);
    const refusal = limits.refusedBy !== null ? keyLimited(limits, now) : this.#stopping ? shuttingDown() : null;
    return { limits, headers: operation?.responseHeaders?.(now) ?? none, refusal };
  }

  /** A request that needs no key does not count. Its response shows the limits of its address. */
  #admitPublic(sender: Sender, now: number): Admission {
    return { ...notAdmitted, limits: this.#addressStatus(sender, now) };
  }

  /** Step 2, the API key (specification.md section 5, RFC 6750): the key, or why there is none. */
  #authenticate(request: Request, now: number): Key | Refusal {
    const { authorization } = request.headers; // repeated headers are joined with a comma, which no secret contains
    const key = authorization === undefined ? null : this.#keys.find(authorization, now);
    if (key !== null) return key;
    const isPresented = bearerToken(authorization ?? '') !== null || request.isRepeated('authorization');
    return isPresented ? invalidKey : missingKey; // RFC 6750 section 3.1: no error code for a request without a token
  }

  #addressStatus(sender: Sender, now: number): LimitStatus {
    return this.#limiter.addressStatus(this.#addressOf(sender), now);
  }

  #addressOf(sender: Sender): string {
    return clientAddress(sender, this.#trustedProxies);
  }

  async #finishLater(pending: Promise<Reply>, request: Request, admission: Admission): Promise<Reply> {
    try {
      return withLimits(await pending, admission);
    } catch (error) {
      return this.#failed(error, request, admission);
    }
  }

  #failed(error: unknown, request: Request, admission: Admission): Reply {
    return withLimits(errorReply(error instanceof ApiError ? error : this.#internalError(request, error)), admission);
  }

  #internalError(request: Request, error: unknown): ApiError {
    const trace = error instanceof Error ? error.stack : String(error);
    this.#log(`request ${request.id} failed because of a bug in the server: ${trace}`);
    const message = 'The server failed to handle this request. Its log has the details, with the X-Request-Id of this response.';
    return new ApiError('internal_error', message);
  }
}

const missingKey = refusal('missing_api_key', 'Send your API key: Authorization: Bearer <API_KEY>.');
const invalidKey = refusal('invalid_api_key', 'The API key is not valid.');
/** The route of `OPTIONS *`. */
const wholeServer: Route<Operation> = { operations: new Map(), parameter: '', allow: 'GET, HEAD, POST, OPTIONS' };

/** The result of authentication and rate limiting. */
interface Admission {
  readonly limits: LimitStatus | null;
  /** The headers of every response of the operation. */
  readonly headers: readonly string[];
  readonly refusal: Refusal | null;
}

const none: readonly string[] = [];
/** The admission of a request before any check has run. */
const notAdmitted: Admission = { limits: null, headers: none, refusal: null };

/** Adds the headers of every response (specification.md section 8), and those of the operation. */
function withLimits({ status, headers, body }: Reply, { limits, headers: added }: Admission): Reply {
  const all = added.length === 0 ? headers : headers.length === 0 ? added : [...headers, ...added];
  return { status, headers: all, limits, body };
}

/** Step 4 up to the parameters: path, method, expectation, content type, query. Returns the operation to run. */
function checkHead(request: Request, route: Route<Operation> | null, requested: Operation | undefined): Operation {
  if (route === null) throw new ApiError('not_found', 'There is nothing at this path.');
  const operation = request.method === 'OPTIONS' ? options(route) : requested;
  if (operation === undefined) throw new ApiError('method_not_allowed', `This path has ${route.allow}.`, { allow: route.allow });
  checkExpectation(request);
  if (operation.takesJson) checkContentType(request);
  if (request.query.includes('%')) parseQuery(request.query); // checks the escapes of ignored parameters too
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
  if (codings?.toLowerCase().split(',').some((coding) => !['', 'identity'].includes(coding.trim()))) {
    throw new ApiError('unsupported_media_type', 'The body must have no Content-Encoding.');
  }
}

/** The operation for the method of a request: a HEAD is a GET without the body. */
function operationOf(route: Route<Operation> | null, { method }: Request): Operation | undefined {
  return route?.operations.get(method === 'HEAD' ? 'GET' : method);
}

/** OPTIONS (RFC 9110 section 9.3.7). */
function options({ allow }: Route<Operation>): Operation {
  return { takesJson: false, begin: () => () => ({ status: 204, headers: ['Allow', allow], body: null }) };
}
