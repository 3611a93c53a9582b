/** No history of a conforming server is judged a violation, however it fills the gaps; each kind of fault is. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { bearer } from '../../client/credentials.ts';
import { newPetText, statuses, type NewPet, type Pet, type PetStatus } from '../../client/pet.ts';
import type { Request } from '../../client/request.ts';
import { createPet, getPet, listPets } from '../../client/requests.ts';
import type { Response } from '../../client/response.ts';
import { response, start } from '../../testing/responses.ts';
import { apiKey } from '../../testing/servers.ts';
import { contradictionIn } from '../disputes.ts';
import { History } from '../history.ts';
import { animalRules } from './animals.ts';

const key = bearer(apiKey);

/** How a server fills the gaps. */
interface Policy {
  /** How long a replica takes to show a new animal, and a list is cached. */
  readonly lagMs: number;
  readonly cacheMs: number;
  /** The longest page. */
  readonly page: number;
  readonly order: 'newest' | 'oldest' | 'any';
  readonly shows: 'always' | 'if sent' | 'not in lists' | 'only in getPet';
  /** Whether statuses change by themselves. */
  readonly moves: boolean;
  /** Whether lone surrogates become U+FFFD in the store. */
  readonly replaces: boolean;
  /** The number of animals at the start. */
  readonly animals: number;
}

type Step =
  | { readonly create: NewPet; readonly byOther: boolean }
  /** From the end, if the number is negative. */
  | { readonly get: number }
  | { readonly list: { readonly limit?: number; readonly status?: PetStatus } }
  | { readonly wait: number }
  | { readonly move: number; readonly to: PetStatus };

/** An animal of the server. */
type Row = Pet & { readonly status: PetStatus; readonly wasSent: boolean; readonly at: number };

/** What a faulty server returns instead of its rows and its status. */
type Fault = (request: Request, rows: readonly Row[], all: readonly Row[]) => readonly Row[] | number;

const rowText = ({ id, ...pet }: Pet) => newPetText(pet).replace('{', `{"id":${id},`);

/** A server in memory, and the verdicts of a run against it. */
class Run {
  readonly history = new History();
  readonly violated = new Map<string, string>();
  readonly #policy: Policy;
  readonly #fault: Fault | undefined;
  readonly #rows: Row[] = [];
  readonly #cache = new Map<string, { readonly at: number; readonly rows: readonly Row[] }>();
  #now = start;
  #lists = 0;

  constructor(policy: Policy, fault?: Fault) {
    this.#policy = policy;
    this.#fault = fault;
    for (let i = 0; i < policy.animals; i++)
      this.#store({ name: `Rex ${i}`, categoryId: BigInt(i % 5), status: statuses[i % 3]! }, 0);
  }

  /** Sends the requests of the steps, and repeats those that are disputed. */
  async run(steps: readonly Step[]): Promise<void> {
    for (const [i, step] of steps.entries()) {
      this.#now += 3;
      if ('wait' in step) this.#now += step.wait;
      else if ('move' in step) this.#move(step);
      else if ('list' in step) this.#judge(listPets(key, step.list));
      else if ('get' in step) this.#judge(getPet(key, this.#idAt(step.get)));
      else if (step.byOther) this.#store(step.create, this.#now);
      else this.#judge(createPet(key, step.create));
      if (i % 10 === 9 || i === steps.length - 1) await this.#settle();
    }
  }

  #idAt(index: number): bigint {
    return this.history.ids().at(index % (this.history.count() || 1)) ?? 1n;
  }

  async #settle(): Promise<void> {
    for (const dispute of this.history.takeDisputes()) {
      const ask = async (request: Request) => {
        this.#now += 3;
        let response = this.#judge(request);
        for (let waited = 0; response.status === 404 && waited < 5_000; waited += 500) {
          this.#now += 500;
          response = this.#judge(request);
        }
        return response;
      };
      const wait = async (ms: number) => void (this.#now += ms);
      const found = await contradictionIn(dispute, ask, wait, this.history.filled);
      if (found !== undefined)
        this.violated.set(dispute.requirement, `${found.violation.required}; ${found.violation.received}`);
    }
  }

  #judge(request: Request): Response {
    const answered = this.#respond(request);
    for (const { id, judge } of animalRules) {
      const verdict = judge(answered, this.history);
      if (typeof verdict === 'object') this.violated.set(id, `${verdict.required}; ${verdict.received}`);
    }
    this.history.add(answered);
    return answered;
  }

  #respond(request: Request): Response {
    const found = this.#find(request);
    const result = this.#fault?.(request, found, this.#rows) ?? found;
    const at = this.#now;
    if (typeof result === 'number') return response({ request, status: result, at });
    if (request.operation === 'listPets')
      return response({ request, at, body: `[${result.map((row) => rowText(this.#shown(row, request))).join()}]` });
    const [row] = result;
    if (row === undefined) return response({ request, status: 404, at });
    const status = request.operation === 'createPet' ? 201 : 200;
    return response({ request, status, at, body: rowText(this.#shown(row, request)) });
  }

  #find(request: Request): readonly Row[] {
    const { lagMs, cacheMs, page, order } = this.#policy;
    if (request.operation === 'createPet') return [this.#store(request.sent as NewPet, this.#now)];
    const visible = this.#rows.filter(({ at }) => at === 0 || this.#now >= at + lagMs);
    if (request.operation === 'getPet') return visible.filter(({ id }) => id === request.petId);
    const { limit = 20, status } = request;
    const cached = this.#cache.get(request.target);
    if (cached !== undefined && this.#now < cached.at + cacheMs) return cached.rows;
    this.#lists++;
    const rank = ({ id }: Row) => (Number(id) * 7919 + this.#lists * 104_729) % 1009;
    const sorted = order === 'any' ? visible.toSorted((a, b) => rank(a) - rank(b)) : [...visible];
    if (order === 'newest') sorted.reverse();
    const rows = sorted.filter((row) => status === undefined || row.status === status).slice(0, Math.min(limit, page));
    this.#cache.set(request.target, { at: this.#now, rows });
    return rows;
  }

  #shown({ wasSent, at: _, status, ...row }: Row, { operation }: Request): Pet {
    const { shows, replaces } = this.#policy;
    const isShown =
      shows === 'always' ||
      (shows === 'if sent' && wasSent) ||
      (shows === 'not in lists' && operation !== 'listPets') ||
      (shows === 'only in getPet' && operation === 'getPet');
    const name = replaces && operation !== 'createPet' ? Buffer.from(row.name).toString() : row.name;
    return { ...row, name, ...(isShown && { status }) };
  }

  #store({ status, ...pet }: NewPet, at: number): Row {
    const id = BigInt(this.#rows.length + 1);
    const row = { id, ...pet, status: status ?? 'available', wasSent: status !== undefined, at };
    this.#rows.push(row);
    return row;
  }

  #move({ move, to }: { readonly move: number; readonly to: PetStatus }): void {
    const at = move % (this.#rows.length || 1);
    if (this.#policy.moves && this.#rows[at] !== undefined) this.#rows[at] = { ...this.#rows[at], status: to };
  }
}

const status = fc.constantFrom(...statuses);
const pet: fc.Arbitrary<NewPet> = fc.record(
  { name: fc.constantFrom('Rex', 'Rex ', 'half \ud83d', 'Größe', ''), categoryId: fc.bigInt(0n, 4n), status },
  { requiredKeys: ['name', 'categoryId'] },
);
const query = fc.record({ limit: fc.constantFrom(1, 2, 5, 10, 19, 20, 50, 100), status }, { requiredKeys: [] });
const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: fc.record({ list: query }), weight: 5 },
  { arbitrary: fc.record({ get: fc.nat(200) }), weight: 3 },
  { arbitrary: fc.record({ create: pet, byOther: fc.boolean() }), weight: 3 },
  { arbitrary: fc.record({ move: fc.nat(200), to: status }), weight: 2 },
  { arbitrary: fc.record({ wait: fc.constantFrom(100, 1_000, 6_000, 60_000) }), weight: 1 },
);
const steps = fc.array(step, { minLength: 1, maxLength: 60, size: 'max' });
const policy: fc.Arbitrary<Policy> = fc.record({
  lagMs: fc.constantFrom(0, 0, 700, 2_000),
  cacheMs: fc.constantFrom(0, 0, 1_000),
  page: fc.constantFrom(100, 100, 10),
  order: fc.constantFrom('newest', 'oldest', 'any'),
  shows: fc.constantFrom('always', 'always', 'if sent', 'not in lists', 'only in getPet'),
  moves: fc.boolean(),
  replaces: fc.boolean(),
  animals: fc.constantFrom(0, 3, 12, 12, 130),
});

test('no history of a conforming server is judged a violation', async () => {
  await fc.assert(
    fc.asyncProperty(policy, steps, async (policy, steps) => {
      const run = new Run(policy);
      await run.run(steps);
      assert.deepEqual([...run.violated], []);
    }),
    { numRuns: 100 },
  );
});

/** Requests after which each fault has shown itself: lists and gets of animals of each status, old and new. */
const coda: readonly Step[] = [
  ...statuses.map((status): Step => ({ create: { name: `Last ${status}`, categoryId: 1n, status }, byOther: false })),
  { wait: 6_000 },
  ...[-1, -2, -3, -4].map((get): Step => ({ get })),
  ...[{}, { limit: 5 }, { limit: 100 }].flatMap((list): Step[] => [
    { list },
    ...statuses.map((status): Step => ({ list: { ...list, status } })),
    { list },
  ]),
  ...Array.from({ length: 20 }, (_, get): Step => ({ get })),
];

const changed = (rows: readonly Row[], at: number, change: Partial<Row>) =>
  rows.map((row, i) => (i === at ? { ...row, ...change } : row));
const inList = (fault: Fault): Fault => (request, rows, all) =>
  request.operation === 'listPets' ? fault(request, rows, all) : rows;
const inGet = (fault: Fault): Fault => (request, rows, all) =>
  request.operation === 'getPet' ? fault(request, rows, all) : rows;
const soldAsPending = (rows: readonly Row[]) =>
  rows.map((row) => (row.status === 'sold' ? { ...row, status: 'pending' as const } : row));

describe('a violation', () => {
  const order = 'newest' as const;
  for (const [text, id, fault] of [
    ['the third row of a list has another name', 'animals.agree', inList((_, rows) => changed(rows, 2, { name: 'x' }))],
    ['the last row of a list has another category', 'animals.agree',
      inList((_, rows) => changed(rows, rows.length - 1, { categoryId: 9n }))],
    ['getPet shows another name', 'get.answers', inGet((_, rows) => changed(rows, 0, { name: 'x' }))],
    ['getPet shows another category', 'create.stored', inGet((_, rows) => changed(rows, 0, { categoryId: 9n }))],
    ['getPet shows another animal', 'get.answers',
      inGet(({ petId }, _, all) => all.filter(({ id }) => id === (petId! === 1n ? 2n : 1n)))],
    ['getPet returns 404', 'create.stored', inGet(() => 404)],
    ['getPet returns 400', 'get.answers', inGet(() => 400)],
    ['getPet returns 404 for sold animals', 'animals.agree',
      inGet((_, rows) => rows.filter(({ status }) => status !== 'sold'))],
    ['getPet shows sold as pending', 'animals.agree', inGet((_, rows) => soldAsPending(rows))],
    ['lists show sold as pending', 'animals.agree',
      inList(({ status }, rows) => (status === undefined ? soldAsPending(rows) : rows))],
    ['a sold animal is stored as pending', 'create.status',
      (request, rows) => (request.operation === 'createPet' ? rows : soldAsPending(rows))],
    ['a list repeats its first row', 'pet.unique-id',
      inList((_, rows) => (rows.length > 1 ? rows.with(-1, rows[0]!) : rows))],
    ['a list is empty', 'animals.agree', inList(({ status }, rows) => (status === undefined ? [] : rows))],
    ['a filter selects nothing', 'list.status', inList(({ status }, rows) => (status === 'sold' ? [] : rows))],
    ['a filter with a limit selects nothing', 'list.status-and-limit',
      inList(({ status, limit }, rows) => (status === 'sold' && limit === 5 ? [] : rows))],
    ['a filter lacks an animal', 'list.status',
      inList(({ status }, rows) => (status === 'sold' ? rows.filter(({ id }) => id % 4n !== 0n) : rows))],
    ['a filter selects from a page', 'list.status',
      inList(({ status, limit }, rows, all) =>
        status === undefined || limit !== undefined ? rows : all.slice(-20).filter((row) => row.status === status))],
    ['an animal appears under two statuses', 'list.status',
      inList(({ status, limit }, rows, all) =>
        status === 'sold' && limit === undefined ? all.slice(-20).map((row) => ({ ...row, status })) : rows)],
    ['an animal of another status appears in a filter', 'list.status',
      inList(({ status }, rows, all) => (status === 'sold' ? all.slice(-20) : rows))],
  ] as const satisfies readonly (readonly [string, string, Fault])[]) {
    test(text, async () => {
      const still = policy.map((policy) => ({ ...policy, moves: false, page: 100, shows: 'always' as const, order }));
      await fc.assert(
        fc.asyncProperty(still, steps, async (policy, steps) => {
          const run = new Run({ ...policy, animals: 30 + (policy.animals % 4) }, fault);
          await run.run([...steps, ...coda]);
          assert.ok(run.violated.has(id), JSON.stringify([...run.violated]));
        }),
        { numRuns: 4 },
      );
    });
  }

  test('an animal appears under two statuses, although lists show none', async () => {
    const fault = inList(({ status }, rows, all) => (status === 'sold' ? all.slice(-20) : rows));
    const hidden = policy.map((policy) => ({
      ...policy, moves: false, animals: 30, shows: 'not in lists' as const, order,
    }));
    await fc.assert(
      fc.asyncProperty(hidden, steps, async (policy, steps) => {
        const run = new Run(policy, fault);
        await run.run([...steps, ...coda]);
        assert.ok(run.violated.has('list.status'), JSON.stringify([...run.violated]));
      }),
      { numRuns: 4 },
    );
  });

  test('names both responses, with their times', async () => {
    const run = new Run(
      { lagMs: 0, cacheMs: 0, page: 100, order, shows: 'always', moves: false, replaces: false, animals: 0 },
      inGet((_, rows) => changed(rows, 0, { name: 'Max', status: 'sold' })),
    );
    await run.run([{ create: { name: 'Rex', categoryId: 1n, status: 'pending' }, byOther: false }, { get: 0 }]);
    assert.equal(
      run.violated.get('create.stored'),
      'animal 4 as in POST /pets at 12:00:11.321Z: {"id":4,"name":"Rex","categoryId":1,"status":"pending"}; ' +
        '{"id":4,"name":"Max","categoryId":1,"status":"sold"}, at 12:00:11.324Z',
    );
    assert.equal(
      run.violated.get('create.status'),
      'animal 4 as pending, as in POST /pets at 12:00:11.321Z; sold, at 12:00:11.324Z, in each of 3 attempts',
    );
  });
});
