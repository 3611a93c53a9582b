/**
 * Disputes: two responses that contradict each other, unless an animal has changed in between, or one of them is
 * outdated. A status may change by itself, and a server may cache lists for some seconds, so both requests are
 * repeated. They contradict each other only if they do so in every attempt.
 */
import type { PetStatus } from '../client/pet.ts';
import { nameOf, type Request } from '../client/request.ts';
import { getPet } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import type { Violation } from './results.ts';

/** How outdated a list may be at the first comparison. */
export const staleListMs = 2_000;

/** How often the requests of a dispute are repeated. */
const attempts = 3;

/** What a response says about the status of an animal. */
export interface Statement {
  readonly request: Request;
  /** undefined if the response shows no status. */
  readonly status: PetStatus | undefined;
  /** Whether it shows the status. Otherwise the filter or the body of the request contains it. */
  readonly isShown: boolean;
  /** The kit's clock when the response arrived. */
  readonly at: number;
}

export interface Dispute {
  /** The requirement that is violated if they contradict each other. */
  readonly requirement: RequirementId;
  readonly one: Request;
  readonly other: Request;
}

/** A time of the kit's clock, as `12:00:05.300Z`. */
export function timeOf(ms: number): string {
  return new Date(ms).toISOString().slice(11);
}

/** What a response says about the status of each animal in it. */
export function statementsOf(response: Response): ReadonlyMap<bigint, Statement> {
  const { request, receivedAt: at } = response;
  const implied = request.operation === 'createPet' ? request.sent?.status : request.status;
  return new Map(
    response.pets.map(({ id, status }) => [
      id,
      { request, status: status ?? implied, isShown: status !== undefined, at },
    ]),
  );
}

/** The requirement that two statements violate if they contradict each other; undefined if they do not. */
export function disputed(one: Statement, other: Statement): RequirementId | undefined {
  if (one.status === other.status) return undefined;
  // A server need not show the status in every response, but whether it does so depends only on the request.
  const isOmitted = one.status === undefined || other.status === undefined;
  if (isOmitted && nameOf(one.request) !== nameOf(other.request)) return undefined;
  const operations = [one, other].map(({ request }) => request.operation);
  if (operations.includes('createPet')) return operations.includes('getPet') ? 'create.status' : undefined;
  const isList = !operations.includes('getPet');
  const filtered = [one, other].find(({ request, isShown }) => request.status !== undefined && (isList || !isShown));
  return filtered === undefined ? 'animals.agree' : filterRequirement(filtered.request);
}

/** The requirement that the filter of a list selects the right animals. The largest limit does not restrict it. */
export function filterRequirement({ limit = 100 }: Request): RequirementId {
  return limit === 100 ? 'list.status' : 'list.status-and-limit';
}

/** The number of elements of a list, or undefined if the response is not a list. */
export function lengthOf({ request, status, json }: Response): number | undefined {
  return request.operation === 'listPets' && status === 200 && Array.isArray(json) ? json.length : undefined;
}

/**
 * Whether a list must contain every animal with its status: it is empty, or it has a filter, and fewer animals than its
 * limit, although the server fills pages. `filled` is the largest limit of a page that was full. A page may be shorter
 * than its limit (section 4.1, gaps).
 */
export function isComplete(response: Response, filled: number): boolean {
  const { limit = 20, status, open } = response.request;
  const length = lengthOf(response);
  if (length === undefined || open) return false;
  return length === 0 || (status !== undefined && length < limit && limit <= filled);
}

/** How to confirm a dispute. */
interface Asking {
  /** Sends a request. */
  readonly ask: (request: Request) => Promise<Response>;
  /** Waits before the requests are repeated. */
  readonly wait: (ms: number) => Promise<void>;
  /** As for `isComplete`. */
  readonly filled: number;
}

/** Repeats the requests of a dispute. Returns the last response, and what it violates, or undefined if nothing. */
export async function contradictionIn(
  { one, other }: Dispute,
  { ask, wait, filled }: Asking,
): Promise<{ readonly response: Response; readonly violation: Violation } | undefined> {
  for (let attempt = 1; ; attempt++) {
    const before = await ask(one);
    // A create makes another animal each time, so nothing can be asked once more.
    const isCreate = one.operation === 'createPet';
    const [created] = before.pets;
    if (isCreate && created === undefined) return undefined;
    const response = await ask(isCreate ? getPet(other.credential, created!.id) : other);
    const violation = compare(before, response, isCreate ? undefined : await ask(one), filled);
    if (violation === undefined) return undefined;
    if (attempt === attempts) return { response, violation };
    await wait(attempt * staleListMs);
  }
}

/** A contradiction of a response to those before and after it, which agree with each other. */
function compare(
  before: Response,
  response: Response,
  after: Response | undefined,
  filled: number,
): Violation | undefined {
  const said = statementsOf(response);
  const later = after && statementsOf(after);
  for (const [id, known] of statementsOf(before)) {
    const again = later?.get(id);
    if (later !== undefined && (again === undefined || again.status !== known.status)) continue;
    const other = said.get(id);
    const received = other === undefined ? absence(id, response, known, filled) : difference(known, other);
    if (received === undefined) continue;
    const status = known.status === undefined ? 'without a status' : `as ${known.status}`;
    const times = [known, ...(again === undefined ? [] : [again])].map(({ at }) => timeOf(at)).join(' and ');
    return {
      required: `animal ${id} ${status}, as in ${nameOf(known.request)} at ${times}`,
      received: `${received}, at ${timeOf(response.receivedAt)}, in each of ${attempts} attempts`,
    };
  }
  return undefined;
}

function difference(known: Statement, other: Statement): string | undefined {
  return disputed(known, other) && (other.status ?? 'no status');
}

function absence(id: bigint, response: Response, { status }: Statement, filled: number): string | undefined {
  const filter = response.request.status;
  if (!isComplete(response, filled) || (filter !== undefined && filter !== status)) return undefined;
  return `${lengthOf(response)} animals without animal ${id}`;
}
