/**
 * Handles a request: steps 2 to 4 of decisions.md, "Order of checks". Step 1, the head of the message, is in
 * http/head.ts.
 */
import { orderStatuses } from '../domain/order.ts';
import { petStatuses } from '../domain/pet.ts';
import { ApiError, refusal, type Refusal } from '../http/api-error.ts';
import type { Log } from '../observe/log.ts';
import { mapSoon, UnavailableError, type Admission as KeyAdmission, type Engine, type Soon } from '../engine.ts';
import { bearerToken } from '../keys/bearer.ts';
import { clientAddress } from '../http/client-address.ts';
import type { Handler } from '../http/connection.ts';
import { CrossOrigin, preflightReply } from '../http/cross-origin.ts';
import { isJsonInUtf8 } from '../http/media-type.ts';
import { emptyBody } from '../http/request-body.ts';
import { errorReply, type About, type Reply } from '../http/reply.ts';
import { ListElement } from '../http/list.ts';
import { continueExpectation, type Request, type Sender } from '../http/request.ts';
import { Router, type Route } from '../http/router.ts';
import { checkQuery } from '../http/url.ts';
import { AddressLimiter } from '../limits/addresses.ts';
import type { Ban } from '../limits/bans.ts';
import type { LimitStatus } from '../limits/limit-status.ts';
import { addressLimited, keyLimited } from './refusals.ts';
import { EventQuota } from '../observe/event-quota.ts';
import { createPet } from './create-pet.ts';
import { docs, docsForBrowsers, pageReply } from './docs.ts';
import { getPet } from './get-pet.ts';
import { health, readiness, shuttingDown, starting } from './health.ts';
import { listOperation } from './list.ts';
import { openApi } from './openapi.ts';
import type { Operation } from './operation.ts';

export interface ServiceOptions {
  /** The path prefix of the operations: `/v1`. */
  readonly basePath: string;
  /** The number of trusted proxies in front of the server. Each appends an address to `X-Forwarded-For`. */
  readonly trustedProxies: number;
  /** Until it is loaded, requests with a valid key are refused, and not counted. */
  readonly engine: Engine;
  /** The origins whose pages may send requests and read the responses. */
  readonly origins: readonly string[];
  /** The time in milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: Log;
  /** The reference page in HTML; null turns it off. */
  readonly page: string | null;
}

export class Service implements Handler {
  readonly #options: ServiceOptions;
  readonly #router: Router<Operation>;
  readonly #addresses = new AddressLimiter();
  readonly #failures: EventQuota;
  readonly #crossOrigin: CrossOrigin;
  #stoppingSince: number | null = null;
  /** How many bans have begun. */
  bans = 0;

  constructor(options: ServiceOptions) {
    this.#options = options;
    const { basePath, origins, engine, log, page } = options;
    const ordersPath = `${basePath}/store/orders`;
    this.#failures = new EventQuota(log);
    this.#crossOrigin = new CrossOrigin(origins, openApiPath);
    this.#router = new Router<Operation>()
      .add('GET', `${basePath}/pets`, listOperation('listPets', `${basePath}/pets`, petStatuses, engine.pets))
      .add('POST', `${basePath}/pets`, createPet(engine.pets, basePath))
      .add('GET', `${basePath}/pets/{petId}`, getPet(engine.pets, basePath))
      .add('GET', ordersPath, listOperation('listOrders', ordersPath, orderStatuses, engine.orders))
      .add('GET', '/healthz', health())
      .add('GET', '/readyz', readiness(engine, () => this.#stoppingSince !== null))
      .add('GET', openApiPath, openApi(basePath));
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
    this.#stoppingSince ??= this.#options.now();
  }

  /** Since when all requests are refused (milliseconds since the epoch); null if they are not. */
  get stoppingSince(): number | null {
    return this.#stoppingSince;
  }

  /** Logs what was only counted. No request may follow. */
  end(): void {
    this.#failures.end();
  }

  /** Responds to a request with a valid head that arrived `waitedMs` ago. Neither throws nor rejects. */
  respond(request: Request, waitedMs: number): Reply | Promise<Reply> {
    const now = this.#options.now();
    const reply = this.#crossOrigin.isPreflight(request)
      ? this.#permit(request, now)
      : this.#respond(request, now, waitedMs);
    return mapSoon(reply, (made) => this.#crossOrigin.addTo(made, request));
  }

  /** Permits any request, so that the page can read its response. Without a key, the path must not matter. */
  #permit(request: Request, now: number): Reply {
    const limits = this.#addressLimits(request, now, false);
    return withLimits(permission, { ...notAdmitted, limits, operation: optionsName });
  }

  #respond(request: Request, now: number, waitedMs: number): Soon<Reply> {
    const route = request.path === '*' ? wholeServer : this.#router.find(request.path);
    const isOptions = route !== null && request.method === 'OPTIONS';
    const requested = isOptions ? options(route) : route?.operations.get(request.method);
    try {
      const admission = this.#admit(request, requested, now, waitedMs);
      if (!(admission instanceof Promise)) return this.#proceed(request, route, requested, now, admission);
      return admission.then(
        (late) => this.#proceed(request, route, requested, now, late),
        (error: unknown) => this.#failed(error, request, this.#unknownKey(request, now)),
      );
    } catch (error) {
      return this.#failed(error, request, this.#unknownKey(request, now));
    }
  }

  /** The admission of a request whose key could not be looked up: it shows the limit of its address. */
  #unknownKey(request: Request, now: number): Admission {
    return { ...notAdmitted, limits: this.#addressLimits(request, now, false) };
  }

  /** Continues with step 4. Neither throws nor rejects. */
  #proceed(
    request: Request, route: Route<Operation> | null, requested: Operation | undefined, now: number,
    admission: Admission,
  ): Soon<Reply> {
    try {
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
    return this.#crossOrigin.addTo(this.#refused(refused, sender, { ...notAdmitted, limits }), sender);
  }

  /**
   * Steps 2 and 3: the key (specification.md section 5, RFC 6750) and its limits, or those of the address. Only paths
   * under the base path need a key.
   */
  #admit(request: Request, operation: Operation | undefined, now: number, waitedMs: number): Soon<Admission> {
    const { basePath, engine } = this.#options;
    if (!isUnder(basePath, request.path)) {
      const limits = this.#addressLimits(request, now, false);
      return { ...notAdmitted, limits, headers: headersOf(operation, now), operation: operation?.name ?? null };
    }
    // Repeated headers are joined with a comma, which no secret contains.
    const secret = bearerToken(request.headers.authorization ?? '');
    if (secret === null) {
      // RFC 6750 section 3.1: no error code for a request without a token.
      return this.#refuseKey(request, operation, now, request.isRepeated('authorization') ? invalidKey : missingKey);
    }
    const isReady = engine.progress === 100;
    const admitted = engine.accounts.admit(secret, now, waitedMs, isReady);
    if (!(admitted instanceof Promise)) return this.#admitKey(request, operation, now, isReady, admitted);
    return admitted.then((late) => this.#admitKey(request, operation, now, isReady, late));
  }

  #refuseKey(request: Request, operation: Operation | undefined, now: number, refusal: Refusal): Admission {
    const limits = this.#addressLimits(request, now, true);
    const isRefused = limits.refusedBy !== null;
    return {
      limits,
      headers: noHeaders,
      refusal: isRefused ? addressLimited(limits, now) : refusal,
      operation: operation?.name ?? null,
      key: null,
      unauthenticated: refusal === missingKey ? 'missing' : 'invalid',
      refusedBy: isRefused ? 'address' : null,
    };
  }

  /** `isReady`: whether the request counts. `admitted` null: no valid key has the secret of the request. */
  #admitKey(
    request: Request, operation: Operation | undefined, now: number, isReady: boolean, admitted: KeyAdmission | null,
  ): Admission {
    if (admitted === null) return this.#refuseKey(request, operation, now, invalidKey);
    const { key, limits, time } = admitted;
    if (limits.began !== undefined) this.#noteBan(admitted, limits.began);
    const { refusedBy } = limits;
    const refusal = refusedBy !== null ? keyLimited(limits, time)
      : this.#stoppingSince !== null ? shuttingDown()
      : !isReady ? starting()
      : null;
    return {
      limits,
      headers: headersOf(operation, now),
      refusal,
      operation: operation?.name ?? null,
      key,
      unauthenticated: null,
      refusedBy: refusedBy === 'window' ? limits.window : refusedBy,
    };
  }

  #noteBan({ key, name }: KeyAdmission, { end }: Ban): void {
    this.bans++;
    const until = new Date(end).toISOString();
    const why = 'it was used too often after a 429';
    this.#options.log(`key ${key} (${name}) is banned until ${until}, because ${why}`, 'warn', { key, until });
  }

  /** The status of the limit of the sender's address, after counting the request if it `counts`. */
  #addressLimits(sender: Sender, now: number, counts: boolean): LimitStatus {
    const address = clientAddress(sender, this.#options.trustedProxies);
    return counts ? this.#addresses.admit(address, now) : this.#addresses.status(address, now);
  }

  #finishLater(pending: Promise<Reply>, request: Request, admission: Admission): Promise<Reply> {
    return pending.then(
      (reply) => withLimits(reply, admission),
      (error: unknown) => this.#failed(error, request, admission),
    );
  }

  /** Responds with an error that is expected. Any other one is a bug: it is logged, and the response is a 500. */
  #failed(error: unknown, request: Request, admission: Admission): Reply {
    if (error instanceof ApiError) return this.#refused(error, request, admission);
    if (error instanceof UnavailableError) {
      const { message, retryAfterSeconds } = error;
      const details = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
      return this.#refused(refusal('storage_unavailable', message, details), request, admission);
    }
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
const permission = preflightReply(wholeServer.allow);

/** The result of authentication and rate limiting. */
interface Admission extends About {
  readonly limits: LimitStatus | null;
  /** The headers of every response of the operation. */
  readonly headers: readonly string[];
  readonly refusal: Refusal | null;
}

const noHeaders: readonly string[] = [];

function headersOf(operation: Operation | undefined, now: number): readonly string[] {
  return operation?.responseHeaders?.(now) ?? noHeaders;
}

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

const openApiPath = '/openapi.json';
const optionsName = 'options';

/** OPTIONS (RFC 9110 section 9.3.7). */
function options({ allow }: Route<Operation>): Operation {
  const reply = { status: 204, headers: ['Allow', allow], body: null };
  return { name: optionsName, takesJson: false, begin: () => () => reply };
}
