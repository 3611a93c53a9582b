/**
 * Disputes: pairs of responses that disagree about something that may have changed. A status may change by itself, and
 * a server may cache lists for some seconds, so such a pair is not yet a violation. Both requests are repeated. Their
 * responses contradict each other only if they disagree in every attempt.
 */
import type { Pet, PetStatus } from '../client/pet.ts';
import { nameOf, type Request } from '../client/request.ts';
import { getPet } from '../client/requests.ts';
import type { Moment, Response } from '../client/response.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import type { Violation } from './results.ts';

/** How outdated a list may be at the first comparison. */
export const staleListMs = 2_000;

/** How often the requests of a dispute are repeated. */
const attempts = 3;

/** What one response shows of one animal. */
export interface Statement {
  readonly pet: Pet;
  /** The status in the response or, if it shows none, in the filter or the body of the request. */
  readonly status: PetStatus | undefined;
  readonly request: Request;
  readonly received: Moment;
}

export interface Dispute {
  /** The requirement that is violated if the responses to both requests contradict each other. */
  readonly requirement: RequirementId;
  readonly one: Request;
  readonly other: Request;
}

/** A time of the kit's clock, as `12:00:05.300Z`. */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString().slice(11);
}

/** Where and when something was received: `POST /pets at 12:00:05.300Z`. */
export function sourceOf({ request, received }: Statement): string {
  return `${nameOf(request)} at ${timeOf(received.at)}`;
}

/** What a response shows of each animal in it. */
export function statementsOf({ request, pets, receivedAt, receivedTurn }: Response): ReadonlyMap<bigint, Statement> {
  const implied = request.operation === 'createPet' ? request.sent?.status : request.status;
  const received = { at: receivedAt, turn: receivedTurn };
  return new Map(pets.map((pet) => [pet.id, { pet, status: pet.status ?? implied, request, received }]));
}

/** The requirement that is in dispute if two statements disagree; undefined if they agree or cannot be compared. */
export function disputed(one: Statement, other: Statement): RequirementId | undefined {
  if (one.status === other.status) return undefined;
  // A server need not show the status. But two responses to equal requests must both show it, or neither.
  const isOmitted = one.status === undefined || other.status === undefined;
  if (isOmitted && nameOf(one.request) !== nameOf(other.request)) return undefined;
  const operations = [one, other].map(({ request }) => request.operation);
  if (operations.includes('createPet')) return operations.includes('getPet') ? 'create.status' : undefined;
  const isList = !operations.includes('getPet');
  const filtered = [one, other].find(({ request, pet }) => request.status !== undefined && (isList || !pet.status));
  return filtered === undefined ? 'animals.agree' : filterRequirement(filtered.request);
}

/** The requirement that the filter of a list selects the right animals. A limit of 100 counts as none. */
export function filterRequirement({ limit = 100 }: Request): RequirementId {
  return limit === 100 ? 'list.status' : 'list.status-and-limit';
}

/** The number of elements of a list, or undefined if the response is not a list. */
export function lengthOf({ request, status, json }: Response): number | undefined {
  return request.operation === 'listPets' && status === 200 && Array.isArray(json) ? json.length : undefined;
}

/**
 * Whether a list shows every animal with its status: it is empty, or it has a filter and fewer animals than its limit.
 * In the second case, the server must have shown that it fills pages, because a page may be shorter than its limit
 * (section 4.1, gaps). `filled` is the largest limit of a page that was full.
 */
export function isComplete(response: Response, filled: number): boolean {
  const { limit = 20, status, open } = response.request;
  const length = lengthOf(response);
  if (length === undefined || open) return false;
  return length === 0 || (status !== undefined && length < limit && limit <= filled);
}

/**
 * Repeats the requests of a dispute. Returns the last response and the violation, or undefined if there is none.
 *
 * @param ask - sends a request
 * @param wait - waits before the requests are repeated
 * @param filled - as for `isComplete`
 */
export async function contradictionIn(
  { one, other }: Dispute,
  ask: (request: Request) => Promise<Response>,
  wait: (ms: number) => Promise<void>,
  filled: number,
): Promise<{ readonly response: Response; readonly violation: Violation } | undefined> {
  for (let attempt = 1; ; attempt++) {
    const before = await ask(one);
    // A create is not compared with an earlier one, because it makes another animal. getPet shows the new one.
    const isCreate = one.operation === 'createPet';
    const [created] = before.pets;
    if (isCreate && created === undefined) return undefined;
    const response = await ask(isCreate ? getPet(other.credential, created!.id) : other);
    const violation = compare(before, response, isCreate ? before : await ask(one), filled);
    if (violation === undefined) return undefined;
    if (attempt === attempts) return { response, violation };
    await wait(attempt * staleListMs);
  }
}

/** How a response contradicts those before and after it, if these agree with each other; undefined if it does not. */
function compare(before: Response, response: Response, after: Response, filled: number): Violation | undefined {
  const [said, later] = [statementsOf(response), statementsOf(after)];
  const filter = response.request.status;
  for (const [id, known] of statementsOf(before)) {
    const [other, again] = [said.get(id), later.get(id)];
    const isLacking = other === undefined && isComplete(response, filled) && [undefined, known.status].includes(filter);
    const isOther = other !== undefined && disputed(known, other) !== undefined;
    if (again?.status !== known.status || again === undefined || !(isLacking || isOther)) continue;
    const received = isLacking ? `${lengthOf(response)} animals without animal ${id}` : (other?.status ?? 'no status');
    return {
      required: `animal ${id} as ${known.status ?? 'one without a status'}, as in ${sourceOf(known)}`,
      received: `${received}, at ${timeOf(response.receivedAt)}, in each of ${attempts} attempts`,
    };
  }
  return undefined;
}
