// The animals of the peers that keep them in memory, and keys and limits for those without a plugin for them.
import {
  basePath, dayMs, deprecationHeaders, errorBody, firstPets, limits, minuteMs, nextLink, perMinuteWithoutKey, petIdOf,
  validKey,
} from './contract.mjs';

/** The first animals, with ids 1, 2, 3, … in order, each as `form` returns it. */
export function openMemoryPets(form = (pet) => pet) {
  const pets = firstPets().map(form);
  const ofStatus = (status) => pets.filter((pet) => pet.status === status);
  const byStatus = new Map(['available', 'pending', 'sold'].map((status) => [status, ofStatus(status)]));
  return {
    page({ limit, after = 0, status }) {
      const all = status === undefined ? pets : byStatus.get(status);
      const from = status === undefined ? Math.max(0, after) : firstAfter(all, after);
      return { pets: all.slice(from, from + limit), more: all.length > from + limit };
    },
    get: (id) => pets[id - 1],
    create({ name, categoryId, status }) {
      const pet = form({ id: pets.length + 1, name, categoryId, status });
      pets.push(pet);
      byStatus.get(status).push(pet);
      return pet;
    },
    close: () => {},
  };
}

/** The index of the first animal with an id above `after`. */
function firstAfter(pets, after) {
  let [low, high] = [0, pets.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (pets[middle].id > after) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Counters of one kind of window, by key or client address. */
function createWindows(lengthMs) {
  let start = 0;
  let used = new Map();
  /** Counts a request. The window of all starts by the clock. */
  return (name, limit) => {
    const now = Date.now();
    if (now - start >= lengthMs) {
      start = now - (now % lengthMs);
      used = new Map();
    }
    const count = Math.min(limit, used.get(name) ?? 0) + 1;
    used.set(name, count);
    return { limit, remaining: limit - count, reset: Math.ceil((start + lengthMs) / 1000) };
  };
}

const countMinute = createWindows(minuteMs);
const countDay = createWindows(dayMs);

/**
 * Checks the key and counts the request: its rate-limit headers and, if it is refused, the status and the Error body.
 */
export function admit(authorization, address) {
  const key = validKey(authorization);
  const { perMinute, perDay } = limits.get(key) ?? { perMinute: perMinuteWithoutKey, perDay: Infinity };
  const [minute, day] = [countMinute(key ?? address, perMinute), countDay(key ?? address, perDay)];
  const { limit, remaining, reset } = day.remaining < minute.remaining ? day : minute;
  const headers = {
    'X-RateLimit-Limit': String(limit),
    'X-RateLimit-Remaining': String(Math.max(0, remaining)),
    'X-RateLimit-Reset': String(reset),
    'Cache-Control': 'no-store',
  };
  if (remaining < 0) {
    headers['Retry-After'] = String(Math.max(1, reset - Math.floor(Date.now() / 1000)));
    return { headers, error: errors.tooMany };
  }
  return key === undefined ? { headers, error: errors.noKey } : { headers };
}

/** The parameters of a list; undefined if they are not valid. */
export function parametersOf(query) {
  const limit = Number(query.get('limit') ?? 20);
  const after = Number(query.get('after') ?? 0);
  const status = query.get('status') ?? undefined;
  const isValid = limit >= 1 && limit <= 100 && Number.isSafeInteger(limit) && Number.isSafeInteger(after)
    && [undefined, 'available', 'pending', 'sold'].includes(status);
  return isValid ? { limit, after, status } : undefined;
}

/** The response to a list with this query: its body and its headers. */
export function respondToList(pets, query) {
  const parameters = parametersOf(query);
  if (parameters === undefined) return { body: errors.invalidParameter, headers: {} };
  const page = pets.page(parameters);
  const headers = page.more ? { Link: nextLink(parameters, page.pets.at(-1).id) } : {};
  return { body: page.pets, headers };
}

/** The response to a get: its body and its headers. */
export function respondToGet(pets, petId) {
  return { body: pets.get(petIdOf(petId)) ?? errors.noPet, headers: deprecationHeaders };
}

export const errors = {
  noKey: errorBody(401, 'invalid_api_key', 'The API key is missing or not valid.'),
  tooMany: errorBody(429, 'rate_limited', 'Too many requests.'),
  invalidParameter: errorBody(400, 'invalid_parameter', 'A parameter is not valid.'),
  noPet: errorBody(404, 'pet_not_found', 'There is no such animal.'),
  noPath: errorBody(404, 'not_found', `There is no such path below ${basePath}.`),
};
