/**
 * Handles a request: steps 2 to 4 of decisions.md, "Order of checks". Step 1, the head of the message, is in
 * http/head.ts.
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
import { health, readiness, shuttingDown, starting } from './operations/health.ts';
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
  /** Until it is loaded, requests with a valid key are refused, and not counted. */
  readonly pets: PetStore;
  readonly orders: LineTable;
  /** The time in milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: (line: string) => void;
}

export class Service implements Handler {
  readonly #options: ServiceOptions;
  readonly #router: Router<Operation>;
  #stopping = false;

  constructor(options: ServiceOptions) {
    this.#options = options;
    const { basePath, pets, orders } = options;
    this.#router = new Router<Operation>()
      .add('GET', `${basePath}/pets`, listPets(pets, basePath))
      .add('POST', `${basePath}/pets`, createPet(pets, basePath))
      .add('GET', `${basePath}/pets/{petId}`, getPet(pets, basePath))
      .add('GET', `${basePath}/store/orders`, listOrders(orders, basePath))
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
    const now = this.#options.now();
    const route = request.path === '*' ? wholeServer : this.#router.find(request.path);
    const requested = route?.operations.get(request.method);
    let admission = notAdmitted;
    try {
      admission = this.#admit(request, requested, now, waitedMs);
      if (admission.refusal !== null) return withLimits(errorReply(admission.refusal), admission);
      const operation = checkHead(request, route, requested);
      const finish = operation.begin({ parameter: route?.parameter ?? '', query: request.query, now });
      const { body } = request;
      const reply = body === null ? finish(emptyBody) : body.read(operation.takesJson).then(finish);
      return reply instanceof Promise ? this.#finishLater(reply, request, admission) : withLimits(reply, admission);
    } catch (error) {
      return this.#failed(error, request, admission);
    }
  }

  /** Refuses a connection or a message. `counts`: whether it counts against the limit of its address. */
  refuse(sender: Sender, refused: ApiError, counts: boolean): Reply {
    const limits = this.#addressLimits(sender, this.#options.now(), counts);
    return withLimits(errorReply(refused), { ...notAdmitted, limits });
  }

  /** Steps 2 and 3: the key and its limits, or those of the address. Only paths under the base path need a key. */
  #admit(request: Request, operation: Operation | undefined, now: number, waitedMs: number): Admission {
    const { basePath, limiter, pets } = this.#options;
    if (!isUnder(basePath, request.path)) return { ...notAdmitted, limits: this.#addressLimits(request, now, false) };
    const key = this.#authenticate(request, now);
    if ('code' in key) {
      const limits = this.#addressLimits(request, now, true);
      return { ...notAdmitted, limits, refusal: limits.refusedBy === null ? key : addressLimited(limits, now) };
    }
    const headers = operation?.responseHeaders?.(now) ?? notAdmitted.headers;
    const plan = limitsOf(key.plan);
    if (pets.progress < 100) {
      const refusal = this.#stopping ? shuttingDown() : starting();
      return { limits: limiter.keyStatus(key.id, plan, now), headers, refusal };
    }
    const limits = limiter.admitKey(key.id, plan, now, waitedMs);
    const refusal = limits.refusedBy !== null ? keyLimited(limits, now) : this.#stopping ? shuttingDown() : null;
    return { limits, headers, refusal };
  }

  /** Step 2, the API key (specification.md section 5, RFC 6750): the key, or why there is none. */
  #authenticate(request: Request, now: number): Key | Refusal {
    const { authorization } = request.headers; // repeated headers are joined with a comma, which no secret contains
    const key = authorization === undefined ? null : this.#options.keys.find(authorization, now);
    if (key !== null) return key;
    const isPresented = bearerToken(authorization ?? '') !== null || request.isRepeated('authorization');
    return isPresented ? invalidKey : missingKey; // RFC 6750 section 3.1: no error code for a request without a token
  }

  /** The status of the limit of the sender's address, after counting the request if it `counts`. */
  #addressLimits(sender: Sender, now: number, counts: boolean): LimitStatus {
    const { limiter, trustedProxies } = this.#options;
    const address = clientAddress(sender, trustedProxies);
    return counts ? limiter.admitAddress(address, now) : limiter.addressStatus(address, now);
  }

  #finishLater(pending: Promise<Reply>, request: Request, admission: Admission): Promise<Reply> {
    return pending.then(
      (reply) => withLimits(reply, admission),
      (error: unknown) => this.#failed(error, request, admission),
    );
  }

  /** Responds with an ApiError. Any other error is a bug: it is logged, and the response is a 500. */
  #failed(error: unknown, request: Request, admission: Admission): Reply {
    if (error instanceof ApiError) return withLimits(errorReply(error), admission);
    const trace = error instanceof Error ? error.stack : String(error);
    this.#options.log(`request ${request.id} failed because of a bug in the server: ${trace}`);
    return withLimits(errorReply(internalError), admission);
  }
}

const missingKey = refusal('missing_api_key', 'Send your API key: Authorization: Bearer <API_KEY>.');
const invalidKey = refusal('invalid_api_key', 'The API key is not valid.');
const internalError = refusal(
  'internal_error',
  'The server failed to handle this request. Its log has the details, with the X-Request-Id of this response.',
);
/** The route of `OPTIONS *`. */
const wholeServer: Route<Operation> = { operations: new Map(), parameter: '', allow: 'GET, HEAD, POST, OPTIONS' };

/** The result of authentication and rate limiting. */
interface Admission {
  readonly limits: LimitStatus | null;
  /** The headers of every response of the operation. */
  readonly headers: readonly string[];
  readonly refusal: Refusal | null;
}

/** The admission of a request before any check has run. */
const notAdmitted: Admission = { limits: null, headers: [], refusal: null };

/** Adds the headers of every response (specification.md section 8), and those of the operation. */
function withLimits({ status, headers, body }: Reply, { limits, headers: added }: Admission): Reply {
  const all = added.length === 0 ? headers : headers.length === 0 ? added : [...headers, ...added];
  return { status, headers: all, limits, body };
}

/** Step 4 up to the parameters: path, method, expectation, content type, query. Returns the operation to run. */
function checkHead(request: Request, route: Route<Operation> | null, requested: Operation | undefined): Operation {
  if (route === null) throw new ApiError('not_found', 'There is nothing at this path.');
  const operation = request.method === 'OPTIONS' ? options(route) : requested;
  const { allow } = route;
  if (operation === undefined) throw new ApiError('method_not_allowed', `This path has ${allow}.`, { allow });
  if (hasOther(request.headers.expect, '100-continue')) {
    throw new ApiError('expectation_failed', 'The only expectation this server knows is 100-continue.');
  }
  if (operation.takesJson) checkContentType(request);
  if (request.query.includes('%')) parseQuery(request.query); // checks the escapes of ignored parameters too
  return operation;
}

function checkContentType(request: Request): void {
  const { 'content-type': type, 'content-encoding': codings } = request.headers;
  if (type === undefined || request.isRepeated('content-type') || !isJsonInUtf8(type)) {
    throw new ApiError('unsupported_media_type', 'The Content-Type of the body must be application/json, in UTF-8.');
  }
  if (hasOther(codings, 'identity')) {
    throw new ApiError('unsupported_media_type', 'The body must have no Content-Encoding.');
  }
}

/** Whether a list (RFC 9110 section 5.6.1) has an element other than `known`, which may be in upper or lower case. */
function hasOther(list: string | undefined, known: string): boolean {
  return list !== undefined && list.toLowerCase().split(',').some((element) => !['', known].includes(element.trim()));
}

/** Whether a path is the base path or under it. Every such path requires a key, whether it exists or not. */
function isUnder(basePath: string, path: string): boolean {
  return path.startsWith(basePath) && (path.length === basePath.length || path[basePath.length] === '/');
}

/** OPTIONS (RFC 9110 section 9.3.7). */
function options({ allow }: Route<Operation>): Operation {
  return { takesJson: false, begin: () => () => ({ status: 204, headers: ['Allow', allow], body: null }) };
}
