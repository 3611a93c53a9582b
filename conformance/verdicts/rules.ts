/**
 * What every single response owes, whichever check asked for it: so that the hundredth response is looked at like the first. A rule
 * belongs to the requirement of its id; the check of that requirement sees to it that there are responses to judge.
 *
 * A rule says `undefined` where the response could not have broken it, `true` where it was kept, and else what was wrong.
 */
import type { Operation } from '../client/request.ts';
import type { Response } from '../client/response.ts';
import type { History } from './history.ts';
import { JsonNumber, JsonObject, kindOf } from '../client/json.ts';
import { fieldProblems } from '../client/pet.ts';
import type { RequirementId } from '../requirements/requirements.ts';

/** What was required, and what came. */
export interface Violation {
  readonly required: string;
  readonly received: string;
}

export interface Rule {
  readonly id: RequirementId;
  judge(response: Response, history: History): undefined | true | Violation;
}

const rateLimitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/** How far a Reset may lie back, for clocks that tick, and ahead. */
const resetSlackMs = 2_000;
const dayMs = 86_400_000;

/** The statuses that the specification gives to errors of the operations, 429 apart, whose body it leaves open. */
const errorStatuses = [400, 401, 404];

export const rules: readonly Rule[] = [
  // What a response must be where the specification leaves no choice.
  ...(['list.answers', 'list.limit-accepted', 'list.status', 'list.status-and-limit', 'create.answers'] as const).map((id) => ({
    id,
    judge: ({ request, status }: Response) =>
      request.mustBe === undefined || status === 429 || acceptedBy(request) !== id
        ? undefined
        : must(status === request.mustBe, `${request.mustBe}`, `${status}`),
  })),
  {
    id: 'auth.valid',
    judge: ({ request, status }) =>
      request.operation === 'other' || request.credential.key === 'none' || status === 429 || status >= 500
        ? undefined
        : must(status !== 401, 'no 401, since the key is valid', '401'),
  },

  // Bodies.
  {
    id: 'service.json',
    judge: (response) => {
      if (!owes(response) || response.body.length === 0 || ![200, 201, ...errorStatuses].includes(response.status)) return undefined;
      const types = response.all('content-type');
      const required = 'a JSON text in UTF-8, with one Content-Type: application/json';
      if (types.length !== 1 || !/^application\/json[ \t]*(;|$)/i.test(types[0]!))
        return { required, received: `Content-Type: ${types.join(' and ') || 'missing'}` };
      return must(
        !(response.json instanceof SyntaxError),
        required,
        `a body that is no JSON: ${(response.json as SyntaxError).message}`,
      );
    },
  },
  {
    id: 'pets.array',
    judge: (response) => {
      if (response.request.operation !== 'listPets' || response.status !== 200) return undefined;
      const { json } = response;
      if (!Array.isArray(json))
        return { required: 'an array of objects', received: json instanceof SyntaxError ? json.message : kindOf(json) };
      const stranger = json.find((element) => !(element instanceof JsonObject));
      return must(stranger === undefined, 'an array of objects', `an array with ${kindOf(stranger)} in it`);
    },
  },
  ...(['id', 'name', 'categoryId', 'status'] as const).map((field) => ({
    id: ({ id: 'pet.id', name: 'pet.name', categoryId: 'pet.category', status: 'pet.status' } as const)[field],
    judge: (response: Response) => {
      // A 200 or 201 that is no object at all breaks the same promise: the field is not there.
      const missing =
        (response.request.operation === 'getPet' && response.status === 200) ||
        (response.request.operation === 'createPet' && response.status === 201);
      if (response.petObjects.length === 0)
        return missing && field !== 'status' ? { required: fieldRules[field], received: 'a body that is no object' } : undefined;
      if (field === 'status' && !response.petObjects.some((p) => p.get('status') !== undefined)) return undefined;
      const problem = response.petObjects.map(fieldProblems[field]).find((p) => p !== undefined);
      return must(problem === undefined, fieldRules[field], problem!);
    },
  })),
  {
    id: 'error.object',
    judge: (response) =>
      owes(response) && isError(response)
        ? must(
            response.json instanceof JsonObject,
            'an Error body, a JSON object',
            response.body.length === 0
              ? 'no body'
              : response.json instanceof SyntaxError
                ? 'a body that is no JSON'
                : kindOf(response.json as never),
          )
        : undefined,
  },
  { id: 'error.code', judge: (response) => errorField(response, 'code', (v) => typeof v === 'string', 'a code that is a string') },
  {
    id: 'error.message',
    judge: (response) => errorField(response, 'message', (v) => typeof v === 'string', 'a message that is a string'),
  },
  {
    id: 'error.status',
    judge: (response) =>
      errorField(
        response,
        'status',
        (v) => v instanceof JsonNumber && v.int64() === BigInt(response.status),
        `a status that is the number ${response.status}, as the HTTP status`,
      ),
  },

  // Lists.
  {
    id: 'list.limit',
    judge: (response, history) =>
      response.request.status === undefined ? withinLimit(response, response.request.limit, history) : undefined,
  },
  {
    id: 'list.default-limit',
    judge: (response, history) =>
      response.request.open || response.request.limit !== undefined ? undefined : withinLimit(response, 20, history),
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
      const [within, fits] = [withinLimit(response, limit, history), fitsFilter(response, history)];
      return typeof within === 'object'
        ? within
        : typeof fits === 'object'
          ? fits
          : within === true && fits === true
            ? true
            : undefined;
    },
  },

  // What is the same animal in every response.
  {
    id: 'pet.unique-id',
    judge: (response, history) => {
      const ids = response.pets.map((p) => p.id);
      const twice = ids.find((id, i) => ids.indexOf(id) !== i);
      if (twice !== undefined) return { required: 'no id twice', received: `id ${twice} twice in one list` };
      if (response.request.operation === 'listPets') return ids.length > 1 ? true : undefined;
      if (response.request.operation !== 'createPet' || ids.length === 0) return undefined;
      return must(
        !history.seenBefore(ids[0]!, response),
        'an id that no animal had before',
        `id ${ids[0]}, which an animal had already`,
      );
    },
  },
  {
    id: 'create.name',
    judge: (response) =>
      echoed(
        response,
        'name',
        (sent) => sent.name,
        (p) => p.name,
      ),
  },
  {
    id: 'create.category',
    judge: (response) =>
      echoed(
        response,
        'categoryId',
        (sent) => sent.categoryId,
        (p) => p.categoryId,
      ),
  },
  {
    id: 'create.status',
    judge: (response) =>
      echoed(
        response,
        'status',
        (sent) => sent.status,
        (p) => p.status,
      ),
  },
  {
    id: 'create.stored',
    judge: (response, history) => (response.request.operation === 'getPet' ? sameAsCreated(response, history) : undefined),
  },
  {
    id: 'animals.agree',
    judge: (response, history) => (response.request.operation === 'listPets' ? sameAsCreated(response, history) : undefined),
  },
  {
    id: 'get.answers',
    judge: (response, history) => {
      const [got] = response.pets;
      if (response.request.operation !== 'getPet' || response.request.petId === undefined || got === undefined) return undefined;
      if (got.id !== response.request.petId)
        return { required: `the animal of id ${response.request.petId}`, received: `the one of id ${got.id}` };
      const listed = history.listed(got.id);
      if (listed === undefined) return true;
      return must(
        listed.name === got.name && listed.categoryId === got.categoryId,
        `the animal as listed: ${inJson(listed)}`,
        inJson(got),
      );
    },
  },

  // Limits (section 8: every response carries the headers).
  ...rateLimitHeaders.map((name) => ({
    id: (
      {
        'X-RateLimit-Limit': 'limits.limit-header',
        'X-RateLimit-Remaining': 'limits.remaining-header',
        'X-RateLimit-Reset': 'limits.reset-header',
      } as const
    )[name],
    judge: (response: Response) =>
      owes(response) ? must(response.all(name).length > 0, `${name} on every response`, `none on a ${response.status}`) : undefined,
  })),
  {
    id: 'limits.headers-once',
    judge: (response) => {
      const present = rateLimitHeaders.filter((name) => response.all(name).length > 0);
      const twice = present.find((name) => response.all(name).length > 1);
      return !owes(response) || present.length === 0
        ? undefined
        : must(twice === undefined, 'each header once', `${twice}: ${twice && response.all(twice).join(` and ${twice}: `)}`);
    },
  },
  {
    id: 'limits.headers-integers',
    judge: (response) => {
      const present = rateLimitHeaders.filter((name) => response.all(name).length === 1);
      const broken = present.find((name) => response.integer(name) === undefined);
      return !owes(response) || present.length === 0
        ? undefined
        : must(broken === undefined, 'decimal integers', `${broken}: ${broken && response.all(broken)[0]}`);
    },
  },
  {
    id: 'limits.remaining-range',
    judge: (response) => {
      const [limit, remaining] = [response.integer('x-ratelimit-limit'), response.integer('x-ratelimit-remaining')];
      return !owes(response) || limit === undefined || remaining === undefined
        ? undefined
        : must(remaining >= 0 && remaining <= limit, `a Remaining from 0 to ${limit}, the Limit`, `${remaining}`);
    },
  },
  {
    id: 'limits.reset-time',
    judge: (response) => {
      const reset = response.integer('x-ratelimit-reset');
      const { date } = response;
      if (!owes(response) || reset === undefined || date === undefined) return undefined;
      const ahead = reset * 1000 - date;
      // The headers may have been made when the request received, and Date when it was answered.
      const took = response.receivedAt - response.sentAt;
      return must(
        ahead >= -resetSlackMs - took && ahead <= dayMs + resetSlackMs,
        'a Reset in Unix seconds, not before Date and at most a day after it',
        `${reset}, where Date is ${date / 1000}`,
      );
    },
  },
  {
    id: 'limits.retry-after',
    judge: (response) => {
      if (response.request.operation === 'other' || response.status !== 429) return undefined;
      const values = response.all('retry-after');
      const ok =
        values.length === 1 &&
        (/^\d+$/.test(values[0]!) || /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/.test(values[0]!));
      return must(
        ok,
        'one Retry-After, in whole seconds or as a date (RFC 9110, section 10.2.3)',
        values.length === 0 ? 'a 429 without it' : `Retry-After: ${values.join(' and ')}`,
      );
    },
  },
];

const fieldRules = {
  id: 'an id, an integer of 64 bits',
  name: 'a name, a string',
  categoryId: 'a categoryId, an integer of 64 bits',
  status: 'no other status than available, pending and sold',
};

/** Which requirement promises that a request with these parameters is accepted. */
function acceptedBy({
  operation,
  limit,
  status,
}: {
  operation: Operation;
  limit?: number;
  status?: string;
}): RequirementId | undefined {
  if (operation === 'createPet') return 'create.answers';
  if (operation !== 'listPets') return undefined;
  if (limit === undefined) return status === undefined ? 'list.answers' : 'list.status';
  return status === undefined ? 'list.limit-accepted' : 'list.status-and-limit';
}

function must(kept: boolean, required: string, received: string): true | Violation {
  return kept || { required, received };
}

/** Whether the response is one of the four operations', and not of the server's failure. */
function owes(response: Response): boolean {
  return response.request.operation !== 'other';
}

/** Whether it must have an Error body. The 401 is every operation's, the others those of the operations on animals. */
function isError({ request, status }: Response): boolean {
  return errorStatuses.includes(status) && (status === 401 || request.operation !== 'listOrders');
}

function errorField(
  response: Response,
  field: string,
  holds: (value: unknown) => boolean,
  required: string,
): undefined | true | Violation {
  if (!owes(response) || !isError(response) || !(response.json instanceof JsonObject)) return undefined;
  const value = response.json.get(field);
  return must(holds(value), required, value === undefined ? `an Error without ${field}` : `${field} is ${kindOf(value)}`);
}

function withinLimit(response: Response, limit: number | undefined, history: History): undefined | true | Violation {
  if (response.request.operation !== 'listPets' || response.status !== 200 || limit === undefined || !Array.isArray(response.json))
    return undefined;
  if (response.json.length > limit) return { required: `at most ${limit} animals`, received: `${response.json.length}` };
  return history.count(response.request.status) > limit ? true : undefined;
}

function fitsFilter(response: Response, history: History): undefined | true | Violation {
  const { operation, status } = response.request;
  if (operation !== 'listPets' || response.status !== 200 || status === undefined) return undefined;
  const other = response.pets.find((p) => p.status !== undefined && p.status !== status);
  if (other !== undefined) return { required: `${status} animals only`, received: inJson(other) };
  return response.pets.some((p) => p.status === status) && history.statuses() > 1 ? true : undefined;
}

function echoed<T>(
  response: Response,
  field: string,
  ofSent: (sent: NonNullable<Response['request']['sent']>) => T | undefined,
  ofPet: (p: Response['pets'][number]) => T | undefined,
): undefined | true | Violation {
  const { sent } = response.request;
  const [created] = response.pets;
  if (sent === undefined || created === undefined || response.request.operation !== 'createPet') return undefined;
  const [was, is] = [ofSent(sent), ofPet(created)];
  // A name and a category are always there; whether a status is shown is left open.
  if (was === undefined || is === undefined) return undefined;
  return must(was === is, `${field} ${inJson(was)}, as it was sent`, inJson(is));
}

function sameAsCreated(response: Response, history: History): undefined | true | Violation {
  let judged: undefined | true;
  for (const shown of response.pets) {
    const created = history.created(shown.id);
    if (created === undefined) continue;
    judged = true;
    if (history.differs(shown)) return { required: `the animal as it was created: ${inJson(created)}`, received: inJson(shown) };
  }
  return judged;
}

/** A value as JSON, an integer of 64 bits with all its digits. */
export function inJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([k, v]) => `${JSON.stringify(k)}:${inJson(v)}`)
    .join(',')}}`;
}
