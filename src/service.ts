/**
 * Handles a request: steps 2 to 4 of decisions.md, "Order of checks". Step 1, the head of the message, is in
 * http/head.ts.
 */
import { ApiError, refusal, type Refusal } from './domain/api-error.ts';
import type { Log } from './domain/log.ts';
import { bearerToken } from './keys/bearer.ts';
import { clientAddress } from './http/client-address.ts';
import type { Handler } from './http/connection.ts';
import { isJsonInUtf8 } from './http/media-type.ts';
import { emptyBody } from './http/body.ts';
import { errorReply, type About, type Reply } from './http/reply.ts';
import { ListElement } from './http/list.ts';
import { continueExpectation, type Request, type Sender } from './http/request.ts';
import { Router, type Route } from './http/router.ts';
import { checkQuery } from './http/url.ts';
import type { KeyRing } from './keys/key-ring.ts';
import type { Key } from './keys/key.ts';
import type { LimitStatus } from './limits/limit-status.ts';
import type { Limiter } from './limits/limiter.ts';
import { limitsOf } from './limits/plans.ts';
import { addressLimited, keyLimited } from './limits/refusals.ts';
import { EventQuota } from './observe/event-quota.ts';
import { createPet } from './operations/create-pet.ts';
import { docs, docsForBrowsers, pageReply } from './operations/docs.ts';
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
  readonly log: Log;
  /** The reference page in HTML; null turns it off. */
  readonly page: string | null;
}

export class Service implements Handler {
  readonly #options: ServiceOptions;
  readonly #router: Router<Operation>;
  readonly #failures: EventQuota;
  #stopping = false;
  /** How many bans have begun. */
  bans = 0;

  constructor(options: ServiceOptions) {
    this.#options = options;
    const { basePath, pets, orders, keys, limiter, log, page } = options;
    this.#failures = new EventQuota(log);
    limiter.onBanned = (id, { end }) => {
      this.bans++;
      const until = new Date(end).toISOString();
      const why = 'it was used too often after a 429';
      log(`key ${id} (${keys.get(id).name}) is banned until ${until}, because ${why}`, 'warn', { key: id, until });
    };
    this.#router = new Router<Operation>()
      .add('GET', `${basePath}/pets`, listPets(pets, basePath))
      .add('POST', `${basePath}/pets`, createPet(pets, basePath))
      .add('GET', `${basePath}/pets/{petId}`, getPet(pets, basePath))
      .add('GET', `${basePath}/store/orders`, listOrders(orders, basePath))
      .add('GET', '/healthz', health())
      .add('GET', '/readyz', readiness(pets, () => this.#stopping))
      .add('GET', '/openapi.json', openApi(basePath));
    if (page !== null) {
      const reply = pageReply(page);
      this.#router.add('GET', '/docs', docs(reply)).add('GET', '/', docsForBrowsers(reply));
    }
  }

  /** The names of all operations. */
  get operations(): readonly string[] {
    return [...new Set(this.#router.operations.map(({ name }) => name)), optionsName];
  }

  /** Refuses all requests from now on: the process is about to end. */
  stop(): void {
    this.#stopping = true;
  }

  /** Logs what was only counted. No request may follow. */
  end(): void {
    this.#failures.end();
  }

  /** Responds to a request with a valid head that arrived `waitedMs` ago. Neither throws nor rejects. */
  respond(request: Request, waitedMs: number): Reply | Promise<Reply> {
    const now = this.#options.now();
    const route = request.path === '*' ? wholeServer : this.#router.find(request.path);
    const isOptions = route !== null && request.method === 'OPTIONS';
    const requested = isOptions ? options(route) : route?.operations.get(request.method);
    let admission = notAdmitted;
    try {
      admission = this.#admit(request, requested, now, waitedMs);
      if (admission.refusal !== null) return this.#refused(admission.refusal, request, admission);
      const operation = checkHead(request, route, requested);
      const { query, headers, body } = request;
      const finish = operation.begin({ parameter: route?.parameter ?? '', query, headers, now });
      const reply = body === null ? finish(emptyBody) : body.read(operation.takesJson).then(finish);
      return reply instanceof Promise ? this.#finishLater(reply, request, admission) : withLimits(reply, admission);
    } catch (error) {
      return this.#failed(error, request, admission);
    }
  }

  /** Refuses a connection or a message. `counts`: whether it counts against the limit of its address. */
  refuse(sender: Sender, refused: ApiError, counts: boolean): Reply {
    const limits = this.#addressLimits(sender, this.#options.now(), counts);
    return this.#refused(refused, sender, { ...notAdmitted, limits });
  }

  /** Steps 2 and 3: the key and its limits, or those of the address. Only paths under the base path need a key. */
  #admit(request: Request, operation: Operation | undefined, now: number, waitedMs: number): Admission {
    const { basePath, limiter, pets } = this.#options;
    const name = operation?.name ?? null;
    const headers = operation?.responseHeaders?.(now) ?? noHeaders;
    if (!isUnder(basePath, request.path)) {
      return { ...notAdmitted, limits: this.#addressLimits(request, now, false), headers, operation: name };
    }
    const key = this.#authenticate(request, now);
    if ('code' in key) {
      const limits = this.#addressLimits(request, now, true);
      const isRefused = limits.refusedBy !== null;
      const refusal = isRefused ? addressLimited(limits, now) : key;
      const unauthenticated = key === missingKey ? 'missing' : 'invalid';
      const refusedBy = isRefused ? 'address' : null;
      return { limits, headers: noHeaders, refusal, operation: name, key: null, unauthenticated, refusedBy };
    }
    const { id } = key;
    const plan = limitsOf(key.plan);
    if (pets.progress < 100) {
      const refusal = this.#stopping ? shuttingDown() : starting();
      const limits = limiter.keyStatus(id, plan, now);
      return { limits, headers, refusal, operation: name, key: id, unauthenticated: null, refusedBy: null };
    }
    const limits = limiter.admitKey(id, plan, now, waitedMs);
    const refusal = limits.refusedBy !== null ? keyLimited(limits, now) : this.#stopping ? shuttingDown() : null;
    const refusedBy = limits.refusedBy === 'window' ? limits.window : limits.refusedBy;
    return { limits, headers, refusal, operation: name, key: id, unauthenticated: null, refusedBy };
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
    if (error instanceof ApiError) return this.#refused(error, request, admission);
    const trace = error instanceof Error ? error.stack : String(error);
    const message = `request ${request.id} failed because of a bug in the server: ${trace}`;
    this.#failures.note(internalError.code, 'error', message, { id: request.id, status: internalError.status });
    return withLimits(errorReply(internalError), admission);
  }

  /** The reply to a request, a message or a connection that is refused. A 5xx is logged. */
  #refused(refused: Refusal, sender: Sender, admission: Admission): Reply {
    const { status, code } = refused;
    if (status >= 500) {
      const { id } = sender;
      const address = clientAddress(sender, this.#options.trustedProxies) || '-';
      const fields = { id, status, code, address, ...(admission.key !== null && { key: admission.key }) };
      this.#failures.note(code, 'warn', `request ${id} was refused with ${status} ${code}`, fields);
    }
    return withLimits(errorReply(refused), admission);
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
interface Admission extends About {
  readonly limits: LimitStatus | null;
  /** The headers of every response of the operation. */
  readonly headers: readonly string[];
  readonly refusal: Refusal | null;
}

const noHeaders: readonly string[] = [];
/** The admission of a request before any check has run. */
const notAdmitted: Admission = {
  limits: null, headers: noHeaders, refusal: null, operation: null, key: null, unauthenticated: null, refusedBy: null,
};

/** Adds the headers of every response (specification.md section 8), and those of the operation. */
function withLimits({ status, headers, body, type }: Reply, about: Admission): Reply {
  const { limits, headers: added } = about;
  const all = added.length === 0 ? headers : headers.length === 0 ? added : [...headers, ...added];
  return { status, headers: all, limits, body, type, about };
}

/** Step 4 up to the parameters: path, method, expectation, content type, query. Returns the operation to run. */
function checkHead(request: Request, route: Route<Operation> | null, operation: Operation | undefined): Operation {
  if (route === null) throw new ApiError('not_found', 'There is nothing at this path.');
  const { allow } = route;
  if (operation === undefined) throw new ApiError('method_not_allowed', `This path has ${allow}.`, { allow });
  if (continueExpectation.hasOthersIn(request.headers.expect)) {
    throw new ApiError('expectation_failed', 'The only expectation this server knows is 100-continue.');
  }
  if (operation.takesJson) checkContentType(request);
  checkQuery(request.query);
  return operation;
}

const identity = new ListElement('identity');

function checkContentType(request: Request): void {
  const { 'content-type': type, 'content-encoding': codings } = request.headers;
  if (type === undefined || !isJsonInUtf8(type) || request.isRepeated('content-type')) {
    throw new ApiError('unsupported_media_type', 'The Content-Type of the body must be application/json, in UTF-8.');
  }
  if (identity.hasOthersIn(codings)) {
    throw new ApiError('unsupported_media_type', 'The body must have no Content-Encoding.');
  }
}

/** Whether a path is the base path or under it. Every such path requires a key, whether it exists or not. */
function isUnder(basePath: string, path: string): boolean {
  return path.startsWith(basePath) && (path.length === basePath.length || path[basePath.length] === '/');
}

const optionsName = 'options';

/** OPTIONS (RFC 9110 section 9.3.7). */
function options({ allow }: Route<Operation>): Operation {
  const reply = { status: 204, headers: ['Allow', allow], body: null };
  return { name: optionsName, takesJson: false, begin: () => () => reply };
}
