/** What a check works with: it sends, requires, observes; and gives up where the server leaves nothing to judge. */
import * as fc from 'fast-check';
import { casesOf, type Check } from './check.ts';
import { nameOf, type Response, type Credential, type Request } from '../client/exchange.ts';
import { Fixtures } from './fixtures.ts';
import type { GapId } from '../requirements/gaps.ts';
import type { History } from '../verdicts/history.ts';
import { shortened } from '../client/json.ts';
import type { Failure } from '../report/report.ts';
import { Violated, Inconclusive } from '../verdicts/outcome.ts';
import type { Session } from './session.ts';
import { NoResponse, type Client } from '../client/client.ts';

/** How many cases more are tried to make a counterexample smaller: each is a request, or several. */
const maxShrinks = 100;

export class CheckContext {
  readonly fixtures: Fixtures;
  readonly #session: Session;
  readonly #check: Check;

  constructor(session: Session, check: Check) {
    this.#session = session;
    this.#check = check;
    this.fixtures = session.fixtures;
  }

  /** The valid key. */
  get key(): Credential {
    return this.#session.key;
  }

  /** The key that may be driven to its limit. */
  get exhaustKey(): Credential {
    return this.#session.exhaustKey;
  }

  /** The text of the valid key, for those who make near misses of it. */
  get secret(): string {
    return this.#session.options.apiKey;
  }

  get options(): Session['options'] {
    return this.#session.options;
  }

  /** Whether animals may be created. */
  get mayWrite(): boolean {
    return this.#session.mayWrite;
  }

  get history(): History {
    return this.#session.history;
  }

  get client(): Client {
    return this.#session.client;
  }

  /** How many cases --runs allows this check. */
  get cases(): number {
    return casesOf(this.#check.cost, this.#session.options.runs);
  }

  /** Waits, on the kit's clock. */
  async sleep(ms: number, why: string): Promise<void> {
    await this.#session.wait(ms, why);
  }

  /** The kit's clock, in milliseconds since 1970. */
  now(): number {
    return this.#session.clock.now();
  }

  /** The time of the server's clock, as far as its responses tell: milliseconds since 1970, never ahead of it. */
  serverTime(): number {
    return this.client.pacer(this.exhaustKey.key).serverTime(this.now());
  }

  /**
   * Sends a request within the limits and gives its response, which all rules have judged.
   *
   * @throws Violated where a rule of this check's own requirement is broken
   */
  async send(request: Request): Promise<Response> {
    const [response] = await this.#watched(async () => [await this.#session.client.send(request)]);
    return response!;
  }

  /** Waits until `count` requests have room in one window of the key. */
  async room(count: number): Promise<void> {
    await this.#session.client.room('main', count);
  }

  /** Sends all at once, whatever remains. A 429 is a response like others. */
  async together(requests: readonly Request[]): Promise<Response[]> {
    return this.#watched(() => this.#session.client.together(requests));
  }

  /** Sends now, whatever remains. */
  async sendNow(request: Request): Promise<Response> {
    const [response] = await this.together([request]);
    return response!;
  }

  /** What the requirement demands of this response. What came is the status, unless told. */
  require(kept: boolean, response: Response, required: string, came = `${response.status}`): void {
    const id = this.#check.requirement!;
    if (kept) this.#session.ledger.kept(id, response);
    else throw new Violated(this.#session.ledger.broken(id, { required, came }, response.request, response));
  }

  /** Tries every case; where some fail, the first failure is thrown after the last case. */
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
   * Tries the examples, then generates as many cases as the check's cost says, and makes the smallest of the one that fails. At
   * most once in a check: `--path` belongs to it. `show` writes a case for a person.
   */
  async forAll<T>(
    arbitrary: fc.Arbitrary<T>,
    show: (value: T) => string,
    body: (value: T) => Promise<void>,
    examples: readonly T[] = [],
  ): Promise<void> {
    const id = this.#check.requirement!;
    const { seed, path } = this.#session.options;
    const before = this.#session.ledger.mark(id);
    let smallest: { failure: Failure; value: T } | undefined;
    let shrinks = 0;
    let stop: unknown;
    const property = fc.asyncProperty(arbitrary, async (value) => {
      if (stop !== undefined || (smallest !== undefined && ++shrinks > maxShrinks)) return;
      try {
        await body(value);
      } catch (error) {
        if (error instanceof Violated) {
          smallest = { failure: error.failure, value };
          throw error;
        }
        // Whatever else it is, no smaller case could tell more: what was found so far stands.
        stop = error;
      }
    });
    const details = await fc.check(property, {
      seed,
      numRuns: examples.length + this.cases,
      examples: examples.map((value) => [value] as [T]),
      // A replay is the smallest case already; and a sequence that is replayed cannot be made smaller.
      ...(path !== undefined && { path: path.split('@')[0]!, endOnFailure: true }),
    });
    if (smallest !== undefined) {
      const shown = show(smallest.value);
      // A sequence is replayed by two paths: that of the case, and that of the commands which ran.
      const commands = /replayPath="([^"]+)"/.exec(shown)?.[1];
      const at = `${details.counterexamplePath ?? ''}${commands === undefined ? '' : `@${commands}`}`;
      const failure: Failure = {
        ...smallest.failure,
        smallestCase: this.#session.redact(shortened(shown, 4000)),
        replay: `--only ${id} --seed ${seed} --path ${at}`,
      };
      this.#session.ledger.settle(id, before, failure);
      throw new Violated(failure);
    }
    if (stop !== undefined) throw stop;
  }

  /** Tells how a gap is filled. The text is the same for the same behaviour, whatever the data. */
  observe(gap: GapId, text: string, example?: Response): void {
    this.#session.ledger.observe(gap, text, example);
  }

  /** Runs `ask`, and throws if a response broke this check's own requirement by a rule. */
  async #watched(ask: () => Promise<Response[]>): Promise<Response[]> {
    const id = this.#check.requirement;
    const before = id === undefined ? 0 : this.#session.ledger.failed(id);
    let responses: Response[];
    try {
      responses = await ask();
    } catch (error) {
      if (!(error instanceof NoResponse)) throw error;
      return this.#unanswered(error);
    }
    if (id !== undefined && this.#session.ledger.failed(id) > before) throw new Violated(this.#session.ledger.latest(id));
    return responses;
  }

  /** A request that breaks the connection is a failure; a server that is gone is none. */
  async #unanswered(error: NoResponse): Promise<never> {
    await this.#session.seeThatItLives(error);
    const id = this.#check.requirement;
    if (id === undefined) throw new Inconclusive(`no response to ${nameOf(error.request)}: ${error.message}`);
    throw new Violated(
      this.#session.ledger.broken(id, { required: 'a response', came: `none: ${error.message}` }, error.request, undefined),
    );
  }
}
