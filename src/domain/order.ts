import { JsonNumber, type JsonObject, type JsonValue } from '../json/read.ts';
import { readDateTime } from './date-time.ts';
import { int64OfJsonNumber } from './int64.ts';

export const orderStatuses = ['placed', 'approved', 'delivered'] as const;
export type OrderStatus = (typeof orderStatuses)[number];

/** An order (decisions.md, "Orders"). `id` and `petId` are int64, `quantity` is an int32 from 1. */
export interface Order {
  readonly id: bigint;
  readonly petId: bigint;
  readonly quantity: bigint;
  /** An RFC 3339 date-time; undefined if the order has none. */
  readonly shipDate: string | undefined;
  readonly status: OrderStatus;
  readonly complete: boolean;
}

const maxQuantity = 2n ** 31n - 1n;

/** Reads an order; its id is `newId`, if given. Throws an Error that names every invalid field with its rule. */
export function readOrder(object: JsonObject, newId?: bigint): Order {
  const errors: string[] = [];
  const field = <T>(name: string, rule: string, read: (given: JsonValue | undefined) => T | null): T | null => {
    const result = read(object.get(name));
    if (result === null) errors.push(`${name} must be ${rule}`);
    return result;
  };
  const id = newId ?? field('id', 'an int64', int64);
  const petId = field('petId', 'an int64', int64);
  const quantity = field('quantity', 'an integer from 1 to 2147483647', (given) => {
    const number = int64(given);
    return number !== null && number >= 1n && number <= maxQuantity ? number : null;
  });
  const shipDate = field('shipDate', 'an RFC 3339 date-time, or left out', (given) => {
    return given === undefined || (typeof given === 'string' && readDateTime(given) !== null) ? given : null;
  });
  const status = field('status', `one of ${orderStatuses.join(', ')}`, (given) => {
    return orderStatuses.find((known) => known === given) ?? null;
  });
  const complete = field('complete', 'true or false', (given) => (typeof given === 'boolean' ? given : null));
  if (id === null || petId === null || quantity === null || shipDate === null || status === null || complete === null) {
    throw new Error(errors.join('; '));
  }
  return { id, petId, quantity, shipDate, status, complete };
}

/** Returns an order as one line of JSON. */
export function orderLine({ id, petId, quantity, shipDate, status, complete }: Order): string {
  const shipped = shipDate === undefined ? '' : `"shipDate":"${shipDate}",`;
  return `{"id":${id},"petId":${petId},"quantity":${quantity},${shipped}"status":"${status}","complete":${complete}}`;
}

function int64(given: JsonValue | undefined): bigint | null {
  return given instanceof JsonNumber ? int64OfJsonNumber(given.text) : null;
}
