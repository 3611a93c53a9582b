/**
 * What the specification leaves open, so that every server fills it as it likes. The kit looks how, and tells; it never
 * judges. `suite.test.ts` sees that every gap is looked at by some check.
 */

export interface Gap {
  readonly id: GapId;
  readonly section: string;
  /** What is left open, as a question. */
  readonly question: string;
}

const table = {
  'list.limit-0': ['4.1', 'How is limit=0 answered?'],
  'list.limit-negative': ['4.1', 'How is limit=-1 answered?'],
  'list.limit-101': ['4.1', 'How is limit=101 answered?'],
  'list.limit-not-integer': ['4.1', 'How is a limit answered that is no integer?'],
  'list.unknown-status': ['4.1', 'How is a filter by a status answered that does not exist?'],
  'list.unknown-parameter': ['4.1', 'How is an unknown query parameter answered?'],
  'list.order': ['4.1', 'In which order are animals listed?'],
  'list.short-pages': ['4.1', 'Does a page have fewer animals than it may, though there are more?'],
  'list.new-animal': ['4.1', 'Is a new animal on a page that can be reached?'],
  'list.paging': ['4.1', 'Does a page tell where the next one is?'],

  'pet.default-status': ['2', 'Which status has an animal that was created without one?'],
  'pet.shows-status': ['2', 'Does every Pet show a status?'],
  'pet.extra-fields': ['2', 'Which other fields has a Pet?'],
  'pet.id-size': ['2', 'How large are ids?'],
  'pet.status-moves': ['3', 'Does a status change by itself after creation?'],
  'error.extra-fields': ['7', 'Which other fields has an Error?'],
  'error.codes': ['7', 'Which codes do Errors have?'],

  'create.empty-name': ['4.2', 'Is an empty name accepted?'],
  'create.blank-name': ['4.2', 'Is a name of spaces only accepted?'],
  'create.long-name': ['4.2', 'How long may a name be?'],
  'create.control-characters': ['4.2', 'Is a name with control characters accepted?'],
  'create.nul': ['4.2', 'Is a name with U+0000 accepted?'],
  'create.lone-surrogate': ['4.2', 'Is a name with half of a surrogate pair accepted?'],
  'create.whole-fraction': ['4.2', 'Is 1.0 accepted as an integer?'],
  'create.duplicate-name': ['4.2', 'Is a body accepted that gives a field twice?'],
  'create.byte-order-mark': ['4.2', 'Is a byte order mark before the body accepted?'],
  'create.invalid-utf-8': ['4.2', 'Is a body accepted that is not UTF-8?'],
  'create.unknown-field': ['4.2', 'Are unknown fields accepted?'],
  'create.own-id': ['4.2', 'Is an id in the body accepted?'],
  'create.content-type': ['4.2', 'Is another Content-Type accepted?'],
  'create.negative-category': ['4.2', 'Is a negative categoryId accepted?'],
  'create.unknown-category': ['4.2', 'Is a categoryId accepted that no animal has?'],
  'create.large-category': ['4.2', 'Is a categoryId beyond 2^53 accepted?'],
  'create.location': ['4.2', 'Does a 201 carry Location?'],

  'get.not-integer': ['4.3', 'How is a petId answered that is no integer?'],
  'get.large-id': ['4.3', 'How is a petId beyond 2^53 answered?'],
  'get.negative-id': ['4.3', 'How is a negative petId answered?'],
  'get.deprecation': ['4.3', 'Do answers tell that the operation is deprecated?'],

  'orders.shape': ['4.4', 'What do orders look like?'],
  'paths.unknown': ['4', 'How is an unknown path answered?'],
  'methods.unknown': ['4', 'How is an unknown method answered?'],
  'methods.head': ['4', 'How is HEAD answered?'],

  'auth.lower-case': ['5', 'Is the scheme accepted in lower case (bearer)?'],
  'auth.challenge': ['5', 'Does a 401 carry WWW-Authenticate?'],

  'limits.window': ['8', 'Are the windows fixed or sliding?'],
  'limits.which-window': ['8', 'Which window do the headers speak of?'],
  'limits.429-body': ['8', 'What body has a 429?'],
  'limits.retry-after-form': ['8', 'Is Retry-After in seconds or a date?'],
  'limits.without-key': ['8', 'What do the headers say to a request without a valid key?'],
} as const satisfies Record<string, readonly [section: string, question: string]>;

export type GapId = keyof typeof table;

/** Every gap, in the order of a report. */
export const gaps: readonly Gap[] = Object.entries(table).map(([id, [section, question]]) => ({
  id: id as GapId,
  section,
  question,
}));
