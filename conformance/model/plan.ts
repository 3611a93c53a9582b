/** Which combinations a run sends: a pairwise covering set for each operation, as far as the options allow. */
import type { Request } from '../client/request.ts';
import { getPet, listPets } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { defaultRuns, type Amounts, type CostOptions } from '../session/cost.ts';
import type { Violation } from '../verdicts/results.ts';
import { cover, coverage, type Combination } from './cover.ts';
import { bytesOf, createDimensions, createDraft } from './create.ts';
import { keyDimensions, keyQuotas } from './keys.ts';
import { draftOf, isAlone, type Dimension, type Draft, type Row, type World } from './model.ts';
import { getDimensions, listDimensions } from './reads.ts';

/** The options that determine which combinations a run sends. */
export interface CaseOptions extends CostOptions {
  /** Whether the server has removed getPet. */
  readonly getIsRemoved?: boolean;
}

type Of = NonNullable<Row['of']>;

interface Model {
  readonly name: string;
  readonly dimensions: readonly Dimension[];
  readonly draft: (world: World) => Draft;
  /** The requirement that a combination of accepted rows proves. */
  readonly provedBy: (combination: Combination) => Of;
  /** Whether the rows that are not accepted replace the valid key. */
  readonly isKeyless?: true;
  readonly most: number;
  /** The maximum number of combinations for a requirement or a gap, or of accepted rows only. */
  readonly quota: (of: Of | undefined) => number;
}

/** One combination: a request, and what the specification says about its response. */
export class Case {
  readonly of: Of;
  readonly model: Model;
  readonly combination: Combination;
  readonly #rows: readonly Row[];

  constructor(model: Model, combination: Combination) {
    this.model = model;
    this.combination = combination;
    this.#rows = combination.map((index, dimension) => model.dimensions[dimension]!.rows[index]!);
    this.of = this.#rows.find(isAlone)?.of ?? model.provedBy(combination);
  }

  /** The value that it is sent for, if it has one that must be refused or is open. */
  get value(): string | undefined {
    return this.#rows.find(isAlone)?.name;
  }

  /** The maximum number of requests and creates that it sends. */
  get cost(): Amounts {
    const isKeyless = this.model.isKeyless === true && this.#rows.some(isAlone);
    const isCreate = this.model.name === 'createPet' || this.#rows[0]!.name.startsWith('createPet');
    const mayCreate = isCreate && !isKeyless && this.#rows.every(({ expect }) => typeof expect !== 'object');
    const extra = (what: keyof Amounts) => this.#rows.reduce((sum, row) => sum + (row.extra?.[what] ?? 0), 0);
    return {
      requests: extra('requests') + Number(!isKeyless),
      keyless: extra('keyless') + Number(isKeyless),
      creates: extra('creates') + Number(mayCreate),
    };
  }

  /** Its values that are not plain: `status null, header names in lower case`. */
  get text(): string {
    const { dimensions } = this.model;
    return this.combination
      .flatMap((index, i) => (index === 0 ? [] : [`${dimensions[i]!.name} ${dimensions[i]!.rows[index]!.name}`]))
      .join(', ');
  }

  /** The same combination with the plain row of a dimension; undefined if it already has this row. */
  plainer(dimension: number): Case | undefined {
    if (this.combination[dimension] === 0) return undefined;
    return new Case(this.model, this.combination.with(dimension, 0));
  }

  /** The same combination without the accepted rows because of which it may be refused; undefined if there are none. */
  withoutRefusable(): Case | undefined {
    const isRefusable = (row: Row) => !isAlone(row) && row.mayBeRefused !== undefined;
    if (!this.#rows.some(isRefusable)) return undefined;
    return new Case(this.model, this.combination.map((index, i) => (isRefusable(this.#rows[i]!) ? 0 : index)));
  }

  request(world: World): Request {
    const made = this.#rows.reduce((draft, row) => row.change(draft, world), this.model.draft(world));
    const { fields: _, text, parameters, mustBe, limit, status, ...request } = made;
    const mayBeRefused = this.#rows.flatMap((row) => row.mayBeRefused ?? []);
    // A request must succeed if its rows only permit a refusal, and it is not refused.
    const mayFail = ({ expect, mayBeRefused }: Row) => expect !== 'accepted' && !(expect === 'open' && mayBeRefused);
    const isOpen = this.#rows.some(mayFail) || made.open;
    const body = this.model.name === 'createPet' ? bytesOf(made) : request.body;
    return {
      ...request,
      ...(body !== undefined && { body }),
      ...(parameters.length > 0 && { target: `${request.target}?${parameters.join('&')}` }),
      // An open parameter may change what the others mean.
      ...(made.open !== true && { ...(limit !== undefined && { limit }), ...(status !== undefined && { status }) }),
      ...(!isOpen && mustBe !== undefined && { mustBe }),
      ...(mayBeRefused.length > 0 && { mayBeRefused }),
      ...(this.text !== '' && { combines: this.text }),
    };
  }

  /** Whether the specification allows the status of a response; undefined if it is open, or if a rule judges it. */
  judge(response: Response): true | undefined | Violation {
    const { status } = response;
    const expect = this.#rows.find(isAlone)?.expect;
    // If other requests were sent with it, it is not sent again after a 429.
    if (typeof expect !== 'object' || status === 429) return undefined;
    const { refused } = expect;
    const isAny = refused === '4xx';
    const isMet = isAny ? status >= 400 && status < 500 && status !== 401 : refused.includes(status);
    return isMet || { required: isAny ? '400 or another 4xx' : refused.join(' or '), received: `${status}` };
  }
}

/** The combinations of a run for one operation. */
export interface CaseSet {
  readonly model: Model;
  readonly cases: readonly Case[];
}

/** The most generated values of a dimension. */
const maxGenerated = 25;

const caseSets = new Map<string, readonly CaseSet[]>();

/** The sets of a run, in the order of its checks. */
export function caseSetsOf(options: CaseOptions): readonly CaseSet[] {
  const { seed, runs, thoroughAuth, write, getIsRemoved = false } = options;
  const id = JSON.stringify([seed, runs, thoroughAuth, write, getIsRemoved]);
  let made = caseSets.get(id);
  if (made === undefined) {
    made = modelsOf(options).map((model) => caseSetOf(model, seed));
    caseSets.set(id, made);
  }
  return made;
}

/** The combinations that prove a requirement or show a gap. */
export function casesOf(caseSets: readonly CaseSet[], ...of: readonly Of[]): readonly Case[] {
  return caseSets.flatMap(({ cases }) => cases.filter((one) => of.includes(one.of)));
}

/** What these combinations cost. */
export function costOf(...of: readonly Of[]) {
  return (options: CaseOptions): Amounts => {
    const costs = casesOf(caseSetsOf(options), ...of).map(({ cost }) => cost);
    const sum = (what: keyof Amounts) => costs.reduce((total, cost) => total + cost[what], 0);
    return { requests: sum('requests'), keyless: sum('keyless'), creates: sum('creates') };
  };
}

/** The dimensions and rows of an operation, and how many of its pairs were covered. Part of report.json. */
export interface Combined {
  readonly operation: string;
  readonly dimensions: readonly string[];
  readonly values: number;
  readonly pairs: number;
  readonly possible: number;
  readonly requests: number;
  /** The values that were not used, grouped by reason. */
  readonly unused: readonly { readonly reason: string; readonly values: readonly string[] }[];
}

/** What these cases have combined, for each operation. */
export function combinedBy(caseSets: readonly CaseSet[], cases: ReadonlySet<Case>): readonly Combined[] {
  return caseSets.map(({ model, cases: planned }) => {
    const { name, dimensions } = model;
    const sent = planned.filter((one) => cases.has(one));
    const rows = dimensions.map((dimension) => dimension.rows);
    const isUsed = (at: number, index: number, by: readonly Case[]) => by.some((one) => one.combination[at] === index);
    const reasons = new Map<string, string[]>();
    rows.forEach((ofDimension, at) =>
      ofDimension.forEach((row, index) => {
        if (isUsed(at, index, sent)) return;
        const reason = isUsed(at, index, planned) ? 'its check did not send it' : 'the run sends too few combinations';
        reasons.set(reason, [...(reasons.get(reason) ?? []), `${dimensions[at]!.name} ${row.name}`]);
      }),
    );
    return {
      operation: name,
      dimensions: dimensions.map((dimension) => dimension.name),
      values: rows.flat().length,
      ...coverage(rows, sent.map(({ combination }) => combination)),
      requests: sent.length,
      unused: [...reasons].map(([reason, values]) => ({ reason, values })),
    };
  });
}

function caseSetOf(model: Model, seed: number): CaseSet {
  const { dimensions, most, quota } = model;
  const rows = dimensions.map((dimension) => dimension.rows);
  const combinations = cover(rows, { seed, most, quota });
  const cases = combinations.map((combination) => new Case(model, combination));
  // Invalid keys without a valid one between them are first: a server may refuse the next valid key after some of them.
  return { model, cases: model.isKeyless ? cases.toSorted((a, b) => a.cost.requests - b.cost.requests) : cases };
}

function modelsOf({ seed, runs, thoroughAuth, write, getIsRemoved = false }: CaseOptions): readonly Model[] {
  const share = Math.max(1, runs / defaultRuns);
  // More would cost more time to combine than to send; the checks that generate cases by --runs send the others.
  const generated = Math.min(maxGenerated, Math.ceil(runs / 4) - 2);
  const quota = (of: Of = 'auth.valid') => {
    const [usual, thorough, most] = keyQuotas[of] ?? [Infinity, Infinity];
    if (!thoroughAuth) return usual;
    return most === undefined ? thorough : Math.min(most, Math.ceil(thorough * share));
  };
  /** Leaves the other combinations to the rows that must be refused or are open. */
  const accepted = (most: number) => (of: Of | undefined) => (of === undefined ? Math.ceil(most * share) : Infinity);
  const keys: Model = {
    name: 'keys',
    dimensions: keyDimensions(seed, { create: write, get: !getIsRemoved, thorough: thoroughAuth }),
    draft: ({ key }) => draftOf(listPets(key)),
    provedBy: () => 'auth.valid',
    isKeyless: true,
    most: Infinity,
    quota,
  };
  const create: Model = {
    name: 'createPet',
    dimensions: createDimensions(seed, generated, thoroughAuth),
    draft: createDraft,
    provedBy: () => 'create.answers',
    most: Math.ceil(246 * share),
    quota: accepted(13),
  };
  const list: Model = {
    name: 'listPets',
    dimensions: listDimensions(seed, thoroughAuth),
    draft: ({ key }) => draftOf(listPets(key)),
    provedBy: ([limit, status]) => {
      if (limit === 0) return status === 0 ? 'list.answers' : 'list.status';
      return status === 0 ? 'list.limit-accepted' : 'list.status-and-limit';
    },
    most: Math.ceil(72 * share),
    quota: accepted(33),
  };
  const get: Model = {
    name: 'getPet',
    dimensions: getDimensions(thoroughAuth),
    draft: ({ key, id }) => draftOf(getPet(key, id)),
    provedBy: () => 'get.answers',
    most: Math.ceil(56 * share),
    quota: accepted(12),
  };
  return [keys, ...(write ? [create] : []), list, ...(getIsRemoved ? [] : [get])];
}
