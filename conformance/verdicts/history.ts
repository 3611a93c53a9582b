/**
 * The history of a run: what its responses have shown so far, so that later responses can be compared with it. Other
 * clients may write at the same time.
 */
import { JsonObject } from '../client/json.ts';
import { isUniqueName, statuses, type NewPet, type PetStatus } from '../client/pet.ts';
import type { Request } from '../client/request.ts';
import { getPet } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { LimitHistory } from '../limits/history.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import {
  disputed,
  filterRequirement,
  isComplete,
  lengthOf,
  statementsOf,
  type Dispute,
  type Statement,
} from './disputes.ts';

/** The number of Errors that are kept for observations, and the size of a body above which it is not kept. */
const maxErrors = 300;
const maxBodyBytes = 64 * 1024;

/**
 * The 4xx after which a create may have added an animal: the server cannot represent it (406), the request was late
 * (408), or the animal exists already (409).
 */
const unclearStatuses = [406, 408, 409];

/** How long a replica may take to show a new animal. */
export const replicaLagMs = 5_000;

/** Statuses are compared only if they are shown within this time, because they may change. */
const recentMs = 10_000;

/** What is known of an animal. */
interface KnownAnimal {
  /** The first response that showed it; the 201 if this run created it. */
  readonly first: Statement;
  /** The first list that showed it. */
  listed?: Statement;
  /** The animal as it was sent, if this run created it. Its status may have changed since. */
  readonly sent?: NewPet | undefined;
  /** The latest status that was shown or sent. */
  status: PetStatus | undefined;
  /** The latest statement of each kind of response. */
  readonly statements: Map<string, Statement>;
}

export class History {
  readonly #known = new Map<bigint, KnownAnimal>();
  readonly #disputes = new Map<string, Dispute>();
  /** The largest limit of a page that was full. */
  filled = 0;
  /** The first Errors of the run, unchanged. */
  readonly errors: JsonObject[] = [];
  readonly #refusals = new Map<string, Response>();
  /** The response with which each create with a unique name was refused, by this name. */
  readonly refusedCreates = new Map<string, Response>();
  /** The ids of the created animals with a unique name, by this name; undefined if unknown ones may have it. */
  readonly idsOfName = new Map<string, readonly bigint[] | undefined>();
  /** The rate limit headers of all responses. */
  readonly limits = new LimitHistory();

  /** What is known of an animal, if anything. */
  known(id: bigint): KnownAnimal | undefined {
    return this.#known.get(id);
  }

  /** The ids of the animals that this run has created, in order. */
  createdIds(): readonly bigint[] {
    return [...this.#known].flatMap(([id, { sent }]) => (sent === undefined ? [] : [id]));
  }

  /** The number of known animals, with a status if given. */
  count(status?: PetStatus): number {
    if (status === undefined) return this.#known.size;
    return [...this.#known.values()].filter((known) => known.status === status).length;
  }

  /** The statuses that known animals have. */
  statuses(): readonly PetStatus[] {
    return statuses.filter((status) => this.count(status) > 0);
  }

  /** The categories of the listed animals. */
  categories(): readonly bigint[] {
    return [...new Set([...this.#known.values()].flatMap(({ listed }) => listed?.pet.categoryId ?? []))];
  }

  /** The known ids in ascending order. */
  ids(): readonly bigint[] {
    return [...this.#known.keys()].sort((a, b) => (a < b ? -1 : 1));
  }

  /** The first response with an animal, if it arrived before the request of another response was sent. */
  shownBefore(id: bigint, response: Response): Statement | undefined {
    const first = this.#known.get(id)?.first;
    return first !== undefined && first.received.turn < response.sentTurn ? first : undefined;
  }

  /** The disputes since the last call: the latest one for each requirement and pair of kinds of responses. */
  takeDisputes(): readonly Dispute[] {
    const disputes = [...this.#disputes.values()];
    this.#disputes.clear();
    return disputes;
  }

  /** The latest 429 to the same operation with the same key, if no request was admitted since. */
  refusalBefore({ request, sentTurn }: Response): Response | undefined {
    const refusal = this.#refusals.get(`${request.credential.key} ${request.operation}`);
    return refusal !== undefined && refusal.receivedTurn < sentTurn ? refusal : undefined;
  }

  /** Several animals may get the name of a create, because it is sent again or its outcome is unclear. */
  expectDuplicates({ operation, sent }: Request): void {
    if (operation === 'createPet' && sent?.name !== undefined) this.idsOfName.set(sent.name, undefined);
  }

  /** Adds a response, after it has been judged. */
  add(response: Response): void {
    const { request, status, json } = response;
    // Whether two keys have the same animals is a gap (section 5).
    if (request.credential.key === 'main') this.#addPets(response);
    const { key, acceptedAs = 'none' } = request.credential;
    // Another spelling of a key that the server accepts.
    if (request.operation === 'other' && (acceptedAs === key || status < 300) && acceptedAs !== 'none')
      this.limits.add(response);
    if (request.operation === 'other') return;
    const { name = '' } = request.sent ?? {};
    // A repeated create may be refused because the server has stored the animal at the first attempt.
    const isRepeated = request.repeats === true || request.isSentAgain === true;
    const isRefused = status >= 400 && status < 500 && !unclearStatuses.includes(status) && !response.isForeign;
    const mayBeSentAgain = status === 429 && request.isSentOnce !== true;
    if (request.operation === 'createPet' && isUniqueName(name)) {
      const known = this.idsOfName.has(name) ? this.idsOfName.get(name) : [];
      const [created] = response.pets;
      if (created !== undefined) {
        this.idsOfName.set(name, isRepeated ? undefined : known?.concat(created.id));
        this.refusedCreates.delete(name);
      } else if (!isRefused || isRepeated) this.expectDuplicates(request);
      else if (!mayBeSentAgain && known?.length === 0) this.refusedCreates.set(name, response.light());
    }
    const isKept = response.body.length <= maxBodyBytes && this.errors.length < maxErrors;
    if (isKept && [400, 401, 404].includes(status) && json instanceof JsonObject) this.errors.push(json);
    const source = `${request.credential.key} ${request.operation}`;
    if (status === 429) this.#refusals.set(source, response.light());
    else if (this.refusalBefore(response) !== undefined) this.#refusals.delete(source);
    this.limits.add(response);
  }

  #addPets(response: Response): void {
    const { request, sentAt } = response;
    const { limit = 20, open } = request;
    if (lengthOf(response) === limit && !open) this.filled = Math.max(this.filled, limit);
    if (isComplete(response, this.filled)) this.#addAbsent(response);
    for (const [id, statement] of statementsOf(response)) {
      const known = this.#knownOf(id, statement);
      for (const other of known.statements.values())
        if (sentAt - other.received.at <= recentMs) this.#dispute(disputed(other, statement), other.request, request);
      known.statements.set(kindOf(request), statement);
    }
  }

  /** The record of an animal that a response shows. */
  #knownOf(id: bigint, statement: Statement): KnownAnimal {
    const { pet, request } = statement;
    const sent = request.operation === 'createPet' && request.sent ? { ...pet, ...request.sent } : undefined;
    let known = this.#known.get(id);
    if (known === undefined || sent !== undefined) {
      known = { first: statement, sent, status: undefined, statements: new Map() };
      this.#known.set(id, known);
    }
    if (request.operation === 'listPets') known.listed ??= statement;
    known.status = pet.status ?? sent?.status ?? known.status;
    return known;
  }

  /** Adds a dispute for each animal that a complete list lacks: the latest response with it may be outdated. */
  #addAbsent({ request, pets, sentTurn }: Response): void {
    const present = new Set(pets.map(({ id }) => id));
    const requirement = request.status === undefined ? 'animals.agree' : filterRequirement(request);
    for (const [id, { status, statements }] of this.#known) {
      const all = [...statements.values()];
      const latest = all.reduce((one, other) => (one.received.turn > other.received.turn ? one : other));
      const isWanted = request.status === undefined || status === request.status;
      if (!isWanted || present.has(id) || latest.received.turn > sentTurn) continue;
      const isCreate = latest.request.operation === 'createPet';
      this.#dispute(requirement, isCreate ? getPet(request.credential, id) : latest.request, request);
    }
  }

  #dispute(requirement: RequirementId | undefined, one: Request, other: Request): void {
    if (requirement !== undefined)
      this.#disputes.set(`${requirement} ${kindOf(one)} ${kindOf(other)}`, { requirement, one, other });
  }
}

/** The kind of a response. A statement is compared only with the latest one of each kind. */
function kindOf({ operation, status }: Request): string {
  return operation === 'listPets' && status !== undefined ? 'a filter' : operation;
}
