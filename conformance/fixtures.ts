/** What several checks need and the run makes once: one answer of each kind, an animal, enough animals. */
import type { Answer, Credential, Request } from './exchange.ts';
import type { History } from './history.ts';
import { newPetText, pet, statuses, type NewPet, type Pet } from './pet.ts';
import { createPet, createPetOf, getPet, listOrders, listPets } from './requests.ts';
import { Inconclusive } from './outcome.ts';
import type { Target } from './target.ts';

/** More than the largest limit. */
const crowd = 101;

/** How long a new animal may take to appear, and how often one looks: replicas lag (the waits double). */
export const lagMs = 5_000;
const lagStepsMs = [100, 200, 400, 800, 1_600, 1_900];

/** From then on `GET /pets/{petId}` may be gone (section 4.3). */
const removal = Date.UTC(2030, 11, 5);

export interface FixtureOptions {
  readonly write: boolean;
  readonly categoryId?: bigint;
}

export class Fixtures {
  readonly #target: Target;
  readonly #history: History;
  readonly #options: FixtureOptions;
  readonly #key: Credential;
  readonly #now: () => number;
  readonly #sleep: (ms: number, why: string) => Promise<void>;
  readonly #once = new Map<string, Promise<unknown>>();
  #names = 0;

  constructor(
    target: Target,
    history: History,
    options: FixtureOptions,
    key: Credential,
    now: () => number,
    sleep: (ms: number, why: string) => Promise<void>,
  ) {
    this.#target = target;
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
    if (!this.#options.write) throw new Inconclusive('it needs an animal of its own, and nothing may be created');
    const answer = await this.#target.send(createPet(this.#key, wanted));
    const made = answer.petObjects[0] && pet(answer.petObjects[0]);
    if (made === undefined) throw new Inconclusive(`no animal could be created: ${answer.status} for ${newPetText(wanted)}`);
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

  /** An id that no animal has, as far as one can tell: above all ids seen, within what every JSON reader can hold. */
  unknownId(): bigint {
    const largest = this.#history.ids().at(-1) ?? 0n;
    const guess = largest + 1_000_003n;
    return guess < 2n ** 53n ? guess : 999_999_999_989n;
  }

  /**
   * Gets an animal that has just been created: for as long as replicas may lag, 404 is tried again.
   */
  async getCreated(id: bigint): Promise<Answer> {
    for (const ms of [...lagStepsMs, undefined]) {
      const answer = await this.#target.send(getPet(this.#key, id));
      if (answer.status !== 404 || ms === undefined) return answer;
      await this.#sleep(ms, 'a new animal may take a moment to appear');
    }
    throw new Error('unreachable');
  }

  /** Whether `GET /pets/{petId}` has been removed, as it may be from 5 December 2030 on by the server's clock. */
  async getIsGone(): Promise<boolean> {
    return this.once('gone', async () => {
      if (this.#target.pacer('main').serverTime(this.#now()) < removal) return false;
      const answer = await this.#target.send(getPet(this.#key, (await this.animal()).id));
      return answer.status !== 200;
    });
  }

  /** Sees to it that each status has two animals at least, where animals may be created. */
  async statuses(): Promise<void> {
    await this.once('statuses', async () => {
      for (const status of statuses) {
        await this.#target.send(listPets(this.#key, { status, limit: 100 }));
        while (this.#options.write && this.#history.count(status) < 2) await this.created(this.newPet(status));
      }
    });
  }

  /** Sees to it that more than 100 animals are known to exist, where animals may be created. */
  async crowd(): Promise<void> {
    await this.statuses();
    await this.once('crowd', async () => {
      while (this.#options.write && this.#history.count() < crowd) await this.created(this.newPet(statuses[this.#names % 3]));
    });
  }

  /** One answer of every kind that the key gets (401 and 429 apart), so that what every answer owes is seen on all. */
  async tour(): Promise<void> {
    await this.once('tour', async () => {
      const { id } = await this.animal();
      const requests: Request[] = [listPets(this.#key), listOrders(this.#key)];
      if (!(await this.getIsGone())) requests.push(getPet(this.#key, id), getPet(this.#key, this.unknownId()));
      if (this.#options.write) requests.push(createPet(this.#key, this.newPet()), createPetOf(this.#key, '{}'));
      for (const request of requests) await this.#target.send(request);
    });
  }

  /** The operations that there are to ask, with any credential. */
  async operations(): Promise<readonly ((credential: Credential) => Request)[]> {
    const { id } = await this.animal();
    const pet = this.newPet();
    const requests = [
      (credential: Credential) => listPets(credential),
      ...(this.#options.write ? [(credential: Credential) => createPet(credential, pet)] : []),
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
    if (made === undefined) this.#once.set(name, (made = make()));
    return made;
  }
}
