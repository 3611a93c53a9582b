/** What several checks need and the run makes once: one response of each kind, an animal, enough animals. */
import type { Response, Credential, Request } from '../client/exchange.ts';
import type { History } from '../verdicts/history.ts';
import { newPetText, statuses, type NewPet, type Pet } from '../client/pet.ts';
import { createPet, createPetOf, getPet, listOrders, listPets } from '../client/requests.ts';
import { Inconclusive, Skipped } from '../verdicts/outcome.ts';
import type { Client } from '../client/client.ts';

/** More than the largest limit. */
const crowd = 101;

/** How long a new animal may take to appear, since replicas lag. */
const lagMs = 5_000;

/** From then on `GET /pets/{petId}` may be gone (section 4.3). */
const removal = Date.UTC(2030, 11, 5);

interface FixtureOptions {
  /** Whether animals may be created. */
  readonly mayWrite: () => boolean;
  readonly categoryId?: bigint;
}

export class Fixtures {
  readonly #client: Client;
  readonly #history: History;
  readonly #options: FixtureOptions;
  readonly #key: Credential;
  readonly #now: () => number;
  readonly #sleep: (ms: number, why: string) => Promise<void>;
  readonly #once = new Map<string, Promise<unknown>>();
  #names = 0;
  #asked = 0;

  constructor(
    target: Client,
    history: History,
    options: FixtureOptions,
    key: Credential,
    now: () => number,
    sleep: (ms: number, why: string) => Promise<void>,
  ) {
    this.#client = target;
    this.#history = history;
    this.#options = options;
    this.#key = key;
    this.#now = now;
    this.#sleep = sleep;
  }

  /** What they cost at most, beside the animals that `crowd` creates. */
  static readonly cost = { requests: 20, creates: 8 };

  /** How many animals are created so that a list of 100 could have more, where so many are known. */
  static missingFrom(known: number): number {
    return Math.max(0, crowd - known);
  }

  /** A category that the server knows: the one that was told, or one of the animals listed, or 1. */
  get category(): bigint {
    return this.#options.categoryId ?? this.#history.categories()[0] ?? 1n;
  }

  /** The categories for generated animals. */
  get categories(): readonly bigint[] {
    return this.#options.categoryId === undefined ? this.#known : [this.#options.categoryId];
  }

  /** The categories listed before the run created any. */
  #known: readonly bigint[] = [1n];

  /** The first list has come. */
  listed(): void {
    const categories = this.#history.categories();
    if (categories.length > 0) this.#known = categories.slice(0, 10).sort((a, b) => (a < b ? -1 : 1));
  }

  /** A valid NewPet with a name of its own. */
  newPet(status?: NewPet['status']): NewPet {
    return { name: `Conformance ${++this.#names}`, categoryId: this.category, ...(status !== undefined && { status }) };
  }

  /**
   * A new animal.
   *
   * @throws Inconclusive where none may be created, or the server creates none
   */
  async created(wanted: NewPet = this.newPet()): Promise<Pet> {
    if (!this.#options.mayWrite()) throw new Inconclusive('it needs an animal of its own, and nothing may be created');
    const response = await this.#client.send(createPet(this.#key, wanted));
    const [made] = response.pets;
    if (made === undefined) throw new Inconclusive(`no animal could be created: ${response.status} for ${newPetText(wanted)}`);
    return made;
  }

  /**
   * An animal that exists, listed or new.
   *
   * @throws Inconclusive where there is none
   */
  async animal(): Promise<Pet> {
    return this.once('animal', async () => {
      const known = this.#history.ids()[0];
      return (known === undefined ? undefined : this.#history.listed(known)) ?? (await this.created());
    });
  }

  /** The id of an animal, or where there is none, one that no animal has. */
  async anyId(): Promise<bigint> {
    return this.#options.mayWrite() || this.#history.ids().length > 0 ? (await this.animal()).id : this.unknownId();
  }

  /** An id that no animal has, as far as one can tell: above all ids seen, within what every JSON reader can hold. */
  unknownId(): bigint {
    const largest = this.#history.ids().at(-1) ?? 0n;
    const guess = largest + 1_000_003n;
    return guess < 2n ** 53n ? guess : 999_999_999_989n;
  }

  /** Gets an animal that has been shown: for as long after that as replicas may lag, 404 is tried again. */
  async getCreated(id: bigint): Promise<Response> {
    const until = (this.#history.seenAt(id) ?? this.#now()) + lagMs;
    for (let ms = 100; ; ms *= 2) {
      const response = await this.#client.send(getPet(this.#key, id));
      const left = until - this.#now();
      if (response.status !== 404 || left <= 0) return response;
      await this.#sleep(Math.min(ms, left), 'a new animal may take a moment to appear');
    }
  }

  /** Whether `GET /pets/{petId}` has been removed, as it may be from 5 December 2030 on by the server's clock. */
  async getIsGone(): Promise<boolean> {
    return this.once('gone', async () => {
      if (this.#client.pacer('main').serverTime(this.#now()) < removal) return false;
      if (!this.#options.mayWrite() && this.#history.ids().length === 0) return true;
      // Where it is gone, the path is as unknown as any other.
      const response = await this.#client.send({ ...getPet(this.#key, (await this.animal()).id), operation: 'other', open: true });
      return response.status !== 200;
    });
  }

  /**
   * For checks of that operation.
   *
   * @throws Skipped where it has been removed
   */
  async needGet(): Promise<void> {
    if (await this.getIsGone()) throw new Skipped('the server has removed GET /pets/{petId}, as it may from 5 December 2030 on');
  }

  /** Sees to it that each status has two animals at least, where animals may be created. */
  async statuses(): Promise<void> {
    await this.once('statuses', async () => {
      for (const status of statuses) {
        await this.#client.send(listPets(this.#key, { status, limit: 100 }));
        // So many times and no more: a server with a fault may never show them.
        for (let i = 0; i < 2 && this.#options.mayWrite() && this.#history.count(status) < 2; i++)
          await this.created(this.newPet(status));
      }
    });
  }

  /** Sees to it that more than 100 animals are known to exist, where animals may be created. */
  async crowd(): Promise<void> {
    await this.statuses();
    await this.once('crowd', async () => {
      for (let missing = this.#options.mayWrite() ? Fixtures.missingFrom(this.#history.count()) : 0; missing > 0; missing--)
        await this.created(this.newPet(statuses[missing % 3]));
    });
  }

  /** One response of every kind that the key gets (401 and 429 apart), so that what every response owes is seen on all. */
  async tour(): Promise<void> {
    await this.once('tour', async () => {
      const requests: Request[] = [listPets(this.#key), listOrders(this.#key)];
      if (!(await this.getIsGone())) requests.push(getPet(this.#key, await this.anyId()), getPet(this.#key, this.unknownId()));
      if (this.#options.mayWrite()) requests.push(createPet(this.#key, this.newPet()), createPetOf(this.#key, '{}'));
      for (const request of requests) await this.#client.send(request);
    });
  }

  /** The operations that there are to ask, with any credential. */
  async operations(): Promise<readonly ((credential: Credential) => Request)[]> {
    const id = await this.anyId();
    const pet = this.newPet();
    const plain = ++this.#asked % 2 === 1;
    const requests = [
      // Now the plain list, now one with parameters: a server could forget the key of either.
      (credential: Credential) => (plain ? listPets(credential) : listPets(credential, { limit: 1, status: 'available' })),
      ...(this.#options.mayWrite() ? [(credential: Credential) => createPet(credential, pet)] : []),
      ...((await this.getIsGone()) ? [] : [(credential: Credential) => getPet(credential, id)]),
      listOrders,
    ];
    return requests.map((request) => (credential) => {
      const { mustBe, ...asked } = request(credential);
      return credential.key === 'none' || mustBe === undefined ? asked : { ...asked, mustBe };
    });
  }

  /** What `make` gives, made once in a run. */
  async once<T>(name: string, make: () => Promise<T>): Promise<T> {
    let made = this.#once.get(name) as Promise<T> | undefined;
    if (made === undefined) {
      made = make();
      this.#once.set(name, made);
      // What went wrong once is tried again by whoever needs it next.
      made.catch(() => this.#once.delete(name));
    }
    return made;
  }
}
