import type { RequirementId } from '../../requirements/requirements.ts';
import { base, type Answer, type Exchange, type Hooks, type Operation, type Pet } from '../hooks.ts';
import { Digits, type Json, type JsonObject } from '../json.ts';

/** One way to break one stated thing. */
export interface Fault {
  /** Stays, as the ids of requirements do. */
  readonly id: string;
  /** The requirement that is broken: a kit that knows its trade fails this one. */
  readonly requirement: RequirementId;
  /** What is wrong, in one sentence. */
  readonly text: string;
  /** The family of near-equal faults, of at most four. */
  readonly shares?: string;
  /** What a run needs to see it, other than a key and the right to create animals. */
  readonly needs?: Need;
  /** How many animals the server has from the start, where that matters; else as many as any other. */
  readonly animals?: number;
  readonly hooks: Partial<Hooks>;
}

/**
 * `exhaust`: the key must be driven to 429. `plan`: the kit must be told the key's plan. `animals`: the server must hold more than
 * 100 animals, from the start or because the kit created them.
 */
export type Need = 'exhaust' | 'plan' | 'animals';

export type RateHeader = 'X-RateLimit-Limit' | 'X-RateLimit-Remaining' | 'X-RateLimit-Reset';

/** The token of the Authorization header, if its scheme is Bearer; '' for an empty or missing one. */
export function tokenOf({ authorization }: Exchange): string {
  return /^Bearer (.*)$/s.exec(authorization)?.[1] ?? '';
}

/** Changes answers of some kind just before they are sent. */
export function answers(
  kind: (answer: Answer, exchange: Exchange) => boolean,
  change: (answer: Answer, exchange: Exchange) => void,
): Partial<Hooks> {
  return {
    answer: (answer, exchange) => {
      if (kind(answer, exchange)) change(answer, exchange);
      return answer;
    },
  };
}

/** Gives a header another value; undefined takes it away. */
export function setHeader(answer: Answer, name: string, value: string | undefined): void {
  answer.headers = answer.headers.filter(([other]) => other !== name);
  if (value !== undefined) answer.headers.push([name, value]);
}

/** The value of a header of ours, as an integer. */
export function integerOf(answer: Answer, name: RateHeader | 'Retry-After'): number {
  return Number(answer.headers.find(([other]) => other === name)?.[1]);
}

/** Changes how animals are shown by one operation, or by all. */
export function shown(
  operation: Operation | 'all',
  change: (fields: JsonObject, pet: Pet, exchange: Exchange) => void,
): Partial<Hooks> {
  return {
    show: (pet, exchange) => {
      const fields = base.show(pet, exchange);
      if (operation === 'all' || operation === exchange.operation) change(fields, pet, exchange);
      return fields;
    },
  };
}

/** Changes the names of created animals, in the answer and in what is kept. */
export function names(change: (name: string) => string): Partial<Hooks> {
  return {
    name: (value, exchange) => {
      const name = base.name(value, exchange);
      return name === undefined ? undefined : change(name);
    },
  };
}

/** Changes the categories of created animals, in the answer and in what is kept. */
export function categories(change: (category: bigint) => bigint): Partial<Hooks> {
  return {
    category: (value, exchange) => {
      const category = base.category(value, exchange);
      return category === undefined ? undefined : String(change(BigInt(category)));
    },
  };
}

/** Changes what is kept of a created animal, but not the answer. */
export function kept(change: (pet: Pet, exchange: Exchange) => Partial<Pet>): Partial<Hooks> {
  return { keep: (pet, exchange) => ({ ...pet, ...change(pet, exchange) }) };
}

/** Changes the Error bodies of some answers. */
export function errors(
  kind: (status: number, exchange: Exchange) => boolean,
  change: (fields: JsonObject) => void,
): Partial<Hooks> {
  return {
    error: (status, message, exchange) => {
      const fields = base.error(status, message, exchange);
      if (fields instanceof Map && kind(status, exchange)) change(fields);
      return fields;
    },
  };
}

/** Accepts names that base does not. */
export const nameFrom = (convert: (value: Json | undefined) => string | undefined): Partial<Hooks> => ({
  name: (value, exchange) => base.name(value, exchange) ?? convert(value),
});

/** Accepts categories that base does not, as this integer. */
export const categoryFrom = (convert: (value: Json | undefined) => bigint | undefined): Partial<Hooks> => ({
  category: (value, exchange) => {
    const known = base.category(value, exchange);
    const converted = known === undefined ? convert(value) : undefined;
    return known ?? (converted === undefined ? undefined : String(BigInt.asIntN(64, converted)));
  },
});

/** Accepts statuses that base does not. */
export const statusFrom = (convert: (value: Json | undefined) => string | undefined): Partial<Hooks> => ({
  status: (value, exchange) => base.status(value, exchange) ?? convert(value),
});

/** A body that lacks everything, as a careless server fills it. */
export const unnamed = (): JsonObject =>
  new Map<string, Json>([
    ['name', ''],
    ['categoryId', new Digits('0')],
  ]);
