/** Responses and animals that several checks need, made once for a run. */
import { randomUUID } from 'node:crypto';
import type { Client } from '../client/client.ts';
import type { Clock } from '../client/clock.ts';
import { newPetText, statuses, uniqueName, type NewPet, type Pet, type PetStatus } from '../client/pet.ts';
import type { Credential, Request } from '../client/request.ts';
import { createPet, createPetOf, getPet, listOrders, listPets, listPetsWithQuery, tryPet } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { withHeaders } from '../model/exchange.ts';
import { twinNames } from '../model/names.ts';
import type { History } from '../verdicts/history.ts';
import { Inconclusive, Skipped } from '../verdicts/outcome.ts';

/** The length of a name that makes a body longer than those of other requests. Some servers refuse longer ones. */
const longName = 200;

/** The number of animals of each status that `needMany` creates: in all, more than the largest limit. */
const ofEachStatus = 34;

/** The number of refused names after which `needMany` uses only its own. */
const maxRefused = 3;

/** The number of animals that a page has without a limit. */
const firstPage = 20;

/** From then on `GET /pets/{petId}` may be gone (docs/specification.md, section 4.3). */
const removal = Date.UTC(2030, 11, 5);

/** The part of a session that fixtures use. */
interface FixtureSession {
  readonly client: Client;
  readonly history: History;
  readonly key: Credential;
  readonly clock: Clock;
  readonly mayWrite: boolean;
  readonly options: { readonly categoryId?: bigint };
  send(request: Request): Promise<{ readonly response: Response }>;
}

export class Fixtures {
  readonly #session: FixtureSession;
  readonly #once = new Map<string, Promise<unknown>>();
  /** The categories listed before the run created any animal. */
  #listedCategories: readonly bigint[] = [1n];
  /** Distinguishes the names of this run from those of all others. */
  readonly #run = randomUUID().slice(0, 8);
  #names = 0;

  constructor(session: FixtureSession) {
    this.#session = session;
  }

  /** What the fixtures cost at most, not counting `needMany`. */
  static readonly cost = { requests: 20, creates: 2 };

  /**
   * The statuses of the animals that `needMany` would create now. None of the last ones is available, so that a filter
   * for available animals that searches only the newest page is empty. The others have all statuses in turn.
   */
  static missing(history: History): readonly PetStatus[] {
    const rounds = Array.from({ length: ofEachStatus }, (_, round) => round);
    const isMissing = (status: PetStatus, round: number) => round < ofEachStatus - history.count(status);
    const others = rounds.flatMap((round) =>
      (['pending', 'sold'] as const).filter((status) => isMissing(status, round)),
    );
    while (others.length < firstPage) others.push(others.length % 2 === 0 ? 'pending' : 'sold');
    const newest = others.splice(-firstPage);
    const inTurn = rounds.flatMap((round): readonly PetStatus[] => [
      ...(isMissing('available', round) ? (['available'] as const) : []),
      ...others.slice(2 * round, 2 * round + 2),
    ]);
    return [...inTurn, ...newest];
  }

  /** A category that the server accepts: the one of --category-id, or one of a listed animal, or 1. */
  get category(): bigint {
    return this.#session.options.categoryId ?? this.#session.history.categories()[0] ?? 1n;
  }

  /** The categories for generated animals. */
  get categories(): readonly bigint[] {
    const { categoryId } = this.#session.options;
    return categoryId === undefined ? this.#listedCategories : [categoryId];
  }

  /** Uses the categories of the animals listed so far for generated animals. */
  useListedCategories(): void {
    const categories = this.#session.history.categories();
    if (categories.length > 0) this.#listedCategories = categories.slice(0, 10).sort((a, b) => (a < b ? -1 : 1));
  }

  /** A valid NewPet with a unique name. */
  newPet(status?: NewPet['status']): NewPet {
    const name = uniqueName(this.#run, ++this.#names);
    return { name, categoryId: this.category, ...(status !== undefined && { status }) };
  }

  /**
   * A new animal.
   *
   * @throws Inconclusive if animals may not be created, or the server does not create it
   */
  async created(wanted: NewPet = this.newPet()): Promise<Pet> {
    if (!this.#session.mayWrite) throw new Inconclusive('the check needs a new animal, and no animals may be created');
    const response = await this.#send(createPet(this.#session.key, wanted));
    const [pet] = response.pets;
    if (pet === undefined)
      throw new Inconclusive(`no animal could be created: ${response.status} for ${newPetText(wanted)}`);
    return pet;
  }

  /**
   * An animal that exists: a listed one, or a new one.
   *
   * @throws Inconclusive if there is none
   */
  async animal(): Promise<Pet> {
    return this.once('animal', async () => {
      const { history } = this.#session;
      const known = history.ids()[0];
      return (known === undefined ? undefined : history.known(known)?.listed?.pet) ?? (await this.created());
    });
  }

  /** The id of an animal, or an unknown id if there is no animal and none can be created. */
  async anyId(): Promise<bigint> {
    try {
      return (await this.animal()).id;
    } catch (error) {
      if (!(error instanceof Inconclusive)) throw error;
      return this.unknownId();
    }
  }

  /** An id that probably no animal has: far above every known id, and below 2^53, which every JSON parser can read. */
  unknownId(): bigint {
    const largest = this.#session.history.ids().at(-1) ?? 0n;
    const guess = largest + 1_000_003n;
    return guess < 2n ** 53n ? guess : 999_999_999_989n;
  }

  /** Whether the server has removed `GET /pets/{petId}`, as it may from 5 December 2030 on, by the server's clock. */
  async getIsRemoved(): Promise<boolean> {
    return this.once('removed', async () => {
      const { client, clock, key } = this.#session;
      if (client.serverClock.time(clock.now()) < removal) return false;
      // As an unknown path, because the rules do not apply to a removed operation.
      const { status } = await this.#send({ ...getPet(key, await this.anyId()), operation: 'other', open: true });
      return status !== 200;
    });
  }

  /** @throws Skipped if the server has removed `GET /pets/{petId}` */
  async needGet(): Promise<void> {
    if (await this.getIsRemoved())
      throw new Skipped('the server has removed GET /pets/{petId}, as it may from 5 December 2030 on');
  }

  /** Creates animals, if allowed, until there are more than the largest limit, and many of each status and category. */
  async needMany(): Promise<void> {
    await this.once('many', async () => {
      const { mayWrite, history, key } = this.#session;
      for (const status of statuses) await this.#send(listPets(key, { status, limit: 100 }));
      const { categories } = this;
      let refused = 0;
      for (const [i, status] of (mayWrite ? Fixtures.missing(history) : []).entries()) {
        const pet = { ...this.newPet(status), categoryId: categories[i % categories.length]! };
        const name = refused < maxRefused ? twinNames[i] : undefined;
        if (name !== undefined) {
          if ((await this.#send(tryPet(key, { ...pet, name }))).pets.length > 0) continue;
          refused++;
        }
        await this.created(pet);
      }
    });
  }

  /** Sends requests that get a response of each kind, other than 401 and 429, for the rules to judge. */
  async oneOfEach(): Promise<void> {
    await this.once('one of each', async () => {
      const { key } = this.#session;
      for (const request of [...(await this.operations(key)), ...(await this.failing(key))]) await this.#send(request);
    });
  }

  /** A valid request of each operation. Without a key, the animal is unknown: a server may look for it first. */
  async operations(credential: Credential): Promise<readonly Request[]> {
    const [id = this.unknownId()] = credential.key === 'none' ? [] : this.#session.history.ids();
    return [
      ...(this.#session.mayWrite ? [createPet(credential, this.newPet())] : []),
      ...((await this.getIsRemoved()) ? [] : [getPet(credential, id)]),
      listPets(credential, { limit: 1, status: 'available' }),
      listOrders(credential),
    ];
  }

  /** Requests that a server may count more than once: a large page, a long name, filters, and another animal. */
  async costly(credential: Credential): Promise<readonly Request[]> {
    const { mayWrite, history } = this.#session;
    const pet = this.newPet();
    const create = tryPet(credential, { ...pet, name: pet.name.padEnd(longName, '.'), status: 'sold' });
    const id = history.ids().at(-1);
    return [
      listPets(credential, { limit: 100 }),
      ...(mayWrite ? [create] : []),
      listPets(credential),
      ...(id === undefined || (await this.getIsRemoved()) ? [] : [getPet(credential, id)]),
      ...(['pending', 'sold'] as const).map((status) => listPets(credential, { status, limit: 2 })),
    ];
  }

  /**
   * The same list as another client would send it: it differs in everything by which a server may tell clients apart.
   * Then the same list with other spellings of the scheme. A server may refuse these. The last one is the same list
   * with `Connection: close`.
   */
  byOtherClients(credential: Credential): readonly Request[] {
    const list = listPets(credential, { limit: 1 });
    const headers = {
      'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
      ...{ 'X-Forwarded-For': '203.0.113.7', 'X-Real-IP': '203.0.113.7', Cookie: 'session=7' },
      ...{ 'Accept-Language': 'fr', Origin: 'https://shop.example' },
      Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    };
    const { header = '', shell = '', key } = credential;
    const respelled = ['bearer ', 'Bearer  '].map((scheme): Request => {
      const [text, inShell] = [header, shell].map((one) => one.replace('Bearer ', scheme));
      const other = { header: text, shell: inShell, key: 'none', acceptedAs: key } as Credential;
      return { ...list, operation: 'other', open: true, credential: other, combines: `scheme "${scheme}"` };
    });
    const byOther = { ...withHeaders(headers)(list), mayBeRefused: ['4xx'], combines: 'as another client' } as const;
    const closing = { ...withHeaders({ Connection: 'close' })(list), combines: 'Connection: close' };
    return [byOther, ...respelled, closing];
  }

  /** Requests that fail although the key is valid. */
  async failing(credential: Credential): Promise<readonly Request[]> {
    return [
      ...((await this.getIsRemoved()) ? [] : [getPet(credential, this.unknownId())]),
      ...(this.#session.mayWrite ? [createPetOf(credential, '{}')] : []),
      listPetsWithQuery(credential, 'limit=abc'),
    ];
  }

  /** The result of `make`, which is called once in a run, and again only after an error. */
  async once<T>(name: string, make: () => Promise<T>): Promise<T> {
    let made = this.#once.get(name) as Promise<T> | undefined;
    if (made === undefined) {
      made = make();
      this.#once.set(name, made);
      made.catch(() => this.#once.delete(name));
    }
    return made;
  }

  async #send(request: Request): Promise<Response> {
    return (await this.#session.send(request)).response;
  }
}
