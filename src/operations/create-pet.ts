import { ApiError } from '../http/api-error.ts';
import { InvalidPetError, readNewPet, type NewPet } from '../domain/pet.ts';
import type { Pets } from '../engine.ts';
import { decimal } from '../json/decimal.ts';
import { useJson } from '../json/read.ts';
import { JsonSyntaxError } from '../json/source.ts';
import { getPetRemoval } from './get-pet.ts';
import type { Operation } from './operation.ts';

/** `createPet` (specification.md section 4.2). */
export function createPet(pets: Pets, basePath: string): Operation {
  return {
    name: 'createPet',
    takesJson: true,
    begin({ now }) {
      return async (body) => {
        const { id, line } = await pets.create(newPetIn(body));
        // Location is useful only as long as getPet exists.
        const headers = now < getPetRemoval ? ['Location', `${basePath}/pets/${decimal(id)}`] : [];
        return { status: 201, headers, body: line };
      };
    },
  };
}

function newPetIn(body: Buffer): NewPet {
  try {
    return useJson(body, readNewPet);
  } catch (error) {
    if (error instanceof InvalidPetError) throw new ApiError('invalid_body', error.message);
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new ApiError('malformed_json', `The body is not JSON: ${error.message}.`);
  }
}
