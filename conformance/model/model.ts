/**
 * The model of what a client may vary. A dimension is something that varies, such as the status of a NewPet. A row is
 * one of its values, and states what the specification says about a request with this value. To test another value, add
 * a row.
 */
import type { NewPet } from '../client/pet.ts';
import type { Credential, Refusals, Request } from '../client/request.ts';
import type { GapId } from '../requirements/gaps.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import type { Amounts } from '../session/cost.ts';

/** The values of the server and of the run from which requests are made. */
export interface World {
  readonly key: Credential;
  /** The text of the key. */
  readonly secret: string;
  /** The cookies that responses to requests with the key have set: `name=value`. */
  readonly cookies: readonly string[];
  /** A category that the server accepts. */
  readonly category: bigint;
  /** The id of an animal. If none is known, an unknown id. */
  readonly id: bigint;
  readonly unknownId: bigint;
  /** A valid NewPet with a unique name. */
  newPet(): NewPet;
}

/** An unfinished request. Each row of a combination changes it, in the order of the dimensions. */
export interface Draft extends Request {
  /** The fields of the body, with their values as JSON. */
  readonly fields: readonly (readonly [name: string, text: string])[];
  /** The body as text. */
  readonly text: string;
  /** The query, such as `limit=1`. */
  readonly parameters: readonly string[];
}

export type Change = (draft: Draft, world: World) => Draft;

/** The draft of a request, which the rows change. */
export function draftOf(request: Request): Draft {
  return { ...request, fields: [], text: '', parameters: [] };
}

/**
 * What the specification says about the response: the request must succeed, must be refused with one of these statuses,
 * or is left open. The status of an open request is not judged, but the rules still judge its response.
 */
export type Expectation = 'accepted' | 'open' | { readonly refused: readonly number[] | '4xx' };

/** One value of a dimension. */
export interface Row {
  /** Unique in its dimension. */
  readonly name: string;
  readonly expect: Expectation;
  /** The requirement that its response proves, or the gap that it shows. An accepted row needs none. */
  readonly of?: RequirementId | GapId;
  readonly change: Change;
  /** The statuses with which a server or a firewall may refuse the request because of this row. */
  readonly mayBeRefused?: Refusals;
  /** The maximum number of times that a run uses it, because it is slow or needs more requests. */
  readonly most?: number;
  /** The numbers of requests and creates that are sent before it or at the same time. */
  readonly extra?: Partial<Amounts>;
}

type Refusable = Pick<Row, 'expect' | 'mayBeRefused'>;

/** The first row is the plain one. It replaces the others to find the smallest combination that fails. */
export interface Dimension {
  readonly name: string;
  readonly rows: readonly Row[];
}

/** The row of a value that changes nothing in the request. */
export function plain(name: string): Row {
  return { name, expect: 'accepted', change: (draft) => draft };
}

/** Rows that must succeed, one for each value. */
export function accepted<T>(values: Readonly<Record<string, T>>, change: (value: T) => Change): Row[] {
  return Object.entries(values).map(([name, value]) => ({ name, expect: 'accepted', change: change(value) }));
}

/** Rows whose status the specification leaves open. */
export function open<T>(
  of: RequirementId | GapId,
  values: Readonly<Record<string, T>>,
  change: (value: T) => Change,
): Row[] {
  return Object.entries(values).map(([name, value]) => ({ name, expect: 'open', of, change: change(value) }));
}

/** Rows that must be refused: with 401 or 400, unless `statuses` permits others. */
export function refused<T>(
  of: RequirementId,
  values: Readonly<Record<string, T>>,
  change: (value: T) => Change,
  statuses: readonly number[] | '4xx' = [of.startsWith('auth.') ? 401 : 400],
): Row[] {
  return Object.entries(values).map(([name, value]) => ({
    ...{ name, expect: { refused: statuses }, of, change: change(value) },
  }));
}

/** The same rows; a server, or a firewall in front of it, may refuse a request because of them. */
export function refusable(mayBeRefused: Refusals, rows: readonly Row[]): Row[] {
  return rows.map((row) => ({ ...row, mayBeRefused }));
}

/** The same rows, each used at most `most` times in a run. `extra` is what is sent in addition each time. */
export function atMost(most: number, rows: readonly Row[], extra: Row['extra'] = {}): Row[] {
  return rows.map((row) => ({ ...row, most, extra }));
}

/** Values whose names are the values themselves. */
export function named(...texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(texts.map((text) => [text, text]));
}

/** Whether a combination may have only one row of this kind: a refusal would hide the effects of the others. */
export function isAlone({ expect }: Pick<Row, 'expect'>): boolean {
  return expect !== 'accepted';
}

/** Whether a combination may have both rows: a refusal must show which of them it is due to. */
export function mayCombine(...both: readonly [one: Refusable, other: Refusable]): boolean {
  const mayBeRefused = both.every((row) => isAlone(row) || row.mayBeRefused !== undefined);
  return !(both.some(isAlone) && mayBeRefused);
}
