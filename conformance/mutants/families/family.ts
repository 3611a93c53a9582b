/** Families of faults. Each can draw any number of different faults by a seed. */
import { base, type Exchange, type MutantResponse, type Operation } from '../server/hooks.ts';
import { setHeader, type Change, type Kind } from '../table/changes.ts';
import { randomOf, type Random } from './random.ts';

/** A section of the specification. */
export type Section = '1' | '2' | '4.1' | '4.2' | '4.3' | '4.4' | '5' | '7' | '8' | '9';

/** A fault as a family draws it. */
export interface Draw {
  /** The sections with the sentences that it violates. Some sentences are in several sections. */
  readonly sections: readonly Section[];
  /** The fault, in one sentence. */
  readonly text: string;
  readonly hooks: Change;
}

export interface Fault extends Draw {
  readonly family: string;
  /** The family and the number of the draw. */
  readonly id: string;
}

export interface Family {
  /** An operation or a limiter, a dimension, and a kind of bug. It must never change, because it decides the half. */
  readonly name: string;
  /** undefined if what was drawn violates nothing, or has no effect. */
  readonly draw: (random: Random) => Draw | undefined;
}

/** The first faults of a family. They differ in their texts. */
export function faultsOf({ name, draw }: Family, count: number): readonly Fault[] {
  const faults: Fault[] = [];
  for (let attempt = 1; faults.length < count && attempt <= 50 * count; attempt += 1) {
    const drawn = draw(randomOf(`${name} ${attempt}`));
    if (drawn === undefined || faults.some(({ text }) => text === drawn.text)) continue;
    faults.push({ ...drawn, family: name, id: `${name} #${faults.length + 1}` });
  }
  return faults;
}

/** A draw: the sections, separated by spaces, the sentence and the change. */
export function fault(sections: string, text: string, hooks: Change): Draw {
  return { sections: sections.split(' ') as Section[], text, hooks };
}

/** Responses of one kind, none of which is that to a plain list with a valid key. */
export interface ResponseClass {
  readonly text: string;
  readonly kind: Kind;
  /** Where the specification describes the response. */
  readonly sections: string;
}

const responseClass = (text: string, sections: string, kind: Kind): ResponseClass => ({ text, sections, kind });

const answer =
  (operation: Operation, status: number, also: (exchange: Exchange) => boolean = () => true): Kind =>
  (response, exchange) =>
    exchange.operation === operation && response.status === status && also(exchange);

/** Responses that succeed. */
export const successClasses: readonly ResponseClass[] = [
  responseClass(
    'lists with a filter',
    '4.1',
    answer('list', 200, ({ query }) => query.has('status')),
  ),
  responseClass(
    'lists with a limit',
    '4.1',
    answer('list', 200, ({ query }) => query.has('limit')),
  ),
  responseClass('a 201', '4.2', answer('create', 201)),
  responseClass('a 200 of getPet', '4.3', answer('get', 200)),
];

/** Errors that sections 4 and 7 describe. */
export const errorClasses: readonly ResponseClass[] = [
  responseClass('a 400 of createPet', '4.2 7', answer('create', 400)),
  responseClass('a 404 of getPet', '4.3 7', answer('get', 404)),
  ...(['list', 'create', 'get'] as const).map((operation) =>
    responseClass(`a 401 of ${nameOf(operation)}`, '5 7 4.1 4.2 4.3', answer(operation, 401)),
  ),
  responseClass(
    'a 401 without Authorization',
    '5 7 4.1 4.2 4.3',
    (response, { authorization }) => response.status === 401 && authorization === '',
  ),
  responseClass(
    'a 401 to a bearer token',
    '5 7 4.1 4.2 4.3',
    (response, { authorization }) => response.status === 401 && /^Bearer /.test(authorization),
  ),
];

/** The operation as the specification names it. */
export function nameOf(operation: Operation): string {
  return { list: 'listPets', create: 'createPet', get: 'getPet', orders: 'GET /store/orders', other: 'others' }[
    operation
  ];
}

/** A number of a connection. Linux prefers even ports for outgoing connections, so their halves are more even. */
export const numberOf = (connection: number): number => Math.floor(connection / 2);

/** Only every nth response of a kind. */
export function everyNth(kind: Kind, n: number, note: string): Kind {
  return (response, exchange) => {
    if (!kind(response, exchange)) return false;
    const seen = Number(exchange.world.notes.get(note) ?? 0) + 1;
    exchange.world.notes.set(note, String(seen));
    return seen % n === 0;
  };
}

/** Makes a response an Error with a status. */
export function becomeError(response: MutantResponse, exchange: Exchange, status: number, message = 'Failed.'): void {
  Object.assign(response, { status, body: base.error(status, message, exchange) });
  setHeader(response, 'Content-Type', 'application/json');
}

/** Applies one change after the other to each response. */
export function chained(...changes: readonly Change[]): Change {
  const last: Change = Object.assign({}, ...changes) as Change;
  const made = changes.map(({ response }) => response).filter((response) => response !== undefined);
  return made.length === 0
    ? last
    : { ...last, response: (response, exchange) => made.reduce((sent, change) => change(sent, exchange), response) };
}
