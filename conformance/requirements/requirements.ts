/**
 * The requirements of the specification. Each has exactly one check with the same id in checks/, or a reason in
 * `untested` why it cannot be checked; checks/suite.test.ts verifies this. Ids never change, because reports of
 * different days are compared by id.
 */

export interface Requirement {
  readonly id: RequirementId;
  /** The section of the specification. */
  readonly section: string;
  /** One sentence. */
  readonly text: string;
  /** Why it cannot be checked. */
  readonly untested?: string;
}

/** The sections of the specification, in its order. Reports are divided by them. */
export const sections: readonly (readonly [number: string, title: string])[] = [
  ['1', 'The service'],
  ['2', 'Resources'],
  ['3', 'States'],
  ['4', 'Endpoints'],
  ['4.1', 'List animals'],
  ['4.2', 'Add an animal'],
  ['4.3', 'Get an animal'],
  ['4.4', 'Other operations'],
  ['5', 'Authentication'],
  ['7', 'Errors'],
  ['8', 'Limits'],
  ['9', 'Versioning'],
];

const table = {
  'service.json': ['1', 'Every response body of an operation is JSON in UTF-8, with Content-Type: application/json.'],
  'service.staging': [
    '1',
    'The staging environment has the same path prefix as production.',
    'it needs two servers: run the kit against each, and compare the reports with --compare',
  ],

  'pets.array': ['2', 'Pets is a JSON array of objects.'],
  'pet.id': ['2', 'Every Pet has an id, a 64-bit integer.'],
  'pet.name': ['2', 'Every Pet has a name, a string.'],
  'pet.category': ['2', 'Every Pet has a categoryId, a 64-bit integer.'],
  'pet.unique-id': ['2', 'No two animals have the same id, even if a client sends one.'],

  'pet.status': ['3', 'If a Pet has a status, it is available, pending or sold.'],
  'states.transitions': [
    '3',
    'An animal changes its status only as the specification permits.',
    'the specification does not show them, and no operation changes an animal',
  ],

  'list.answers': ['4.1', 'GET /pets returns 200 and Pets.'],
  'list.limit-accepted': ['4.1', 'Every limit from 1 to 100 is accepted.'],
  'list.limit': ['4.1', 'A list never has more animals than its limit, nor more than 100.'],
  'list.default-limit': ['4.1', 'Without limit, a list is the same as with limit=20.'],
  'list.status': ['4.1', 'Each status is accepted as a filter, and selects the animals that have that status.'],
  'list.status-and-limit': ['4.1', 'Filter and limit work together.'],

  'create.answers': ['4.2', 'A valid NewPet gets 201 and the Pet, with each status and without one.'],
  'create.name': ['4.2', 'The name is returned exactly as it was sent.'],
  'create.category': ['4.2', 'The categoryId is returned exactly, to the last digit.'],
  'create.status': ['4.2', 'A status that was sent is returned and stored. One that the server chose is stored.'],
  'create.stored': ['4.2', 'A create adds one animal. getPet returns it with the same id, name and categoryId.'],
  'create.refused': ['4.2', 'A create that is refused with a 4xx other than 406, 408 and 409 adds no animal.'],
  'create.required': ['4.2', 'A body without name or without categoryId gets 400.'],
  'create.null': ['4.2', 'A null value of any field gets 400.'],
  'create.wrong-type': ['4.2', 'A value of a wrong JSON type gets 400, in any field.'],
  'create.unknown-status': ['4.2', 'An unknown status gets 400.'],
  'create.int64-range': ['4.2', 'A categoryId beyond 64 bits gets 400.'],
  'create.fraction': ['4.2', 'A categoryId that is not an integer gets 400. NaN is not JSON, and may get another 4xx.'],
  'create.not-json': ['4.2', 'A body that is not JSON gets 400 or another 4xx.'],
  'create.not-object': ['4.2', 'A body that is JSON, but not an object, gets 400.'],
  'create.empty': ['4.2', 'An empty body gets 400 or another 4xx.'],

  'get.answers': ['4.3', 'GET /pets/{petId} returns 200 and the Pet with that id, as it is in lists.'],
  'get.not-found': ['4.3', 'GET /pets/{petId} returns 404 if the animal does not exist.'],
  'get.removal': [
    '4.3',
    'A Sunset header of GET /pets/{petId} names 5 December 2030. No other operation announces this day.',
  ],

  'orders.exists': ['4.4', 'GET /store/orders exists.'],
  'service.status': ['4', 'No operation on animals returns a server error (5xx), whatever values the client sends.'],
  'animals.agree': ['4', 'Creates, lists and getPet show the same animals, in any order of requests.'],

  'auth.valid': ['5', 'No operation returns 401 for a valid key as a bearer token.'],
  'auth.missing': ['5', 'Every operation returns 401 without an Authorization header.'],
  'auth.invalid-request': [
    '5',
    'A request without a valid key gets 401, even if its body or a parameter is invalid, or the animal does not exist.',
  ],
  'auth.empty': ['5', 'Every operation returns 401 for an empty bearer token.'],
  'auth.other-scheme': ['5', 'Every operation returns 401 for the key with another scheme than Bearer.'],
  'auth.no-scheme': ['5', 'Every operation returns 401 for the key without a scheme.'],
  'auth.changed': ['5', 'Every operation returns 401 for a key with one character changed.'],
  'auth.cut': ['5', 'Every operation returns 401 for a key without its last character.'],
  'auth.lengthened': ['5', 'Every operation returns 401 for a key with one more character.'],
  'auth.query': ['5', 'Every operation returns 401 for the key in the query only.'],
  'auth.elsewhere': ['5', 'Every operation returns 401 for the key in another header or in a cookie only.'],
  'auth.near-miss': ['5', 'A key that differs slightly from the right one, anywhere, gets 401.'],
  'auth.path': ['5', 'Without a key, no other spelling of a path returns an animal.'],
  'auth.keys': ['5', 'Keys are issued, rotated and scoped as the specification states.', 'the specification does not show it'],

  'error.object': ['7', 'Every response with 400, 401 or 404 has an Error body, an object.'],
  'error.code': ['7', 'An Error has a code, a string.'],
  'error.message': ['7', 'An Error has a message, a string.'],
  'error.status': ['7', 'An Error has a status, an integer equal to the HTTP status.'],

  'limits.limit-header': ['8', 'Every response has X-RateLimit-Limit.'],
  'limits.remaining-header': ['8', 'Every response has X-RateLimit-Remaining.'],
  'limits.reset-header': ['8', 'Every response has X-RateLimit-Reset.'],
  'limits.headers-once': ['8', 'No response has one of the three headers twice.'],
  'limits.headers-integers': ['8', 'The three headers are decimal integers.'],
  'limits.remaining-range': ['8', 'Remaining is between 0 and Limit.'],
  'limits.reset-time': ['8', 'Reset is a time in Unix seconds, not in the past and at most a day ahead.'],
  'limits.remaining-never-rises': ['8', 'Within a window, Remaining never rises.'],
  'limits.remaining-falls': ['8', 'Within a window, Remaining falls with successful requests.'],
  'limits.admits': ['8', 'The server admits as many requests as Remaining says.'],
  'limits.refuses': ['8', 'A request beyond the limit gets 429.'],
  'limits.all-operations': ['8', 'A key at its limit gets 429 from every operation.'],
  'limits.retry-after': ['8', 'Every 429 has Retry-After, in seconds or as a date.'],
  'limits.recovers': ['8', 'After the time in Retry-After, a request is admitted.'],
  'limits.resets': ['8', 'At Reset, requests are available again.'],
  'limits.plan': ['8', "The limits are those of the key's plan."],
  'limits.day': ['8', 'A key is refused when the requests of its day are used up.'],
  'limits.ban': [
    '8',
    'Repeated requests after a 429 may get a key banned.',
    'a server may ban a key, but need not; and provoking a ban would harm everyone who uses the key',
  ],
  'limits.backoff': ['8', 'A client backs off exponentially.', 'it concerns clients; the kit itself does it'],
  'limits.enterprise': ['8', 'The Enterprise plan has custom limits.', 'the specification does not show them'],

  'version.number': ['9', 'The interface version is 1.0.0.', 'no response that is specified contains it'],
  'version.path': ['9', 'The path of every operation starts with a base path that ends in the major version, /v1.'],
} as const satisfies Record<string, readonly [section: string, text: string, untested?: string]>;

export type RequirementId = keyof typeof table;

/** Every requirement, in the order of the specification. */
export const requirements: readonly Requirement[] = Object.entries<readonly [string, string, string?]>(table).map(
  ([id, [section, text, untested]]) => ({
    id: id as RequirementId,
    section,
    text,
    ...(untested !== undefined && { untested }),
  }),
);

/** @throws Error if there is no requirement with this id */
export function requirementOf(id: RequirementId): Requirement {
  const found = requirements.find((requirement) => requirement.id === id);
  if (found === undefined) throw new Error(`there is no requirement ${id}`);
  return found;
}

/** The requirements with this id, or else those whose ids start with it. */
export function requirementsNamed(prefix: string): readonly RequirementId[] {
  const ids = requirements.map(({ id }) => id);
  const exact = ids.filter((id) => id === prefix);
  return exact.length > 0 ? exact : ids.filter((id) => id.startsWith(prefix));
}

/** Whether `only` selects a requirement: an empty list selects all. */
export function isNamed(id: RequirementId, only: readonly string[]): boolean {
  return only.length === 0 || only.some((prefix) => requirementsNamed(prefix).includes(id));
}
