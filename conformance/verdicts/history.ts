/** What the responses so far have told, so that one response can be held against another. Other clients may write meanwhile. */
import type { Moment, Response } from '../client/response.ts';
import { JsonObject } from '../client/json.ts';
import { statuses, type NewPet, type Pet, type PetStatus } from '../client/pet.ts';

/** The headers of one response, with the response they came in. */
export interface LimitReading {
  readonly key: Response['request']['credential']['key'];
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
  /** Milliseconds since 1970 by the server's Date, or by the kit's clock where it sends none. */
  readonly time: number;
  readonly response: Response;
}

/** How many objects are kept to look at. */
const maxShown = 300;

export class History {
  readonly #created = new Map<bigint, { readonly sent: NewPet; readonly answered: Pet }>();
  readonly #listed = new Map<bigint, Pet>();
  readonly #firstSeen = new Map<bigint, Moment>();
  readonly #known = new Map<bigint, PetStatus | undefined>();
  readonly #shown: JsonObject[] = [];
  readonly #errors: JsonObject[] = [];
  /** In the order in which the responses came. */
  readonly readings: LimitReading[] = [];

  /** The animal that a create of this run has made, as it was sent, or undefined. Its status may have moved since. */
  created(id: bigint): NewPet | undefined {
    return this.#created.get(id)?.sent;
  }

  /**
   * Whether a response shows an animal other than it was created. One that is as the 201 has shown it agrees with that: a damage there is one
   * failure, not one wherever the animal appears.
   */
  differs(shown: Pet): boolean {
    const created = this.#created.get(shown.id);
    const same = (a: NewPet) => a.name === shown.name && a.categoryId === shown.categoryId;
    return created !== undefined && !same(created.sent) && !same(created.answered);
  }

  /** The animals that this run has created, in their order. */
  createdIds(): readonly bigint[] {
    return [...this.#created.keys()];
  }

  /** The animal as a list has shown it last, or undefined. */
  listed(id: bigint): Pet | undefined {
    return this.#listed.get(id);
  }

  /** How many animals exist at least, of one status or of all. */
  count(status?: PetStatus): number {
    return status === undefined ? this.#known.size : [...this.#known.values()].filter((s) => s === status).length;
  }

  /** In how many of the three statuses there are animals. */
  statuses(): number {
    return statuses.filter((s) => this.count(s) > 0).length;
  }

  /** The categories of the animals seen. */
  categories(): readonly bigint[] {
    return [...new Set([...this.#listed.values()].map((p) => p.categoryId))];
  }

  /** The ids of the animals seen, smallest first. */
  ids(): readonly bigint[] {
    return [...this.#firstSeen.keys()].sort((a, b) => (a < b ? -1 : 1));
  }

  /** When a response showed an animal of that id first, by the kit's clock in milliseconds, or undefined. */
  seenAt(id: bigint): number | undefined {
    return this.#firstSeen.get(id)?.at;
  }

  /** Whether an animal of that id had been shown when the request of a response was sent. */
  seenBefore(id: bigint, response: Response): boolean {
    const seen = this.#firstSeen.get(id);
    return seen !== undefined && seen.turn < response.sentTurn;
  }

  /** The animals that responses have shown, as the objects they came as; not all of a long run. */
  shown(): readonly JsonObject[] {
    return this.#shown;
  }

  /** The Errors that came, as the objects they came as. */
  errors(): readonly JsonObject[] {
    return this.#errors;
  }

  /** Takes in a response, after it was judged. */
  add(response: Response): void {
    for (const pet of response.pets) {
      if (!this.#firstSeen.has(pet.id)) this.#firstSeen.set(pet.id, { at: response.receivedAt, turn: response.receivedTurn });
      if (response.request.operation === 'listPets') this.#listed.set(pet.id, pet);
      const sent = response.request.sent;
      if (response.request.operation === 'createPet' && sent !== undefined)
        this.#created.set(pet.id, { sent: { ...pet, ...sent }, answered: pet });
      if (pet.status !== undefined || !this.#known.has(pet.id)) this.#known.set(pet.id, pet.status ?? sent?.status);
    }
    if (this.#shown.length < maxShown) this.#shown.push(...response.petObjects);
    const error = [400, 401, 404].includes(response.status) && response.request.operation !== 'other' ? response.json : undefined;
    if (error instanceof JsonObject && this.#errors.length < maxShown) this.#errors.push(error);
    const [limit, remaining, reset] = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) =>
      response.integer(name),
    );
    if (response.request.operation !== 'other' && limit !== undefined && remaining !== undefined && reset !== undefined) {
      this.readings.push({
        key: response.request.credential.key,
        limit,
        remaining,
        reset,
        time: response.date ?? response.receivedAt,
        response: response.light(),
      });
    }
  }
}
