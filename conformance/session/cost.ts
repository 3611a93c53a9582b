/** The number of requests that checks send. */

/** The value of --runs if it is not given. */
export const defaultRuns = 20;

/** Numbers of requests with a valid key, of those without one, and of creates. */
export type Amounts = Readonly<Record<'requests' | 'keyless' | 'creates', number>>;

/** What a check sends at most, not counting retries, shrinking and the shared requests of fixtures.ts. */
export interface Cost {
  readonly requests?: number;
  /** Requests without a valid key, not included in `requests`. */
  readonly keyless?: number;
  /** The number of animals that a conforming server creates. */
  readonly creates?: number;
  /** Skip the check in read-only runs: it sends requests that a server might respond to by creating an animal. */
  readonly writes?: true;
  /** In addition, for each generated case. There are `share` (default 1) times --runs cases. */
  readonly perCase?: { readonly requests: number; readonly creates?: number; readonly share?: number };
  /** The additional cost of the combinations that it sends. */
  readonly planned?: (options: CostOptions) => Amounts;
  /** The check brings a key to its limit, which needs --exhaust. */
  readonly exhausts?: true;
  /** The check needs many animals: `needMany` of fixtures.ts is called before it. */
  readonly many?: true;
  /** The check needs --plan. */
  readonly needsPlan?: true;
}

/** The number of generated cases of a check under `--runs`. */
export function generatedCasesOf({ perCase }: Cost, runs: number): number {
  return perCase === undefined ? 0 : Math.ceil(runs * (perCase.share ?? 1));
}

/** The options that determine what checks send. */
export interface CostOptions {
  readonly seed: number;
  readonly runs: number;
  /** Whether to send each kind of invalid key to each operation, and to change each character of the key. */
  readonly thoroughAuth: boolean;
  /** Whether animals may be created. */
  readonly write: boolean;
}

/** What a check sends at most under the options of a run. */
export function totalCost(cost: Cost, options: CostOptions): Amounts {
  const cases = generatedCasesOf(cost, options.runs);
  const planned = cost.planned?.(options) ?? { requests: 0, keyless: 0, creates: 0 };
  return {
    requests: Math.ceil((cost.requests ?? 0) + cases * (cost.perCase?.requests ?? 0)) + planned.requests,
    keyless: (cost.keyless ?? 0) + planned.keyless,
    creates: (cost.creates ?? 0) + cases * (cost.perCase?.creates ?? 0) + planned.creates,
  };
}
