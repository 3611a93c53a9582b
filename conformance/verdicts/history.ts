/**
 * What the responses of a run have shown, so that later responses can be compared. Other clients may write at the same
 * time.
 */
import { JsonObject } from '../client/json.ts';
import { mayBeSameName, statuses, type NewPet, type Pet, type PetStatus } from '../client/pet.ts';
import type { Moment, Response } from '../client/response.ts';
import { limitReading, type LimitReading } from '../client/limit-readings.ts';

/** The number of objects that are kept for observations, and the size of a body above which none of it is kept. */
const maxObjects = 300;
const maxBodyBytes = 64 * 1024;

export class History {
  readonly #created = new Map<bigint, { readonly sent: NewPet; readonly returned: Pet }>();
  readonly #listed = new Map<bigint, Pet>();
  readonly #firstSeen = new Map<bigint, Moment>();
  readonly #statuses = new Map<bigint, PetStatus | undefined>();
  readonly #petObjects: JsonObject[] = [];
  readonly #errors: JsonObject[] = [];
  readonly #refusals = new Map<string, Response>();
  /** The rate limit headers of all responses, in the order in which they arrived. */
  readonly readings: LimitReading[] = [];

  /** An animal that this run has created, as it was sent, or undefined. Its status may have changed since. */
  created(id: bigint): NewPet | undefined {
    return this.#created.get(id)?.sent;
  }

  /**
   * Whether an animal differs from how this run created it. It does not if it is as the 201 returned it: damage in the
   * create is one failure, not one in each later response.
   */
  differs(pet: Pet): boolean {
    const created = this.#created.get(pet.id);
    const same = (other: NewPet) => mayBeSameName(other.name, pet.name) && other.categoryId === pet.categoryId;
    return created !== undefined && !same(created.sent) && !same(created.returned);
  }

  /** The ids of the animals that this run has created, in order. */
  createdIds(): readonly bigint[] {
    return [...this.#created.keys()];
  }

  /** An animal as the latest list showed it, or undefined. */
  listed(id: bigint): Pet | undefined {
    return this.#listed.get(id);
  }

  /** The number of known animals, with a status if given. */
  count(status?: PetStatus): number {
    return status === undefined
      ? this.#statuses.size
      : [...this.#statuses.values()].filter((known) => known === status).length;
  }

  /** The number of statuses that known animals have. */
  statuses(): number {
    return statuses.filter((status) => this.count(status) > 0).length;
  }

  /** The categories of the listed animals. */
  categories(): readonly bigint[] {
    return [...new Set([...this.#listed.values()].map((pet) => pet.categoryId))];
  }

  /** The known ids in ascending order. */
  ids(): readonly bigint[] {
    return [...this.#firstSeen.keys()].sort((a, b) => (a < b ? -1 : 1));
  }

  /** When a response first showed an id, by the kit's clock in milliseconds, or undefined. */
  seenAt(id: bigint): number | undefined {
    return this.#firstSeen.get(id)?.at;
  }

  /** Whether an id was known when the request of a response was sent. */
  seenBefore(id: bigint, response: Response): boolean {
    const seen = this.#firstSeen.get(id);
    return seen !== undefined && seen.turn < response.sentTurn;
  }

  /** The first Pet objects of the run, unchanged. */
  petObjects(): readonly JsonObject[] {
    return this.#petObjects;
  }

  /** The first Errors of the run, unchanged. */
  errors(): readonly JsonObject[] {
    return this.#errors;
  }

  /** The latest 429 to the same operation with the same key, if no request was admitted since. */
  refusalBefore({ request, sentTurn }: Response): Response | undefined {
    const refusal = this.#refusals.get(`${request.credential.key} ${request.operation}`);
    return refusal !== undefined && refusal.receivedTurn < sentTurn ? refusal : undefined;
  }

  /** Adds a response, after it has been judged. */
  add(response: Response): void {
    const { request, status, json } = response;
    for (const pet of response.pets) this.#addPet(pet, response);
    const isKept = response.body.length <= maxBodyBytes;
    if (isKept) this.#petObjects.push(...response.petObjects.slice(0, maxObjects - this.#petObjects.length));
    if (request.operation === 'other') return;
    const isError = isKept && [400, 401, 404].includes(status) && json instanceof JsonObject;
    if (isError && this.#errors.length < maxObjects) this.#errors.push(json);
    const source = `${request.credential.key} ${request.operation}`;
    if (status === 429) this.#refusals.set(source, response.light());
    else if (this.refusalBefore(response) !== undefined) this.#refusals.delete(source);
    const reading = limitReading(response);
    if (reading !== undefined) this.readings.push(reading);
  }

  #addPet(pet: Pet, { request, receivedAt, receivedTurn }: Response): void {
    const { operation, sent } = request;
    if (!this.#firstSeen.has(pet.id)) this.#firstSeen.set(pet.id, { at: receivedAt, turn: receivedTurn });
    if (operation === 'listPets') this.#listed.set(pet.id, pet);
    if (operation === 'createPet' && sent !== undefined)
      this.#created.set(pet.id, { sent: { ...pet, ...sent }, returned: pet });
    if (pet.status !== undefined || !this.#statuses.has(pet.id)) this.#statuses.set(pet.id, pet.status ?? sent?.status);
  }
}
