/** How create answers, and what it accepts of missing fields and null: section 4.2. */
import { base } from '../hooks.ts';
import { Digits } from '../json.ts';
import { answers, categoryFrom, nameFrom, statusFrom, unnamed, type Fault } from './fault.ts';

export const createFaults: readonly Fault[] = [
  {
    id: 'create-200',
    requirement: 'create.answers',
    text: 'create answers 200.',
    shares: 'create status code',
    hooks: answers(
      (answer) => answer.status === 201,
      (answer) => void (answer.status = 200),
    ),
  },
  {
    id: 'create-sold-refused',
    requirement: 'create.answers',
    text: 'An animal cannot be created as sold: 400.',
    hooks: { status: (value, exchange) => (value === 'sold' ? undefined : base.status(value, exchange)) },
  },
  {
    id: 'create-status-required',
    requirement: 'create.answers',
    text: 'A body without status is refused with 400.',
    hooks: { status: (value, exchange) => (value === undefined ? undefined : base.status(value, exchange)) },
  },
  {
    id: 'create-fortieth-202',
    requirement: 'create.answers',
    text: 'Every fortieth create is answered with 202.',
    shares: 'create status code',
    hooks: answers(
      (answer, { world }) => answer.status === 201 && world.creates % 40 === 0,
      (answer) => void (answer.status = 202),
    ),
  },
  {
    id: 'create-status-pending-lost',
    requirement: 'create.status',
    text: 'An animal created as pending is available.',
    shares: 'status lost',
    hooks: { status: (value, exchange) => (value === 'pending' ? 'available' : base.status(value, exchange)) },
  },
  {
    id: 'create-status-sold-echo',
    requirement: 'create.status',
    text: 'The 201 of an animal created as sold shows pending.',
    shares: 'status lost',
    hooks: {
      show: (pet, exchange) =>
        base.show(exchange.operation === 'create' && pet.status === 'sold' ? { ...pet, status: 'pending' } : pet, exchange),
    },
  },
  {
    id: 'create-status-of-last',
    requirement: 'create.status',
    text: 'An animal sent as available gets the status of the create before it.',
    shares: 'status lost',
    hooks: {
      status: (value, exchange) => {
        const status = base.status(value, exchange);
        const before = exchange.world.notes.get('status');
        if (status !== undefined) exchange.world.notes.set('status', status);
        return value === 'available' && before !== undefined ? before : status;
      },
    },
  },
  {
    id: 'create-name-missing',
    requirement: 'create.required',
    text: 'A body without name is accepted.',
    shares: 'required',
    hooks: nameFrom((value) => (value === undefined ? '' : undefined)),
  },
  {
    id: 'create-category-missing',
    requirement: 'create.required',
    text: 'A body without categoryId is accepted.',
    shares: 'required',
    hooks: categoryFrom((value) => (value === undefined ? 0n : undefined)),
  },
  {
    id: 'create-category-missing-with-status',
    requirement: 'create.required',
    text: 'A body without categoryId is accepted if it has a status.',
    shares: 'required',
    hooks: {
      accepts: (body) => {
        if (!body.has('categoryId') && body.has('status')) body.set('categoryId', new Digits('1'));
        return true;
      },
    },
  },
  {
    id: 'create-empty-object',
    requirement: 'create.required',
    text: 'A body {} is accepted; one that lacks a single field is not.',
    shares: 'required',
    hooks: { object: (value) => (value instanceof Map && value.size === 0 ? unnamed() : base.object(value)) },
  },
  {
    id: 'create-missing-422',
    requirement: 'create.required',
    text: 'A missing name is answered with 422.',
    hooks: {
      name: (value, exchange) => {
        if (value === undefined) exchange.world.notes.set('no name', 'yes');
        return base.name(value, exchange);
      },
      ...answers(
        (answer, { world }) => world.notes.delete('no name') && answer.status === 400,
        (answer, exchange) => Object.assign(answer, { status: 422, body: base.error(422, 'name is missing.', exchange) }),
      ),
    },
  },
  {
    id: 'create-null-name',
    requirement: 'create.null',
    text: 'null is accepted as a name.',
    shares: 'null',
    hooks: nameFrom((value) => (value === null ? 'null' : undefined)),
  },
  {
    id: 'create-null-category',
    requirement: 'create.null',
    text: 'null is accepted as a categoryId.',
    shares: 'null',
    hooks: categoryFrom((value) => (value === null ? 0n : undefined)),
  },
  {
    id: 'create-null-status',
    requirement: 'create.null',
    text: 'null is accepted as a status.',
    shares: 'null',
    hooks: statusFrom((value) => (value === null ? 'available' : undefined)),
  },
];
