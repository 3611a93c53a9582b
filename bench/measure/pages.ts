/** Pages of animals, and what they must contain. */
import { animal } from './animal.mjs';

export interface PageQuery {
  readonly status?: string;
  /** 20 if it is omitted. */
  readonly limit?: number;
  readonly after?: number;
}

/** The path of a page below the base path. */
export function pathOf({ status, limit, after }: PageQuery): string {
  const given = Object.entries({ status, limit, after }).filter(([, value]) => value !== undefined);
  return given.length === 0 ? '/pets' : `/pets?${given.map((parameter) => parameter.join('=')).join('&')}`;
}

/** The animals on a page of a server that has animals 1 to `animals`. */
export function petsOn({ status, limit = 20, after = 0 }: PageQuery, animals: number): readonly object[] {
  const pets: object[] = [];
  for (let id = after + 1; id <= animals && pets.length < limit; id++) {
    const pet = animal(id);
    if (status === undefined || pet.status === status) pets.push({ id, ...pet });
  }
  return pets;
}
