/** One run against one server: its target, what it has found, and whether it can go on. */
import type { Clock } from '../client/clock.ts';
import { bearer, inQuery, redactor } from '../client/credentials.ts';
import { nameOf, type Response, type Credential } from '../client/exchange.ts';
import { Fixtures } from './fixtures.ts';
import { History } from '../verdicts/history.ts';
import { Ledger } from '../verdicts/ledger.ts';
import { plans, type Plan } from '../client/pacing.ts';
import { createPet, listPets } from '../client/requests.ts';
import { requirementsNamed, type Profile, type RequirementId } from '../requirements/requirements.ts';
import { referenceRules } from '../verdicts/rules-reference.ts';
import { rules, type Rule } from '../verdicts/rules.ts';
import { NoResponse, Client, type Wait } from '../client/client.ts';

export interface SessionOptions {
  /** Ends in /v1, without a trailing slash. */
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly profile: Profile;
  /** Ids, or beginnings of ids, of what is to be checked; empty: all. */
  readonly only: readonly string[];
  readonly seed: number;
  readonly path?: string;
  readonly runs: number;
  readonly strict: boolean;
  readonly maxRequests?: number;
  /** Whether animals may be created; if not, whether the user has said so. */
  readonly write: boolean;
  readonly readOnly: boolean;
  readonly exhaust: boolean;
  readonly exhaustKey?: string;
  readonly plan?: Plan;
  readonly categoryId?: bigint;
}

/** The server could not be tested. One line that says why. */
export class Untestable extends Error {
  override readonly name = 'Untestable';
}

export class Session {
  readonly options: SessionOptions;
  readonly clock: Clock;
  readonly wait: Wait;
  readonly client: Client;
  readonly ledger: Ledger;
  readonly history = new History();
  readonly fixtures: Fixtures;
  readonly redact: (text: string) => string;
  readonly key: Credential;
  /** The key that --exhaust drives to its limit. */
  readonly exhaustKey: Credential;
  readonly startedAt: number;
  readonly #rules: readonly Rule[];
  /** How long the first response took. */
  secondsPerRequest = 0;
  /** Why no animal can be created, though it were allowed. */
  noCategory: string | undefined;
  /** Why nothing more is sent, once that is so. */
  halted: string | undefined;
  /** The server is gone. */
  lost: Untestable | undefined;

  constructor(options: SessionOptions, clock: Clock, wait: Wait) {
    this.options = options;
    this.clock = clock;
    this.wait = wait;
    this.startedAt = clock.now();
    const keys = [options.apiKey, ...(options.exhaustKey === undefined ? [] : [options.exhaustKey])];
    // As it is, and as a server may give it back: in JSON, from a URL, from the other scheme.
    this.redact = redactor([
      ...new Set(
        keys.flatMap((key) => [
          key,
          JSON.stringify(key).slice(1, -1),
          encodeURIComponent(key),
          inQuery(key).text,
          Buffer.from(`${key}:`).toString('base64'),
        ]),
      ),
    ]);
    this.key = bearer(options.apiKey);
    this.exhaustKey = options.exhaustKey === undefined ? this.key : bearer(options.exhaustKey, 'exhaust');
    this.client = new Client({
      baseUrl: options.baseUrl,
      clock,
      wait,
      ...(options.maxRequests !== undefined && { maxRequests: options.maxRequests }),
      ...(options.plan !== undefined && options.exhaustKey === undefined && { perMinute: plans[options.plan].perMinute }),
    });
    this.ledger = new Ledger(options.baseUrl, this.redact);
    this.#rules = options.profile === 'reference' ? [...rules, ...referenceRules(options.baseUrl)] : rules;
    this.client.onResponse((response) => this.#judge(response));
    this.fixtures = new Fixtures(
      this.client,
      this.history,
      { mayWrite: () => this.mayWrite, ...(options.categoryId !== undefined && { categoryId: options.categoryId }) },
      this.key,
      () => clock.now(),
      wait,
    );
  }

  /** Whether a requirement is to be checked. */
  wants(id: RequirementId): boolean {
    const { only } = this.options;
    return only.length === 0 || only.some((start) => requirementsNamed(start).includes(id));
  }

  /**
   * The first request: is there a server, and does it take the key?
   *
   * @throws Untestable
   */
  async open(): Promise<void> {
    const { baseUrl } = this.options;
    for (const [key, option] of [
      [this.key, 'API_KEY'],
      ...(this.exhaustKey === this.key ? [] : [[this.exhaustKey, '--exhaust-key'] as const]),
    ] as const) {
      let response: Response;
      try {
        response = await this.client.send(listPets(key, { limit: 100 }));
      } catch (error) {
        throw new Untestable(
          error instanceof NoResponse ? `no response from ${baseUrl}: ${error.message}` : (error as Error).message,
        );
      }
      this.secondsPerRequest = (response.receivedAt - response.sentAt) / 1000;
      if (response.status === 401 || response.status === 403)
        throw new Untestable(`${baseUrl} refuses the key of ${option} (${response.status})`);
      if (response.status === 404) throw new Untestable(`${baseUrl}/pets is answered with 404; is that the base URL?`);
    }
    this.fixtures.listed();
    if (this.mayWrite && this.options.categoryId === undefined && this.history.categories().length === 0)
      await this.#tryCategory();
  }

  /** Whether animals may be created, and the kit knows how. */
  get mayWrite(): boolean {
    return this.options.write && this.noCategory === undefined;
  }

  /** Where no animal is listed whose category could be used, one is guessed; and a server may refuse it. */
  async #tryCategory(): Promise<void> {
    const { mustBe: _, ...guess } = createPet(this.key, this.fixtures.newPet());
    const { status } = await this.client.send(guess);
    if (status !== 201)
      this.noCategory = `no category is known that the server takes (${this.fixtures.category} was answered with ${status}): --category-id`;
  }

  /**
   * A request broke its connection; is the server still there?
   *
   * @throws Untestable where it is not
   */
  async seeThatItLives(error: NoResponse): Promise<void> {
    try {
      await this.client.send(listPets(this.key, { limit: 1 }));
    } catch (second) {
      if (!(second instanceof NoResponse)) throw second;
      this.lost = new Untestable(`${this.options.baseUrl} responses no more: ${error.message}, in ${nameOf(error.request)}`);
      throw this.lost;
    }
  }

  #judge(response: Response): void {
    for (const rule of this.#rules) {
      const found = rule.judge(response, this.history);
      if (found === undefined) continue;
      if (found === true) this.ledger.kept(rule.id, response);
      else this.ledger.broken(rule.id, found, response.request, response);
    }
    this.history.add(response);
  }
}
