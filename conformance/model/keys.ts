/** What a client may vary in its credentials, for every operation: section 5. */
import {
  changedAt,
  encoded,
  inQuery,
  invalid,
  nobody,
  otherCaseAt,
  replacedAt,
  surrounded,
  swappedAt,
  token,
  withoutAt,
} from '../client/credentials.ts';
import type { Credential, Request } from '../client/request.ts';
import {
  createPet,
  createPetOf,
  getPet,
  getPetWithId,
  listOrders,
  listPets,
  listPetsWithQuery,
} from '../client/requests.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import { randomOf } from './cover.ts';
import {
  cookieNames,
  headerKeyNames,
  headerNames,
  ifNoneMatch,
  keyedConnections,
  keyedHeaders,
  withHeaders,
} from './exchange.ts';
import { accepted, atMost, draftOf, named, open, plain, refusable, refused } from './model.ts';
import type { Change, Dimension, Row, World } from './model.ts';

type RequestOf = (world: World) => Request;

/** Makes a credential from the key; undefined if that is not possible with this key. */
type Make = (key: string) => Credential | undefined;

/** Names under which servers look for a key in the query. */
const queryNames = ['access_token', 'api_key', 'apiKey', 'apikey', 'api-key', 'key', 'token', 'auth', 'authorization'];
/** Headers in which servers look for credentials with a scheme. */
const authorizationNames = ['X-Authorization', 'Proxy-Authorization', 'X-Forwarded-Authorization', 'Authentication'];

/** The number of positions at which a character of the key is changed. Most keys have fewer characters. */
const changes = 40;

/** Replaces the request. */
const operation = (request: RequestOf): Change => (_, world) => draftOf(request(world));

/** Rows with other credentials that must get 401. */
const rejected = (of: RequirementId, values: Readonly<Record<string, Make>>): Row[] =>
  refused(of, values, credentialOf);

/** Rows that must get 401, unless a firewall refuses their headers. */
function refusedByFirewall<T>(
  of: RequirementId,
  values: Readonly<Record<string, T>>,
  change: (value: T) => Change,
): Row[] {
  return refusable([400, 403], refused(of, values, change, [401, 400, 403]));
}

/** Replaces the credential. If none can be made from this key, or the result is the key itself, sends another key. */
function credentialOf(make: Make): Change {
  return (draft, { secret, key }) => {
    const made = make(secret);
    const isOther = made !== undefined && made.header !== key.header;
    return { ...draft, credential: isOther ? made : changedAt(secret, 0) };
  };
}

/** Excludes the last character of a JSON Web Token (RFC 7519), some of whose bits may be insignificant. */
const significantEnd = (key: string) => (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(key) ? key.length - 2 : key.length);

/** Changes one character: the first one for which it is possible, starting at the fraction `from` of the key. */
function somewhere(from: number, make: (key: string, at: number) => Credential | undefined): Make {
  return (key) => {
    const end = significantEnd(key);
    const start = Math.floor(from * end);
    for (let i = 0; i < end; i++) {
      const made = make(key, (start + i) % end);
      if (made !== undefined) return made;
    }
    return undefined;
  };
}

/** The positions of a key's characters: first those that a faulty server is most likely to ignore, then the others. */
function positionsOf(key: string, seed: number): readonly number[] {
  const end = significantEnd(key);
  const random = randomOf(seed);
  const others = Array.from({ length: end }, (_, at) => [random(), at] as const).sort(([one], [other]) => one - other);
  return [...new Set([end - 1, end >> 1, 0, Math.floor((end * 5) / 6), ...others.map(([, at]) => at)])];
}

function changedRows(seed: number): Row[] {
  const changedAs = (i: number): Make => (key) => {
    const positions = positionsOf(key, seed);
    const at = positions[i % positions.length]!;
    // A server that ignores a position also ignores the case of a letter there.
    return otherCaseAt(key, at) ?? changedAt(key, at);
  };
  const rows = Array.from({ length: changes }, (_, i) => [`character changed, ${i + 1}`, changedAs(i)] as const);
  return rejected('auth.changed', Object.fromEntries(rows));
}

const around = (before: string, after: string): Make => (key) => surrounded(before, key, after);
const more = (text: string): Make => around('', text);
const piped = (value: (key: string) => string, filter: string): Make => (key) =>
  token(value(key), `$(printf %s "$API_KEY" | ${filter})`);
const encodedAs = (before: string, after: string): Make => (key) => {
  const { text, shell } = encoded(key, before, after);
  return token(text, shell);
};
const hexOf = (key: string) => Buffer.from(key).toString('hex');
const codeOf = (key: string, at: number) => key.charCodeAt(at).toString(16).padStart(2, '0');
const swappedCase = (text: string) =>
  text.replace(/[a-z]/gi, (c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase()));
const half = (key: string) => Math.ceil(key.length / 2);

const only = (text: string) => token(text, text);
/** Tokens that clients send by mistake, and names that a lookup may find because every object has them. */
const meaningfulTokens = ['constructor', 'null', 'undefined', '__proto__', 'toString', 'a.b.c', 'true', '0'];

const brackets = ["''", '<>', '[]', '{}', '()', '``', '**'].map(([open, close]) => [open!, close!] as const);
const words = ['Bearer ', 'Token ', 'token=', 'key=', 'key:', 'api_key=', 'foo ', 'x'];
const separators = [
  ...[',', ';', ':', '|', '&', '#', '?', '/', '\\', '.', '=', '-', '_', '+', '!', '*'],
  ...['%20', '%00', '%0A', '\\n', '0', '_A'],
];

/** Near misses: first those that faulty servers are most likely to accept. Some servers undo such changes. */
function nearMisses(random: () => number): Row[] {
  const near: Readonly<Record<string, Make>> = {
    'followed by a word': more(' foo'),
    'one letter in the other case': somewhere(random(), otherCaseAt),
    'followed by a comma and a word': more(',foo'),
    'percent-encoded': encodedAs('%', ''),
    'as JSON escapes': encodedAs('\\u00', ''),
    'as HTML entities': encodedAs('&#x', ';'),
    'in base64': piped((key) => Buffer.from(key).toString('base64'), "base64 | tr -d '\\n'"),
    'one full-width character': somewhere(random(), (key, at) =>
      replacedAt(key, at, String.fromCharCode(key.charCodeAt(at) + 0xfee0)),
    ),
    'in quotation marks': (key) => token(`"${key}"`, '\\"$API_KEY\\"'),
    doubled: (key) => token(key + key, '$API_KEY$API_KEY'),
    'followed by a no-break space': (key) => token(`${key}\u00a0`, "${API_KEY}$(printf '\\240')"),
    'in lower case': piped((key) => key.toLowerCase(), 'tr A-Z a-z'),
    'in upper case': piped((key) => key.toUpperCase(), 'tr a-z A-Z'),
    'in the other case': piped(swappedCase, 'tr a-zA-Z A-Za-z'),
    'in hexadecimal': piped(hexOf, "od -An -v -tx1 | tr -d ' \\n'"),
    'in base64url': piped((key) => Buffer.from(key).toString('base64url'), "base64 | tr -d '=\\n' | tr '+/' '-_'"),
    'one character percent-encoded': somewhere(random(), (key, at) => replacedAt(key, at, `%${codeOf(key, at)}`)),
    'one character as a JSON escape': somewhere(random(), (key, at) => replacedAt(key, at, `\\u00${codeOf(key, at)}`)),
    'one character as an HTML entity': somewhere(random(), (key, at) =>
      replacedAt(key, at, `&#${key.charCodeAt(at)};`),
    ),
    'one character replaced with an SQL wildcard': somewhere(random(), (key, at) => replacedAt(key, at, '_')),
    'one character replaced with a wildcard': somewhere(random(), (key, at) => replacedAt(key, at, '.')),
    'only an SQL wildcard': () => token('%', '%'),
    'only a wildcard': () => token('*', '*'),
    'an SQL condition': () => token("' OR '1'='1", "' OR '1'='1"),
    // {"alg":"none"} and {"sub":"1"}, without a signature (RFC 7519, section 6).
    'an unsecured JSON Web Token': () => only('eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.'),
    ...Object.fromEntries(meaningfulTokens.map((word) => [`only ${word}`, () => only(word)])),
    'two characters swapped': somewhere(random(), swappedAt),
    'one character missing': somewhere(random(), withoutAt),
    'the first character missing': (key) => withoutAt(key, 0),
    'the first half': (key) => token(key.slice(0, half(key)), `$(printf %s "$API_KEY" | cut -c1-${half(key)})`),
    'the second half': (key) => token(key.slice(half(key)), `$(printf %s "$API_KEY" | cut -c${half(key) + 1}-)`),
    'with the other separators': (key) => {
      const changed = key.replace(/[-_]/g, (separator) => (separator === '_' ? '-' : '_'));
      return changed === key ? undefined : token(changed, '$(printf %s "$API_KEY" | tr -- _- -_)');
    },
    ...Object.fromEntries(brackets.map(([open, close]) => [`between ${open} and ${close}`, around(open, close)])),
    ...Object.fromEntries(words.map((text) => [`after ${text}`, around(text, '')])),
    // A server may cut off the separator, with or without what stands on its other side.
    ...Object.fromEntries(separators.map((text) => [`after ${text}`, around(text, '')])),
    ...Object.fromEntries(separators.map((text) => [`before ${text}`, more(text)])),
    'before 1,000 zeros': more('0'.repeat(1_000)),
  };
  // A server or a firewall may refuse these bytes in any header.
  const isDoubtful = ([name]: readonly [string, Make]) => /no-break|full-width|%00|SQL condition/.test(name);
  const entries = Object.entries(near);
  return [
    ...rejected('auth.near-miss', Object.fromEntries(entries.filter((entry) => !isDoubtful(entry)))),
    ...refusedByFirewall('auth.near-miss', Object.fromEntries(entries.filter(isDoubtful)), credentialOf),
  ];
}

const basic = (pair: (key: string) => string): Make => (key) =>
  invalid(
    `Basic ${Buffer.from(pair(key)).toString('base64')}`,
    `Basic $(printf %s "${pair('$API_KEY')}" | base64 | tr -d '\\n')`,
  );
const scheme = (name: string): Make => (key) => invalid(`${name} ${key}`, `${name} $API_KEY`);

const schemes: Readonly<Record<string, Make>> = {
  'Basic, the key as user': basic((key) => `${key}:`),
  Token: scheme('Token'),
  'Basic, the key as password': basic((key) => `:${key}`),
  ...Object.fromEntries(
    [...['Basic', 'ApiKey', 'Key', 'OAuth', 'Digest'], ...['Bearers', 'Bear', 'Bearer:', 'XBearer']].map(
      (name) => [name, scheme(name)] as const,
    ),
  ),
};

/** The key in the query only. */
const inTheQuery: Change = (draft, { secret }) => {
  const { text, shell } = inQuery(secret);
  const separator = draft.target.includes('?') ? '&' : '?';
  const withKey = (key: string) => draft.target + separator + queryNames.map((name) => `${name}=${key}`).join('&');
  return { ...draft, credential: nobody, target: withKey(text), shellTarget: withKey(shell) };
};

/** The key in other headers and in cookies only, with the cookies that responses to the key have set. */
const inOtherHeaders: Change = (draft, { secret, cookies }) => {
  const { text, shell } = inQuery(secret);
  const headersWith = (key: string, cookie: string, others: readonly string[]) => [
    ...draft.headers,
    ...headerKeyNames.map((name) => [name, key] as const),
    ...authorizationNames.map((name) => [name, `Bearer ${key}`] as const),
    ['Cookie', [...others, ...cookieNames.map((name) => `${name}=${cookie}`)].join('; ')] as const,
  ];
  // A cookie is text from the server, and may be secret.
  const inShell = cookies.length > 0 ? ['$COOKIES'] : [];
  const [headers, shellHeaders] = [headersWith(secret, text, cookies), headersWith('$API_KEY', shell, inShell)];
  return { ...draft, credential: nobody, headers, shellHeaders };
};

/** Headers that make a client behind a proxy look like one on the machine of the server. */
const local = Object.fromEntries([
  ...['X-Forwarded-For', 'X-Real-IP', 'X-Client-IP', 'X-Remote-Addr', 'True-Client-IP', 'X-Forwarded-Host'].map(
    (name) => [name, '127.0.0.1'] as const,
  ),
  ['Forwarded', 'for=127.0.0.1'],
]);

/** Headers in which a proxy names the user whom it has authenticated. A server must not trust those of a client. */
const identity = Object.fromEntries(
  [
    ...['X-User', 'X-User-Id', 'X-Forwarded-User', 'X-Forwarded-Email', 'X-Remote-User', 'Remote-User', 'X-Auth-User'],
    ...['X-Authenticated-User', 'X-Authenticated-Userid', 'X-Consumer-Username', 'X-Credential-Identifier'],
    ...['X-SSL-Client-Verify', 'X-SSL-Client-S-DN', 'X-Client-Cert', 'X-Internal', 'X-Admin'],
  ].map((name) => [name, /verify/i.test(name) ? 'SUCCESS' : 'admin']),
);

/** A list whose response the specification does not define: a server may treat the credential as invalid. */
const openList = (make: Make): Change => (_, { secret }) => ({
  ...draftOf(listPets({ ...make(secret)!, acceptedAs: 'main' })),
  operation: 'other',
  open: true,
});

function credentialRows(seed: number): Row[] {
  const random = randomOf(seed);
  return [
    plain('the key'),
    ...rejected('auth.missing', { none: () => nobody }),
    ...refusedByFirewall(
      'auth.missing',
      { 'none, from the machine of the server': local, 'none, with the name of a user': identity },
      (headers) => (draft) => withHeaders(headers)({ ...draft, credential: nobody }),
    ),
    // A server may check the condition before the key.
    ...refused(
      'auth.missing',
      { 'none, with a condition': ifNoneMatch },
      (headers) => (draft) => withHeaders(headers)({ ...draft, credential: nobody }),
      [401, 412],
    ),
    ...rejected('auth.empty', { 'no token': () => invalid('Bearer', 'Bearer'), 'no value': () => invalid('', '') }),
    ...rejected('auth.other-scheme', schemes),
    ...rejected('auth.no-scheme', {
      'no scheme': (key) => invalid(key, '$API_KEY'),
      'no space after the scheme': (key) => invalid(`Bearer${key}`, 'Bearer$API_KEY'),
    }),
    ...rejected('auth.cut', { cut: (key) => token(key.slice(0, -1), '${API_KEY%?}') }),
    ...rejected('auth.lengthened', { lengthened: more('x') }),
    ...refused('auth.query', { 'in the query': inTheQuery }, (change) => change),
    // A proxy may take Proxy-Authorization for its own.
    ...refused('auth.elsewhere', { elsewhere: inOtherHeaders }, (change) => change, [401, 407]),
    ...nearMisses(random),
    ...changedRows(seed),
    ...open('auth.lower-case', named('bearer', 'BEARER', 'Bearer '), (name) => openList(scheme(name))),
  ];
}

/**
 * Other spellings of a path below the base URL: first those that are most likely to pass a check of the key that
 * compares paths. A server may treat them as the path, redirect them, or not know them.
 */
const spellings: Readonly<Record<string, (path: string) => string>> = {
  'a slash at the end': (path) => `${path}/`,
  'two slashes at the start': (path) => `/${path}`,
  'capital letters': (path) => path.toUpperCase(),
  'an escaped letter': (path) => path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  'a dot as a segment': (path) => `/.${path}`,
  'two dots as a segment': (path) => `/x/..${path}`,
  'an escaped slash at the end': (path) => `${path}%2f`,
  'a parameter': (path) => `${path};a=b`,
  'a suffix': (path) => `${path}.json`,
  ...Object.fromEntries(
    ['%20', '%00', '%09', '%0a', '%3f', '%23', '//', '/.', '%2e', '.', '\\', ':'].map((end) => [
      `${end} at the end`,
      (path: string) => path + end,
    ]),
  ),
};

/** Requests without a key for other spellings of the path. */
const respelled: readonly Row[] = Object.entries(spellings).flatMap(([name, spelled]) =>
  open<RequestOf>(
    'auth.path',
    {
      [`listPets with ${name}`]: () => listPets(nobody),
      [`getPet with ${name}`]: ({ id }) => getPet(nobody, id),
      [`createPet with ${name}`]: ({ newPet }) => createPet(nobody, newPet()),
    },
    (request) => (_, world) => {
      const { petId, ...other } = draftOf(request(world));
      return { ...other, target: spelled(other.target), operation: 'other', open: true };
    },
  ),
);

type InvalidRequest = (credential: Credential, world: World) => Request;

/** Requests that are also invalid in another way: first those that faulty servers are most likely to check first. */
const invalidRequests: Readonly<Record<string, InvalidRequest>> = {
  'an invalid list': (credential) => listPetsWithQuery(credential, 'limit=abc&status=asleep'),
  'a create without JSON': (credential) => createPetOf(credential, '['),
  'a get of an unknown animal, with a range': (credential, { unknownId }) =>
    withHeaders({ Range: 'bytes=0-9' })(getPet(credential, unknownId)),
  'a create with an unknown status': (credential) =>
    createPetOf(credential, '{"name":"Nobody","categoryId":1,"status":"asleep"}'),
  'a create without a name': (credential) => createPetOf(credential, '{"categoryId":1}'),
  'a create with a name that is a number': (credential) => createPetOf(credential, '{"name":1}'),
  'an empty create': (credential) => createPetOf(credential, '{}'),
  'a create without a body': (credential) => createPetOf(credential, ''),
  'a list with an unknown status': (credential) => listPetsWithQuery(credential, 'status=asleep'),
  'a list with a limit that is no number': (credential) => listPetsWithQuery(credential, 'limit=abc'),
};

/** Requests with an invalid key and without one. A server may check only whether there is a key, so these are first. */
const invalidCredentials = { '': token('wrong', 'wrong'), ' without a key': nobody };
const refusedRequests: readonly Row[] = Object.entries(invalidCredentials).flatMap(
  ([without, credential]) => [
    ...refused(
      'auth.invalid-request',
      Object.fromEntries(Object.entries(invalidRequests).map(([name, request]) => [`${name}${without}`, request])),
      (request) => operation((world) => request(credential, world)),
    ),
    // A firewall may refuse other types than JSON.
    ...refusedByFirewall('auth.invalid-request', { [`a create of text${without}`]: credential }, () =>
      operation(() => ({ ...createPetOf(credential, 'no JSON'), headers: [['Content-Type', 'text/plain']] })),
    ),
    // A router may treat a petId that is not an integer as an unknown path. The response to either is a gap.
    ...refused(
      'auth.invalid-request',
      { [`a get of a word${without}`]: credential },
      () => operation(() => getPetWithId(credential, 'cat')),
      [401, 404],
    ),
  ],
);

const operations: readonly Row[] = [
  ...accepted<RequestOf>(
    {
      listPets: ({ key }) => listPets(key),
      createPet: ({ key, newPet }) => createPet(key, newPet()),
      getPet: ({ key, id }) => getPet(key, id),
      listOrders: ({ key }) => listOrders(key),
      'listPets with parameters': ({ key }) => listPets(key, { limit: 1, status: 'available' }),
      'createPet with a status': ({ key, newPet }) => createPet(key, { ...newPet(), status: 'sold' }),
    },
    operation,
  ),
  ...refusedRequests,
  ...respelled,
];

/** A server must not confuse the credentials of requests that it serves at the same time. */
const besideTheKey: Readonly<Record<string, (world: World) => readonly Request[]>> = {
  'with two lists that have the key': ({ key }) => [
    listPets(key, { limit: 1 }),
    listPets(key, { limit: 1, status: 'available' }),
  ],
  'with a get and a list that have the key': ({ key, id }) => [getPet(key, id), listPets(key, { limit: 1 })],
};
const timingRows = (most: number): readonly Row[] => {
  const rows = accepted(besideTheKey, (requests) => (draft, world) => ({ ...draft, beside: requests(world) }));
  return [plain('alone'), ...atMost(most, rows, { requests: 2 })];
};

/** How often a request is sent together with others that have the key, with and without --thorough-auth. */
const together = { thorough: 20, usual: 2 };

/** The dimensions of requests with valid and invalid keys, for the operations that a run may use. */
export function keyDimensions(
  seed: number,
  { create, get, thorough }: { readonly create: boolean; readonly get: boolean; readonly thorough: boolean },
): readonly Dimension[] {
  // Each name contains its operation.
  const isPossible = ({ name }: Row) => (create || !/create/.test(name)) && (get || !/get/.test(name));
  return [
    { name: 'operation', rows: operations.filter(isPossible) },
    { name: 'credential', rows: credentialRows(seed) },
    keyedHeaders,
    headerNames,
    { ...keyedConnections, rows: keyedConnections.rows.filter(isPossible) },
    { name: 'timing', rows: timingRows(thorough ? together.thorough : together.usual).filter(isPossible) },
  ];
}

/**
 * Requests for each requirement: in a default run, with --thorough-auth, and at most if --runs is also given. Those of
 * `auth.valid` are the combinations with the valid key.
 */
export const keyQuotas: Readonly<Record<string, readonly [usual: number, thorough: number, most?: number]>> = {
  'auth.valid': [8, 170],
  'auth.missing': [1, 16],
  'auth.invalid-request': [3, 24],
  'auth.path': [1, 3 * Object.keys(spellings).length],
  'auth.empty': [1, 12],
  'auth.other-scheme': [2, 22, 5 * 11],
  'auth.no-scheme': [1, 14],
  'auth.cut': [1, 5],
  'auth.lengthened': [1, 5],
  'auth.query': [1, 5],
  'auth.elsewhere': [1, 5],
  'auth.near-miss': [4, 106, 5 * 106],
  'auth.changed': [2, changes, 5 * changes],
  'auth.lower-case': [1, 3],
};
