/**
 * What every single answer owes, whichever check asked for it: so that the hundredth answer is looked at like the first. A rule
 * belongs to the requirement of its id; the check of that requirement sees to it that there are answers to judge.
 *
 * A rule says `undefined` where the answer could not have broken it, `true` where it was kept, and else what was wrong.
 */
import { type Answer, type Operation } from '../client/exchange.ts';
import type { History } from './history.ts';
import { JsonNumber, JsonObject, kindOf } from '../client/json.ts';
import { fieldProblems } from '../client/pet.ts';
import type { RequirementId } from '../requirements/requirements.ts';

/** What was required, and what came. */
export interface Violation {
  readonly required: string;
  readonly came: string;
}

export interface Rule {
  readonly id: RequirementId;
  judge(answer: Answer, history: History): undefined | true | Violation;
}

const rateLimitHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/** How far a Reset may lie back, for clocks that tick, and ahead. */
const resetSlackMs = 2_000;
const dayMs = 86_400_000;

/** The statuses that the specification gives to errors of the operations, 429 apart, whose body it leaves open. */
const errorStatuses = [400, 401, 404];

export const rules: readonly Rule[] = [
  // What an answer must be where the specification leaves no choice.
  ...(['list.answers', 'list.limit-accepted', 'list.status', 'list.status-and-limit', 'create.answers'] as const).map((id) => ({
    id,
    judge: ({ request, status }: Answer) =>
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
    judge: (answer) => {
      if (!owes(answer) || answer.body.length === 0 || ![200, 201, ...errorStatuses].includes(answer.status)) return undefined;
      const types = answer.all('content-type');
      const required = 'a JSON text in UTF-8, with one Content-Type: application/json';
      if (types.length !== 1 || !/^application\/json[ \t]*(;|$)/i.test(types[0]!))
        return { required, came: `Content-Type: ${types.join(' and ') || 'missing'}` };
      return must(
        !(answer.json instanceof SyntaxError),
        required,
        `a body that is no JSON: ${(answer.json as SyntaxError).message}`,
      );
    },
  },
  {
    id: 'pets.array',
    judge: (answer) => {
      if (answer.request.operation !== 'listPets' || answer.status !== 200) return undefined;
      const { json } = answer;
      if (!Array.isArray(json))
        return { required: 'an array of objects', came: json instanceof SyntaxError ? json.message : kindOf(json) };
      const stranger = json.find((element) => !(element instanceof JsonObject));
      return must(stranger === undefined, 'an array of objects', `an array with ${kindOf(stranger)} in it`);
    },
  },
  ...(['id', 'name', 'categoryId', 'status'] as const).map((field) => ({
    id: ({ id: 'pet.id', name: 'pet.name', categoryId: 'pet.category', status: 'pet.status' } as const)[field],
    judge: (answer: Answer) => {
      // A 200 or 201 that is no object at all breaks the same promise: the field is not there.
      const missing =
        (answer.request.operation === 'getPet' && answer.status === 200) ||
        (answer.request.operation === 'createPet' && answer.status === 201);
      if (answer.petObjects.length === 0)
        return missing && field !== 'status' ? { required: fieldRules[field], came: 'a body that is no object' } : undefined;
      if (field === 'status' && !answer.petObjects.some((p) => p.get('status') !== undefined)) return undefined;
      const problem = answer.petObjects.map(fieldProblems[field]).find((p) => p !== undefined);
      return must(problem === undefined, fieldRules[field], problem!);
    },
  })),
  {
    id: 'error.object',
    judge: (answer) =>
      owes(answer) && isError(answer)
        ? must(
            answer.json instanceof JsonObject,
            'an Error body, a JSON object',
            answer.body.length === 0
              ? 'no body'
              : answer.json instanceof SyntaxError
                ? 'a body that is no JSON'
                : kindOf(answer.json as never),
          )
        : undefined,
  },
  { id: 'error.code', judge: (answer) => errorField(answer, 'code', (v) => typeof v === 'string', 'a code that is a string') },
  {
    id: 'error.message',
    judge: (answer) => errorField(answer, 'message', (v) => typeof v === 'string', 'a message that is a string'),
  },
  {
    id: 'error.status',
    judge: (answer) =>
      errorField(
        answer,
        'status',
        (v) => v instanceof JsonNumber && v.int64() === BigInt(answer.status),
        `a status that is the number ${answer.status}, as the HTTP status`,
      ),
  },

  // Lists.
  {
    id: 'list.limit',
    judge: (answer, history) =>
      answer.request.status === undefined ? withinLimit(answer, answer.request.limit, history) : undefined,
  },
  {
    id: 'list.default-limit',
    judge: (answer, history) =>
      answer.request.open || answer.request.limit !== undefined ? undefined : withinLimit(answer, 20, history),
  },
  {
    id: 'list.status',
    judge: (answer, history) => (answer.request.limit === undefined ? fitsFilter(answer, history) : undefined),
  },
  {
    id: 'list.status-and-limit',
    judge: (answer, history) => {
      const { limit, status } = answer.request;
      if (limit === undefined || status === undefined) return undefined;
      const [within, fits] = [withinLimit(answer, limit, history), fitsFilter(answer, history)];
      return typeof within === 'object'
        ? within
        : typeof fits === 'object'
          ? fits
          : within === true && fits === true
            ? true
            : undefined;
    },
  },

  // What is the same animal in every answer.
  {
    id: 'pet.unique-id',
    judge: (answer, history) => {
      const ids = answer.pets.map((p) => p.id);
      const twice = ids.find((id, i) => ids.indexOf(id) !== i);
      if (twice !== undefined) return { required: 'no id twice', came: `id ${twice} twice in one list` };
      if (answer.request.operation === 'listPets') return ids.length > 1 ? true : undefined;
      if (answer.request.operation !== 'createPet' || ids.length === 0) return undefined;
      return must(
        !history.seenBefore(ids[0]!, answer),
        'an id that no animal had before',
        `id ${ids[0]}, which an animal had already`,
      );
    },
  },
  {
    id: 'create.name',
    judge: (answer) =>
      echoed(
        answer,
        'name',
        (sent) => sent.name,
        (p) => p.name,
      ),
  },
  {
    id: 'create.category',
    judge: (answer) =>
      echoed(
        answer,
        'categoryId',
        (sent) => sent.categoryId,
        (p) => p.categoryId,
      ),
  },
  {
    id: 'create.status',
    judge: (answer) =>
      echoed(
        answer,
        'status',
        (sent) => sent.status,
        (p) => p.status,
      ),
  },
  {
    id: 'create.stored',
    judge: (answer, history) => (answer.request.operation === 'getPet' ? sameAsCreated(answer, history) : undefined),
  },
  {
    id: 'animals.agree',
    judge: (answer, history) => (answer.request.operation === 'listPets' ? sameAsCreated(answer, history) : undefined),
  },
  {
    id: 'get.answers',
    judge: (answer, history) => {
      const [got] = answer.pets;
      if (answer.request.operation !== 'getPet' || answer.request.petId === undefined || got === undefined) return undefined;
      if (got.id !== answer.request.petId)
        return { required: `the animal of id ${answer.request.petId}`, came: `the one of id ${got.id}` };
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
    judge: (answer: Answer) =>
      owes(answer) ? must(answer.all(name).length > 0, `${name} on every answer`, `none on a ${answer.status}`) : undefined,
  })),
  {
    id: 'limits.headers-once',
    judge: (answer) => {
      const present = rateLimitHeaders.filter((name) => answer.all(name).length > 0);
      const twice = present.find((name) => answer.all(name).length > 1);
      return !owes(answer) || present.length === 0
        ? undefined
        : must(twice === undefined, 'each header once', `${twice}: ${twice && answer.all(twice).join(` and ${twice}: `)}`);
    },
  },
  {
    id: 'limits.headers-integers',
    judge: (answer) => {
      const present = rateLimitHeaders.filter((name) => answer.all(name).length === 1);
      const broken = present.find((name) => answer.integer(name) === undefined);
      return !owes(answer) || present.length === 0
        ? undefined
        : must(broken === undefined, 'decimal integers', `${broken}: ${broken && answer.all(broken)[0]}`);
    },
  },
  {
    id: 'limits.remaining-range',
    judge: (answer) => {
      const [limit, remaining] = [answer.integer('x-ratelimit-limit'), answer.integer('x-ratelimit-remaining')];
      return !owes(answer) || limit === undefined || remaining === undefined
        ? undefined
        : must(remaining >= 0 && remaining <= limit, `a Remaining from 0 to ${limit}, the Limit`, `${remaining}`);
    },
  },
  {
    id: 'limits.reset-time',
    judge: (answer) => {
      const reset = answer.integer('x-ratelimit-reset');
      const { date } = answer;
      if (!owes(answer) || reset === undefined || date === undefined) return undefined;
      const ahead = reset * 1000 - date;
      // The headers may have been made when the request came, and Date when it was answered.
      const took = answer.receivedAt - answer.sentAt;
      return must(
        ahead >= -resetSlackMs - took && ahead <= dayMs + resetSlackMs,
        'a Reset in Unix seconds, not before Date and at most a day after it',
        `${reset}, where Date is ${date / 1000}`,
      );
    },
  },
  {
    id: 'limits.retry-after',
    judge: (answer) => {
      if (answer.request.operation === 'other' || answer.status !== 429) return undefined;
      const values = answer.all('retry-after');
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

function must(kept: boolean, required: string, came: string): true | Violation {
  return kept || { required, came };
}

/** Whether the answer is one of the four operations', and not of the server's failure. */
function owes(answer: Answer): boolean {
  return answer.request.operation !== 'other';
}

/** Whether it must have an Error body. The 401 is every operation's, the others those of the operations on animals. */
function isError({ request, status }: Answer): boolean {
  return errorStatuses.includes(status) && (status === 401 || request.operation !== 'listOrders');
}

function errorField(
  answer: Answer,
  field: string,
  holds: (value: unknown) => boolean,
  required: string,
): undefined | true | Violation {
  if (!owes(answer) || !isError(answer) || !(answer.json instanceof JsonObject)) return undefined;
  const value = answer.json.get(field);
  return must(holds(value), required, value === undefined ? `an Error without ${field}` : `${field} is ${kindOf(value)}`);
}

function withinLimit(answer: Answer, limit: number | undefined, history: History): undefined | true | Violation {
  if (answer.request.operation !== 'listPets' || answer.status !== 200 || limit === undefined || !Array.isArray(answer.json))
    return undefined;
  if (answer.json.length > limit) return { required: `at most ${limit} animals`, came: `${answer.json.length}` };
  return history.count(answer.request.status) > limit ? true : undefined;
}

function fitsFilter(answer: Answer, history: History): undefined | true | Violation {
  const { operation, status } = answer.request;
  if (operation !== 'listPets' || answer.status !== 200 || status === undefined) return undefined;
  const other = answer.pets.find((p) => p.status !== undefined && p.status !== status);
  if (other !== undefined) return { required: `${status} animals only`, came: inJson(other) };
  return answer.pets.some((p) => p.status === status) && history.statuses() > 1 ? true : undefined;
}

function echoed<T>(
  answer: Answer,
  field: string,
  ofSent: (sent: NonNullable<Answer['request']['sent']>) => T | undefined,
  ofPet: (p: Answer['pets'][number]) => T | undefined,
): undefined | true | Violation {
  const { sent } = answer.request;
  const [created] = answer.pets;
  if (sent === undefined || created === undefined || answer.request.operation !== 'createPet') return undefined;
  const [was, is] = [ofSent(sent), ofPet(created)];
  // A name and a category are always there; whether a status is shown is left open.
  if (was === undefined || is === undefined) return undefined;
  return must(was === is, `${field} ${inJson(was)}, as it was sent`, inJson(is));
}

function sameAsCreated(answer: Answer, history: History): undefined | true | Violation {
  let judged: undefined | true;
  for (const shown of answer.pets) {
    const created = history.created(shown.id);
    if (created === undefined) continue;
    judged = true;
    if (history.differs(shown)) return { required: `the animal as it was created: ${inJson(created)}`, came: inJson(shown) };
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
