/** The types of the specification (section 2). */
import { JsonNumber, JsonObject, kindOf } from './json.ts';

/** The range of 64-bit integers. */
export const int64Max = 2n ** 63n - 1n;
export const int64Min = -(2n ** 63n);

export const statuses = ['available', 'pending', 'sold'] as const;
export type PetStatus = (typeof statuses)[number];

export interface NewPet {
  readonly name: string;
  readonly categoryId: bigint;
  readonly status?: PetStatus;
}

export interface Pet extends NewPet {
  readonly id: bigint;
}

/** For each field: why a Pet object is invalid, or undefined. */
export const fieldProblems = {
  id: (pet: JsonObject) => int64Problem(pet, 'id'),
  categoryId: (pet: JsonObject) => int64Problem(pet, 'categoryId'),
  name: (pet: JsonObject) =>
    typeof pet.get('name') === 'string' ? undefined : `a Pet whose name is ${kindOf(pet.get('name'))}`,
  status: (pet: JsonObject) => {
    const status = pet.get('status');
    return status === undefined || isStatus(status) ? undefined : `a Pet whose status is ${kindOf(status)}`;
  },
};

/** The Pet that an object represents, or undefined if one of its fields is invalid. */
export function pet(object: JsonObject): Pet | undefined {
  if (Object.values(fieldProblems).some((problem) => problem(object) !== undefined)) return undefined;
  const status = object.get('status');
  return {
    id: (object.get('id') as JsonNumber).int64()!,
    name: object.get('name') as string,
    categoryId: (object.get('categoryId') as JsonNumber).int64()!,
    ...(isStatus(status) && { status }),
  };
}

/** The JSON text of a NewPet, with exact digits, and lone surrogates as escapes. */
export function newPetText(pet: NewPet): string {
  const status = pet.status === undefined ? '' : `,"status":"${pet.status}"`;
  return `{"name":${JSON.stringify(pet.name)},"categoryId":${pet.categoryId}${status}}`;
}

/**
 * Whether a name has half of a surrogate pair. What becomes of it is unpredictable (RFC 8259, section 8.2): it may be
 * kept, replaced or rejected.
 */
export function hasLoneSurrogate(name: string): boolean {
  return /\p{Cs}/u.test(name);
}

/** A name that no other animal has, not even one of another run: `Conformance 3f9a1c07 12`. */
export function uniqueName(run: string, number: number): string {
  return `Conformance ${run} ${number}`;
}

/** Whether a name is one that only one create of one run has. */
export function isUniqueName(name: string): boolean {
  return /^Conformance [0-9a-f]{8} \d+$/.test(name);
}

/** Whether two responses may show the same animal with these names. */
export function mayBeSameName(one: string, other: string): boolean {
  return one === other || hasLoneSurrogate(one) || hasLoneSurrogate(other);
}

function isStatus(value: unknown): value is PetStatus {
  return statuses.some((s) => s === value);
}

function int64Problem(pet: JsonObject, field: string): string | undefined {
  const value = pet.get(field);
  return value instanceof JsonNumber && value.int64() !== undefined
    ? undefined
    : `a Pet whose ${field} is ${kindOf(value)}`;
}
