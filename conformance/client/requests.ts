/** The requests of the four operations, as a client of the specification would write them. */
import type { Credential, Request } from './request.ts';
import { newPetText, type NewPet, type PetStatus } from './pet.ts';

const json: Request['headers'] = [['Content-Type', 'application/json']];

/** `GET /pets` with parameters that the specification allows: it must be answered with 200. */
export function listPets(credential: Credential, asked: { readonly limit?: number; readonly status?: PetStatus } = {}): Request {
  const query = new URLSearchParams();
  if (asked.limit !== undefined) query.set('limit', String(asked.limit));
  if (asked.status !== undefined) query.set('status', asked.status);
  const text = query.toString();
  return {
    operation: 'listPets',
    method: 'GET',
    target: text === '' ? '/pets' : `/pets?${text}`,
    credential,
    headers: [],
    ...asked,
    mustBe: 200,
  };
}

/** `GET /pets` with any query: how it is answered is open. */
export function listPetsAnyhow(credential: Credential, query: string): Request {
  return { operation: 'listPets', method: 'GET', target: `/pets?${query}`, credential, headers: [], open: true };
}

/** `POST /pets` with a NewPet that the specification calls valid: it must be answered with 201. */
export function createPet(credential: Credential, pet: NewPet): Request {
  return { ...createPetOf(credential, newPetText(pet)), sent: pet, mustBe: 201 };
}

/** `POST /pets` with any body, of type application/json. */
export function createPetOf(credential: Credential, body: string | Uint8Array): Request {
  return {
    operation: 'createPet',
    method: 'POST',
    target: '/pets',
    credential,
    headers: json,
    body: typeof body === 'string' ? Buffer.from(body) : body,
  };
}

/** `GET /pets/{petId}`. */
export function getPet(credential: Credential, petId: bigint): Request {
  return { operation: 'getPet', method: 'GET', target: `/pets/${petId}`, credential, headers: [], petId };
}

/** `GET /store/orders`. */
export function listOrders(credential: Credential): Request {
  return { operation: 'listOrders', method: 'GET', target: '/store/orders', credential, headers: [] };
}

/** Anything that is none of the four operations: nothing in its response is judged by the specification. */
export function other(credential: Credential, method: string, target: string): Request {
  return { operation: 'other', method, target, credential, headers: [], open: true };
}
