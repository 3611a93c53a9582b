/**
 * What the specification leaves open. The kit observes how a server fills each gap and reports it, but never judges it.
 * checks/suite.test.ts verifies that each gap is observed by one check.
 */

export interface Gap {
  readonly id: GapId;
  readonly section: string;
  readonly question: string;
}

const table = {
  'list.limit-0': ['4.1', 'What is the response to limit=0?'],
  'list.limit-negative': ['4.1', 'What is the response to limit=-1?'],
  'list.limit-101': ['4.1', 'What is the response to limit=101?'],
  'list.limit-not-integer': ['4.1', 'What is the response to a limit that is not an integer?'],
  'list.unknown-status': ['4.1', 'What is the response to a filter with an unknown status?'],
  'list.unknown-parameter': ['4.1', 'What is the response to an unknown query parameter?'],
  'list.order': ['4.1', 'In which order are animals listed?'],
  'list.short-pages': ['4.1', 'Can a page have fewer animals than its limit, even if there are more?'],
  'list.new-animal': ['4.1', 'Is a new animal on the first page?'],
  'list.paging': ['4.1', 'Does a page link to the next one?'],

  'service.compression': ['1', 'Are bodies compressed although the client asks for identity (no compression)?'],
  'service.accept': ['1', 'Is a request accepted if its Accept header excludes JSON?'],
  'pet.default-status': ['2', 'Which status does an animal have if it was created without one?'],
  'pet.shows-status': ['2', 'Does every Pet have a status?'],
  'pet.extra-fields': ['2', 'Which other fields does a Pet have?'],
  'pet.id-size': ['2', 'How large are ids?'],
  'pet.status-moves': ['3', 'Does a status change by itself after creation?'],
  'error.extra-fields': ['7', 'Which other fields does an Error have?'],
  'error.codes': ['7', 'Which codes do Errors have?'],

  'create.empty-name': ['4.2', 'Is an empty name accepted?'],
  'create.blank-name': ['4.2', 'Is a name of only spaces accepted?'],
  'create.long-name': ['4.2', 'Is every name of 256 to 50,000 characters accepted?'],
  'create.control-characters': ['4.2', 'Is a name with control characters accepted?'],
  'create.nul': ['4.2', 'Is a name with U+0000 accepted?'],
  'create.lone-surrogate': ['4.2', 'Is a name with a lone surrogate accepted?'],
  'create.ordinary-name': ['4.2', 'Is every name of letters, digits, punctuation and symbols accepted?'],
  'create.malformed': ['4.2', 'What is the response to a body that is not JSON?'],
  'create.whole-fraction': ['4.2', 'Is 1.0 accepted as an integer?'],
  'create.tiny-fraction': ['4.2', 'Is a fraction accepted if a double rounds it to an integer?'],
  'create.duplicate-name': ['4.2', 'Is a body with a duplicate field accepted?'],
  'create.byte-order-mark': ['4.2', 'Is a byte order mark before the body accepted?'],
  'create.invalid-utf-8': ['4.2', 'Is a body that is not valid UTF-8 accepted?'],
  'create.utf-16': ['4.2', 'Is a body in UTF-16 accepted?'],
  'create.nan': ['4.2', 'Is a body with NaN in an unknown field accepted?'],
  'create.comments': ['4.2', 'Is a body with comments accepted?'],
  'create.unknown-field': ['4.2', 'Are unknown fields accepted?'],
  'create.own-id': ['4.2', 'Is an id in the body accepted?'],
  'create.chunked': ['4.2', 'Is a body in chunks, without a Content-Length, accepted?'],
  'create.content-type': ['4.2', 'Is another Content-Type accepted?'],
  'create.category-range': ['4.2', 'Is every 64-bit categoryId accepted?'],
  'create.location': ['4.2', 'Does a 201 have a Location header?'],

  'get.not-integer': ['4.3', 'What is the response to a petId that is not an integer?'],
  'get.large-id': ['4.3', 'What is the response to a petId beyond 2^53?'],
  'get.negative-id': ['4.3', 'What is the response to a negative petId?'],
  'get.deprecation': ['4.3', 'Do responses show that the operation is deprecated?'],

  'orders.shape': ['4.4', 'What do orders look like?'],
  'paths.unknown': ['4', 'What is the response to an unknown path?'],
  'paths.slash': ['4', 'What is the response to a path with a slash at the end?'],
  'methods.options': ['4', 'What is the response to OPTIONS?'],
  'methods.unknown': ['4', 'What is the response to an unknown method?'],
  'methods.head': ['4', 'What is the response to HEAD?'],

  'auth.lower-case': ['5', 'Is the scheme accepted in lower case (bearer)?'],
  'auth.challenge': ['5', 'Does a 401 have WWW-Authenticate?'],

  'limits.window': ['8', 'Are the windows fixed or sliding?'],
  'limits.which-window': ['8', 'Which window do the headers describe?'],
  'limits.429-body': ['8', 'What is the body of a 429?'],
  'limits.retry-after-form': ['8', 'Is Retry-After a number of seconds or a date?'],
  'limits.without-key': ['8', 'What are the headers of a response to a request without a valid key?'],
} as const satisfies Record<string, readonly [section: string, question: string]>;

export type GapId = keyof typeof table;

/** Every gap, in the order of a report. */
export const gaps: readonly Gap[] = Object.entries(table).map(([id, [section, question]]) => ({
  id: id as GapId,
  section,
  question,
}));
