import { petStatuses } from '../domain/pet.ts';
import type { Records } from '../engine.ts';
import { listOperation } from './list.ts';
import type { Operation } from './operation.ts';

/** `listPets` (specification.md section 4.1). */
export function listPets(pets: Records, basePath: string): Operation {
  return listOperation('listPets', `${basePath}/pets`, petStatuses, pets);
}
