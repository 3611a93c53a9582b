/** One run against one server: its client, its results so far, and whether it can continue. */
import { allEnded, Client, NoRequestsLeft, NoResponse } from '../client/client.ts';
import type { Clock } from '../client/clock.ts';
import { bearer, inQuery, encoded, redactor } from '../client/credentials.ts';
import {
  gatewayText, isDoubtful, isForeignRefusal, noResponseText, refusalText, signatureOf, undecodedText,
} from '../client/obstacles.ts';
import { plans, type Plan } from '../client/pacing.ts';
import type { Target } from '../client/proxy.ts';
import { statuses } from '../client/pet.ts';
import { nameOf, permitsCoding, type Credential, type Request } from '../client/request.ts';
import { getPet, listOrders, listPets, tryPet } from '../client/requests.ts';
import { isServerError, type Response } from '../client/response.ts';
import { caseSetsOf, type Case, type CaseSet } from '../model/plan.ts';
import { isNamed, requirements, type RequirementId } from '../requirements/requirements.ts';
import { contradictionIn, lengthOf } from '../verdicts/disputes.ts';
import { History, replicaLagMs } from '../verdicts/history.ts';
import { isExpired, knownResult, type Known, type KnownResult } from '../verdicts/known.ts';
import { Ledger } from '../verdicts/ledger.ts';
import { restrictions, type Failure, type RequirementResult } from '../verdicts/results.ts';
import { rules } from '../verdicts/rules/rules.ts';
import type { CostOptions } from './cost.ts';
import { Fixtures } from './fixtures.ts';

/** The most server errors in a run after which requests are sent again. */
const maxRepeats = 10;

/** The most requests in a run that are followed by a control. */
const maxControls = 20;

/** The most disputes in a run whose requests are repeated, and the requests of one attempt. */
const maxDisputes = 20;
const roomToCompare = 3;

export interface SessionOptions extends Target, CostOptions {
  readonly apiKey: string;
  /** The flag or variable that the key comes from. */
  readonly keySource?: string;
  /** Ids, or prefixes of ids, of the requirements to check; empty for all. */
  readonly only: readonly string[];
  /** Ids, or prefixes of ids, of the requirements that are not checked. */
  readonly exclude?: readonly string[];
  /** The deviations that do not fail the run. */
  readonly known?: readonly Known[];
  /** The path by which fast-check generates one case again. */
  readonly path?: string;
  readonly strict: boolean;
  /** How many requirements must be judged. */
  readonly minJudged?: number;
  readonly maxRequests?: number;
  /** Whether --read-only was given. */
  readonly readOnly: boolean;
  readonly exhaust: boolean;
  readonly exhaustKey?: string;
  readonly exhaustKeySource?: string;
  readonly plan?: Plan;
  readonly categoryId?: bigint;
  /** The time limit for a complete response; 30 s if absent. */
  readonly timeoutMs?: number;
}

/** The statuses with which a server may refuse an unknown category. Others refuse the operation. */
const unknownCategory = [400, 404, 409, 422];

/** The server could not be tested. The message is one line. */
export class Untestable extends Error {
  override readonly name = 'Untestable';
}

/** A response, and the requirements that it violates according to the rules. */
export interface JudgedResponse {
  readonly response: Response;
  readonly violations: readonly { readonly id: RequirementId; readonly failure: Failure }[];
}

export class Session {
  readonly options: SessionOptions;
  readonly clock: Clock;
  readonly client: Client;
  readonly ledger: Ledger;
  readonly history = new History();
  readonly fixtures: Fixtures;
  readonly redact: (text: string) => string;
  readonly key: Credential;
  /** The key that --exhaust brings to its limit. */
  readonly exhaustKey: Credential;
  readonly startedAt: number;
  /** The durations of the requests so far, in seconds. */
  readonly #durations: number[] = [];
  /** Why no animal can be created although it is allowed. */
  noCategory: string | undefined;
  /** Why no more requests are sent. */
  halted: string | undefined;
  /** The combinations of the model that the run may send. */
  caseSets: readonly CaseSet[];
  /** The combinations of the model that were sent. */
  readonly sentCases = new Set<Case>();
  /** The requirements for which a failing combination was reduced. */
  readonly reduced = new Set<RequirementId>();
  /** Whether --path has led to a case. */
  isReplayed = false;
  /** Why the server could not be tested to the end. */
  lost: Untestable | undefined;
  #repeats = 0;
  #controls = 0;
  #disputes = 0;
  /** Whether the service itself has responded. */
  #isServed = false;
  /** The signatures of doubtful responses (see `isDoubtful`) that the service itself has sent. */
  readonly #ofService = new Set<string>();

  constructor(options: SessionOptions, clock: Clock) {
    this.options = options;
    this.clock = clock;
    this.startedAt = clock.now();
    this.redact = redactor(
      formsOf([options.apiKey, options.exhaustKey ?? [], options.proxy?.secrets ?? []].flat()),
    );
    this.key = bearer(options.apiKey);
    this.exhaustKey = options.exhaustKey === undefined ? this.key : bearer(options.exhaustKey, 'exhaust');
    const planOfMainKey = options.exhaustKey === undefined ? options.plan : undefined;
    this.client = new Client({ ...options, clock, perMinute: planOfMainKey && plans[planOfMainKey].perMinute });
    const known = (options.known ?? []).filter((deviation) => !isExpired(deviation, this.startedAt));
    this.ledger = new Ledger(options.baseUrl, this.redact, known);
    for (const { id } of requirements.filter((requirement) => this.excludes(requirement.id)))
      this.ledger.leave(id, 'skipped', restrictions.exclude, { restriction: 'exclude' });
    this.fixtures = new Fixtures(this);
    this.caseSets = caseSetsOf(options);
  }

  /** Whether a requirement is to be checked. */
  wants(id: RequirementId): boolean {
    return isNamed(id, this.options.only);
  }

  /** Whether a requirement is excluded from the checks. */
  excludes(id: RequirementId): boolean {
    const { exclude = [] } = this.options;
    return exclude.length > 0 && isNamed(id, exclude);
  }

  /** The median duration of a request so far: the first one includes the time to connect. */
  get secondsPerRequest(): number {
    return this.#durations.toSorted((a, b) => a - b)[this.#durations.length >> 1] ?? 0;
  }

  /** Whether animals may be created, and a category is known for them. */
  get mayWrite(): boolean {
    return this.options.write && this.noCategory === undefined;
  }

  /**
   * Sends the first requests.
   *
   * @throws Untestable if the server does not respond, or rejects a key
   */
  async open(): Promise<void> {
    const { keySource = 'API_KEY', exhaustKeySource = 'EXHAUST_KEY' } = this.options;
    await this.#tryKey(this.key, keySource);
    if (this.exhaustKey !== this.key) await this.#tryKey(this.exhaustKey, exhaustKeySource);
    this.fixtures.useListedCategories();
    const hasLists = await this.#tryFilters();
    if (this.mayWrite && this.history.count() === 0) {
      await this.#tryCategory();
      if (hasLists && this.history.count() > 0) await this.#tryFilters();
    }
  }

  /**
   * Sends a request within the limits of its key, and again after each 429. All responses are judged, except for a 503
   * after which the repeated request was served.
   *
   * A request that gets a server error is sent once more, because a single error may be temporary; after `maxRepeats`
   * of them, each error is a violation. If other requests must precede it (`before`), all of them are sent on a new
   * connection. A request without a valid key, or to another operation, is sent once.
   *
   * @returns the last response to the first attempt, and the violations of all
   * @throws NoResponse if the connection breaks
   * @throws NoRequestsLeft if the run may send no more
   * @throws Untestable if the service is unavailable
   */
  async send(request: Request): Promise<JudgedResponse> {
    const { before } = request;
    if (before === undefined) return this.#send(request);
    const connection = this.client.connect();
    try {
      for (const earlier of before) await this.#send({ ...earlier, connection });
      return await this.#send({ ...request, connection });
    } finally {
      connection.destroy();
    }
  }

  async #send(request: Request): Promise<JudgedResponse> {
    const judged: JudgedResponse[] = [];
    /** Each 429 that may come from a firewall. They are judged only if another response follows. */
    const foreign: Response[] = [];
    try {
      for await (const response of this.client.attempts(request)) {
        if (isForeignRefusal(response)) {
          foreign.push(response);
          continue;
        }
        await this.#assertService(response);
        judged.push(...[...foreign.splice(0), response].map((one) => this.#judge(one)));
      }
    } catch (error) {
      const last = foreign.at(-1);
      if (last !== undefined && error instanceof NoRequestsLeft && error.isRefused && error.forAll)
        this.#lose(gatewayText(last, this.options, `every request, since ${nameOf(request)}`));
      throw error;
    }
    const { response } = judged.at(-1)!;
    // The requests without a valid key are few, and none of them may get a server error: the first one shows enough.
    const mayRepeat = request.credential.key !== 'none' && request.operation !== 'other';
    const violations = judged.flatMap((one) => one.violations);
    if (!isServerError(response) || !mayRepeat) return { response, violations };
    if (this.#repeats++ >= maxRepeats) return { response, violations: [...violations, ...this.#tooMany(response)] };
    for await (const again of this.client.attempts({ ...request, repeats: true }))
      violations.push(...this.#judge(again).violations);
    return { response, violations };
  }

  /**
   * Sends requests at the same time, regardless of the limits: each on another connection, or all of them pipelined on
   * one. Ends when all of them have ended.
   *
   * @throws NoResponse if a connection breaks
   */
  async sendTogether(requests: readonly Request[], isPipelined = false): Promise<readonly JudgedResponse[]> {
    const arrived: Response[] = [];
    const judged = new Map<Response, JudgedResponse>();
    const responses = isPipelined
      ? this.client.pipelined(requests)
      : requests.map((request) => this.client.available(request));
    const sending = responses.map(async (each) => {
      const response = await each;
      arrived.push(response);
      return response;
    });
    try {
      await allEnded(sending);
    } finally {
      for (const response of arrived) {
        // If the run uses up the limit of this key, a refusal comes from the service, perhaps because of a ban.
        const isExhausting = this.options.exhaust && response.request.credential.key === this.exhaustKey.key;
        if (!isExhausting) await this.#assertService(response);
        const isUnclear = !isExhausting && isForeignRefusal(response);
        judged.set(response, isUnclear ? { response, violations: [] } : this.#judge(response));
      }
    }
    const together = (await allEnded(sending)).map((response) => judged.get(response)!);
    return this.#repeatTogether(requests, together, isPipelined);
  }

  /** Sends requests together once more if one of them got a server error: the others may have caused it. */
  async #repeatTogether(
    requests: readonly Request[],
    judged: readonly JudgedResponse[],
    isPipelined: boolean,
  ): Promise<readonly JudgedResponse[]> {
    const isExhausting = this.options.exhaust && this.exhaustKey.key === 'main';
    const mayRepeat = requests.every(({ credential: { key }, repeats, isSentAgain }) => {
      return key === 'main' && !isExhausting && !repeats && !isSentAgain;
    });
    const failed = judged.filter(({ response }) => isServerError(response) && response.request.operation !== 'other');
    if (!mayRepeat || failed.length === 0) return judged;
    if (this.#repeats++ >= maxRepeats)
      return judged.map((one) => {
        return failed.includes(one) ? { ...one, violations: [...one.violations, ...this.#tooMany(one.response)] } : one;
      });
    await this.client.room('main', requests.length);
    // Only an operation that has failed before fails for the second time.
    const operations = new Set(failed.map(({ response }) => response.request.operation));
    const again = requests.map((request): Request => {
      this.history.expectDuplicates(request);
      return operations.has(request.operation) ? { ...request, repeats: true } : { ...request, isSentAgain: true };
    });
    const judgedAgain = await this.sendTogether(again, isPipelined);
    return judged.map(({ response, violations }, i) => {
      return { response, violations: [...violations, ...judgedAgain[i]!.violations] };
    });
  }

  /** Sends getPet for an animal that a response has shown, and again after a 404 while a replica may lag. */
  async getCreated(id: bigint): Promise<JudgedResponse> {
    const until = (this.history.known(id)?.first.received.at ?? this.clock.now()) + replicaLagMs;
    const violations = [];
    for (let ms = 100; ; ms *= 2) {
      const judged = await this.send(getPet(this.key, id));
      violations.push(...judged.violations);
      const { status, sentAt } = judged.response;
      if (status !== 404 || sentAt >= until) return { response: judged.response, violations };
      const left = until - this.clock.now();
      if (left > 0) await this.clock.sleep(Math.min(ms, left), 'a replica may not show a new animal yet');
    }
  }

  /** Settles the disputes: repeats their requests, and records each real contradiction as a violation. */
  async settleDisputes(): Promise<void> {
    for (const dispute of this.history.takeDisputes()) {
      const { requirement, one, other } = dispute;
      if (!this.wants(requirement) || this.ledger.result(requirement).verdict === 'failed') continue;
      const isGet = [one, other].some(({ operation }) => operation === 'getPet');
      if ((isGet && (await this.fixtures.getIsRemoved())) || this.#disputes++ >= maxDisputes) continue;
      const ask = async (request: Request) => {
        const isOfNew = request.operation === 'getPet' && one.operation === 'createPet';
        return (await (isOfNew ? this.getCreated(request.petId!) : this.send(request))).response;
      };
      const wait = (ms: number) => this.clock.sleep(ms, 'responses disagree; one may be cached');
      const found = await this.#tried(async () => {
        await this.client.room('main', roomToCompare);
        return contradictionIn(dispute, ask, wait, this.history.filled);
      });
      if (found !== undefined)
        this.ledger.violated(requirement, found.violation, found.response.request, found.response);
    }
  }

  /**
   * After a request that broke its connection: makes sure that the server still responds.
   *
   * @throws Untestable if it does not
   */
  async assertAlive(error: NoResponse): Promise<void> {
    try {
      await this.send(listPets(this.key, { limit: 1 }));
    } catch (second) {
      if (!(second instanceof NoResponse)) throw second;
      const { baseUrl } = this.options;
      this.lost = new Untestable(`${baseUrl} no longer responds: ${error.message}, in ${nameOf(error.request)}`);
      throw this.lost;
    }
  }

  /** Ends the run: the check that is under way and those that follow are skipped. */
  interrupt(reason: Untestable): void {
    this.lost ??= reason;
    this.halted ??= reason.message;
    this.client.interrupt(reason);
  }

  /** The results of all requirements of this run. */
  results(): readonly RequirementResult[] {
    return requirements.filter(({ id }) => this.wants(id)).map(({ id }) => this.ledger.result(id));
  }

  /** What the run has found about each known deviation. */
  knownResults(): readonly KnownResult[] {
    const results = this.results();
    return (this.options.known ?? []).map((deviation) => {
      const verdict = results.find(({ id }) => id === deviation.id)?.verdict ?? 'skipped';
      return knownResult({ ...deviation, reason: this.redact(deviation.reason) }, verdict, this.startedAt);
    });
  }

  async #tryKey(key: Credential, source: string): Promise<void> {
    let response: Response;
    try {
      response = (await this.send(listPets(key, { limit: 100 }))).response;
    } catch (error) {
      if (error instanceof NoRequestsLeft) throw new Untestable(error.message);
      if (!(error instanceof NoResponse)) throw error;
      throw new Untestable(this.redact(await noResponseText(error, this.options)));
    }
    const refusal = await refusalText(response, this.options, source);
    if (refusal !== undefined) throw new Untestable(this.redact(refusal));
  }

  /**
   * @throws Untestable if something other than the service has sent this response: then requests of other operations,
   *   to which the service would respond differently, get the same status and media type, and no JSON.
   */
  async #assertService(response: Response): Promise<void> {
    const undecoded = undecodedText(response, this.options);
    if (undecoded !== undefined) this.#lose(undecoded);
    if (!isDoubtful(response)) {
      this.#isServed = true;
      return;
    }
    const { status, request } = response;
    // Before the service has responded, these may be due to the key, the protocol or the base URL: see refusalText.
    if (!this.#isServed && [401, 403, 404].includes(status)) return;
    const signature = signatureOf(response);
    // The service sends such errors as well. It may even start to reject the key, which is a violation.
    const isPossible = request.mustBe === undefined || request.mustBe === status || status === 401;
    if ((this.#ofService.has(signature) && isPossible && status < 500) || this.#controls >= maxControls) return;
    for (const control of this.#controlsOf()) {
      this.#controls++;
      const other = await this.client.available(control);
      if (isDoubtful(other) && signatureOf(other) === signature) continue;
      this.#isServed ||= !isDoubtful(other);
      this.#ofService.add(signature);
      return;
    }
    const since = this.#isServed ? `, since ${nameOf(request)}` : '';
    this.#lose(gatewayText(response, this.options, `every request${since}`));
  }

  /** Control requests, to which the service responds differently; only one if it has not responded yet. */
  #controlsOf(): readonly Request[] {
    const unknown = getPet(this.key, this.fixtures.unknownId());
    if (!this.#isServed) return [{ ...unknown, repeats: true }];
    const [known] = this.history.ids();
    return [listPets(this.key), listOrders(this.key), known === undefined ? unknown : getPet(this.key, known)];
  }

  #lose(message: string): never {
    this.lost = new Untestable(this.redact(message));
    throw this.lost;
  }

  /** The result of optional requests: undefined if there is no response, or if no more requests may be sent. */
  async #tried<T>(send: () => Promise<T>): Promise<T | undefined> {
    try {
      return await send();
    } catch (error) {
      if (error instanceof NoResponse || error instanceof NoRequestsLeft) return undefined;
      throw error;
    }
  }

  /** Sends a list with each filter, for the rules: it may select no animal. Returns whether all responses are lists. */
  async #tryFilters(): Promise<boolean> {
    for (const status of statuses) {
      const judged = await this.#tried(() => this.send(listPets(this.key, { status })));
      if (judged === undefined || lengthOf(judged.response) === undefined) return false;
    }
    return true;
  }

  /** Creates the first animal. If no category is known, tries the default one, which the server may reject. */
  async #tryCategory(): Promise<void> {
    const request = tryPet(this.key, this.fixtures.newPet());
    const status = (await this.#tried(() => this.send(request)))?.response.status;
    const isKnown = this.options.categoryId !== undefined;
    if (status !== undefined && (isKnown || !unknownCategory.includes(status))) return;
    const { category } = this.fixtures;
    const tried = `a create with category ${category} gets ${status ?? 'no response'}`;
    this.noCategory = `no valid category is known: ${tried}; set --category-id`;
  }

  /** The violation by a server error that follows `maxRepeats` others. */
  #tooMany(response: Response): JudgedResponse['violations'] {
    const { request, status } = response;
    const id = request.operation === 'listOrders' ? 'orders.exists' : 'service.status';
    const received = `${status}, after ${maxRepeats} other requests that got a server error`;
    const violation = { required: 'no server error (5xx)', received };
    return [{ id, failure: this.ledger.violated(id, violation, request, response) }];
  }

  #judge(response: Response): JudgedResponse {
    this.#durations.push((response.receivedAt - response.sentAt) / 1000);
    const violations = [];
    for (const { id, judge } of rules) {
      const verdict = judge(response, this.history);
      if (verdict === true) this.ledger.met(id, response);
      else if (verdict !== undefined)
        violations.push({ id, failure: this.ledger.violated(id, verdict, response.request, response) });
    }
    if (response.codings !== undefined && !permitsCoding(response.request))
      this.ledger.observe('service.compression', `yes, as ${response.codings}, perhaps by a proxy`, response);
    this.history.add(response);
    return { response, violations };
  }
}

/** The keys in every form in which a server may return them: in JSON, in a URL, and in the Basic scheme. */
function formsOf(keys: readonly string[]): readonly string[] {
  const forms = keys.flatMap((key) => [
    key,
    JSON.stringify(key).slice(1, -1),
    encodeURIComponent(key),
    inQuery(key).text,
    encoded(key).text,
    Buffer.from(key).toString('hex'),
    ...(['base64', 'base64url'] as const).map((form) => Buffer.from(key).toString(form)),
    ...[`${key}:`, `:${key}`].map((pair) => Buffer.from(pair).toString('base64')),
  ]);
  return [...new Set(forms)];
}
