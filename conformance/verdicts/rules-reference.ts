/**
 * What every single response owes by our own decisions: the rules of profile `reference`, beside those of rules.ts. They judge
 * every response, unknown paths and methods included.
 */
import type { Response } from '../client/response.ts';
import { JsonNumber, JsonObject, kindOf } from '../client/json.ts';
import { inJson, type Rule, type Violation } from './rules.ts';

/** The codes of each status (decisions.md, "Error codes"). */
const errorCodes: Readonly<Record<number, readonly string[]>> = {
  400: ['malformed_request', 'malformed_json', 'invalid_body', 'invalid_parameter'],
  401: ['missing_api_key', 'invalid_api_key'],
  404: ['not_found', 'pet_not_found'],
  405: ['method_not_allowed'],
  408: ['request_timeout'],
  410: ['operation_removed'],
  413: ['payload_too_large'],
  415: ['unsupported_media_type'],
  417: ['expectation_failed'],
  429: ['rate_limited', 'key_banned'],
  431: ['headers_too_large'],
  500: ['internal_error'],
  503: ['storage_unavailable', 'shutting_down', 'not_ready', 'too_many_connections'],
  505: ['http_version_not_supported'],
};

export const orderStatuses = ['placed', 'approved', 'delivered'] as const;

/** From then on `GET /pets/{petId}` responses 410. */
const removal = Date.UTC(2030, 11, 5);

const minuteS = 60;
const dayS = 86_400;

/** Clients without a valid key, by their address (decisions.md, "Limits"). */
const addressLimit = 60;

const int32Max = 2n ** 31n - 1n;

/** RFC 3339, section 5.6. */
const dateTime =
  /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;

/** The rules for one run against the server at `baseUrl`. */
export function referenceRules(baseUrl: string): readonly Rule[] {
  const basePath = new URL(baseUrl).pathname;
  const requestIds = new Set<string>();

  return [
    {
      id: 'decided.answers.request-id',
      judge: (response) => {
        const ids = response.all('x-request-id');
        return must(ids.length === 1 && ids[0] !== '', 'one X-Request-Id', ids.length === 0 ? 'none' : ids.join(' and '));
      },
    },
    {
      id: 'decided.answers.unique-id',
      judge: (response) => {
        const [id] = response.all('x-request-id');
        if (id === undefined) return undefined;
        const fresh = !requestIds.has(id);
        requestIds.add(id);
        return must(fresh, 'an X-Request-Id of its own', `${id}, which another response had already`);
      },
    },
    {
      id: 'decided.answers.no-store',
      judge: (response) => {
        const values = response.all('cache-control');
        const directives = values
          .join(',')
          .toLowerCase()
          .split(',')
          .map((d) => d.trim());
        return must(directives.includes('no-store'), 'Cache-Control: no-store', values.join(' and ') || 'no Cache-Control');
      },
    },
    {
      id: 'decided.answers.no-cors',
      judge: (response) => {
        const found = response.headers.find(([name]) => /^access-control-/i.test(name));
        return must(found === undefined, 'no Access-Control-* header', found?.join(': ') ?? '');
      },
    },
    {
      id: 'decided.answers.limit-headers',
      judge: (response) => {
        const wrong = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'].find(
          (name) => response.all(name).length !== 1 || !/^\d+$/.test(response.all(name)[0]!),
        );
        return must(
          wrong === undefined,
          'the three rate limit headers, once each, with integers',
          `${wrong}: ${(wrong && response.all(wrong).join(' and ')) || 'missing'}`,
        );
      },
    },
    {
      id: 'decided.answers.error-body',
      judge: (response) => {
        if (response.status < 400 || response.request.method === 'HEAD') return undefined;
        const required = `an Error body of type application/json, with code, message and status ${response.status}`;
        const { json } = response;
        if (!(json instanceof JsonObject))
          return {
            required,
            received: response.body.length === 0 ? 'no body' : json instanceof SyntaxError ? 'a body that is no JSON' : kindOf(json),
          };
        const type = response.all('content-type').join(' and ');
        if (!/^application\/json\b/i.test(type)) return { required, received: `Content-Type: ${type || 'missing'}` };
        const [code, message, status] = ['code', 'message', 'status'].map((name) => json.get(name));
        if (typeof code !== 'string' || typeof message !== 'string')
          return { required, received: `code is ${kindOf(code)}, message is ${kindOf(message)}` };
        return must(
          status instanceof JsonNumber && status.int64() === BigInt(response.status),
          required,
          `status is ${kindOf(status)}`,
        );
      },
    },
    {
      id: 'decided.answers.error-codes',
      judge: (response) => {
        const code = codeOf(response);
        if (response.status < 400 || code === undefined) return undefined;
        const codes = errorCodes[response.status];
        if (codes === undefined) return { required: 'a status of the table of errors', received: `${response.status} ${code}` };
        return must(codes.includes(code), `the code ${codes.join(' or ')} of a ${response.status}`, code);
      },
    },

    {
      id: 'decided.pets.location',
      judge: (response) => {
        const [created] = response.pets;
        if (response.request.operation !== 'createPet' || created === undefined || isRemoved(response)) return undefined;
        const path = `${basePath}/pets/${created.id}`;
        return must(
          response.all('location').join(' and ') === path,
          `Location: ${path}`,
          response.all('location').join(' and ') || 'no Location',
        );
      },
    },
    {
      id: 'decided.pets.ascending',
      judge: (response) => (response.request.operation === 'listPets' ? ascending(response.pets.map((p) => p.id)) : undefined),
    },
    {
      id: 'decided.pets.status-stays',
      judge: (response, history) => {
        let judged: undefined | true;
        for (const shown of response.request.operation === 'createPet' ? [] : response.pets) {
          const status = history.created(shown.id)?.status;
          if (status === undefined) continue;
          judged = true;
          if (shown.status !== status) return { required: `the status it was created with, ${status}`, received: inJson(shown) };
        }
        return judged;
      },
    },

    {
      id: 'decided.orders.schema',
      judge: (response) => {
        const found = orders(response);
        if (found === undefined) return undefined;
        if (!Array.isArray(found)) return { required: 'an array of orders', received: kindOf(found) };
        const problem = found.map(orderProblem).find((p) => p !== undefined);
        if (problem !== undefined)
          return { required: 'Orders: id, petId, quantity, status and complete, and perhaps shipDate', received: problem };
        return found.length > 0 ? true : undefined;
      },
    },
    { id: 'decided.orders.ascending', judge: (response) => ascending(orderIds(response)) },

    {
      id: 'decided.deprecation.headers',
      judge: (response) => {
        if (!asksForOneAnimal(response) || response.status === 401) return undefined;
        const removed = isRemoved(response);
        const wanted = [
          ...(removed ? [] : [['Deprecation', '@1764892800'] as const]),
          ['Sunset', 'Thu, 05 Dec 2030 00:00:00 GMT'] as const,
          ['Link', `<${basePath}/pets>; rel="successor-version"`] as const,
        ];
        const missing = wanted.find(([name, value]) => !response.all(name).includes(value));
        return must(
          missing === undefined,
          wanted.map((header) => header.join(': ')).join(', '),
          missing === undefined ? '' : `${missing[0]}: ${response.all(missing[0]).join(' and ') || 'missing'}`,
        );
      },
    },
    {
      id: 'decided.deprecation.elsewhere',
      judge: (response) => {
        const elsewhere = ['listPets', 'createPet', 'listOrders'].includes(response.request.operation);
        const found = response.headers.find(
          ([name, value]) =>
            /^(deprecation|sunset)$/i.test(name) || (/^link$/i.test(name) && value.includes('successor-version')),
        );
        return elsewhere
          ? must(found === undefined, 'no header that tells of a deprecation', found?.join(': ') ?? '')
          : undefined;
      },
    },

    {
      id: 'decided.limits.aligned',
      judge: (response) => {
        const [reset, date] = [response.integer('x-ratelimit-reset'), response.date];
        // A 429 may tell the end of a ban.
        if (reset === undefined || date === undefined || response.status === 429) return undefined;
        const ofTheMinute = reset - date / 1000 <= minuteS + 2;
        return must(
          reset % (ofTheMinute ? minuteS : dayS) === 0,
          `a Reset at the end of a UTC ${ofTheMinute ? 'minute' : 'day'}`,
          new Date(reset * 1000).toISOString(),
        );
      },
    },
    {
      id: 'decided.limits.no-key',
      judge: (response) => {
        const { credential, outside } = response.request;
        if (credential.key !== 'none' && outside !== true) return undefined;
        const limit = response.integer('x-ratelimit-limit');
        return must(
          limit === addressLimit,
          `X-RateLimit-Limit: ${addressLimit}, that of the client's address, since no key is known`,
          `${limit ?? 'none'}`,
        );
      },
    },
  ];
}

/** The code of an Error body, or undefined. */
export function codeOf(response: Response): string | undefined {
  const { json } = response;
  const code = json instanceof JsonObject ? json.get('code') : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** The ids of a list of orders, as far as they are integers. */
export function orderIds(response: Response): readonly bigint[] {
  const found = orders(response);
  if (!Array.isArray(found)) return [];
  return found.flatMap((order) => {
    const id = order instanceof JsonObject ? order.get('id') : undefined;
    const value = id instanceof JsonNumber ? id.int64() : undefined;
    return value === undefined ? [] : [value];
  });
}

/** Whether `GET /pets/{petId}` is gone by the time of the response. */
export function isRemoved(response: Response): boolean {
  return (response.date ?? response.receivedAt) >= removal;
}

function orders(response: Response) {
  const { json } = response;
  return response.request.operation === 'listOrders' && response.status === 200 && !(json instanceof SyntaxError) ? json : undefined;
}

/** What is wrong with an order, or undefined. */
function orderProblem(order: unknown): string | undefined {
  if (!(order instanceof JsonObject)) return 'an element that is no object';
  const integer = (name: string) => {
    const value = order.get(name);
    return value instanceof JsonNumber ? value.int64() : undefined;
  };
  const [quantity, shipDate] = [integer('quantity'), order.get('shipDate')];
  const wrong = [
    ['id', integer('id') !== undefined],
    ['petId', integer('petId') !== undefined],
    ['quantity', quantity !== undefined && quantity >= 1n && quantity <= int32Max],
    ['shipDate', shipDate === undefined || (typeof shipDate === 'string' && dateTime.test(shipDate))],
    ['status', orderStatuses.some((status) => status === order.get('status'))],
    ['complete', typeof order.get('complete') === 'boolean'],
  ] as const;
  const found = wrong.find(([, ok]) => !ok);
  return found && `an Order whose ${found[0]} is ${kindOf(order.get(found[0]))}`;
}

function ascending(ids: readonly bigint[]): undefined | true | Violation {
  if (ids.length < 2) return undefined;
  const at = ids.findIndex((id, i) => i > 0 && id <= ids[i - 1]!);
  return must(at < 0, 'ids in ascending order', `${ids[at]} after ${ids[at - 1]}`);
}

/** GET or HEAD of /pets/{petId} with a valid key. */
function asksForOneAnimal({ request }: Response): boolean {
  const { method, target, credential, outside } = request;
  const petId = /^\/pets\/([^/?]+)(\?|$)/.exec(target)?.[1];
  return (
    (method === 'GET' || method === 'HEAD') &&
    petId !== undefined &&
    isDecodable(petId) &&
    credential.key !== 'none' &&
    outside !== true
  );
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false; // a path that does not exist
  }
}

function must(kept: boolean, required: string, received: string): true | Violation {
  return kept || { required, received };
}
