/** Statuses and bodies: sections 1, 2, 3, 5 and 7. */
import { JsonNumber, JsonObject, kindOf } from '../../client/json.ts';
import { fieldProblems, newPetText, type NewPet } from '../../client/pet.ts';
import { isOfHeaders, type Request } from '../../client/request.ts';
import { isServerError, proxyStatuses, type Response } from '../../client/response.ts';
import type { RequirementId } from '../../requirements/requirements.ts';
import type { History } from '../history.ts';
import { isOfOperation, must, type Judgement, type Rule } from './rule.ts';

/** The error statuses of the specification whose body is an Error. It leaves the shape of the body of a 429 open. */
const errorStatuses = [400, 401, 404];

/** The requirements on the fields of a Pet. */
const petFields = [
  ['id', 'pet.id', 'an id, a 64-bit integer'],
  ['name', 'pet.name', 'a name, a string'],
  ['categoryId', 'pet.category', 'a categoryId, a 64-bit integer'],
  ['status', 'pet.status', 'no other status than available, pending and sold'],
] as const;

export const bodyRules: readonly Rule[] = [
  ...(['list.answers', 'list.limit-accepted', 'list.status', 'list.status-and-limit', 'create.answers'] as const).map(
    (id): Rule => ({
      id,
      judge: (response, history) =>
        hasRequiredStatus(response, id) ?? (id === 'create.answers' ? isUnexplained(response, history) : undefined),
    }),
  ),
  {
    id: 'auth.valid',
    judge: (response) => {
      const { request, status } = response;
      if (!isOfOperation(response) || request.credential.key === 'none' || status === 429 || status >= 500)
        return undefined;
      return must(status !== 401, 'no 401, because the key is valid', '401');
    },
  },
  {
    id: 'auth.invalid-request',
    judge: (response) => {
      const { request, status } = response;
      const { key, acceptedAs } = request.credential;
      const isOpen = !isOfOperation(response) || request.open === true || acceptedAs !== undefined;
      if (key !== 'none' || isOpen || status >= 300) return undefined;
      return { required: '401, because there is no valid key', received: `${status}` };
    },
  },
  {
    id: 'service.status',
    judge: (response) => {
      const { request, status } = response;
      if (!['listPets', 'createPet', 'getPet'].includes(request.operation)) return undefined;
      if (isServerError(response) && !request.repeats) return undefined;
      const received = `${status}, again when the request was repeated`;
      return must(!isServerError(response), 'no server error (5xx)', received);
    },
  },
  {
    id: 'orders.exists',
    judge: (response) => {
      const { request, status } = response;
      if (request.operation !== 'listOrders' || request.credential.key === 'none' || status === 429) return undefined;
      if (isServerError(response) && !request.repeats) return undefined;
      const exists = ![404, 405, 410].includes(status) && status < 500;
      return must(exists, 'any status except 404, 405, 410 and server errors (5xx)', `${status}`);
    },
  },
  { id: 'service.json', judge: isJson },
  {
    id: 'pets.array',
    judge: ({ request, status, json }) => {
      if (request.operation !== 'listPets' || status !== 200) return undefined;
      const required = 'an array of objects';
      if (!Array.isArray(json))
        return { required, received: json instanceof SyntaxError ? json.message : kindOf(json) };
      const other = json.find((element) => !(element instanceof JsonObject));
      return must(other === undefined, required, `an array that contains ${kindOf(other)}`);
    },
  },
  ...petFields.map(([field, id, required]): Rule => ({
    id,
    judge: (response) => {
      const { petObjects, body, json, mustBePet } = response;
      // A body that is not JSON, unless it is empty, shows nothing about fields: service.json judges it.
      const isReadable = body.length === 0 || !(json instanceof SyntaxError);
      if (petObjects.length === 0)
        return mustBePet && field !== 'status' && isReadable
          ? { required, received: 'a body that is not an object' }
          : undefined;
      if (field === 'status' && petObjects.every((pet) => pet.get('status') === undefined)) return undefined;
      const problem = petObjects.map(fieldProblems[field]).find((p) => p !== undefined);
      return must(problem === undefined, required, problem!);
    },
  })),
  {
    id: 'error.object',
    judge: (response) => {
      const { json, body } = response;
      if (!owesError(response)) return undefined;
      if (json instanceof JsonObject) return true;
      const kind = json instanceof SyntaxError ? 'a body that is not JSON' : kindOf(json);
      return { required: 'an Error body, a JSON object', received: body.length === 0 ? 'no body' : kind };
    },
  },
  ...(['code', 'message'] as const).map((field): Rule => ({
    id: `error.${field}`,
    judge: (response) =>
      hasErrorField(response, field, (value) => typeof value === 'string', `a ${field} that is a string`),
  })),
  {
    id: 'error.status',
    judge: (response) => {
      const { status } = response;
      const isStatus = (value: unknown) => value instanceof JsonNumber && value.int64() === BigInt(status);
      return hasErrorField(response, 'status', isStatus, `a status that is the number ${status}, as the HTTP status`);
    },
  },
];

function hasRequiredStatus({ request, status }: Response, id: RequirementId): Judgement {
  // A server may refuse some names and categories, but not accept them with another status, or redirect the client.
  const isAccepted = request.sent !== undefined && request.credential.key !== 'none' && status >= 200 && status < 400;
  const mustBe = request.mustBe ?? (isAccepted && status !== 201 ? 201 : undefined);
  if (mustBe === undefined || status === 429 || isOfHeaders(request, status)) return undefined;
  if (acceptingRequirement(request) !== id) return undefined;
  return must(status === mustBe, `${mustBe}`, `${status}`);
}

/** The statuses of an invalid name, of a firewall that dislikes it, and of a body that is too large or arrives late. */
const refusalsOfNames = [400, 422, 403, 406, 413, 408];

/**
 * Whether a valid create gets another 4xx than a name can explain, such as 409: no requirement lets a server refuse an
 * animal because of another one. It may refuse an unknown category or an unknown field, in any way.
 */
function isUnexplained(response: Response, history: History): Judgement {
  const { request, status } = response;
  const { operation, credential, sent, headers, body = '' } = request;
  if (operation !== 'createPet' || status < 400 || status >= 500 || credential.key !== 'main') return undefined;
  if ([...refusalsOfNames, 401, 429].includes(status) || isOfHeaders(request, status)) return undefined;
  if (sent?.name === undefined || sent.categoryId === undefined) return undefined;
  const isUsual = Buffer.from(body).toString() === newPetText(sent as NewPet);
  const hasType = headers.some(([name, value]) => name === 'Content-Type' && /^application\/json/i.test(value));
  if (!isUsual || !hasType || !history.categories().includes(sent.categoryId)) return undefined;
  return { required: '201, or 400 if the name is invalid', received: `${status}` };
}

/** The requirement that a request with these parameters is accepted. */
function acceptingRequirement({ operation, limit, status }: Request): RequirementId | undefined {
  if (operation === 'createPet') return 'create.answers';
  if (operation !== 'listPets') return undefined;
  if (limit === undefined) return status === undefined ? 'list.answers' : 'list.status';
  return status === undefined ? 'list.limit-accepted' : 'list.status-and-limit';
}

function isJson(response: Response): Judgement {
  const { status, body } = response;
  if (!isOfOperation(response) || body.length === 0) return undefined;
  if ((status >= 300 && status < 400) || status >= 500 || proxyStatuses.includes(status)) return undefined;
  const problem = jsonProblem(response);
  return must(problem === undefined, 'JSON in UTF-8, with one Content-Type: application/json', problem!);
}

/** Why a body is not JSON, with its media type; undefined if it is, or if there is none. */
export function jsonProblem(response: Response): string | undefined {
  const { body, json } = response;
  const types = response.all('content-type');
  if (body.length === 0) return undefined;
  if (types.length !== 1 || !/^application\/json[ \t]*(;|$)/i.test(types[0]!))
    return `Content-Type: ${types.join(' and ') || 'missing'}`;
  return json instanceof SyntaxError ? `a body that is not JSON: ${json.message}` : undefined;
}

/**
 * Whether the body must be an Error: a 401 of any operation, or another error of an operation on animals (section 7).
 */
function owesError(response: Response): boolean {
  const { request, status } = response;
  if (!isOfOperation(response) || !errorStatuses.includes(status)) return false;
  return status === 401 || request.operation !== 'listOrders';
}

function hasErrorField(
  response: Response,
  field: string,
  isValid: (value: unknown) => boolean,
  required: string,
): Judgement {
  const { json } = response;
  if (!owesError(response) || !(json instanceof JsonObject)) return undefined;
  const value = json.get(field);
  return must(
    isValid(value),
    required,
    value === undefined ? `an Error without ${field}` : `${field} is ${kindOf(value)}`,
  );
}
