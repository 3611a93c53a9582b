/** The elements of the tables: a mutant, and the usual ways to change the conforming server. */
import type { RequirementId } from '../../requirements/requirements.ts';
import { base, type Exchange, type Hooks, type MutantResponse, type Operation, type Pet } from '../server/hooks.ts';
import { Digits, type Json, type JsonObject } from '../server/json.ts';

/** The hooks that a mutant replaces. */
export type Change = Partial<Hooks>;

/** A server with one known fault. */
export interface Mutant {
  /** Reports name mutants by it: it never changes. */
  readonly id: string;
  /** The requirement that the fault violates, and that the kit must report as failed. */
  readonly requirement: RequirementId;
  /** The fault, in one sentence. */
  readonly text: string;
  readonly hooks: Change;
}

/** Reads a table: each row is an id, the requirement, the fault in one sentence, and the change. */
export function table(
  rows: readonly (readonly [id: string, requirement: RequirementId, text: string, hooks: Change])[],
): readonly Mutant[] {
  return rows.map(([id, requirement, text, hooks]) => ({ id, requirement, text, hooks }));
}

/** Selects responses. */
export type Kind = (response: MutantResponse, exchange: Exchange) => boolean;

export const all: Kind = () => true;
export const everyHundredth: Kind = (_response, { world }) => world.requests % 100 === 0;

/** Responses of one operation. */
export function of(operation: Operation): Kind {
  return (_response, exchange) => exchange.operation === operation;
}

/** Responses with a status, of one operation if given. */
export function status(wanted: number, operation?: Operation): Kind {
  return (response, exchange) =>
    response.status === wanted && (operation === undefined || operation === exchange.operation);
}

/** Changes some responses just before they are sent. */
export function responses(kind: Kind, change: (response: MutantResponse, exchange: Exchange) => void): Change {
  return {
    response: (response, exchange) => {
      if (kind(response, exchange)) change(response, exchange);
      return response;
    },
  };
}

/** Sends some responses with another status, and the same body. */
export function changedStatus(kind: Kind, to: number): Change {
  return responses(kind, (response) => void (response.status = to));
}

/** Sends an Error instead of some responses. */
export function failing(kind: Kind, to: number, message: string): Change {
  return responses(kind, (response, exchange) => {
    Object.assign(response, { status: to, body: base.error(to, message, exchange) });
  });
}

/** Sets a header; undefined removes it. */
export function setHeader(response: MutantResponse, name: string, value: string | undefined): void {
  response.headers = response.headers.filter(([other]) => other !== name);
  if (value !== undefined) response.headers.push([name, value]);
}

export type NumberHeader = 'X-RateLimit-Limit' | 'X-RateLimit-Remaining' | 'X-RateLimit-Reset' | 'Retry-After';

/** The value of a header that the conforming server has set. */
export function integerOf(response: MutantResponse, name: NumberHeader): number {
  return Number(response.headers.find(([other]) => other === name)?.[1]);
}

/** Admits requests in addition to those with the right key. */
export function alsoAdmits(admits: (exchange: Exchange, secret: string) => boolean): Change {
  return { admits: (exchange, secret) => base.admits(exchange, secret) || admits(exchange, secret) };
}

/** The token of the Authorization header if its scheme is Bearer, otherwise ''. */
export function tokenOf({ authorization }: Exchange): string {
  return /^Bearer (.*)$/s.exec(authorization)?.[1] ?? '';
}

/** Changes how one operation, or each of them, shows animals. */
export function shown(
  operation: Operation | 'all',
  change: (fields: JsonObject, pet: Pet, exchange: Exchange) => void,
): Change {
  return {
    show: (pet, exchange) => {
      const fields = base.show(pet, exchange);
      if (operation === 'all' || operation === exchange.operation) change(fields, pet, exchange);
      return fields;
    },
  };
}

/** Changes the pages of lists. */
export function pages(change: (page: Pet[], exchange: Exchange, limit: number) => Pet[]): Change {
  return { page: (rows, limit, exchange) => change(base.page(rows, limit, exchange), exchange, limit) };
}

/** Changes which animal getPet finds. */
export function found(change: (pet: Pet | undefined, id: string, exchange: Exchange) => Pet | undefined): Change {
  return { find: (id, exchange) => change(base.find(id, exchange), id, exchange) };
}

/** Changes the names of created animals, in the response and in the store. */
export function names(change: (name: string) => string): Change {
  return {
    name: (value, exchange) => {
      const name = base.name(value, exchange);
      return name === undefined ? undefined : change(name);
    },
  };
}

/** Changes the categories of created animals, in the response and in the store. */
export function categories(change: (category: bigint) => bigint): Change {
  return {
    category: (value, exchange) => {
      const category = base.category(value, exchange);
      return category === undefined ? undefined : String(change(BigInt(category)));
    },
  };
}

/** Changes created animals in the store only. */
export function stored(change: (pet: Pet, exchange: Exchange) => Partial<Pet>): Change {
  return { keep: (pet, exchange) => ({ ...pet, ...change(pet, exchange) }) };
}

/** Changes the Errors with a status, of one operation if given. */
export function errors(wanted: number, change: (error: JsonObject) => void, operation?: Operation): Change {
  return {
    error: (status, message, exchange) => {
      const error = base.error(status, message, exchange);
      const chosen = status === wanted && (operation === undefined || operation === exchange.operation);
      if (chosen && error instanceof Map) change(error);
      return error;
    },
  };
}

/** Accepts names that the conforming server rejects. */
export const nameFrom = (convert: (value: Json | undefined) => string | undefined): Change => ({
  name: (value, exchange) => base.name(value, exchange) ?? convert(value),
});

/** Accepts categories that the conforming server rejects, as this integer. */
export const categoryFrom = (convert: (value: Json | undefined) => bigint | undefined): Change => ({
  category: (value, exchange) => {
    const known = base.category(value, exchange);
    const converted = known === undefined ? convert(value) : undefined;
    return known ?? (converted === undefined ? undefined : String(BigInt.asIntN(64, converted)));
  },
});

/** Accepts statuses that the conforming server rejects. */
export const statusFrom = (convert: (value: Json | undefined) => string | undefined): Change => ({
  status: (value, exchange) => base.status(value, exchange) ?? convert(value),
});

/** Does something before a value is read, such as remembering it. */
export function noting(hook: 'name' | 'status', wanted: (value: Json | undefined) => boolean, note: string): Change {
  return {
    [hook]: (value: Json | undefined, exchange: Exchange) => {
      if (wanted(value)) exchange.world.notes.set(note, 'yes');
      return base[hook](value, exchange);
    },
  };
}

/** An animal without data, as a careless server fills it in. */
export const unnamed = (): JsonObject =>
  new Map<string, Json>([
    ['name', ''],
    ['categoryId', new Digits('0')],
  ]);
