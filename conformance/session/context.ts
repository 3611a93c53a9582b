/** What a check works with: sends requests, and records violations and observations. */
import * as fc from 'fast-check';
import { NoRequestsLeft, NoResponse, type Client } from '../client/client.ts';
import { shortened } from '../client/json.ts';
import { isOfHeaders, nameOf, type Credential, type Request } from '../client/request.ts';
import type { Response } from '../client/response.ts';
import { violationOf } from '../limits/judge.ts';
import type { GapId } from '../requirements/gaps.ts';
import type { World } from '../model/model.ts';
import { casesOf, caseSetsOf, type Case } from '../model/plan.ts';
import { requirements, type RequirementId } from '../requirements/requirements.ts';
import type { History } from '../verdicts/history.ts';
import { Inconclusive, Violated } from '../verdicts/outcome.ts';
import type { Failure, Violation } from '../verdicts/results.ts';
import { generatedCasesOf, type Cost } from './cost.ts';
import type { Fixtures } from './fixtures.ts';
import type { JudgedResponse, Session } from './session.ts';

/** The number of cases that are tried to find a smaller counterexample. */
const maxShrinks = 100;

/** The response to a combination, and the requirement or gap, and the value, that it is sent for. */
export interface CaseResponse extends Pick<Case, 'of' | 'value'> {
  readonly response: Response;
  /** What the response violates, unless a firewall has refused this value. */
  readonly excused?: Violation;
}

/** A response and what it violates. There is no response if the connection broke. */
interface Tried extends Partial<Pick<CaseResponse, 'response' | 'excused'>> {
  readonly violations: JudgedResponse['violations'];
}

export class CheckContext {
  readonly fixtures: Fixtures;
  /** The valid key. */
  readonly key: Credential;
  /** The key that may be brought to its limit. */
  readonly exhaustKey: Credential;
  readonly options: Session['options'];
  readonly history: History;
  readonly client: Client;
  readonly #session: Session;
  readonly #check: { readonly requirement?: RequirementId; readonly cost: Cost };

  constructor(session: Session, check: { readonly requirement?: RequirementId; readonly cost: Cost }) {
    this.#session = session;
    this.#check = check;
    this.fixtures = session.fixtures;
    this.key = session.key;
    this.exhaustKey = session.exhaustKey;
    this.options = session.options;
    this.history = session.history;
    this.client = session.client;
  }

  /** Whether animals may be created. */
  get mayWrite(): boolean {
    return this.#session.mayWrite;
  }

  /** Waits; the reason is printed. */
  async sleep(ms: number, reason: string): Promise<void> {
    await this.#session.clock.sleep(ms, reason);
  }

  /** The server's clock according to its Date headers, never ahead of it: milliseconds since 1970. */
  serverTime(): number {
    return this.client.serverClock.time(this.#session.clock.now());
  }

  /**
   * Sends a request within the limits of its key.
   *
   * @throws Violated if the response violates this check's requirement according to the rules
   */
  async send(request: Request): Promise<Response> {
    const [response] = await this.#judged(async () => [await this.#session.send(request)]);
    return response!;
  }

  /** Sends getPet for an animal that a response has shown, and again after a 404 while a replica may lag. */
  async getCreated(id: bigint): Promise<Response> {
    const [response] = await this.#judged(async () => [await this.#session.getCreated(id)]);
    return response!;
  }

  /** Sends requests at the same time, regardless of the limits. A 429 is a response like any other. */
  async sendTogether(requests: readonly Request[]): Promise<Response[]> {
    return this.#judged(() => this.#session.sendTogether(requests));
  }

  /**
   * Sends requests that a check can do without, at the same time and regardless of the limits. Returns no responses if
   * a connection breaks, or if the run may send no more of them.
   */
  async sendOptional(requests: readonly Request[]): Promise<readonly Response[]> {
    try {
      return (await this.#session.sendTogether(requests)).map(({ response }) => response);
    } catch (error) {
      if (error instanceof NoResponse || (error instanceof NoRequestsLeft && !error.forAll)) return [];
      throw error;
    }
  }

  /** Waits until the key has `count` requests left in one window. */
  async room(count: number): Promise<void> {
    await this.client.room('main', count);
  }

  /**
   * Records whether a response meets the requirement of the check, or another one.
   *
   * @throws Violated if it does not
   */
  require(
    met: boolean,
    response: Response,
    required: string,
    received = `${response.status}`,
    id = this.#check.requirement!,
  ): void {
    const { ledger } = this.#session;
    if (met) ledger.met(id, response);
    else throw new Violated(ledger.violated(id, { required, received }, response.request, response));
  }

  /**
   * Records whether the histories of the keys meet the requirement. Returns whether an exchange could have violated it.
   *
   * @throws Violated if one does not
   */
  requireHistory(id: RequirementId): boolean {
    let isJudged = false;
    for (const key of ['exhaust', 'main'] as const) {
      // No other client uses this key.
      const isExclusive = this.options.exhaust && key === this.exhaustKey.key;
      const { judged = [], contradiction } = this.history.limits.verdicts(key, isExclusive).get(id) ?? {};
      if (contradiction !== undefined) {
        const { required, received } = violationOf(this.history.limits.of(key), isExclusive, contradiction);
        this.require(false, contradiction.at.response, required, received);
      }
      for (const { response } of judged) this.require(true, response, '');
      isJudged ||= judged.length > 0;
    }
    return isJudged;
  }

  /** Tries every case, and throws the first failure after the last case. */
  async each<T>(cases: readonly T[], body: (value: T) => Promise<void>): Promise<void> {
    let first: Violated | undefined;
    for (const value of cases) {
      try {
        await body(value);
      } catch (error) {
        if (!(error instanceof Violated)) throw error;
        first ??= error;
      }
    }
    if (first !== undefined) throw first;
  }

  /**
   * Sends the combinations that prove these requirements or show these gaps. The first one that fails is reduced to the
   * smallest one that fails: its other values are replaced with plain ones.
   *
   * @throws Violated if a response violates this check's requirement, after the last combination
   */
  async sendCases(...of: readonly Case['of'][]): Promise<readonly CaseResponse[]> {
    return this.sendCasesAnd(async () => {}, ...of);
  }

  /** The same, and calls a function after each combination. */
  async sendCasesAnd(then: () => Promise<void>, ...of: readonly Case['of'][]): Promise<readonly CaseResponse[]> {
    const responses: CaseResponse[] = [];
    const getIsRemoved = await this.fixtures.getIsRemoved();
    this.#session.caseSets = caseSetsOf({ ...this.options, write: this.mayWrite, getIsRemoved });
    let isSpent = false;
    await this.each(casesOf(this.#session.caseSets, ...of), async (one) => {
      if (isSpent) return;
      this.#session.sentCases.add(one);
      const tried = await this.#try(one).catch((error: unknown) => {
        // A repetition, such as after a broken connection, was not planned. The other combinations are judged.
        isSpent = error instanceof NoRequestsLeft && !error.forAll && responses.length > 0;
        if (!isSpent) throw error;
      });
      if (tried === undefined) return;
      // If it is refused, perhaps because of some headers, the same request without them shows if they are the cause.
      const isRefused = tried.response !== undefined && isOfHeaders(tried.response.request, tried.response.status);
      const plain = isRefused ? one.withoutRefusable() : undefined;
      const again = await (plain && this.#try(plain))?.catch((error: unknown) => {
        if (!(error instanceof NoRequestsLeft)) throw error;
      });
      const [sent, { response, excused, violations }] = plain && again ? [plain, again] : [one, tried];
      if (response !== undefined)
        responses.push({ of: one.of, value: one.value, response, ...(excused !== undefined && { excused }) });
      await then();
      const own = violations.findLast(({ id }) => id === this.#check.requirement);
      const violation = own ?? violations[0];
      if (violation === undefined) return;
      const failure = await this.#smallest(sent, violation, violations);
      if (violation === own) throw new Violated(failure);
    });
    // A firewall refuses some values, and the service itself must refuse the others.
    const own = responses.filter((one) => one.of === this.#check.requirement);
    const excused = own.flatMap((one) => one.excused ?? []);
    if (excused.length > 0 && excused.length === own.length)
      this.require(false, own[0]!.response, excused[0]!.required, excused[0]!.received);
    return responses;
  }

  /** Sends a combination. */
  async #try(one: Case): Promise<Tried> {
    const { ledger } = this.#session;
    const request = one.request(this.#world);
    let judged: JudgedResponse;
    try {
      judged = await this.#sendOne(request);
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
      const failure = await this.#withoutResponse(error);
      return { violations: [{ id: this.#check.requirement!, failure }] };
    }
    const { response, violations } = judged;
    const id = requirements.find((requirement) => requirement.id === one.of)?.id;
    const judgement = one.judge(response);
    if (id === undefined || judgement === undefined) return judged;
    if (judgement === true) {
      ledger.met(id, response);
      return judged;
    }
    // Without a valid key, a 403 is more likely to be a wrong status than the refusal of a firewall.
    if (response.isOfProxy && request.credential.key !== 'none') return { ...judged, excused: judgement };
    const failure = ledger.violated(id, judgement, request, response);
    return { response, violations: [...violations, { id, failure }] };
  }

  async #sendOne(request: Request): Promise<JudgedResponse> {
    const { beside, isPipelined, before = [], credential: { key } } = request;
    if (beside === undefined) return this.#session.send(request);
    const connection = before.length > 0 ? this.client.connect() : undefined;
    try {
      for (const earlier of before) await this.#session.send({ ...earlier, ...(connection && { connection }) });
      await this.client.room(key, 1);
      await this.room(beside.length + 1);
      // In a pipeline it is the last one: a server may close the connection after it.
      const at = isPipelined ? beside.length : beside.length >> 1;
      const all = beside.toSpliced(at, 0, { ...request, ...(connection && { connection }) });
      return (await this.#session.sendTogether(all, isPipelined))[at]!;
    } finally {
      connection?.destroy();
    }
  }

  /** Replaces one value after another with the plain one, as long as the requirement is still violated. */
  async #smallest(
    one: Case,
    { id, failure }: JudgedResponse['violations'][number],
    all: JudgedResponse['violations'],
  ): Promise<Failure> {
    const { ledger, reduced } = this.#session;
    // A run must not send more requests without a valid key than it has announced.
    if (reduced.has(id) || one.request(this.#world).credential.key === 'none') return failure;
    reduced.add(id);
    const mark = ledger.mark(id, all.filter((violation) => violation.id === id).map((violation) => violation.failure));
    let [smallest, found] = [one, failure];
    try {
      for (const dimension of one.combination.keys()) {
        const plainer = smallest.plainer(dimension);
        if (plainer === undefined || plainer.cost.keyless > 0) continue;
        const again = (await this.#try(plainer)).violations.find((violation) => violation.id === id);
        if (again !== undefined) [smallest, found] = [plainer, again.failure];
      }
    } finally {
      ledger.keepOne(id, mark, found);
    }
    return found;
  }

  get #world(): World {
    const { fixtures, history, key } = this;
    const secret = this.options.apiKey;
    const unknownId = fixtures.unknownId();
    const id = history.ids()[0] ?? unknownId;
    const cookies = [...this.client.cookies.values()];
    return { key, secret, cookies, category: fixtures.category, id, unknownId, newPet: () => fixtures.newPet() };
  }

  /**
   * Tries generated cases, as many as the cost of the check says, and finds the smallest one that fails. A check calls
   * it once, because `--path` refers to it. `show` formats a case.
   */
  async forAll<T>(
    arbitrary: fc.Arbitrary<T>,
    show: (value: T) => string,
    body: (value: T) => Promise<void>,
  ): Promise<void> {
    const id = this.#check.requirement!;
    const { seed, runs, path } = this.#session.options;
    const mark = this.#session.ledger.mark(id);
    let stop: unknown;
    const property = fc.asyncProperty(fc.limitShrink(arbitrary, maxShrinks), async (value) => {
      // After the case of a path, fast-check tries the cases that follow it.
      if (stop !== undefined || (path !== undefined && this.#session.isReplayed)) return;
      this.#session.isReplayed = true;
      try {
        await body(value);
      } catch (error) {
        if (error instanceof Violated) throw error;
        // fast-check must not treat any other error as a counterexample.
        stop = error;
      }
    });
    let result;
    try {
      result = await fc.check(property, {
        seed,
        numRuns: generatedCasesOf(this.#check.cost, runs),
        // A replayed case is the smallest already.
        ...(path !== undefined && { path, endOnFailure: true }),
      });
    } catch (error) {
      if (path === undefined) throw error;
      return; // no case has this path
    }
    const { counterexample, counterexamplePath, errorInstance } = result;
    if (errorInstance instanceof Violated) {
      const failure: Failure = {
        ...errorInstance.failure,
        smallestCase: this.#session.redact(shortened(show(counterexample![0]), 4000)),
        replay: `--only ${id} --seed=${seed} --path ${counterexamplePath}`,
      };
      this.#session.ledger.keepOne(id, mark, failure);
      throw new Violated(failure);
    }
    if (stop !== undefined) throw stop;
  }

  /** Records how the server fills a gap, with the same text for the same behaviour. */
  observe(gap: GapId, behaviour: string, example?: Response): void {
    this.#session.ledger.observe(gap, behaviour, example);
  }

  /** Sends, and throws if a response violates this check's requirement. */
  async #judged(send: () => Promise<readonly JudgedResponse[]>): Promise<Response[]> {
    let judged: readonly JudgedResponse[];
    try {
      judged = await send();
    } catch (error) {
      if (error instanceof NoResponse) throw new Violated(await this.#withoutResponse(error));
      throw error;
    }
    const own = judged.flatMap(({ violations }) => violations).findLast(({ id }) => id === this.#check.requirement);
    if (own !== undefined) throw new Violated(own.failure);
    return judged.map(({ response }) => response);
  }

  /**
   * Records a failure of this check's requirement, because the request got no response although the server still runs.
   *
   * @throws Inconclusive if the check only observes gaps
   */
  async #withoutResponse(error: NoResponse): Promise<Failure> {
    await this.#session.assertAlive(error);
    const { request, message } = error;
    const id = this.#check.requirement;
    if (id === undefined) throw new Inconclusive(`no response to ${nameOf(request)}: ${message}`);
    const violation = { required: 'a response', received: `none: ${message}` };
    return this.#session.ledger.violated(id, violation, request, undefined);
  }
}
