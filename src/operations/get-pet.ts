import { ApiError } from '../http/api-error.ts';
import { isInt64 } from '../domain/int64.ts';
import { mapSoon, type Pets } from '../engine.ts';
import type { Operation } from './operation.ts';

/** When the operation is removed (specification.md section 4.3). Its deprecation date: decisions.md, "Deprecation". */
export const getPetRemoval = Date.parse('2030-12-05T00:00:00Z');
const deprecation = Date.parse('2025-12-05T00:00:00Z');

/** `getPet` (specification.md section 4.3): deprecated, and gone from its removal date on. */
export function getPet(pets: Pets, basePath: string): Operation {
  const successor = `<${basePath}/pets>; rel="successor-version"`; // RFC 8288
  const removed = ['Sunset', new Date(getPetRemoval).toUTCString(), 'Link', successor]; // RFC 8594
  const deprecated = ['Deprecation', `@${deprecation / 1000}`, ...removed]; // RFC 9745
  return {
    name: 'getPet',
    takesJson: false,
    responseHeaders: (now) => (now < getPetRemoval ? deprecated : removed),
    begin({ parameter, now }) {
      if (now >= getPetRemoval) {
        const message = `This operation was removed; use GET ${basePath}/pets with the status filter.`;
        throw new ApiError('operation_removed', message);
      }
      return () => mapSoon(isInt64(parameter) ? pets.get(parameter) : null, (body) => {
        if (body === null) throw new ApiError('pet_not_found', 'There is no such animal.');
        return { status: 200, headers: [], body };
      });
    },
  };
}
