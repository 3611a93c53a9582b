/** The requests of the four operations. */
import { newPetText, type NewPet, type PetStatus } from './pet.ts';
import type { Credential, Request } from './request.ts';

const json: Request['headers'] = [['Content-Type', 'application/json']];

/** `GET /pets` with parameters that the specification allows, in the given order. The response must be 200. */
export function listPets(
  credential: Credential,
  parameters: { readonly limit?: number; readonly status?: PetStatus } = {},
): Request {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) query.set(name, String(value));
  const text = query.toString();
  return {
    operation: 'listPets',
    method: 'GET',
    target: text === '' ? '/pets' : `/pets?${text}`,
    credential,
    headers: [],
    ...parameters,
    mustBe: 200,
  };
}

/** `GET /pets` with any query, whose response the specification does not define. */
export function listPetsWithQuery(credential: Credential, query: string): Request {
  return { operation: 'listPets', method: 'GET', target: `/pets?${query}`, credential, headers: [], open: true };
}

/** `POST /pets` with a valid NewPet. The response must be 201. */
export function createPet(credential: Credential, pet: NewPet): Request {
  return { ...createPetOf(credential, newPetText(pet)), sent: pet, mustBe: 201 };
}

/** `POST /pets` with any body, as application/json. */
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

/** `GET /pets/{petId}` with any text, whose response the specification does not define. */
export function getPetWithId(credential: Credential, petId: string): Request {
  return { operation: 'getPet', method: 'GET', target: `/pets/${petId}`, credential, headers: [], open: true };
}

/** `GET /store/orders`. */
export function listOrders(credential: Credential): Request {
  return { operation: 'listOrders', method: 'GET', target: '/store/orders', credential, headers: [] };
}

/** A request that is none of the four operations. No rule judges its response. */
export function other(credential: Credential, method: string, target: string): Request {
  return { operation: 'other', method, target, credential, headers: [], open: true };
}
