/** What a client may vary in createPet: section 4.2. */
import * as fc from 'fast-check';
import { shortened } from '../client/json.ts';
import { int64Max, int64Min, statuses, type NewPet } from '../client/pet.ts';
import type { Request } from '../client/request.ts';
import { createPet, createPetOf } from '../client/requests.ts';
import { randomOf } from './cover.ts';
import {
  connections,
  headerNames,
  headersOfPost,
  ifNoneMatch,
  traceIds,
  userAgents,
  withHeaders,
} from './exchange.ts';
import { accepted, atMost, draftOf, named, open, plain, refusable, refused } from './model.ts';
import type { Change, Dimension, Draft, Row, World } from './model.ts';
import { controlName, exampleNames, loneSurrogateName, meaningfulNames, nulName } from './names.ts';

type Field = keyof NewPet;

/** Gives a field a value in JSON; undefined leaves it out. `sent` is what a 201 must return. */
function set(field: Field, value: string | undefined, sent?: NewPet[Field]): Change {
  return (draft) => {
    const others = draft.fields.filter(([name]) => name !== field);
    const found = draft.fields.findIndex(([name]) => name === field);
    const at = found < 0 ? others.length : found;
    const { [field]: _, ...rest } = draft.sent ?? {};
    return {
      ...draft,
      fields: value === undefined ? others : others.toSpliced(at, 0, [field, value]),
      sent: sent === undefined ? rest : { ...rest, [field]: sent },
    };
  };
}

const valueOf = (field: Field) => (text: string) => set(field, text);
const nameOf = (name: string) => set('name', JSON.stringify(name), name);
/** `#` is a category that the server accepts. */
const categoryText = (text: string): Change => (draft, world) =>
  set('categoryId', text.replaceAll('#', String(world.category)))(draft, world);
const numberOf = (category: bigint) => set('categoryId', String(category), category);
const statusOf = (status: string) => set('status', JSON.stringify(status));
const leaveOut = (field: Field) => set(field, undefined);

/** Gives a field another name. */
function rename(field: Field, to: string): Change {
  return (draft, world) => {
    const text = draft.fields.find(([name]) => name === field)![1];
    return more(to, text)(leaveOut(field)(draft, world), world);
  };
}

/** Adds a field, even if the object already has one with this name. */
function more(name: string, text: string): Change {
  return (draft) => ({ ...draft, fields: [...draft.fields, [name, text]] });
}

/** Texts, each named by a short form of its JSON. */
function texts(...all: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(all.map((text) => [shortened(JSON.stringify(text), 40), text]));
}

/** Up to `count` different generated values. */
function sampled<T>(arbitrary: fc.Arbitrary<T>, seed: number, count: number): readonly T[] {
  return [...new Set(fc.sample(arbitrary, { seed, numRuns: count }))];
}

/** Splits `categoryId` and `status` into `category_Id` and `sta_tus`. */
const divided = (field: Field, by: string) => field.replace(/(?<=^(category|sta|na))/, by);

/** Names that mean nearly the same. */
const synonyms: Readonly<Record<Field, readonly string[]>> = {
  name: ['label', 'title', 'petName', 'displayName'],
  categoryId: ['catId', 'categoryID', 'typeId'],
  status: ['state', 'availability'],
};

/**
 * Other spellings of a field: a server may ignore them or refuse them, but must not take one for the field. The second
 * group has spaces, for which a server may refuse a body.
 */
const respelled = (field: Field): readonly (readonly string[])[] => [
  [
    ...new Set([field.toUpperCase(), field.toLowerCase(), field.replace(/^./, (first) => first.toUpperCase())]),
    ...['_', '-'].flatMap((by) => [divided(field, by), divided(field, by).toLowerCase(), by + field, field + by]),
    ...[...synonyms[field], `${field}s`, `pet_${field}`, `pet.${field}`, `pet[${field}]`],
    ...[`${field}[]`, `$${field}`, `@${field}`],
  ].filter((spelling) => spelling !== field),
  [` ${field}`, `${field} `, ` ${field} `, `\t${field}`, `${field}\n`, `${field}\u0000`],
];

/** Names under which a lenient server may look for an object with the fields. */
const wrappers = [
  ...['pet', 'Pet', 'newPet', 'NewPet', 'data', 'body', 'payload', 'attributes', 'params', 'value', '$set', 'category'],
];

/** Moves a field to other names, other objects and the query. */
const moveAway = (field: Field): Change => (draft, { category }) => {
  const text = draft.fields.find(([name]) => name === field)![1];
  const whole = compact(draft.fields);
  const fields = [
    ...draft.fields.filter(([name]) => name !== field),
    ...respelled(field)[0]!.map((name) => [name, text] as const),
    ...wrappers.map((name) => [name, whole.replace('{', `{"id":${category},`)] as const),
  ];
  return { ...draft, fields, parameters: [`${field}=${encodeURIComponent(text.replaceAll('"', ''))}`] };
};

/** Rows in which a required field is missing, but is elsewhere. */
const misplaced = (field: 'name' | 'categoryId') =>
  refused('create.required', { 'only elsewhere': undefined }, () => moveAway(field));

const nameRows = (count: number): Dimension['rows'] => [
  plain('ordinary'),
  ...accepted(named('Rex'), nameOf),
  ...open('create.name', texts(...exampleNames, ...meaningfulNames.slice(0, 2 * count)), nameOf),
  // Then a request for the animal with this id may find the one with this name.
  ...open('create.name', { 'an unknown id': undefined }, () => (draft, world) =>
    nameOf(`${world.unknownId}`)(draft, world),
  ),
  ...open('create.empty-name', { empty: '' }, nameOf),
  ...open('create.blank-name', { blank: '   ' }, nameOf),
  ...open('create.control-characters', { 'control characters': controlName }, nameOf),
  ...open('create.nul', { 'U+0000': nulName }, nameOf),
  ...open(
    'create.lone-surrogate',
    { 'a lone surrogate': loneSurrogateName, 'a reversed pair': '\udc08\ud83d' },
    nameOf,
  ),
  ...[256, 1_000, 10_000, 70_000].flatMap((length) =>
    open('create.long-name', { [`${length} characters`]: `${'Rex'.padEnd(length - 3, ' the dog')}🐕.` }, nameOf),
  ),
  ...refused('create.required', { absent: undefined }, () => leaveOut('name')),
  ...refused('create.required', named('Name', ''), (to) => rename('name', to)),
  ...misplaced('name'),
  ...refused('create.null', named('null'), valueOf('name')),
  ...refused(
    'create.wrong-type',
    named('1', '0', 'true', 'false', '[]', '["Rex"]', '{}', '{"name":"Rex"}'),
    valueOf('name'),
  ),
  ...refused(
    'create.not-json',
    texts('"Rex\nMax"', '"Rex\tMax"', '"Rex\\x41"', '"Rex\\u12"', '"Rex'),
    valueOf('name'),
    '4xx',
  ),
];

/** The limits of integers: zero, signs, 32 bits, the precision of a double, 64 bits. */
const categories: readonly bigint[] = [
  ...[123_456_789n, 2n ** 31n - 1n, 2n ** 31n, 2n ** 32n, 2n ** 53n - 1n, 2n ** 53n + 1n, 1234567890123456789n],
  ...[int64Max, int64Max - 1n, -1n, -(2n ** 31n) - 1n, -(2n ** 53n) - 1n, int64Min, int64Min + 1n],
];

const anyCategory = fc.bigInt({ min: int64Min, max: int64Max });

const beyond64Bits = fc
  .oneof(
    fc.bigInt({ min: int64Max + 1n, max: 2n ** 65n }),
    fc.bigInt({ min: -(2n ** 65n), max: int64Min - 1n }),
    fc.bigInt({ min: 2n ** 65n, max: 2n ** 128n }),
  )
  .map(String);

// A parser may read numbers as doubles (RFC 8259, section 6), which turns 1.0000000000000001 into 1.
const fractions = fc
  .tuple(fc.bigInt({ min: -(2n ** 52n), max: 2n ** 52n }), fc.stringMatching(/^[0-9]{0,20}[1-9]$/))
  .map(([whole, fraction]) => `${whole}.${fraction}`)
  .filter((text) => !Number.isInteger(Number(text)));

const categoryRows = (seed: number, count: number): Dimension['rows'] => [
  plain('known'),
  ...open('create.category', named(...[...categories, ...sampled(anyCategory, seed, count)].map(String)), (text) =>
    numberOf(BigInt(text)),
  ),
  ...open('create.category', { zero: 0n }, numberOf),
  ...open('create.whole-fraction', named('#.0', '#e0', '#0e-1'), (text) => (draft, world) => ({
    ...categoryText(text)(draft, world),
    sent: draft.sent!,
  })),
  ...open('create.tiny-fraction', named('#.00000000000000000001'), categoryText),
  ...refused('create.required', { absent: undefined }, () => leaveOut('categoryId')),
  ...refused('create.required', named('categoryid', 'category_id'), (to) => rename('categoryId', to)),
  ...misplaced('categoryId'),
  ...refused('create.null', named('null'), categoryText),
  ...refused(
    'create.wrong-type',
    named('"#"', '""', '"one"', 'true', 'false', '[]', '[#]', '{}', '{"id":#}'),
    categoryText,
  ),
  ...refused(
    'create.int64-range',
    named(
      ...[`${int64Max + 1n}`, `${int64Min - 1n}`, `${2n ** 64n}`, `${2n ** 64n + 1n}`, `${-(2n ** 64n)}`],
      ...[`${int64Max + 1n}.0`, '1e19', '-1E+19', '92233720368547758070'],
      ...sampled(beyond64Bits, seed, count),
    ),
    categoryText,
  ),
  // A parser may refuse numbers of this size (RFC 8259, section 6).
  ...refused('create.int64-range', named('1e400', '9'.repeat(400)), categoryText, '4xx'),
  ...refused(
    'create.fraction',
    named(
      ...['1.5', '0.5', '-0.5', '0.1', '1.000000000000001', '2251799813685247.5', '15e-1', '1e-1', '1.5e0'],
      ...sampled(fractions, seed, count),
    ),
    categoryText,
  ),
  // A parser may accept NaN and Infinity (RFC 8259, section 9), but they are not integers.
  ...refused('create.fraction', named('NaN', 'Infinity'), categoryText, '4xx'),
  ...refused('create.not-json', named('01', '+1', '1.', '0x1'), categoryText, '4xx'),
];

const otherStatuses = fc
  .oneof(
    fc
      .tuple(fc.constantFrom(...statuses), fc.nat(9), fc.constantFrom('', 'x', ' ', '-', '\u0000', 'ſ'))
      .map(([status, at, put]) => status.slice(0, at) + put + status.slice(at + 1)),
    fc.string({ unit: 'grapheme', maxLength: 12 }),
  )
  .filter((text) => !statuses.some((status) => status === text));

const statusRows = (seed: number, count: number): Dimension['rows'] => [
  plain('absent'),
  ...accepted(named(...statuses), (status) => set('status', JSON.stringify(status), status as NewPet['status'])),
  ...refused('create.null', named('null'), valueOf('status')),
  ...refused('create.wrong-type', named('0', '1', 'true', 'false', '[]', '["sold"]', '{}'), valueOf('status')),
  ...refused(
    'create.unknown-status',
    texts(
      ...['', 'Available', 'SOLD', ' sold', 'sold ', 'sold\n', 'sold\u0000', 'sol', 'solds', 'availablepending'],
      ...['available,sold', 'unknown', 'null', 'availableavailableavailable', 'x'.repeat(300)],
      ...sampled(otherStatuses, seed, count),
    ),
    statusOf,
  ),
  ...refused('create.not-json', { 'sold without quotes': 'sold' }, valueOf('status'), '4xx'),
];

/** The rows of a field that must be refused with 400, by the requirement that each violates. */
function invalidBy(field: Field, rows: Dimension['rows']): readonly (readonly [Field, readonly Row[]])[] {
  const invalid = rows.filter(({ expect }) => typeof expect === 'object' && expect.refused !== '4xx');
  const ids = [...new Set(invalid.map(({ of }) => of))];
  return ids.map((id) => [field, invalid.filter(({ of }) => of === id)] as const);
}

/**
 * Bodies with two invalid fields. Each combines a requirement that one field violates with one of another field: first
 * with the rows that are most likely, then with any. A server may collect several errors, and fail to.
 */
function twoInvalid(seed: number, count: number, fields: Readonly<Record<Field, Dimension['rows']>>): Dimension {
  const random = randomOf(seed);
  const kinds = (Object.keys(fields) as Field[]).flatMap((field) => invalidBy(field, fields[field]));
  const pairs = kinds.flatMap((one, i) =>
    kinds.slice(i + 1).filter(([field]) => field !== one[0]).map((other) => [one, other]),
  );
  const made = new Map<string, Row>();
  for (const isFirst of [true, false]) {
    const inOrder = pairs.map((pair) => [random(), pair] as const).sort(([a], [b]) => a - b);
    for (const [, pair] of inOrder) {
      if (made.size === 3 * count) break;
      const rows = pair.map(([, rows]) => rows[isFirst ? 0 : Math.floor(random() * rows.length)]!);
      const name = pair.map(([field], i) => `${field} ${rows[i]!.name}`).join(', ');
      const change: Change = (draft, world) => rows.reduce((changed, row) => row.change(changed, world), draft);
      made.set(name, { name, expect: rows[0]!.expect, of: rows[0]!.of!, change });
    }
  }
  return { name: 'two fields', rows: [plain('as they are'), ...made.values()] };
}

/** Adds a second name before the first. The specification does not say which one a 201 returns. */
const duplicateName: Change = (draft) => {
  const { name: _, ...sent } = draft.sent ?? {};
  return { ...draft, sent, fields: [['name', '"First"'], ...draft.fields] };
};

/** A valid value of each field, and another one for its other spellings and in other objects. `#` is a category. */
const beside: readonly (readonly [field: Field, own: Change, other: string])[] = [
  ['name', (draft) => draft, '"Other"'],
  ['categoryId', (draft) => draft, '#1'],
  ['status', set('status', '"sold"', 'sold'), '"pending"'],
];

/** Fields by which a server may mark an animal as hidden. */
const hiding = ['deleted', 'isDeleted', 'hidden', 'archived', 'deletedAt'].map((name) => [name, 'true'] as const);

/** Names that the objects of some languages have. */
const methods = ['hasOwnProperty', 'toString', 'valueOf', 'toJSON', 'then'].map((name) => [name, '1'] as const);

/** Arrays in arrays, with objects in objects in them. */
const nested = '['.repeat(1_000) + '{"a":'.repeat(1_000) + '1' + '}'.repeat(1_000) + ']'.repeat(1_000);

const otherRows: Dimension['rows'] = [
  plain('none'),
  ...open('create.unknown-field', { 'an unknown one': '"red"' }, (text) => more('colour', text)),
  ...open('create.own-id', { 'an id': '4611686018427387904' }, (text) => more('id', text)),
  ...open('create.duplicate-name', { 'a second name': undefined }, () => duplicateName),
  ...open('create.nan', { NaN: 'NaN' }, (text) => more('weight', text)),
  // These may crash a server that assigns the id, a recursive parser, and a language whose objects have a prototype.
  ...open('service.status', { 'an id that is no number': '"x"' }, (text) => more('id', text)),
  ...open('service.status', { 'a deeply nested one': nested }, (text) =>
    more('more', text),
  ),
  ...beside.flatMap(([field, own, other]) =>
    open(
      'service.status',
      Object.fromEntries(
        respelled(field).map((names, i) => [`${field} in other spellings${i > 0 ? ', with spaces' : ''}`, names]),
      ),
      // Every second one is before the field, because the first or the last one may replace the others.
      (names) => (draft, world) => {
        const made = own(draft, world);
        const text = other.replace('#', String(world.category));
        const others = [
          ...names.map((name) => [name, text] as const),
          ...wrappers.map((name) => [name, `{"id":${text},"${field}":${text}}`] as const),
        ];
        const every = (which: number) => others.filter((_, i) => i % 2 === which);
        return { ...made, fields: [...every(1), ...made.fields, ...every(0)] };
      },
    ),
  ),
  ...open('service.status', named('__proto__', 'constructor'), (name) => more(name, '{"status":"sold"}')),
  ...open('create.unknown-field', { 'fields that hide an animal': hiding, 'names of methods': methods }, (others) => {
    return (draft) => ({ ...draft, fields: [...draft.fields, ...others] });
  }),
  ...open('service.status', { 'in the query': 'name=Other&categoryId=#1&status=pending' }, (query) => {
    return (draft, world) => ({ ...draft, parameters: [query.replace('#', String(world.category))] });
  }),
];

const escaped = (text: string) =>
  Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');

/** The text of a value, with all characters of a string as escapes. */
function escapedValue(text: string): string {
  return /^"[^"\\\u0000-\u001f]*"$/.test(text) ? `"${escaped(text.slice(1, -1))}"` : text;
}

type Fields = Draft['fields'];
const compact = (fields: Fields) => `{${fields.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;

const formRows: Dimension['rows'] = accepted<(fields: Fields) => string>(
  {
    compact,
    'fields in another order': (fields) => compact(fields.toReversed()),
    'white space': (fields) => {
      const members = fields.map(([name, text]) => `${JSON.stringify(name)} :\n${text}`);
      return `\r\n\t { ${members.join(' ,\t')}\r } \n`;
    },
    'values with escapes': (fields) => compact(fields.map(([name, text]) => [name, escapedValue(text)])),
    'names with escapes': (fields) => `{${fields.map(([name, text]) => `"${escaped(name)}":${text}`).join(',')}}`,
  },
  (form) => (draft) => ({ ...draft, text: form(draft.fields) }),
);

/** Replaces the text of the body. `#` is a category. */
const bodyOf = (text: string): Change => (draft, { category }) => ({
  ...draft,
  text: text.replaceAll('#', String(category)),
});

const repaired = (change: (text: string) => string): Change => (draft) => ({ ...draft, text: change(draft.text) });

/** Changes that make a body invalid JSON which lenient parsers accept. Comments are a gap: create.comments. */
const notJson: Readonly<Record<string, (text: string) => string>> = {
  'not closed': (text) => text.trimEnd().slice(0, -1),
  'closed twice': (text) => `${text}}`,
  'text after it': (text) => `${text}x`,
  'an object after it': (text) => `${text}{}`,
  'a comma at the end': (text) => `${text.trimEnd().slice(0, -1)},}`,
  'a comma at the start': (text) => text.replace('{', '{,'),
  'two commas': (text) => text.replace(',', ',,'),
  'no comma': (text) => text.replace(',', ' '),
  'single quotes': (text) => text.replaceAll('"', "'"),
  'names without quotes': (text) => text.replace(/"([^"]*)"(\s*:)/g, '$1$2'),
};

const bodyRows: Dimension['rows'] = [
  plain('an object'),
  ...refused('create.not-json', notJson, repaired, '4xx'),
  ...refused('create.not-json', named('{', 'name=Rex&categoryId=#', '<pet><name>Rex</name></pet>'), bodyOf, '4xx'),
  ...refused(
    'create.not-object',
    {
      'an array': (text: string) => `[${text}]`,
      'an array in an array': (text: string) => `[[${text}]]`,
      'a string with JSON': (text: string) => JSON.stringify(text),
    },
    repaired,
  ),
  ...refused('create.not-object', named('[]', '"Rex"', '1', 'true', 'null'), bodyOf),
  ...refused('create.empty', { empty: '', 'only white space': ' \n' }, bodyOf, '4xx'),
  ...refused('create.required', named('{}', '{"name":"Rex","status":"sold"}'), bodyOf),
  // Assigning its members to an object gives that object a prototype with the fields.
  ...refused('create.required', named('{"__proto__":{"name":"Rex","categoryId":#}}'), bodyOf),
  ...refused('create.required', named('{"categoryId":#,"status":"pending"}'), bodyOf),
  // A server may check the condition before it reads the body.
  ...refused(
    'create.required',
    { '{} with a condition': ifNoneMatch },
    (headers) => (draft, world) => bodyOf('{}')(withHeaders(headers)(draft), world),
    [400, 412],
  ),
  ...open('create.malformed', { 'cut off': notJson['not closed']! }, repaired),
  ...open('create.byte-order-mark', { 'a byte order mark': (text: string) => `\ufeff${text}` }, repaired),
  ...open('create.comments', { 'a comment': (text: string) => text.replace('{', '{/* a dog */') }, repaired),
  ...open('create.utf-16', { 'UTF-16': undefined }, () => (draft) => ({
    ...draft,
    body: Buffer.from(`\ufeff${draft.text}`, 'utf16le'),
    sent: {},
  })),
  ...open('create.invalid-utf-8', { 'Latin-1': undefined }, () => (draft, { category }) => ({
    ...draft,
    body: Buffer.from(`{"name":"R\u00e9x","categoryId":${category}}`, 'latin1'),
    sent: { categoryId: category },
  })),
];

/** Sends the body in eight pieces. One of them ends within a 🐈 if there is one. */
const inPieces: Change = (draft) => {
  const bytes = bytesOf(draft);
  const within = bytes.indexOf(Buffer.from('🐈')) + 2;
  const even = Array.from({ length: 7 }, (_, i) => Math.ceil(((i + 1) * bytes.length) / 8));
  const cuts = within > 1 ? [within, ...even.slice(1)] : even;
  return { ...draft, cuts: [...new Set(cuts)].sort((one, other) => one - other) };
};

/** Sends a name whose characters have up to four bytes. */
const ofManyBytes = (transfer: Change): Change => (draft, world) => {
  const named = nameOf('Größe 🐈')(draft, world);
  return transfer({ ...named, text: compact(named.fields) }, world);
};

const transferRows: Dimension['rows'] = [
  plain('whole'),
  ...atMost(3, accepted({ 'in pieces': undefined }, () => inPieces)),
  ...atMost(2, open('create.name', { 'in pieces, which divide a character': inPieces }, ofManyBytes)),
  // A server may demand a Content-Length (411) or refuse the name (400), but must not misread the body.
  ...refusable(
    [400, 411],
    open('create.chunked', { 'in chunks': { 'Transfer-Encoding': 'chunked' } }, (headers) =>
      ofManyBytes((draft, world) => inPieces(withHeaders(headers)(draft), world)),
    ),
  ),
];

const withType = (type: string | undefined): Change => (draft) => ({
  ...draft,
  headers: [
    ...(type === undefined ? [] : [['Content-Type', type] as const]),
    ...draft.headers.filter(([name]) => name !== 'Content-Type'),
  ],
});

const typeRows: Dimension['rows'] = [
  // The parameter changes nothing, because JSON is always UTF-8 (RFC 8259, section 11).
  ...accepted(
    named(
      'application/json',
      'application/json; charset=utf-8',
      'application/json;charset=UTF-8',
      'application/json; charset="utf-8"',
      'application/json ; charset=utf-8',
      'Application/JSON',
    ),
    withType,
  ),
  ...open('create.content-type', { 'text/plain': 'text/plain', none: undefined }, withType),
];

const withAnother: Change = (draft, { key, newPet }) =>
  ({ ...draft, beside: [...(draft.beside ?? []), createPet(key, newPet())] });

/** A server must not take the create for a repetition of the other. */
const withEqualIds: Change = (draft, { key, newPet }) => {
  const withIds = withHeaders(traceIds);
  return { ...withIds(draft), before: [...(draft.before ?? []), withIds(createPet(key, newPet()))] };
};

const oneCreate = { requests: 1, creates: 1 };
const timingRows: Dimension['rows'] = [
  plain('alone'),
  ...atMost(3, accepted({ 'with another create': withAnother }, (change) => change), oneCreate),
  ...atMost(2, accepted({ 'after a create with the same trace ids': withEqualIds }, (change) => change), oneCreate),
  // A client may want two equal animals.
  ...atMost(
    2,
    accepted({ 'after the same create': 'before', 'with the same create': 'beside' } as const, (when) => (draft) => {
      const { mustBe: _, before, beside, ...rest } = draft;
      // A firewall may refuse its headers, as those of the other one.
      const same: Request = { ...rest, body: bytesOf(draft), mayBeRefused: ['4xx'] };
      return { ...draft, [when]: [...(draft[when] ?? []), same] };
    }),
    { requests: 1, creates: 1 },
  ),
];

/** The bytes of the body. */
export function bytesOf({ body, text }: Draft): Buffer {
  return Buffer.from(body ?? Buffer.from(text));
}

/** The dimensions of createPet, with `count` generated values of each kind. */
export function createDimensions(seed: number, count: number, thoroughAuth: boolean): readonly Dimension[] {
  const fields = { name: nameRows(count), categoryId: categoryRows(seed, count), status: statusRows(seed, count) };
  return [
    ...Object.entries(fields).map(([name, rows]) => ({ name, rows })),
    twoInvalid(seed, count, fields),
    { name: 'other fields', rows: otherRows },
    { name: 'form', rows: formRows },
    { name: 'body', rows: bodyRows },
    { name: 'transfer', rows: transferRows },
    { name: 'Content-Type', rows: typeRows },
    headersOfPost,
    userAgents,
    headerNames,
    connections(({ key }) => createPetOf(key, '{}'), thoroughAuth),
    { name: 'timing', rows: timingRows },
  ];
}

/** A valid create, which the rows change. */
export function createDraft(world: World): Draft {
  const pet = world.newPet();
  const { body: _, ...request } = createPet(world.key, pet);
  const fields = [['name', JSON.stringify(pet.name)], ['categoryId', String(pet.categoryId)]] as const;
  return { ...draftOf(request), fields };
}
