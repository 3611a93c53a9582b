/** The requests of the four operations. */
import { newPetText, type NewPet, type PetStatus } from './pet.ts';
import type { Credential, Operation, Request } from './request.ts';

/** `GET /pets` with parameters that the specification allows, in the given order. With a valid key it must get 200. */
export function listPets(
  credential: Credential,
  parameters: { readonly limit?: number; readonly status?: PetStatus } = {},
): Request {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) query.set(name, String(value));
  const target = query.size === 0 ? '/pets' : `/pets?${query}`;
  return { ...get('listPets', credential, target), ...parameters, ...mustBe(credential, 200) };
}

/** `GET /pets` with any query, whose response the specification does not define. */
export function listPetsWithQuery(credential: Credential, query: string): Request {
  return { ...get('listPets', credential, `/pets?${query}`), open: true };
}

/** `POST /pets` with a valid NewPet. With a valid key it must get 201. */
export function createPet(credential: Credential, pet: NewPet): Request {
  return { ...tryPet(credential, pet), ...mustBe(credential, 201) };
}

/** `POST /pets` with a NewPet whose name or category the server may refuse. */
export function tryPet(credential: Credential, pet: NewPet): Request {
  return { ...createPetOf(credential, newPetText(pet)), sent: pet };
}

/** `POST /pets` with any body, as application/json. */
export function createPetOf(credential: Credential, body: string | Uint8Array): Request {
  const headers = [['Content-Type', 'application/json']] as const;
  return { operation: 'createPet', method: 'POST', target: '/pets', credential, headers, body: Buffer.from(body) };
}

/** `GET /pets/{petId}`. */
export function getPet(credential: Credential, petId: bigint): Request {
  return { ...get('getPet', credential, `/pets/${petId}`), petId };
}

/** `GET /pets/{petId}` with any text, whose response the specification does not define. */
export function getPetWithId(credential: Credential, petId: string): Request {
  return { ...get('getPet', credential, `/pets/${petId}`), open: true };
}

/** `GET /store/orders`. */
export function listOrders(credential: Credential): Request {
  return get('listOrders', credential, '/store/orders');
}

/** A request that is none of the four operations. No rule judges its response. */
export function other(credential: Credential, method: string, target: string): Request {
  return { ...get('other', credential, target), method, open: true };
}

/** The status that a valid request must get if its key is valid. */
function mustBe({ key }: Credential, status: number): Pick<Request, 'mustBe'> {
  return key === 'none' ? {} : { mustBe: status };
}

function get(operation: Operation, credential: Credential, target: string): Request {
  return { operation, method: 'GET', target, credential, headers: [] };
}
