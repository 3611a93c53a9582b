/** The operations that a load can consist of, each with its request. */
import type { Pet } from '../../conformance/client/pet.ts';
import type { Credential, Request } from '../../conformance/client/request.ts';
import { createPet, getPet, listOrders, listPets } from '../../conformance/client/requests.ts';

/** By their names. `pet` is an animal that the server has listed, without which getPet is impossible. */
export const operations = {
  listPets: (credential) => listPets(credential, { limit: 1 }),
  getPet: (credential, pet) => getPet(credential, pet!.id),
  listOrders,
  createPet: (credential, pet) => createPet(credential, { name: 'limits bench', categoryId: pet?.categoryId ?? 1n }),
} satisfies Readonly<Record<string, (credential: Credential, pet: Pet | undefined) => Request>>;

export type LoadOperation = keyof typeof operations;
