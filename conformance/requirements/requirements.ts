/**
 * What a server must do, as a list one can read. Each requirement has exactly one check of the same id under checks/, or says in
 * `untested` why there can be none; `suite.test.ts` holds the two together.
 *
 * An id stays: reports of different days are compared by it. Profile `spec` is what the specification states. Profile
 * `reference` is what this project has decided where the specification is silent; no other server owes it.
 */

export type Profile = 'spec' | 'reference';

export interface Requirement {
  readonly id: string;
  /** The section of the specification, or the heading of the decision (profile `reference`). */
  readonly section: string;
  readonly profile: Profile;
  /** One sentence, in our words. */
  readonly text: string;
  /** Why no check is possible. */
  readonly untested?: string;
}

/** The sections of the specification, in its order: what a report is divided by. */
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

const spec = {
  'service.json': ['1', 'Every answer of an operation that has a body has a JSON body, in UTF-8, of type application/json.'],
  'service.staging': [
    '1',
    'A staging environment has the same path prefix as production.',
    'it concerns two servers: point the kit at each, and compare the reports with --compare',
  ],

  'pets.array': ['2', 'Pets is a JSON array of objects.'],
  'pet.id': ['2', 'Every Pet has an id, an integer of 64 bits.'],
  'pet.name': ['2', 'Every Pet has a name, a string.'],
  'pet.category': ['2', 'Every Pet has a categoryId, an integer of 64 bits.'],
  'pet.unique-id': ['2', 'No two animals have the same id.'],

  'pet.status': ['3', 'Where a Pet shows a status, it is available, pending or sold.'],
  'states.transitions': [
    '3',
    'Transitions between the states.',
    'the specification does not show them, and no operation changes an animal',
  ],

  'list.answers': ['4.1', 'GET /pets is answered with 200 and Pets.'],
  'list.limit-accepted': ['4.1', 'Every limit from 1 to 100 is accepted.'],
  'list.limit': ['4.1', 'A list never has more animals than its limit.'],
  'list.default-limit': ['4.1', 'Without a limit, a list is what limit=20 gives.'],
  'list.status': ['4.1', 'Each status is accepted as a filter, and every animal listed fits it.'],
  'list.status-and-limit': ['4.1', 'Filter and limit hold together.'],

  'create.answers': ['4.2', 'A valid NewPet is answered with 201 and the Pet, with each status and without one.'],
  'create.name': ['4.2', 'The name comes back exactly as it was sent.'],
  'create.category': ['4.2', 'The categoryId comes back exactly, to the last digit.'],
  'create.status': ['4.2', 'A status that was sent comes back.'],
  'create.stored': ['4.2', 'What was created is what is got afterwards: same id, name and categoryId.'],
  'create.required': ['4.2', 'A body without name or without categoryId is refused with 400.'],
  'create.null': ['4.2', 'null is refused with 400 as the value of every field.'],
  'create.wrong-type': ['4.2', 'A value of a wrong JSON type is refused with 400, in every field.'],
  'create.unknown-status': ['4.2', 'A status that does not exist is refused with 400.'],
  'create.int64-range': ['4.2', 'A categoryId beyond 64 bits is refused with 400.'],
  'create.fraction': ['4.2', 'A categoryId that is not a whole number is refused with 400.'],
  'create.not-json': ['4.2', 'A body that is not JSON is refused with 400.'],
  'create.not-object': ['4.2', 'A body that is JSON but no object is refused with 400.'],
  'create.empty': ['4.2', 'An empty body is refused with 400.'],

  'get.answers': ['4.3', 'GET /pets/{petId} is answered with 200 and the Pet of that id, the same animal as in the list.'],
  'get.not-found': ['4.3', 'An animal that does not exist is answered with 404.'],
  'get.removal': [
    '4.3',
    'The operation is removed on 5 December 2030.',
    'the specification does not say how a server answers afterwards; from that day on the checks of the operation are inconclusive',
  ],

  'orders.exists': ['4.4', 'GET /store/orders exists.'],
  'animals.agree': ['4', 'Create, list and get tell the same of an animal, in whatever order they are asked.'],

  'auth.valid': ['5', 'A valid key, as a bearer token, is answered with 401 by no operation.'],
  'auth.missing': ['5', 'Without an Authorization header, every operation answers 401.'],
  'auth.empty': ['5', 'With an empty bearer token, every operation answers 401.'],
  'auth.other-scheme': ['5', 'With the key in another scheme than Bearer, every operation answers 401.'],
  'auth.no-scheme': ['5', 'With the key but no scheme, every operation answers 401.'],
  'auth.changed': ['5', 'With a key of which one character was changed, every operation answers 401.'],
  'auth.cut': ['5', 'With a key that lacks its last character, every operation answers 401.'],
  'auth.lengthened': ['5', 'With a key and one character more, every operation answers 401.'],
  'auth.query': ['5', 'With the key in the query only, every operation answers 401.'],
  'auth.near-miss': ['5', 'A key that is not quite the right one, wherever it differs, is answered with 401.'],
  'auth.keys': ['5', 'How keys are issued, rotated and scoped.', 'the specification does not show it'],

  'error.object': ['7', 'Every answer of 400, 401 and 404 has an Error body, an object.'],
  'error.code': ['7', 'An Error has a code, a string.'],
  'error.message': ['7', 'An Error has a message, a string.'],
  'error.status': ['7', 'An Error has a status, an integer equal to the HTTP status.'],

  'limits.limit-header': ['8', 'Every answer carries X-RateLimit-Limit.'],
  'limits.remaining-header': ['8', 'Every answer carries X-RateLimit-Remaining.'],
  'limits.reset-header': ['8', 'Every answer carries X-RateLimit-Reset.'],
  'limits.headers-once': ['8', 'No answer carries one of the three headers twice.'],
  'limits.headers-integers': ['8', 'The three headers are decimal integers.'],
  'limits.remaining-range': ['8', 'Remaining is between 0 and Limit.'],
  'limits.reset-time': ['8', 'Reset is a time in Unix seconds, not past, and not further than a day.'],
  'limits.remaining-never-rises': ['8', 'Within one window, Remaining never rises.'],
  'limits.remaining-falls': ['8', 'Within one window, Remaining falls when requests are made.'],
  'limits.admits': ['8', 'As many requests are admitted as Remaining said.'],
  'limits.refuses': ['8', 'A request beyond the limit is answered with 429.'],
  'limits.all-operations': ['8', 'A key at its limit gets 429 from every operation.'],
  'limits.retry-after': ['8', 'Every 429 carries Retry-After, in seconds or as a date.'],
  'limits.recovers': ['8', 'After the time of Retry-After, a request is admitted.'],
  'limits.resets': ['8', 'At Reset, requests remain again.'],
  'limits.plan': ['8', "The limits are those of the key's plan."],
  'limits.day': [
    '8',
    'A key is refused when the requests of its day are used up.',
    "it would take a day's requests, and leave the key useless until the next",
  ],
  'limits.ban': [
    '8',
    'Repeated requests after a 429 may get a key banned.',
    'it may, and need not; and provoking it would harm whoever uses the key',
  ],
  'limits.backoff': ['8', 'A client backs off exponentially.', "it is the client's duty; the kit itself obeys it"],
  'limits.enterprise': ['8', 'The Enterprise plan has numbers of its own.', 'the specification does not show them'],

  'version.number': ['9', 'The interface version is 1.0.0.', 'no answer of the specification shows it'],
  'version.path': ['9', 'The operations stand under a path that ends in the major version, /v1.'],
} as const satisfies Record<string, readonly [section: string, text: string, untested?: string]>;

const reference = {
  'decided.order.key-first': [
    'Order of checks',
    'Below the base path, a request without a valid key is answered with 401 whatever else is wrong with it.',
  ],
  'decided.order.sequence': [
    'Order of checks',
    'Of several faults the first of this order decides: path, method, expectation, content type, parameters, body.',
  ],
  'decided.order.length-at-once': [
    'Order of checks',
    'A Content-Length over 64 KiB is answered with 413 before any of the body has come, on GET too.',
  ],
  'decided.order.early-close': [
    'Order of checks',
    'An answer that was given before the body was read closes the connection, and says so, if more than 64 KiB are outstanding, and keeps it if not.',
  ],
  'decided.order.continue': [
    'Order of checks',
    'The interim answer 100 Continue is sent where the body is about to be read, and not where the request is refused before.',
  ],
  'decided.order.public': ['Order of checks', "At the server's root, /healthz, /readyz and /openapi.json answer without a key."],
  'decided.order.public-methods': [
    'Order of checks',
    'These three answer HEAD as GET, OPTIONS with 204 and any other method with 405.',
  ],
  'decided.order.outside': ['Order of checks', 'Whatever else is not below the base path is 404 not_found.'],
  'decided.order.asterisk': ['Order of checks', 'OPTIONS * is answered with 204.'],
  'decided.order.connect': ['Order of checks', 'CONNECT is answered with 405 and an empty Allow, and the connection closed.'],
  'decided.order.http-1.0': ['Order of checks', 'HTTP/1.0 is served without a Host, one request a connection.'],
  'decided.order.upgrade': ['Order of checks', 'The wish for an Upgrade is ignored.'],
  'decided.order.base-path': [
    'Order of checks',
    'The base path is what the operator says.',
    'it takes two servers, one of them told so: point the kit at each; Location and Link are held against the base URL',
  ],
  'decided.order.late-body': [
    'Order of checks',
    'Of a body that nobody reads, at most 256 KiB are taken, for at most 2 s.',
    'how much the network holds meanwhile cannot be told apart from what the server takes',
  ],
  'decided.answers.request-id': ['Order of checks', 'Every answer carries X-Request-Id.'],
  'decided.answers.unique-id': [
    'Order of checks',
    'No two answers have the same X-Request-Id, and none takes it from the request.',
  ],
  'decided.answers.no-store': ['Order of checks', 'Every answer carries Cache-Control: no-store.'],
  'decided.answers.no-cors': ['Order of checks', 'No answer has an Access-Control-* header, whatever Origin asks.'],
  'decided.answers.limit-headers': [
    'Order of checks',
    'The three rate limit headers are on every answer, unknown paths, refused methods and broken messages included.',
  ],
  'decided.answers.error-body': ['Order of checks', 'Every error has an Error body whose status is the HTTP status.'],
  'decided.answers.head': ['Order of checks', "HEAD works wherever GET does, with GET's Content-Length."],
  'decided.answers.options': ['Order of checks', 'OPTIONS is answered with 204 and the methods of the path in Allow.'],

  'decided.answers.error-codes': ['Error codes', 'Every error has a code that the table of errors gives to its status.'],
  'decided.errors.broken-message': [
    'Error codes',
    'A broken message (no Host, two of them, an unknown method) is 400 malformed_request, and closes the connection.',
  ],
  'decided.errors.malformed-json': [
    'Error codes',
    'A body that is not JSON is 400 malformed_json, with line and column in the message.',
  ],
  'decided.errors.not-utf-8': ['Error codes', 'A byte order mark, or bytes that are not UTF-8, make a body malformed_json.'],
  'decided.errors.name-twice': ['Error codes', 'A name given twice in one object, at any depth, is malformed_json.'],
  'decided.errors.deep-nesting': ['Error codes', 'How deep a body nests is limited by its size alone.'],
  'decided.errors.invalid-body': [
    'Error codes',
    'JSON that is no NewPet is 400 invalid_body, and the message names every field at fault.',
  ],
  'decided.errors.limit': ['Error codes', 'A limit outside 1 to 100, or no integer, is 400 invalid_parameter.'],
  'decided.errors.status': ['Error codes', 'A filter by a status that does not exist is 400 invalid_parameter.'],
  'decided.errors.after': ['Error codes', 'An after that is no integer of 64 bits is 400 invalid_parameter.'],
  'decided.errors.given-twice': ['Error codes', 'A parameter given twice is 400 invalid_parameter.'],
  'decided.errors.broken-escape': [
    'Error codes',
    'A broken percent-escape in the query is 400 invalid_parameter, wherever it stands.',
  ],
  'decided.errors.missing-key': [
    'Error codes',
    'Without a key: 401 missing_api_key, with the challenge Bearer realm="petstore" and no error in it.',
  ],
  'decided.errors.invalid-key': [
    'Error codes',
    'With a wrong key: 401 invalid_api_key, with error="invalid_token" in the challenge.',
  ],
  'decided.errors.scheme-case': ['Error codes', 'The scheme Bearer is accepted in any case.'],
  'decided.errors.two-keys': ['Error codes', 'A second Authorization header makes the key invalid.'],
  'decided.errors.not-found': ['Error codes', 'A path that does not exist is 404 not_found.'],
  'decided.errors.pet-not-found': [
    'Error codes',
    'An animal that does not exist is 404 pet_not_found, also where petId is no integer of 64 bits.',
  ],
  'decided.errors.method': [
    'Error codes',
    'A method that a path does not have is 405 method_not_allowed, with all it has in Allow, HEAD and OPTIONS too.',
  ],
  'decided.errors.too-large': ['Error codes', 'A body of 64 KiB is read, and one of a byte more is 413 payload_too_large.'],
  'decided.errors.media-type': [
    'Error codes',
    'A body whose type is missing, not application/json, or in another charset than UTF-8 is 415 unsupported_media_type.',
  ],
  'decided.errors.type-forms': [
    'Error codes',
    'The type application/json is accepted in any case, with a charset of utf-8 in any case, quoted or not, and with other parameters.',
  ],
  'decided.errors.encoding': ['Error codes', 'A Content-Encoding other than identity is 415.'],
  'decided.errors.expectation': ['Error codes', 'An Expect other than 100-continue, in any case, is 417 expectation_failed.'],
  'decided.errors.head-too-large': ['Error codes', 'A target or headers far too long are 431 headers_too_large.'],
  'decided.errors.http-version': [
    'Error codes',
    "HTTP/2's preface and other versions are 505 http_version_not_supported, and close the connection.",
  ],
  'decided.errors.timeout': [
    'Error codes',
    'A head or body that comes too slowly is 408 request_timeout.',
    'how slow is too slow is not said, and waiting for it takes longer than a run',
  ],
  'decided.errors.unavailable': [
    'Error codes',
    'A server that stops, or cannot save, answers 503 with Retry-After.',
    'it would take a full disk, the end of the server or thousands of connections',
  ],
  'decided.errors.internal': [
    'Error codes',
    'A bug is 500 internal_error, and shows nothing of the inside.',
    'it would take a bug; a 500 fails whatever check meets it',
  ],

  'decided.urls.decoded-once': ['URLs', 'Segments of the path and parameters are percent-decoded, once.'],
  'decided.urls.encoded-slash': ['URLs', 'An escaped slash, %2F, is no separator.'],
  'decided.urls.trailing-slash': ['URLs', 'A path with a trailing slash is another path: 404.'],
  'decided.urls.not-collapsed': ['URLs', 'Empty segments, . and .. are segments like others: 404.'],
  'decided.urls.broken-escape': ['URLs', 'A broken percent-escape in the path is 404.'],
  'decided.urls.absolute-form': ['URLs', 'A target in absolute form is understood, and its authority ignored.'],
  'decided.urls.parameters': ['URLs', 'Parameters that the operation does not have are ignored.'],
  'decided.urls.body-ignored': ['URLs', 'A body on GET, HEAD or OPTIONS is thrown away.'],

  'decided.pets.int64': ['Pets', 'Every integer of 64 bits is accepted as a categoryId, and stays exact.'],
  'decided.pets.integer-forms': ['Pets', 'A JSON number is an integer when its value is, however it is written.'],
  'decided.pets.not-integers': [
    'Pets',
    'A number whose value is no integer of 64 bits is invalid_body, however large its exponent.',
  ],
  'decided.pets.default-status': ['Pets', 'An animal created without a status is available.'],
  'decided.pets.any-name': [
    'Pets',
    'Every JSON string is accepted as a name, empty and very long ones, U+0000 and lone surrogates too, and comes back as it was sent.',
  ],
  'decided.pets.unknown-fields': ['Pets', 'Fields that NewPet does not have, id among them, are ignored.'],
  'decided.pets.ids': ['Pets', 'Ids are positive and rise in the order of creation.'],
  'decided.pets.location': ['Pets', 'A create answers with the Location of the animal.'],
  'decided.pets.status-stays': ['Pets', 'No status changes after creation.'],
  'decided.pets.ascending': ['Pets', 'A list is in ascending order of ids.'],
  'decided.pets.after': ['Pets', 'With after=<id>, a list has the animals with a larger id, from the smallest on.'],
  'decided.pets.link': [
    'Pets',
    'While more animals follow, and only then, a list carries a Link to the next page, with its limit and filter.',
  ],
  'decided.pets.walk': [
    'Pets',
    'Following the links to the end shows every animal exactly once, with a filter every one that fits.',
  ],
  'decided.pets.durable': [
    'Pets',
    'What was answered with 201 exists for good.',
    'it takes a crash of the server; that an animal stays for the length of a run, create.stored sees',
  ],

  'decided.orders.schema': ['Orders', 'GET /store/orders is answered with 200 and an array of Orders.'],
  'decided.orders.ascending': ['Orders', 'Orders are in ascending order of ids.'],
  'decided.orders.limit': ['Orders', 'A limit works on orders as on animals.'],
  'decided.orders.status': ['Orders', 'Each status of an order works as a filter.'],
  'decided.orders.parameters': [
    'Orders',
    'A limit, after or status outside its constraints is 400 invalid_parameter for orders too.',
  ],
  'decided.orders.walk': ['Orders', 'By after and Link one comes through all orders as through all animals.'],

  'decided.deprecation.headers': [
    'Deprecation',
    'Every answer to a GET or HEAD of an animal tells of the deprecation: Deprecation, Sunset and the Link to its successor.',
  ],
  'decided.deprecation.elsewhere': ['Deprecation', 'Answers of the other operations do not.'],
  'decided.deprecation.removal': [
    'Deprecation',
    'GET /pets/{petId} is 410 operation_removed from 5 December 2030 on, and not before.',
  ],

  'decided.limits.aligned': ['Limits', 'The windows end on whole minutes or days of UTC.'],
  'decided.limits.counts-once': ['Limits', 'Each request with a valid key counts, once, whatever its answer.'],
  'decided.limits.public': ['Limits', 'What is public counts neither against the key nor against the address.'],
  'decided.limits.no-key': [
    'Limits',
    "An answer for which no key is known shows the numbers of the client's address: 60 in a minute.",
  ],
  'decided.limits.refusal': [
    'Limits',
    'A 429 is rate_limited, with 0 remaining and a Retry-After of the whole seconds until Reset, at least 1.',
  ],
  'decided.limits.address': [
    'Limits',
    'Beyond 60 requests in a minute without a valid key, an address gets 429 in place of 401.',
    'it would shut out whoever shares the address, and the kit provokes no 429 but of a key of its own',
  ],
  'decided.limits.window-told': [
    'Limits',
    'The headers speak of the window with the fewer requests remaining.',
    'what remains in the other window is told nowhere',
  ],
  'decided.limits.ban': [
    'Limits',
    'Who goes on and on after a 429 is banned for 5 minutes, then for longer.',
    'it would harm whoever uses the key',
  ],
} as const satisfies Record<string, readonly [heading: string, text: string, untested?: string]>;

export type RequirementId = keyof typeof spec | keyof typeof reference;

/** Every requirement: those of the specification in its order, then those of our own decisions. */
export const requirements: readonly (Requirement & { readonly id: RequirementId })[] = [
  ...listed(spec, 'spec'),
  ...listed(reference, 'reference'),
];

function listed(
  table: Record<string, readonly [string, string, string?]>,
  profile: Profile,
): (Requirement & { readonly id: RequirementId })[] {
  return Object.entries(table).map(([id, [section, text, untested]]) => ({
    id: id as RequirementId,
    section,
    profile,
    text,
    ...(untested !== undefined && { untested }),
  }));
}

/** The requirements that a user means by an id, or by the beginning of ids. An id that is whole means itself. */
export function requirementsNamed(start: string): readonly RequirementId[] {
  const ids = requirements.map(({ id }) => id);
  const exact = ids.filter((id) => id === start);
  return exact.length > 0 ? exact : ids.filter((id) => id.startsWith(start));
}
