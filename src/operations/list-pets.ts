import { petStatuses } from '../domain/pet.ts';
import type { PetStore } from '../store/pet-store.ts';
import { listOperation } from './list.ts';
import type { Operation } from './operation.ts';

/** `listPets` (specification.md section 4.1). */
export function listPets(pets: PetStore, basePath: string): Operation {
  return listOperation('listPets', `${basePath}/pets`, petStatuses, (query) => pets.table.page(query));
}
