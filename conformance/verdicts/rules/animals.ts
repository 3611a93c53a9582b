/** Lists, and animals that several responses show: sections 2 and 4. */
import { hasLoneSurrogate, mayBeSameName, type NewPet } from '../../client/pet.ts';
import type { Response } from '../../client/response.ts';
import type { RequirementId } from '../../requirements/requirements.ts';
import type { History } from '../history.ts';
import { inJson, must, type Judgement, type Rule } from './rule.ts';

/** The day of the removal, 5 December 2030, in any time zone. */
const removalStarts = Date.UTC(2030, 11, 4, 10);
const removalEnds = Date.UTC(2030, 11, 6, 12);

export const animalRules: readonly Rule[] = [
  {
    id: 'list.limit',
    judge: (response, history) => {
      const { limit, status, open } = response.request;
      // No limit may be larger than 100, so no list may be longer, whatever the request.
      return status === undefined ? isWithinLimit(response, open ? 100 : limit, history) : undefined;
    },
  },
  {
    id: 'list.default-limit',
    judge: (response, history) => {
      const { limit, open } = response.request;
      return open || limit !== undefined ? undefined : isWithinLimit(response, 20, history);
    },
  },
  {
    id: 'list.status',
    judge: (response, history) => (response.request.limit === undefined ? fitsFilter(response, history) : undefined),
  },
  {
    id: 'list.status-and-limit',
    judge: (response, history) => {
      const { limit, status } = response.request;
      if (limit === undefined || status === undefined) return undefined;
      const judgements = [isWithinLimit(response, limit, history), fitsFilter(response, history)];
      const violation = judgements.find((judgement) => typeof judgement === 'object');
      return violation ?? (judgements.every((judgement) => judgement === true) || undefined);
    },
  },

  {
    id: 'pet.unique-id',
    judge: (response, history) => {
      const { operation } = response.request;
      const ids = response.pets.map((pet) => pet.id);
      const seen = new Set<bigint>();
      const duplicate = ids.find((id) => seen.size === seen.add(id).size);
      if (duplicate !== undefined) return { required: 'each id once', received: `id ${duplicate} twice in one list` };
      if (operation === 'listPets') return ids.length > 1 ? true : undefined;
      const [id] = ids;
      if (operation !== 'createPet' || id === undefined) return undefined;
      return must(!history.seenBefore(id, response), 'a new id', `id ${id}, which another animal has`);
    },
  },
  echo('create.name', 'name'),
  echo('create.category', 'categoryId'),
  echo('create.status', 'status'),
  {
    id: 'create.stored',
    judge: (response, history) =>
      response.request.operation === 'getPet' ? sameAsCreated(response, history) : undefined,
  },
  {
    id: 'animals.agree',
    judge: (response, history) =>
      response.request.operation === 'listPets' ? sameAsCreated(response, history) : undefined,
  },
  {
    id: 'get.answers',
    judge: (response, history) => {
      const { operation, petId } = response.request;
      const [pet] = response.pets;
      if (operation !== 'getPet' || petId === undefined || pet === undefined) return undefined;
      if (pet.id !== petId) return { required: `the animal with id ${petId}`, received: `the one with id ${pet.id}` };
      const listed = history.listed(pet.id);
      if (listed === undefined) return true;
      const same = mayBeSameName(listed.name, pet.name) && listed.categoryId === pet.categoryId;
      return must(same, `the animal as it is in lists: ${inJson(listed)}`, inJson(pet));
    },
  },
  {
    id: 'get.removal',
    judge: (response) => {
      const [sunset = ''] = response.all('sunset');
      const at = Date.parse(sunset);
      if (response.request.operation !== 'getPet' || Number.isNaN(at)) return undefined;
      return must(at >= removalStarts && at < removalEnds, 'Sunset on 5 December 2030 (RFC 8594)', sunset);
    },
  },
];

function isWithinLimit(response: Response, limit: number | undefined, history: History): Judgement {
  const { request, status, json } = response;
  if (request.operation !== 'listPets' || status !== 200 || limit === undefined || !Array.isArray(json))
    return undefined;
  if (json.length > limit) return { required: `at most ${limit} animals`, received: `${json.length}` };
  // Only a list that could have been longer proves anything.
  return history.count(request.status) > limit ? true : undefined;
}

function fitsFilter(response: Response, history: History): Judgement {
  const { request, pets } = response;
  const { operation, status } = request;
  if (operation !== 'listPets' || response.status !== 200 || status === undefined) return undefined;
  const misfit = pets.find((pet) => pet.status !== undefined && pet.status !== status);
  if (misfit !== undefined) return { required: `only ${status} animals`, received: inJson(misfit) };
  return pets.some((pet) => pet.status === status) && history.statuses() > 1 ? true : undefined;
}

/** A rule that a 201 returns a field as it was sent. A server need not show the status. */
function echo(id: RequirementId, field: keyof NewPet): Rule {
  return {
    id,
    judge: ({ request, pets: [created] }) => {
      if (request.operation !== 'createPet') return undefined;
      const [sent, returned] = [request.sent?.[field], created?.[field]];
      if (sent === undefined || returned === undefined) return undefined;
      if (typeof sent === 'string' && hasLoneSurrogate(sent)) return undefined;
      return must(sent === returned, `${field} ${inJson(sent)}, as it was sent`, inJson(returned));
    },
  };
}

function sameAsCreated(response: Response, history: History): Judgement {
  let judgement: Judgement;
  for (const pet of response.pets) {
    const created = history.created(pet.id);
    if (created === undefined) continue;
    if (history.differs(pet))
      return { required: `the animal as it was created: ${inJson(created)}`, received: inJson(pet) };
    judgement = true;
  }
  return judgement;
}
