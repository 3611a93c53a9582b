/** Lists, and animals that several responses show: sections 2 and 4. */
import { JsonObject } from '../../client/json.ts';
import { hasLoneSurrogate, mayBeSameName, pet, type NewPet, type Pet } from '../../client/pet.ts';
import { isOfHeaders, nameOf } from '../../client/request.ts';
import { isServerError, type Response } from '../../client/response.ts';
import { lengthOf, sourceOf, timeOf } from '../disputes.ts';
import { replicaLagMs, type History } from '../history.ts';
import type { Violation } from '../results.ts';
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
      if (operation !== 'createPet' || id === undefined || !isComparable(response)) return undefined;
      // Two creates have different ids even if they are sent at the same time.
      const first = history.known(id)?.first;
      const other = first?.request.operation === 'createPet' ? first : history.shownBefore(id, response);
      return must(other === undefined, 'a new id', `id ${id}, which another animal has in ${other && sourceOf(other)}`);
    },
  },
  { id: 'create.name', judge: (response) => echoes(response, 'name') },
  { id: 'create.category', judge: (response) => echoes(response, 'categoryId') },
  {
    id: 'create.status',
    judge: (response, history) => {
      const { request, pets } = response;
      if (request.operation === 'createPet') return echoes(response, 'status');
      // A different status may be due to a change: see disputes.ts.
      const isStored = pets.some(({ id, status }) => history.known(id)?.sent?.status === (status ?? ''));
      return request.operation === 'getPet' && isStored ? true : undefined;
    },
  },
  {
    id: 'create.refused',
    judge: ({ pets }, { refusedCreates }) => {
      if (pets.length === 0 || refusedCreates.size === 0) return undefined;
      const shown = pets.find(({ name }) => refusedCreates.has(name));
      if (shown === undefined) return true;
      const { request, status, receivedAt } = refusedCreates.get(shown.name)!;
      const refused = `its create (${nameOf(request)} at ${timeOf(receivedAt)}) was refused with ${status}`;
      return { required: `no animal ${inJson(shown.name)}, because ${refused}`, received: inJson(shown) };
    },
  },
  {
    id: 'create.stored',
    judge: (response, history) => {
      const { operation, petId } = response.request;
      const duplicate = duplicateIn(response, history);
      if (duplicate !== undefined) return duplicate;
      if (operation !== 'getPet' || petId === undefined || history.known(petId)?.sent === undefined) return undefined;
      return mustExist(response, history) ?? asShown(response, history, 'first');
    },
  },
  {
    id: 'animals.agree',
    judge: (response, history) =>
      response.request.operation === 'createPet'
        ? undefined
        : (mustExist(response, history) ?? asShown(response, history, 'first')),
  },
  {
    id: 'get.answers',
    judge: (response, history) => {
      const { operation, petId } = response.request;
      const [pet] = response.pets;
      if (operation !== 'getPet' || petId === undefined) return undefined;
      if (pet === undefined) return mustExist(response, history);
      if (pet.id !== petId) return { required: `the animal with id ${petId}`, received: `the one with id ${pet.id}` };
      return asShown(response, history, 'listed') ?? true;
    },
  },
  {
    id: 'get.not-found',
    judge: (response, history) => {
      const { request, status, pets } = response;
      const { operation, petId, open, repeats } = request;
      if (operation !== 'getPet' || petId === undefined || !isComparable(response)) return undefined;
      const isAccident = isServerError(response) && !repeats;
      // Another client may have created the animal.
      if (history.known(petId) !== undefined || pets[0]?.id === petId || status === 429 || isAccident) return undefined;
      const required = 'because no list and no create has shown this id';
      if (open) return must(status !== 200, `no animal, ${required}`, inJson(pets[0] ?? `${status}`));
      return must(status === 404, `404, ${required}`, `${status}`);
    },
  },
  {
    id: 'auth.path',
    judge: ({ request, status, json }) => {
      if (request.operation !== 'other' || request.credential.header !== undefined || status === 429) return undefined;
      const shown = [json].flat().find((value) => value instanceof JsonObject && pet(value) !== undefined);
      return must(shown === undefined, 'no animal, because there is no key', `${status} with an animal`);
    },
  },
  {
    id: 'get.removal',
    judge: (response) => {
      const [sunset = ''] = response.all('sunset');
      const at = Date.parse(sunset);
      if (response.request.operation === 'other' || Number.isNaN(at)) return undefined;
      const isThen = at >= removalStarts && at < removalEnds;
      if (response.request.operation === 'getPet')
        return must(isThen, 'Sunset on 5 December 2030 (RFC 8594)', sunset);
      const required = 'no Sunset on 5 December 2030, because only getPet is removed then';
      return isThen ? { required, received: sunset } : undefined;
    },
  },
];

function isWithinLimit(response: Response, limit: number | undefined, history: History): Judgement {
  const length = lengthOf(response);
  if (length === undefined || limit === undefined) return undefined;
  if (length > limit) return { required: `at most ${limit} animals`, received: `${length}` };
  // Only a list that could have been longer proves anything.
  return history.count(response.request.status) > limit ? true : undefined;
}

/** A list may show no status: then `history` knows it from other responses. */
function fitsFilter(response: Response, history: History): Judgement {
  const { request, pets } = response;
  const length = lengthOf(response);
  if (length === undefined || request.status === undefined) return undefined;
  const misfit = pets.find(({ status }) => status !== undefined && status !== request.status);
  if (misfit !== undefined) return { required: `only ${request.status} animals`, received: inJson(misfit) };
  const statusOf = ({ id, status }: Pet) => status ?? history.known(id)?.status;
  const isKnown = length === 0 || pets.some((pet) => statusOf(pet) === request.status);
  // Only if animals with another status exist, the list could have contained them.
  return isKnown && history.statuses().some((status) => status !== request.status) ? true : undefined;
}

/** Whether a 201 returns a field as it was sent. A server need not show the status. */
function echoes({ request, pets: [created] }: Response, field: keyof NewPet): Judgement {
  const [sent, returned] = [request.sent?.[field], created?.[field]];
  if (request.operation !== 'createPet' || sent === undefined || returned === undefined) return undefined;
  if (typeof sent === 'string' && hasLoneSurrogate(sent)) return undefined;
  return must(sent === returned, `${field} ${inJson(sent)}, as it was sent`, inJson(returned));
}

/** Another key may have other animals (section 5, gaps). */
const isComparable = ({ request }: Response) => request.credential.key === 'main';

/** The violation if getPet does not return an animal that an earlier response has shown. */
function mustExist(response: Response, history: History): Violation | undefined {
  const { request, status, sentAt } = response;
  const { operation, petId } = request;
  if (operation !== 'getPet' || petId === undefined || [200, 429].includes(status)) return undefined;
  if (isOfHeaders(request, status) || request.open) return undefined;
  const first = history.shownBefore(petId, response);
  const isAccident = isServerError(response) && !request.repeats;
  if (first === undefined || !isComparable(response) || isAccident) return undefined;
  const ageMs = sentAt - first.received.at;
  if (status === 404 && ageMs < replicaLagMs) return undefined;
  const required = `200, because ${sourceOf(first)} showed animal ${petId}, ${ageMs / 1000} s before this request`;
  return { required, received: `${status}` };
}

/** The violation if a response shows another animal with a name that only one create had. */
function duplicateIn({ request, pets }: Response, history: History): Violation | undefined {
  if (request.operation === 'createPet') return undefined;
  const idsOf = (name: string) => history.idsOfName.get(name);
  const other = pets.find(({ id, name }) => idsOf(name)?.includes(id) === false);
  if (other === undefined) return undefined;
  const required = `only animal ${idsOf(other.name)!.join(' and ')} with the name ${inJson(other.name)}, as created`;
  return { required, received: `animal ${other.id} with this name, too` };
}

/**
 * Whether the names and categories of animals are the same as in the first response, or the first list, that showed
 * them: no operation changes them. An animal that this run has created may be as it was sent or as the 201 returned it.
 * So if the create changed a value, this is one failure, not one for each later response.
 */
function asShown(response: Response, history: History, by: 'first' | 'listed'): Judgement {
  if (!isComparable(response)) return undefined;
  let judgement: Judgement;
  for (const pet of response.pets) {
    const known = history.known(pet.id);
    const shown = known?.[by];
    if (shown === undefined) continue;
    const sent = by === 'first' ? known?.sent : undefined;
    const same = (other: NewPet) => mayBeSameName(other.name, pet.name) && other.categoryId === pet.categoryId;
    if (!same(shown.pet) && !(sent && same(sent))) {
      const required = `animal ${pet.id} as in ${sourceOf(shown)}: ${inJson(sent ?? shown.pet)}`;
      return { required, received: `${inJson(pet)}, at ${timeOf(response.receivedAt)}` };
    }
    judgement = true;
  }
  return judgement;
}
