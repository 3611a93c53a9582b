/** Section 4.2: the response of createPet, missing fields and null. */
import { base } from '../server/hooks.ts';
import { Digits } from '../server/json.ts';
import {
  categoryFrom, changedStatus, failing, nameFrom, noting, shown, status, statusFrom, stored, table, unnamed,
} from './changes.ts';

export const createMutants = table([
  ['create-200', 'create.answers', 'createPet returns 200.', changedStatus(status(201), 200)],
  ['create-sold-refused', 'create.answers', 'status "sold" gets 400.',
    { status: (value, exchange) => (value === 'sold' ? undefined : base.status(value, exchange)) }],
  ['create-status-required', 'create.answers', 'A body without status gets 400.',
    { status: (value, exchange) => (value === undefined ? undefined : base.status(value, exchange)) }],
  ['create-fortieth-202', 'create.answers', 'Every fortieth create returns 202.',
    changedStatus((response, { world }) => response.status === 201 && world.creates % 40 === 0, 202)],

  ['create-charset-refused', 'create.answers', 'application/json; charset=utf-8 gets 415.',
    failing((response, { contentType }) => response.status === 201 && contentType === 'application/json; charset=utf-8',
      415, 'Send application/json.')],
  ['create-type-exact', 'create.answers', 'Only the Content-Type application/json is accepted.',
    { accepts: (_body, _text, { contentType }) => contentType === 'application/json' }],

  ['create-stores-available', 'create.status', 'A sold animal is stored as available.',
    stored(({ status }) => ({ status: status === 'sold' ? 'available' : status }))],
  ['create-stores-available-unseen', 'create.status', 'As above, and a 201 shows no status.',
    {
      ...stored(({ status }) => ({ status: status === 'sold' ? 'available' : status })),
      ...shown('create', (fields) => void fields.delete('status')),
    }],
  ['create-stores-pending', 'create.status', 'An available animal is stored as pending.',
    stored(({ status }) => ({ status: status === 'available' ? 'pending' : status }))],
  ['create-default-not-stored', 'create.status', 'An animal without a status is shown as available, stored as pending.',
    stored(({ status }, { body }) => ({ status: body.includes('"status"') ? status : 'pending' }))],

  ['create-status-pending-lost', 'create.status', 'An animal created as pending becomes available.',
    { status: (value, exchange) => (value === 'pending' ? 'available' : base.status(value, exchange)) }],
  ['create-status-sold-echo', 'create.status', 'The 201 for an animal created as sold shows pending.',
    shown('create', (fields, pet) => void (pet.status === 'sold' && fields.set('status', 'pending')))],
  ['create-status-of-last', 'create.status', 'An animal created as available gets the status of the previous create.',
    {
      status: (value, exchange) => {
        const status = base.status(value, exchange);
        const before = exchange.world.notes.get('status');
        if (status !== undefined) exchange.world.notes.set('status', status);
        return value === 'available' && before !== undefined ? before : status;
      },
    }],

  ['create-name-missing', 'create.required', 'A body without name is accepted.',
    nameFrom((value) => (value === undefined ? '' : undefined))],
  ['create-category-missing', 'create.required', 'A body without categoryId is accepted.',
    categoryFrom((value) => (value === undefined ? 0n : undefined))],
  ['create-category-missing-with-status', 'create.required', 'A body with status and without categoryId is accepted.',
    {
      accepts: (body) => {
        if (!body.has('categoryId') && body.has('status')) body.set('categoryId', new Digits('1'));
        return true;
      },
    }],
  ['create-empty-object', 'create.required', 'The body {} is accepted; a body that lacks one field is not.',
    { object: (value) => (value instanceof Map && value.size === 0 ? unnamed() : base.object(value)) }],
  ['create-missing-422', 'create.required', 'A body without name gets 422.',
    {
      ...noting('name', (value) => value === undefined, 'no name'),
      ...failing((response, { world }) => world.notes.delete('no name') && response.status === 400,
        422, 'name is missing.'),
    }],

  ['create-null-name', 'create.null', 'null is accepted as a name.',
    nameFrom((value) => (value === null ? 'null' : undefined))],
  ['create-null-category', 'create.null', 'null is accepted as a categoryId.',
    categoryFrom((value) => (value === null ? 0n : undefined))],
  ['create-null-status', 'create.null', 'null is accepted as a status.',
    statusFrom((value) => (value === null ? 'available' : undefined))],
]);
