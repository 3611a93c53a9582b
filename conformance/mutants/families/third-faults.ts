/** Faults of usual libraries, frameworks, databases and proxies, in all sections but that of the limits. */
import { attempt, base, statuses, type Exchange, type Hooks, type MutantResponse, type Pet } from '../server/hooks.ts';
import { Digits, readJson, type Json, type JsonObject } from '../server/json.ts';
import {
  alsoAdmits,
  categories,
  categoryFrom,
  changedStatus,
  found,
  nameFrom,
  responses,
  setHeader,
  shown,
  statusFrom,
  stored,
  tokenOf,
  type Change,
  type Kind,
} from '../table/changes.ts';
import { becomeError, chained, fault, type Draw, type Family } from './family.ts';
import type { Random } from './random.ts';

export type Row<T> = readonly [text: string, value: T];

const family = (name: string, draw: (random: Random) => Draw): Family => ({ name, draw });

/** The bodies that are sent as they are, instead of JSON. */
const rawBodies = new WeakMap<Exchange, string>();

/** Sends another status, type and text instead of some responses; without a text, an empty body. */
export function sending(kind: Kind, status: number, [type, text]: readonly [type?: string, text?: string]): Change {
  return {
    ...responses(kind, (response, exchange) => {
      Object.assign(response, { status, body: text === undefined ? undefined : '' });
      setHeader(response, 'Content-Type', type);
      if (text !== undefined) rawBodies.set(exchange, text);
    }),
    bytes: (text, exchange) => base.bytes(rawBodies.get(exchange) ?? text, exchange),
  };
}

/** The bodies of errors that a framework writes by itself. */
export const frameworkErrors: readonly Row<readonly [type?: string, text?: string]>[] = [
  ['an HTML page', ['text/html; charset=utf-8', '<!doctype html><title>Error</title><h1>Error</h1>']],
  ['plain text', ['text/plain; charset=utf-8', 'Error']],
  ['a problem document', ['application/problem+json', '{"type":"about:blank","title":"Error","status":400}']],
  ['an empty body', []],
  [
    'a body with the fields timestamp, error and path',
    ['application/json', '{"timestamp":0,"error":"Bad","path":"/"}'],
  ],
  ['a body with the field detail', ['application/json', '{"detail":[{"loc":["body","name"],"msg":"Field required"}]}']],
  ['a body with the field errors', ['application/json', '{"errors":["is invalid"]}']],
];

const bodyOf = (exchange: Exchange): Json | undefined => attempt(() => readJson(exchange.body));

/** The fields of the body of a request; none if it is not an object. */
export function fieldsOf(exchange: Exchange): JsonObject {
  const body = bodyOf(exchange);
  return body instanceof Map ? body : new Map<string, Json>();
}

/** Responses that succeed. */
export const isValid: Kind = (response) => response.status === 200 || response.status === 201;

/** Changes the names that some responses show. */
export const places: readonly Row<(change: (name: string) => Json) => Change>[] = [
  ['every response', (change) => shown('all', (fields, { name }) => void fields.set('name', change(name)))],
  [
    'getPet and lists, but not the 201',
    (change) =>
      shown('all', (fields, { name }, { operation }) => {
        if (operation !== 'create') fields.set('name', change(name));
      }),
  ],
  ['lists only', (change) => shown('list', (fields, { name }) => void fields.set('name', change(name)))],
  ['getPet only', (change) => shown('get', (fields, { name }) => void fields.set('name', change(name)))],
];

const lengths = [16, 30, 40, 50, 64, 100, 128, 191, 255];

/** How columns of databases change a text. */
function columnChange(random: Random): Row<(name: string) => Json> {
  const length = random.pick(lengths);
  return random.pick<Row<(name: string) => Json>>([
    ['ends before the first character of four bytes', (name) => name.replace(/[\u{10000}-\u{10ffff}].*$/su, '')],
    ['has ? for each character of four bytes', (name) => name.replace(/[\u{10000}-\u{10ffff}]/gu, '?')],
    [`is cut to ${length} characters`, (name) => [...name].slice(0, length).join('')],
    [
      `is cut to ${length} bytes`,
      (name) =>
        Buffer.from(name)
          .subarray(0, length)
          .toString()
          .replace(/\ufffd$/, ''),
    ],
    ['has lost its spaces at the end', (name) => name.replace(/ +$/, '')],
    ['has lost the white space at both ends', (name) => name.trim()],
    ['has ? for characters outside Latin-1', (name) => name.replace(/[^\u0000-\u00ff]/gu, '?')],
    ['is in the normal form C', (name) => name.normalize('NFC')],
    ['is in the normal form D', (name) => name.normalize('NFD')],
    ['is in the normal form KC', (name) => name.normalize('NFKC')],
    ['is null if it is empty', (name) => (name === '' ? null : name)],
    ['ends before U+0000', (name) => name.replace(/\0.*$/s, '')],
    ['has lost its control characters', (name) => name.replace(/[\u0000-\u001f\u007f]/g, '')],
    ['has \\n for each \\r\\n', (name) => name.replaceAll('\r\n', '\n')],
    ['has one space for several', (name) => name.replace(/ {2,}/g, ' ')],
    ['has lost zero-width characters', (name) => name.replace(/[\u200b-\u200f\ufeff]/g, '')],
    ['is UTF-8 read as Latin-1', (name) => Buffer.from(name).toString('latin1')],
  ]);
}

const numeric = (name: string): Json => new Digits(String(Number(name)));

/** How serializers, templates and sanitizers change texts that look like something else. */
const looks: readonly Row<(name: string) => Json>[] = [
  ['digits only becomes a number', (name) => (/^[1-9]\d{0,14}$/.test(name) ? numeric(name) : name)],
  ['digits with leading zeros loses them', (name) => (/^0+\d+$/.test(name) ? name.replace(/^0+(?=\d)/, '') : name)],
  ['a decimal number becomes a number', (name) => (/^-?\d+\.\d+$/.test(name) ? numeric(name) : name)],
  ['true or false becomes a boolean', (name) => (/^(true|false)$/.test(name) ? name === 'true' : name)],
  ['null becomes null', (name) => (name === 'null' ? null : name)],
  [
    'yes, no, on or off becomes a boolean',
    (name) => (/^(yes|no|on|off)$/i.test(name) ? /^(yes|on)$/i.test(name) : name),
  ],
  ['a date and time is written in another format', (name) => name.replace(/^(\d{4})-(\d\d)-(\d\d)T.*$/, '$2/$3/$1')],
  ['percent escapes is decoded', (name) => attempt(() => decodeURIComponent(name)) ?? name],
  ['+ gets spaces', (name) => name.replaceAll('+', ' ')],
  ['an ampersand is escaped for HTML', (name) => name.replaceAll('&', '&amp;')],
  ['< or > is escaped for HTML', (name) => name.replaceAll('<', '&lt;').replaceAll('>', '&gt;')],
  ['HTML tags loses them', (name) => name.replace(/<[^>]*>/g, '')],
  ['an entity such as &amp; is decoded', (name) => name.replaceAll('&amp;', '&').replaceAll('&lt;', '<')],
  ['an apostrophe has it twice', (name) => name.replaceAll("'", "''")],
  ['an apostrophe gets a backslash', (name) => name.replaceAll("'", "\\'")],
  ['a backslash loses it', (name) => name.replaceAll('\\', '')],
  ['= at its start gets an apostrophe', (name) => name.replace(/^=/, "'=")],
  ['braces {{ }} loses what they contain', (name) => name.replace(/\{\{.*?\}\}/g, '')],
  ['JSON is parsed', (name) => (/^[[{]/.test(name) ? (attempt(() => readJson(name)) ?? name) : name)],
];

/** Escapes that a hand-made JSON writer forgets or invents. */
const escapes: readonly Row<(text: string) => string>[] = [
  ['quotation marks without a backslash', (text) => text.replaceAll('\\"', '"')],
  ['line feeds as they are', (text) => text.replaceAll('\\n', '\n')],
  ['tabs as they are', (text) => text.replaceAll('\\t', '\t')],
  ['carriage returns as they are', (text) => text.replaceAll('\\r', '\r')],
  ['backslashes only once', (text) => text.replaceAll('\\\\', '\\')],
  ['apostrophes with a backslash', (text) => text.replaceAll("'", "\\'")],
  ['control characters as \\x and two digits', (text) => text.replace(/\\u00([01][0-9a-f])/g, '\\x$1')],
  [
    'control characters as they are',
    (text) => text.replace(/\\u(00[01][0-9a-f])/g, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16))),
  ],
  [
    'characters of four bytes as \\u and five digits',
    (text) =>
      text.replace(/[\u{10000}-\u{10ffff}]/gu, (one) => `\\U${one.codePointAt(0)!.toString(16).padStart(8, '0')}`),
  ],
];

type Of = readonly [text: string, sections: string, operation: 'list' | 'create' | 'get'];
const operations: readonly Of[] = [
  ['a 201', '1 4.2', 'create'],
  ['lists', '1 4.1', 'list'],
  ['a 200 of getPet', '1 4.3', 'get'],
];

const two53 = 2n ** 53n;

const integerRanges: readonly Row<(value: bigint) => boolean>[] = [
  ['above 2^53', (value) => value > two53 || value < -two53],
  ['above 2^31', (value) => value >= 2n ** 31n],
  ['above 2^32', (value) => value >= 2n ** 32n],
  ['below 0', (value) => value < 0n],
  ['equal to 0', (value) => value === 0n],
  ['of more than 15 digits', (value) => String(value).replace('-', '').length > 15],
  ['of at least 1000', (value) => value >= 1000n],
];

const integerForms: readonly Row<(value: bigint) => Json>[] = [
  ['as a string', (value) => String(value)],
  ['as the closest double', (value) => new Digits(String(BigInt(Number(value))))],
  ['with 15 digits and an exponent', (value) => new Digits(Number(value).toExponential(14))],
  ['as the closest float', (value) => new Digits(String(BigInt(Math.fround(Number(value)))))],
  ['as null', () => null],
  [
    'as an object with high and low bits',
    (value) =>
      new Map<string, Json>([
        ['low', new Digits(String(BigInt.asIntN(32, value)))],
        ['high', new Digits(String(value >> 32n))],
      ]),
  ],
  ['with a comma at each thousand, as a string', (value) => String(value).replace(/\B(?=(\d{3})+$)/g, ',')],
];

const clip = (value: bigint, least: bigint, most: bigint): bigint =>
  value < least ? least : value > most ? most : value;

/** Columns that are too narrow for an int64. */
const columns: readonly Row<(value: bigint) => bigint>[] = [
  ['INTEGER, clipped', (value) => clip(value, -(2n ** 31n), 2n ** 31n - 1n)],
  ['INTEGER, wrapped', (value) => BigInt.asIntN(32, value)],
  ['INTEGER UNSIGNED, clipped', (value) => clip(value, 0n, 2n ** 32n - 1n)],
  ['INTEGER UNSIGNED, wrapped', (value) => BigInt.asUintN(32, value)],
  ['BIGINT UNSIGNED, clipped', (value) => clip(value, 0n, 2n ** 63n - 1n)],
  ['SMALLINT, clipped', (value) => clip(value, -32768n, 32767n)],
  ['SMALLINT, wrapped', (value) => BigInt.asIntN(16, value)],
  ['TINYINT, clipped', (value) => clip(value, -128n, 127n)],
  ['DECIMAL(10), clipped', (value) => clip(value, -9_999_999_999n, 9_999_999_999n)],
  ['DECIMAL(18), clipped', (value) => clip(value, 1n - 10n ** 18n, 10n ** 18n - 1n)],
  ['DOUBLE', (value) => BigInt.asIntN(64, BigInt(Number(value)))],
  ['REAL', (value) => BigInt.asIntN(64, BigInt(Math.fround(Number(value))))],
  ['INTEGER for small ones and TEXT of 18 characters for others', (value) => BigInt(String(value).slice(0, 18))],
  ['a signed magnitude without the sign', (value) => (value < 0n ? BigInt.asIntN(63, -value) : value)],
];

const digitsOf = (value: Json | undefined): bigint | undefined =>
  typeof value === 'string' && /^-?\d{1,19}$/.test(value) ? BigInt(value) : undefined;

/** What lenient readers accept as an integer. */
const lenientIntegers: readonly Row<(value: Json | undefined) => bigint | undefined>[] = [
  ['a string of digits', digitsOf],
  ['an empty string, as 0,', (value) => (value === '' ? 0n : undefined)],
  ['a string of white space, as 0,', (value) => (typeof value === 'string' && /^\s+$/.test(value) ? 0n : undefined)],
  [
    'digits with a unit, such as "5kg",',
    (value) => (typeof value === 'string' && /^\d{1,9}[a-z]/i.test(value) ? BigInt(parseInt(value)) : undefined),
  ],
  [
    'a string in hexadecimal',
    (value) => (typeof value === 'string' && /^0x[\da-f]{1,15}$/i.test(value) ? BigInt(value) : undefined),
  ],
  [
    'a string with spaces around digits',
    (value) => (typeof value === 'string' && /^\s+\d+\s*$|^\d+\s+$/.test(value) ? BigInt(value.trim()) : undefined),
  ],
  [
    'a string with a decimal point, such as "5.0",',
    (value) =>
      typeof value === 'string' && /^\d{1,9}\.\d+$/.test(value) ? BigInt(Math.trunc(Number(value))) : undefined,
  ],
  ['true, as 1,', (value) => (value === true ? 1n : undefined)],
  ['false, as 0,', (value) => (value === false ? 0n : undefined)],
  ['null, as 0,', (value) => (value === null ? 0n : undefined)],
  ['no value, as 0,', (value) => (value === undefined ? 0n : undefined)],
  [
    'an array of one integer',
    (value) =>
      Array.isArray(value) && value[0] instanceof Digits && value.length === 1 ? integerOrNone(value[0]) : undefined,
  ],
  ['an empty array, as 0,', (value) => (Array.isArray(value) && value.length === 0 ? 0n : undefined)],
  ['an empty object, as 0,', (value) => (value instanceof Map && value.size === 0 ? 0n : undefined)],
  ['an object with the field id', (value) => (value instanceof Map ? integerOrNone(value.get('id')) : undefined)],
  [
    'a fraction, which it cuts,',
    (value) =>
      value instanceof Digits &&
      Number.isFinite(Number(value.text)) &&
      Math.abs(Number(value.text)) < 1e15 &&
      !Number.isInteger(Number(value.text))
        ? BigInt(Math.trunc(Number(value.text)))
        : undefined,
  ],
  [
    'a fraction, which it rounds,',
    (value) =>
      value instanceof Digits && Math.abs(Number(value.text)) < 1e15 && !Number.isInteger(Number(value.text))
        ? BigInt(Math.round(Number(value.text)))
        : undefined,
  ],
  [
    'an integer above 2^63, which it wraps,',
    (value) => (value instanceof Digits && /^\d{19,30}$/.test(value.text) ? BigInt(value.text) : undefined),
  ],
  [
    'an integer above 2^63, which it clips,',
    (value) => (value instanceof Digits && /^\d{19,30}$/.test(value.text) ? 2n ** 63n - 1n : undefined),
  ],
  [
    'an integer below -2^63, which it clips,',
    (value) => (value instanceof Digits && /^-\d{19,30}$/.test(value.text) ? -(2n ** 63n) : undefined),
  ],
];

const integerOrNone = (value: Json | undefined): bigint | undefined => {
  const text = base.category(value, undefined as never);
  return text === undefined ? undefined : BigInt(text);
};

const status = (value: string): string | undefined => base.status(value, undefined as never);

/** What lenient readers accept as a status. */
const lenientStatuses: readonly Row<(value: Json | undefined) => string | undefined>[] = [
  [
    'upper case',
    (value) => (typeof value === 'string' && value === value.toUpperCase() ? status(value.toLowerCase()) : undefined),
  ],
  [
    'a capital letter',
    (value) => (typeof value === 'string' && /^[A-Z][a-z]+$/.test(value) ? status(value.toLowerCase()) : undefined),
  ],
  ['an ordinal number', (value) => (value instanceof Digits ? statuses[Number(value.text)] : undefined)],
  [
    'an ordinal number as a string',
    (value) => (typeof value === 'string' && /^\d$/.test(value) ? statuses[Number(value)] : undefined),
  ],
  ['an empty string, as available,', (value) => (value === '' ? 'available' : undefined)],
  ['an unknown string, as available,', (value) => (typeof value === 'string' ? 'available' : undefined)],
  [
    'spaces around a status',
    (value) => (typeof value === 'string' && value !== value.trim() ? status(value.trim()) : undefined),
  ],
  [
    'a line feed after a status',
    (value) => (typeof value === 'string' && value.endsWith('\n') ? status(value.slice(0, -1)) : undefined),
  ],
  [
    'the first letter of a status',
    (value) =>
      typeof value === 'string' && value.length === 1 ? statuses.find((one) => one.startsWith(value)) : undefined,
  ],
  [
    'a text that starts with a status',
    (value) => (typeof value === 'string' ? statuses.find((one) => value.startsWith(one)) : undefined),
  ],
  [
    'a text that contains a status',
    (value) => (typeof value === 'string' ? statuses.find((one) => value.includes(one)) : undefined),
  ],
  [
    'several statuses separated by commas',
    (value) => (typeof value === 'string' && value.includes(',') ? status(value.split(',')[0]!.trim()) : undefined),
  ],
  [
    'an array of one status',
    (value) =>
      Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' ? status(value[0]) : undefined,
  ],
  [
    'true, as available, and false, as sold,',
    (value) => (typeof value === 'boolean' ? (value ? 'available' : 'sold') : undefined),
  ],
  ['an object, as available,', (value) => (value instanceof Map ? 'available' : undefined)],
  ['an array, as available,', (value) => (Array.isArray(value) ? 'available' : undefined)],
];

const wordOf = (value: Json | undefined): string => (value instanceof Digits ? value.text : String(value));

/** What lenient readers accept as a name. */
const lenientNames: readonly Row<(value: Json | undefined) => string | undefined>[] = [
  ['a number', (value) => (value instanceof Digits ? value.text : undefined)],
  [
    'a number with a fraction',
    (value) => (value instanceof Digits && value.text.includes('.') ? value.text : undefined),
  ],
  ['a boolean', (value) => (typeof value === 'boolean' ? String(value) : undefined)],
  ['true, but not false,', (value) => (value === true ? 'true' : undefined)],
  ['null, as an empty string,', (value) => (value === null ? '' : undefined)],
  ['null, as "null",', (value) => (value === null ? 'null' : undefined)],
  ['no value, as an empty string,', (value) => (value === undefined ? '' : undefined)],
  ['no value, as "undefined",', (value) => (value === undefined ? 'undefined' : undefined)],
  ['an array, whose values it joins,', (value) => (Array.isArray(value) ? value.map(wordOf).join() : undefined)],
  [
    'an array of one string',
    (value) => (Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' ? value[0] : undefined),
  ],
  ['an empty array, as an empty string,', (value) => (Array.isArray(value) && value.length === 0 ? '' : undefined)],
  ['an object, as "[object Object]",', (value) => (value instanceof Map ? '[object Object]' : undefined)],
  ['an empty object, as an empty string,', (value) => (value instanceof Map && value.size === 0 ? '' : undefined)],
];

const mapped = (object: JsonObject, change: (name: string) => string): JsonObject =>
  new Map([...object].map(([name, value]) => [change(name), value]));

/** Bodies that lack `name` and `categoryId`, where lenient binders find them. */
function lenientBody(random: Random): Row<Change> {
  const wrapper = random.pick(['pet', 'data', 'newPet', 'body', 'Pet']);
  const prefix = random.pick(['pet.', 'pet_', '$', '@', ' ']);
  return random.pick<Row<Change>>([
    [
      `is wrapped in the field ${wrapper}`,
      {
        object: (value) =>
          value instanceof Map && value.get(wrapper) instanceof Map
            ? (value.get(wrapper) as JsonObject)
            : base.object(value),
      },
    ],
    [
      'is an array of one NewPet',
      { object: (value) => base.object(Array.isArray(value) && value.length === 1 ? value[0]! : value) },
    ],
    [
      'is an array of several NewPets',
      { object: (value) => base.object(Array.isArray(value) && value.length > 1 ? value[0]! : value) },
    ],
    [
      'is a string that contains a NewPet',
      { object: (value) => base.object(typeof value === 'string' ? (attempt(() => readJson(value)) ?? value) : value) },
    ],
    [
      'has Name and CategoryId in their place',
      {
        object: (value) =>
          value instanceof Map ? mapped(value, (name) => name[0]?.toLowerCase() + name.slice(1)) : undefined,
      },
    ],
    [
      'has NAME and CATEGORYID in their place',
      {
        object: (value) =>
          value instanceof Map
            ? mapped(value, (name) => (/^CATEGORYID$/.test(name) ? 'categoryId' : /^NAME$/.test(name) ? 'name' : name))
            : undefined,
      },
    ],
    [
      'has categoryid in place of categoryId',
      {
        object: (value) =>
          value instanceof Map ? mapped(value, (name) => (name === 'categoryid' ? 'categoryId' : name)) : undefined,
      },
    ],
    [
      'has category_id in place of categoryId',
      {
        object: (value) =>
          value instanceof Map ? mapped(value, (name) => name.replace('category_id', 'categoryId')) : undefined,
      },
    ],
    [
      'has an object category with an id in place of categoryId',
      {
        category: (value, exchange) =>
          base.category(value ?? attempt(() => (fieldsOf(exchange).get('category') as JsonObject).get('id')), exchange),
      },
    ],
    [
      `has the prefix ${JSON.stringify(prefix)} before the names of its fields`,
      {
        object: (value) =>
          value instanceof Map
            ? mapped(value, (name) => (name.startsWith(prefix) ? name.slice(prefix.length) : name))
            : undefined,
      },
    ],
    [
      'has them in its field __proto__',
      {
        object: (value) =>
          value instanceof Map && value.get('__proto__') instanceof Map
            ? (value.get('__proto__') as JsonObject)
            : base.object(value),
      },
    ],
    [
      'lacks a name that the query has',
      { name: (value, exchange) => base.name(value ?? exchange.query.get('name') ?? undefined, exchange) },
    ],
    [
      'lacks a categoryId that the query has',
      {
        category: (value, exchange) =>
          base.category(
            value ?? attempt(() => new Digits(String(BigInt(exchange.query.get('categoryId')!)))),
            exchange,
          ),
      },
    ],
    ['lacks a name, but the create before it had one', remembered('name')],
    ['lacks a categoryId, but the create before it had one', remembered('category')],
  ]);
}

/** Takes a missing value from the latest create, whose object is used again. */
function remembered(hook: 'name' | 'category'): Change {
  return {
    [hook]: (value: Json | undefined, exchange: Exchange) => {
      const { notes } = exchange.world;
      const read = base[hook](value, exchange);
      if (read !== undefined) notes.set(hook, read);
      return value === undefined ? notes.get(hook) : read;
    },
  };
}

const has = (exchange: Exchange, field: string, wanted: (value: Json | undefined) => boolean): boolean =>
  bodyOf(exchange) instanceof Map && wanted(fieldsOf(exchange).get(field));
const isType = (value: Json | undefined, types: readonly string[]): boolean => {
  const type =
    value === null
      ? 'null'
      : Array.isArray(value)
        ? 'array'
        : value instanceof Digits
          ? 'number'
          : value instanceof Map
            ? 'object'
            : typeof value;
  return types.includes(type);
};

/** Kinds of invalid bodies. */
const invalidBodies: readonly Row<(exchange: Exchange) => boolean>[] = [
  ['lacks name', (exchange) => has(exchange, 'name', (value) => value === undefined)],
  ['lacks categoryId', (exchange) => has(exchange, 'categoryId', (value) => value === undefined)],
  ['is {}', (exchange) => bodyOf(exchange) instanceof Map && fieldsOf(exchange).size === 0],
  ['is an array', (exchange) => Array.isArray(bodyOf(exchange))],
  ['is null', (exchange) => bodyOf(exchange) === null],
  ['is a string', (exchange) => typeof bodyOf(exchange) === 'string'],
  ['is a number', (exchange) => bodyOf(exchange) instanceof Digits],
  ['has null as its name', (exchange) => has(exchange, 'name', (value) => value === null)],
  ['has a number as its name', (exchange) => has(exchange, 'name', (value) => isType(value, ['number']))],
  ['has a boolean as its name', (exchange) => has(exchange, 'name', (value) => isType(value, ['boolean']))],
  [
    'has an array or an object as its name',
    (exchange) => has(exchange, 'name', (value) => isType(value, ['array', 'object'])),
  ],
  ['has null as its categoryId', (exchange) => has(exchange, 'categoryId', (value) => value === null)],
  ['has a string as its categoryId', (exchange) => has(exchange, 'categoryId', (value) => isType(value, ['string']))],
  ['has a boolean as its categoryId', (exchange) => has(exchange, 'categoryId', (value) => isType(value, ['boolean']))],
  [
    'has an array or an object as its categoryId',
    (exchange) => has(exchange, 'categoryId', (value) => isType(value, ['array', 'object'])),
  ],
  [
    'has a fraction as its categoryId',
    (exchange) =>
      has(exchange, 'categoryId', (value) => value instanceof Digits && /^-?\d+\.\d*[1-9]\d*$/.test(value.text)),
  ],
  [
    'has a categoryId above 2^63',
    (exchange) => has(exchange, 'categoryId', (value) => value instanceof Digits && Number(value.text) >= 2 ** 63),
  ],
  [
    'has a categoryId below -2^63',
    (exchange) => has(exchange, 'categoryId', (value) => value instanceof Digits && Number(value.text) < -(2 ** 63)),
  ],
  ['has an unknown string as its status', (exchange) => has(exchange, 'status', (value) => isType(value, ['string']))],
  ['has an empty string as its status', (exchange) => has(exchange, 'status', (value) => value === '')],
  ['has a number as its status', (exchange) => has(exchange, 'status', (value) => isType(value, ['number']))],
  [
    'has an array or an object as its status',
    (exchange) => has(exchange, 'status', (value) => isType(value, ['array', 'object'])),
  ],
];

/** Integers of int64 that usual servers do not expect as a petId. */
function unusualId(random: Random): Row<(id: bigint) => boolean> {
  const digits = random.integer(10, 18);
  return random.pick<Row<(id: bigint) => boolean>>([
    [`of more than ${digits} digits`, (id) => String(id).replace('-', '').length > digits],
    ['above 2^31', (id) => id >= 2n ** 31n],
    ['above 2^53', (id) => id > two53],
    ['below 0', (id) => id < 0n],
    ['that is 0', (id) => id === 0n],
    ['that is 2^63 - 1', (id) => id === 2n ** 63n - 1n],
    ['that is -2^63', (id) => id === -(2n ** 63n)],
    ['from 1 to 10 million', (id) => id > 0n && id < 10_000_000n],
  ]);
}

/** The id in the path of a getPet, or undefined if it is no int64. */
export const int64Of = ({ operation, path }: Exchange): bigint | undefined =>
  operation === 'get' && /^\/pets\/-?\d{1,19}$/.test(path) ? BigInt(path.slice('/pets/'.length)) : undefined;

const petAt = ({ world }: Exchange, id: bigint | undefined): Pet | undefined => world.pets.get(String(id));

/** How a server that narrows or searches ids finds an animal that does not exist. */
const wrongAnimals: readonly Row<(id: bigint, exchange: Exchange) => Pet | undefined>[] = [
  ['whose id differs by a multiple of 2^32', (id, exchange) => petAt(exchange, BigInt.asIntN(32, id))],
  ['whose id differs by a multiple of 2^16', (id, exchange) => petAt(exchange, BigInt.asIntN(16, id))],
  ['whose id differs by a multiple of 2^8', (id, exchange) => petAt(exchange, BigInt.asUintN(8, id))],
  ['whose id is the negated one', (id, exchange) => (id < 0n ? petAt(exchange, -id) : undefined)],
  [
    'that is so many from the end, for a negative id',
    (id, { world }) => (id < 0n && id > -1000n ? [...world.pets.values()].at(Number(id)) : undefined),
  ],
  ['that is the first, for 0', (id, { world }) => (id === 0n ? [...world.pets.values()][0] : undefined)],
  ['that is the last, for 0', (id, { world }) => (id === 0n ? [...world.pets.values()].at(-1) : undefined)],
  ['that is the last, for every larger id', (id, { world }) => (id > 0n ? [...world.pets.values()].at(-1) : undefined)],
  ['whose id is that without its last digit', (id, exchange) => petAt(exchange, id / 10n)],
  ['with the next larger id', (id, { world }) => [...world.pets.values()].find((pet) => BigInt(pet.id) > id)],
  [
    'that is the last, for 2^63 - 1',
    (id, { world }) => (id === 2n ** 63n - 1n ? [...world.pets.values()].at(-1) : undefined),
  ],
  ['whose id has the same last three digits', (id, exchange) => petAt(exchange, id % 1000n)],
];

/** Sloppy comparisons of tokens. */
function sloppyToken(random: Random): Row<(exchange: Exchange, secret: string) => boolean> {
  const first = random.integer(4, 20);
  const scheme = random.pick(['Token', 'Basic', 'ApiKey', 'Digest', 'JWT', 'OAuth']);
  const parameter = random.pick(['api_key', 'apikey', 'access_token', 'key', 'token']);
  const header = random.pick(['x-api-key', 'api-key', 'x-auth-token', 'proxy-authorization', 'x-access-token']);
  return random.pick<Row<(exchange: Exchange, secret: string) => boolean>>([
    [
      `with the right first ${first} characters`,
      (exchange, secret) => tokenOf(exchange).slice(0, first) === secret.slice(0, first),
    ],
    ['that starts with the key', (exchange, secret) => tokenOf(exchange).startsWith(secret)],
    [
      'with which the key starts',
      (exchange, secret) => tokenOf(exchange).length > 3 && secret.startsWith(tokenOf(exchange)),
    ],
    ['that ends with the key', (exchange, secret) => tokenOf(exchange).endsWith(secret)],
    ['in another case', (exchange, secret) => tokenOf(exchange).toLowerCase() === secret.toLowerCase()],
    ['that is %', (exchange) => tokenOf(exchange) === '%'],
    ['that is *', (exchange) => tokenOf(exchange) === '*'],
    [
      'with _ for one of its characters',
      (exchange, secret) =>
        tokenOf(exchange).length === secret.length &&
        [...tokenOf(exchange)].every((one, i) => one === '_' || one === secret[i]),
    ],
    ['in quotation marks', (exchange, secret) => tokenOf(exchange) === `"${secret}"`],
    ['that is undefined', (exchange) => tokenOf(exchange) === 'undefined'],
    ['that is null', (exchange) => tokenOf(exchange) === 'null'],
    ['in the scheme ' + scheme, (exchange, secret) => exchange.authorization === `${scheme} ${secret}`],
    [
      'in the scheme Basic, as its user name,',
      (exchange, secret) => exchange.authorization === `Basic ${Buffer.from(`${secret}:`).toString('base64')}`,
    ],
    ['without a scheme', (exchange, secret) => exchange.authorization === secret],
    ['after the word Bearer twice', (exchange, secret) => exchange.authorization === `Bearer Bearer ${secret}`],
    ['joined to the scheme', (exchange, secret) => exchange.authorization === `Bearer${secret}`],
    ['with a word after it', (exchange, secret) => tokenOf(exchange).startsWith(`${secret} `)],
    ['in Base64', (exchange, secret) => tokenOf(exchange) === Buffer.from(secret).toString('base64')],
    ['that is empty', (exchange) => /^Bearer ?$/.test(exchange.authorization)],
    [`only in the query parameter ${parameter}`, (exchange, secret) => exchange.query.get(parameter) === secret],
    [
      `only in the header ${header}`,
      (exchange, secret) => String(exchange.headers[header]).replace('Bearer ', '') === secret,
    ],
    ['with other characters of the same number', (exchange, secret) => tokenOf(exchange).length === secret.length],
  ]);
}

/** Circumstances in which the filter that asks for the key is not reached. */
function openDoor(random: Random): Row<Change> {
  const header = random.pick([
    'x-forwarded-for',
    'x-real-ip',
    'x-original-url',
    'x-forwarded-host',
    'x-internal',
    'origin',
    'cookie',
    'upgrade-insecure-requests',
  ]);
  const agent = random.pick(['kube-probe/1.29', 'ELB-HealthChecker/2.0', 'GoogleHC/1.0', 'curl/8.5.0', 'Mozilla/5.0']);
  const [ending, path] = random.pick([
    ['a slash at its end', '/pets/'],
    ['.json at its end', '/pets.json'],
    ['a parameter such as ;v=1', '/pets;v=1'],
    ['two slashes', '//pets'],
    ['capital letters', '/PETS'],
    ['an escaped letter', '/%70ets'],
    ['the segment .', '/./pets'],
  ] as const);
  const admitting = (admits: (exchange: Exchange) => boolean): Change => alsoAdmits((exchange) => admits(exchange));
  return random.pick<Row<Change>>([
    [
      `if its path has ${ending}`,
      {
        below: (full) => (full === `/v1${path}` ? '/pets' : base.below(full)),
        ...admitting((exchange) => exchange.fullPath === `/v1${path}`),
      },
    ],
    [`if it has the header ${header}`, admitting((exchange) => exchange.headers[header] !== undefined)],
    [`if its User-Agent is ${agent}`, admitting((exchange) => exchange.headers['user-agent'] === agent)],
    ['if it is a list with a filter', admitting(({ operation, query }) => operation === 'list' && query.has('status'))],
    ['if it is a list with a limit', admitting(({ operation, query }) => operation === 'list' && query.has('limit'))],
    ['if it has any query', admitting(({ search }) => search !== '')],
    ['if it is a getPet', admitting(({ operation }) => operation === 'get')],
    [
      'if it is a getPet of an animal that does not exist',
      admitting(
        (exchange) => exchange.operation === 'get' && base.find(exchange.path.slice(6), exchange) === undefined,
      ),
    ],
    [
      'if it is a getPet of an animal that exists',
      admitting(
        (exchange) => exchange.operation === 'get' && base.find(exchange.path.slice(6), exchange) !== undefined,
      ),
    ],
    ['if it is a GET of orders', admitting(({ operation }) => operation === 'orders')],
    [
      'if it is a create with an invalid body',
      admitting((exchange) => exchange.operation === 'create' && !(bodyOf(exchange) instanceof Map)),
    ],
    [
      'if it is a create with an empty object',
      admitting(
        (exchange) =>
          exchange.operation === 'create' && bodyOf(exchange) instanceof Map && fieldsOf(exchange).size === 0,
      ),
    ],
    ['if it is a create without a body', admitting(({ operation, body }) => operation === 'create' && body === '')],
    [
      'if it is a create with a charset in its type',
      admitting(({ operation, contentType }) => operation === 'create' && contentType.includes('charset')),
    ],
  ]);
}

const countOf = (exchange: Exchange, note: string): number => Number(exchange.world.notes.get(note) ?? 0);
const setCount = (exchange: Exchange, note: string, count: number): void =>
  void exchange.world.notes.set(note, String(count));

/** Keys that are checked once for several requests. */
function cachedKeys(random: Random): Row<Change> {
  const n = random.integer(1, 6);
  const seconds = random.pick([1, 2, 5, 10, 30, 60]);
  const sameUrl = (kind: (exchange: Exchange) => boolean): Change => ({
    admits: (exchange, secret) => {
      const note = `at ${exchange.method} ${exchange.fullPath}?${exchange.search}`;
      if (base.admits(exchange, secret)) {
        setCount(exchange, note, exchange.now);
        return true;
      }
      const at = exchange.world.notes.get(note);
      return at !== undefined && exchange.now - Number(at) <= seconds * 1000 && kind(exchange);
    },
  });
  const sameConnection = (kind: (exchange: Exchange) => boolean): Change => ({
    admits: (exchange, secret) => {
      const note = `connection ${exchange.connection}`;
      const admitted = base.admits(exchange, secret);
      if (admitted) setCount(exchange, note, countOf(exchange, note) + 1);
      return admitted || (countOf(exchange, note) >= n && kind(exchange));
    },
  });
  const lockout = (also: (exchange: Exchange) => boolean, to: number): Change =>
    responses(
      () => true,
      (response, exchange) => {
        if (response.status === 401) setCount(exchange, 'failed', countOf(exchange, 'failed') + 1);
        else if (countOf(exchange, 'failed') >= n && also(exchange)) {
          becomeError(response, exchange, to);
          setCount(exchange, 'failed', 0);
        }
      },
    );
  return random.pick<Row<Change>>([
    [
      `A GET without a key is served if the same URL was requested with one in the last ${seconds} s.`,
      sameUrl(({ method, authorization }) => method === 'GET' && authorization === ''),
    ],
    [
      `A getPet with an invalid key is served if the same URL was requested with a valid one in the last ${seconds} s.`,
      sameUrl(({ operation }) => operation === 'get'),
    ],
    [
      `A list with an invalid key is served if the same URL was requested with a valid one in the last ${seconds} s.`,
      sameUrl(({ operation }) => operation === 'list'),
    ],
    [
      `A request without a key is served on a connection that had at least ${n} with one.`,
      sameConnection(({ authorization }) => authorization === ''),
    ],
    [
      `A request with an invalid key is served on a connection that had at least ${n} with a valid one.`,
      sameConnection(({ authorization }) => authorization !== ''),
    ],
    [
      `A create with an invalid key is served on a connection that had at least ${n} requests with a valid one.`,
      sameConnection(({ operation }) => operation === 'create'),
    ],
    [`A request with a valid key is 401 after ${n} with an invalid one.`, lockout(() => true, 401)],
    [
      `A create with a valid key is 401 after ${n} requests with an invalid one.`,
      lockout(({ operation }) => operation === 'create', 401),
    ],
    [`A request with a valid key is 500 after ${n} with an invalid one.`, lockout(() => true, 500)],
  ]);
}

/** Tokens that make a library throw. */
function strangeToken(random: Random): Row<(exchange: Exchange) => boolean> {
  const length = random.pick([40, 64, 100, 128, 255, 512, 1024]);
  return random.pick<Row<(exchange: Exchange) => boolean>>([
    ['has no header Authorization', ({ authorization }) => authorization === ''],
    ['has only the word Bearer', ({ authorization }) => /^Bearer *$/.test(authorization)],
    ['has the scheme Basic', ({ authorization }) => authorization.startsWith('Basic ')],
    ['has another scheme', ({ authorization }) => authorization !== '' && !/^bearer/i.test(authorization)],
    [`has a token of more than ${length} characters`, (exchange) => tokenOf(exchange).length > length],
    ['has a token of fewer than 8 characters', (exchange) => tokenOf(exchange) !== '' && tokenOf(exchange).length < 8],
    ['has a token with a character that Base64 lacks', (exchange) => /[^A-Za-z0-9+/=_-]/.test(tokenOf(exchange))],
    ['has a token with points, as a JWT has,', (exchange) => tokenOf(exchange).includes('.')],
    ['has a token with a space', (exchange) => tokenOf(exchange).includes(' ')],
    ['has a token with a character outside ASCII', (exchange) => /[^\0-\x7f]/.test(tokenOf(exchange))],
    ['has a token with a percent sign', (exchange) => tokenOf(exchange).includes('%')],
    ['has a token with an apostrophe', (exchange) => tokenOf(exchange).includes("'")],
  ]);
}

/** Names that a database or a firewall does not like. */
const dangerousNames: readonly Row<(name: string) => boolean>[] = [
  ['an apostrophe', (name) => name.includes("'")],
  ['a quotation mark', (name) => name.includes('"')],
  ['a backslash', (name) => name.includes('\\')],
  ['a semicolon', (name) => name.includes(';')],
  ['U+0000', (name) => name.includes('\0')],
  ['a character of four bytes', (name) => /[\u{10000}-\u{10ffff}]/u.test(name)],
  ['a percent sign', (name) => name.includes('%')],
  ['<script', (name) => /<script/i.test(name)],
  ['two hyphens', (name) => name.includes('--')],
  ['../', (name) => name.includes('../')],
  ['${', (name) => name.includes('${')],
  ['a line feed', (name) => name.includes('\n')],
  ['letters from right to left', (name) => /[\u0590-\u06ff]/.test(name)],
  ['more than 255 characters', (name) => name.length > 255],
  ['more than 1,000 characters', (name) => name.length > 1000],
  ['no character at all', (name) => name === ''],
];

const nameOfRequest = (exchange: Exchange): string | undefined => {
  const name = exchange.operation === 'create' ? fieldsOf(exchange).get('name') : undefined;
  return typeof name === 'string' ? name : undefined;
};

/** What stores do with animals after or without a 201. */
function storing(random: Random): Row<Change> {
  const n = random.integer(3, 12);
  const [dangerous, contains] = random.pick(dangerousNames);
  const [invalid, isInvalid] = random.pick(
    invalidBodies.filter(([text]) => text.includes('categoryId') || text.includes('status')),
  );
  const kept = (name: string, also: Partial<Pet>, { world }: Exchange): void => {
    const id = String(world.nextId++);
    world.pets.set(id, { id, name, categoryId: '0', status: 'available', at: 1, ...also });
  };
  const evicting = (victim: (made: readonly Pet[]) => Pet | undefined): Change => ({
    keep: (pet, { world }) => {
      const made = [...world.pets.values()].filter(({ at }) => at > 0);
      if (made.length >= n) world.pets.delete(victim(made)?.id ?? '');
      return pet;
    },
  });
  const last = (pet: Pet, { world }: Exchange): Pet | undefined =>
    [...world.pets.values()].findLast((one) => one.id !== pet.id && one.at > 0);
  return random.pick<Row<Change>>([
    [
      `A created animal is lost if its name contains ${dangerous}.`,
      { keep: (pet) => (contains(pet.name) ? undefined : pet) },
    ],
    [
      'A created animal replaces the one before it if it has the same name.',
      replacing((pet, other) => pet.name === other.name),
    ],
    [
      'A created animal replaces the one before it if it has the same category.',
      replacing((pet, other) => pet.categoryId === other.categoryId),
    ],
    [
      'A created animal replaces the one before it if their names differ at most in case.',
      replacing((pet, other) => pet.name.toLowerCase() === other.name.toLowerCase() && pet.name !== ''),
    ],
    [`The oldest of ${n} created animals is lost when another is created.`, evicting((made) => made[0])],
    [`The latest of ${n} created animals is lost when another is created.`, evicting((made) => made.at(-1))],
    [`Every ${n}th created animal is lost.`, { keep: (pet, { world }) => (world.creates % n === 0 ? undefined : pet) }],
    [
      `A create that ${invalid} is 400, but the lists show an animal without a name for it.`,
      chained(
        responses(
          (response, exchange) => response.status === 400 && exchange.operation === 'create' && isInvalid(exchange),
          (_response, exchange) => kept('', { status: 'invalid' }, exchange),
        ),
        {
          show: (pet, exchange) => {
            const fields = base.show(pet, exchange);
            if (pet.status === 'invalid') fields.set('name', null);
            return fields;
          },
        },
      ),
    ],
    [
      'A create with an unknown status is 400, but the lists show an animal with this status.',
      responses(
        (response, exchange) =>
          response.status === 400 &&
          exchange.operation === 'create' &&
          typeof fieldsOf(exchange).get('status') === 'string',
        (_response, exchange) => kept('Rex', { status: String(fieldsOf(exchange).get('status')) }, exchange),
      ),
    ],
    [
      'A created animal takes the category of the one before it.',
      stored((pet, exchange) => ({ categoryId: last(pet, exchange)?.categoryId ?? pet.categoryId })),
    ],
    [
      'A created animal takes the name of the one before it if both have the same category.',
      stored((pet, exchange) => ({
        name: last(pet, exchange)?.categoryId === pet.categoryId ? last(pet, exchange)!.name : pet.name,
      })),
    ],
  ]);
}

function replacing(same: (pet: Pet, other: Pet) => boolean): Change {
  return {
    keep: (pet, { world }) => {
      const other = [...world.pets.values()].findLast((one) => one.at > 0);
      if (other !== undefined && same(pet, other)) world.pets.delete(other.id);
      return pet;
    },
  };
}

/** Delays the responses of some requests for 20 ms, and counts those that arrive in the meantime. */
function busy(kind: (exchange: Exchange) => boolean, change: Change): Change {
  return {
    ...change,
    write: (to, code, headers, body, exchange) => {
      if (!kind(exchange)) return base.write(to, code, headers, body, exchange);
      setCount(exchange, 'busy', countOf(exchange, 'busy') + 1);
      setTimeout(() => {
        setCount(exchange, 'busy', countOf(exchange, 'busy') - 1);
        base.write(to, code, headers, body, exchange);
      }, 20);
    },
  };
}

const creates = ({ operation }: Exchange): boolean => operation === 'create';

/** Ids that are not unique, or not those of the animals. */
function idOf(random: Random): Row<Change> {
  const n = random.integer(4, 30);
  const [what, matches] = random.pick<Row<(pet: Pet) => boolean>>([
    ['is sold', ({ status: value }) => value === 'sold'],
    ['is pending', ({ status: value }) => value === 'pending'],
    ['has a name outside ASCII', ({ name }) => /[^\0-\x7f]/.test(name)],
    ['has a negative category', ({ categoryId }) => categoryId.startsWith('-')],
    ['has a category above 1000', ({ categoryId }) => BigInt(categoryId) > 1000n],
  ]);
  const numbered = (made: (pet: Pet, exchange: Exchange) => string | undefined): Change => ({
    newId: (pet, exchange) => (creates(exchange) ? made(pet, exchange) : undefined) ?? base.newId(pet, exchange),
  });
  const again = (same: (pet: Pet, other: Pet) => boolean): Change =>
    numbered((pet, { world }) => [...world.pets.values()].find((other) => other.at > 0 && same(pet, other))?.id);
  const offset = (by: bigint): Change =>
    shown('create', (fields, pet) => void (matches(pet) && fields.set('id', new Digits(String(BigInt(pet.id) + by)))));
  const snowflake = (operation: 'create' | 'list' | 'all'): Change => ({
    ...numbered((_pet, { now, world }) => String((BigInt(now) << 22n) + world.nextId++)),
    ...shown(operation, (fields, { id }) => void fields.set('id', new Digits(String(BigInt(Number(id)))))),
  });
  return random.pick<Row<Change>>([
    [
      'Two creates at the same time get the same id.',
      busy(
        creates,
        numbered((_pet, exchange) => (countOf(exchange, 'busy') > 0 ? String(exchange.world.nextId - 1n) : undefined)),
      ),
    ],
    [
      'The id of an animal is the second in which it was created.',
      numbered((_pet, { now }) => String(Math.floor(now / 1000))),
    ],
    [
      `The ids of created animals begin again after ${n}.`,
      numbered((_pet, { world }) => String(1000 + (world.creates % n))),
    ],
    [
      'An animal with the name, category and status of another gets its id.',
      again(
        (pet, other) => pet.name === other.name && pet.categoryId === other.categoryId && pet.status === other.status,
      ),
    ],
    ['An animal with the name of another gets its id.', again((pet, other) => pet.name === other.name)],
    [
      'An animal whose name differs from that of another only in case gets its id.',
      again((pet, other) => pet.name.toLowerCase() === other.name.toLowerCase()),
    ],
    [
      'An animal whose name has the same first eight characters as another gets its id.',
      again((pet, other) => pet.name.slice(0, 8) === other.name.slice(0, 8)),
    ],
    ['The ids are above 2^53, and the 201 rounds them to doubles.', snowflake('create')],
    ['The ids are above 2^53, and the lists round them to doubles.', snowflake('list')],
    ['The ids are above 2^53, and all responses round them to doubles.', snowflake('all')],
    [`The id in the 201 is too large by 1 if the animal ${what}.`, offset(1n)],
    [`The id in the 201 is too small by 1 if the animal ${what}.`, offset(-1n)],
    ['The ids of created animals are above 2^63.', numbered((_pet, { world }) => String(2n ** 63n + world.nextId++))],
    [
      `The id in the 201 is 0 if the animal ${what}.`,
      shown('create', (fields, pet) => void (matches(pet) && fields.set('id', new Digits('0')))),
    ],
  ]);
}

/** Creates whose body has the id of an animal that exists. */
function massAssignment(random: Random): Row<Change> {
  const field = random.pick(['id', 'id', 'id', '_id', 'ID', 'petId']);
  const given = (exchange: Exchange): string | undefined => {
    const value = creates(exchange) ? fieldsOf(exchange).get(field) : undefined;
    const id = value instanceof Digits ? value.text : typeof value === 'string' ? value : undefined;
    return id !== undefined && exchange.world.pets.has(id) ? id : undefined;
  };
  return random.pick<Row<Change>>([
    [
      `A create whose body has the id of another animal in ${field} replaces that animal.`,
      { newId: (pet, exchange) => given(exchange) ?? base.newId(pet, exchange) },
    ],
    [
      `A create whose body has the id of another animal in ${field} shows this id in the 201.`,
      shown(
        'create',
        (fields, _pet, exchange) => void fields.set('id', new Digits(given(exchange) ?? wordOf(fields.get('id')))),
      ),
    ],
    [
      `A create whose body has the id of another animal in ${field} changes the name of that animal.`,
      {
        keep: (pet, exchange) => {
          const other = exchange.world.pets.get(given(exchange) ?? '');
          if (other !== undefined) other.name = pet.name;
          return pet;
        },
      },
    ],
  ]);
}

/** Wrong numbers of rows. */
function rows(random: Random): Row<Change> {
  const n = random.pick([21, 25, 30, 50, 100]);
  const limit = random.pick([1, 2, 5, 10, 50, 100]);
  const more = (also: (exchange: Exchange, given: number) => boolean, by: number): Change => ({
    page: (all, given, exchange) => base.page(all, also(exchange, given) ? given + by : given, exchange),
  });
  const filtered = ({ query }: Exchange): boolean => query.has('status');
  return random.pick<Row<Change>>([
    ['A list with a filter has one animal more than its limit.', more(filtered, 1)],
    [`A list with the limit ${limit} has one animal more.`, more((_exchange, given) => given === limit, 1)],
    [
      `A list with a limit of at least ${limit} and a filter has one animal more than its limit.`,
      more((exchange, given) => filtered(exchange) && given >= limit, 1),
    ],
    [
      `A list with a filter and without a limit has up to ${n} animals.`,
      { limit: (text, exchange) => (text === null && filtered(exchange) ? n : base.limit(text, exchange)) },
    ],
    [
      `A list with an empty query has up to ${n} animals.`,
      { limit: (text, exchange) => (text === null && exchange.search === '' ? n : base.limit(text, exchange)) },
    ],
    ['The limit 100 is 400.', { limit: (text, exchange) => (text === '100' ? undefined : base.limit(text, exchange)) }],
    ['The limit 1 is 400.', { limit: (text, exchange) => (text === '1' ? undefined : base.limit(text, exchange)) }],
    [
      'A limit of one digit is compared as text with 20, so that 3 to 9 become 20.',
      { limit: (text, exchange) => (/^[3-9]$/.test(text ?? '') ? 20 : base.limit(text, exchange)) },
    ],
    [
      'A list without a limit has the limit of the list before it on the same connection.',
      {
        limit: (text, exchange) => {
          const note = `limit ${exchange.connection}`;
          if (text !== null) exchange.world.notes.set(note, text);
          return base.limit(text ?? exchange.world.notes.get(note) ?? null, exchange);
        },
      },
    ],
    [
      `A limit after the filter in the query is ignored, and up to ${n} animals come.`,
      { limit: (text, exchange) => (/status=.*&limit=/.test(exchange.search) ? n : base.limit(text, exchange)) },
    ],
    [
      'A list with a filter applies its limit to each status, so that twice as many animals come.',
      { page: (all, given, exchange) => base.page(all, filtered(exchange) ? given * 2 : given, exchange) },
    ],
    [
      'A limit below 10 is raised to 10.',
      { limit: (text, exchange) => Math.max(10, base.limit(text, exchange) ?? 10) },
    ],
  ]);
}

/** Wrong rows under a filter. */
function filters(random: Random): Row<Change> {
  const wanted = random.pick(statuses);
  const other = random.pick(statuses.filter((one) => one !== wanted));
  const limit = random.pick([2, 5, 10, 21, 50, 100]);
  const seconds = random.pick([1, 2, 5, 10]);
  const unfiltered = (ignored: (exchange: Exchange) => boolean): Change => ({
    fits: (pet, filter, exchange) => ignored(exchange) || base.fits(pet, filter, exchange),
  });
  const limitOf = (exchange: Exchange): number => base.limit(exchange.query.get('limit'), exchange) ?? 0;
  return random.pick<Row<Change>>([
    [
      `The filter ${wanted} also finds animals that are ${other}.`,
      {
        fits: (pet, filter, exchange) =>
          base.fits(pet, filter, exchange) || (filter === wanted && pet.status === other),
      },
    ],
    [
      `The filter ${wanted} with a limit also finds animals that are ${other}.`,
      {
        fits: (pet, filter, exchange) =>
          base.fits(pet, filter, exchange) ||
          (filter === wanted && pet.status === other && exchange.query.has('limit')),
      },
    ],
    [
      `The filter is ignored with a limit of at least ${limit}.`,
      unfiltered((exchange) => exchange.query.has('limit') && limitOf(exchange) >= limit),
    ],
    [
      'The filter is ignored after the limit in the query.',
      unfiltered(({ search }) => /limit=.*&status=/.test(search)),
    ],
    [
      'The filter is ignored before the limit in the query.',
      unfiltered(({ search }) => /status=.*&limit=/.test(search)),
    ],
    [
      `A list fills its page with animals that the filter ${wanted} excludes.`,
      {
        page: (all, given, exchange) =>
          exchange.query.get('status') === wanted && all.length < given
            ? [...all, ...[...exchange.world.pets.values()].filter((pet) => pet.status !== wanted)].slice(0, given)
            : base.page(all, given, exchange),
      },
    ],
    [
      `A filter within ${seconds} s of another one finds what that one found.`,
      {
        filter: (text, exchange) => {
          const [at, value] = (exchange.world.notes.get('filter') ?? '').split(' ');
          if (text !== null && value !== undefined && exchange.now - Number(at) <= seconds * 1000) return value;
          if (text !== null && statuses.includes(text)) exchange.world.notes.set('filter', `${exchange.now} ${text}`);
          return base.filter(text, exchange);
        },
      },
    ],
    [
      `The filter ${wanted} finds the animals that do not have this status.`,
      {
        fits: (pet, filter, exchange) => (filter === wanted ? pet.status !== wanted : base.fits(pet, filter, exchange)),
      },
    ],
    [
      `The filter ${wanted} is 400.`,
      { filter: (text, exchange) => (text === wanted ? undefined : base.filter(text, exchange)) },
    ],
    [
      'A filter also finds animals that were created without a status.',
      {
        fits: (pet, filter, exchange) => base.fits(pet, filter, exchange) || exchange.world.notes.has(`none ${pet.id}`),
        keep: (pet, exchange) => {
          if (!fieldsOf(exchange).has('status')) exchange.world.notes.set(`none ${pet.id}`, '');
          return pet;
        },
      },
    ],
  ]);
}

/** Lists that are not arrays of Pets. */
function shapes(random: Random): Draw {
  const [when, applies] = random.pick<Row<(exchange: Exchange, list: readonly Json[]) => boolean>>([
    ['with a filter', ({ query }) => query.has('status')],
    ['with a limit', ({ query }) => query.has('limit')],
    ['with one animal', (_exchange, list) => list.length === 1],
    ['with the limit 100', ({ query }) => query.get('limit') === '100'],
    ['with a filter and a limit', ({ query }) => query.has('status') && query.has('limit')],
  ]);
  const [what, change] = random.pick<Row<(list: Json[]) => Json>>([
    ['is an object with the numbers of its rows', (list) => new Map(list.map((pet, i) => [String(i + 1), pet]))],
    ['is its first animal, without an array', (list) => list[0]!],
    ['is an object with the field data', (list) => new Map<string, Json>([['data', list]])],
    [
      'is an object with the fields content and totalElements',
      (list) =>
        new Map<string, Json>([
          ['content', list],
          ['totalElements', new Digits(String(list.length))],
        ]),
    ],
    ['has null as its last element', (list) => [...list, null]],
    ['is an array in an array', (list) => [list]],
    ['has the ids only', (list) => list.map((pet) => (pet as JsonObject).get('id')!)],
    ['wraps each animal in the field pet', (list) => list.map((pet) => new Map([['pet', pet]]))],
    [
      'has animals without their names',
      (list) => list.map((pet) => new Map([...(pet as JsonObject)].filter(([name]) => name !== 'name'))),
    ],
    ['is a string', (list) => `${list.length} animals`],
  ]);
  const kind: Kind = ({ status: code, body }, exchange) =>
    exchange.operation === 'list' && code === 200 && Array.isArray(body) && body.length > 0 && applies(exchange, body);
  return fault(
    '2 4.1',
    `A list ${when} ${what}.`,
    responses(kind, (response) => void (response.body = change(response.body as Json[]))),
  );
}

/** Responses whose bytes are damaged on their way. */
function buffers(random: Random): Draw {
  const size = random.pick([512, 1024, 2048, 4096, 8192]);
  const [where, sections, operation] = random.pick(operations);
  const ofOperation = (exchange: Exchange): boolean => exchange.operation === operation;
  const sent = (change: (body: Buffer, exchange: Exchange) => Uint8Array): Pick<Hooks, 'bytes'> => ({
    bytes: (text, exchange) =>
      ofOperation(exchange) && !text.includes('"code"')
        ? change(Buffer.from(text), exchange)
        : base.bytes(text, exchange),
  });
  const outside = (text: string): boolean => /[^\0-\x7f]/.test(text);
  const [text, change, of] = random.pick<readonly [string, Change, string]>([
    [
      `A body of more than ${size} bytes is cut there in lists with a limit.`,
      {
        bytes: (json, exchange) =>
          exchange.operation === 'list' && exchange.search.includes('limit')
            ? Buffer.from(json).subarray(0, size)
            : base.bytes(json, exchange),
      },
      '1 4.1',
    ],
    [
      `The bodies of ${where} have as many bytes as they should have characters.`,
      sent((body) => body.subarray(0, body.toString().length)),
      sections,
    ],
    [`The bodies of ${where} are in Latin-1.`, sent((body) => Buffer.from(body.toString(), 'latin1')), sections],
    [
      `The bodies of ${where} are in UTF-16 if they have a character outside ASCII.`,
      sent((body) => (outside(body.toString()) ? Buffer.from(body.toString(), 'utf16le') : body)),
      sections,
    ],
    [
      `The bodies of ${where} write characters of four bytes as two surrogates of three bytes each.`,
      sent((body) => cesu(body.toString())),
      sections,
    ],
    [
      `The bodies of ${where} split characters into a replacement character at each ${size} bytes.`,
      sent((body) =>
        Buffer.from(
          Array.from({ length: Math.ceil(body.length / size) }, (_none, i) =>
            body.subarray(i * size, (i + 1) * size).toString(),
          ).join(''),
        ),
      ),
      sections,
    ],
    [
      `The bodies of ${where} have the prefix )]}', if they have a character outside ASCII.`,
      sent((body) => (outside(body.toString()) ? Buffer.from(`)]}',\n${body.toString()}`) : body)),
      sections,
    ],
    [
      `The bodies of ${where} are encoded twice if they have a character outside ASCII.`,
      sent((body) => (outside(body.toString()) ? Buffer.from(JSON.stringify(body.toString())) : body)),
      sections,
    ],
    [`The bodies of ${where} are UTF-8 encoded twice.`, sent((body) => Buffer.from(body.toString('latin1'))), sections],
  ]);
  return fault(of, text, change);
}

const cesu = (text: string): Buffer =>
  Buffer.concat(
    [...text].map((one) =>
      one.length === 1
        ? Buffer.from(one)
        : Buffer.concat(
            [one.charCodeAt(0), one.charCodeAt(1)].map((unit) =>
              Buffer.from([0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 63), 0x80 | (unit & 63)]),
            ),
          ),
    ),
  );

/** Bodies in another format, because a request asks for it or seems to. */
function negotiation(random: Random): Draw {
  const accept =
    (type: string) =>
    (exchange: Exchange): boolean =>
      String(exchange.headers['accept'] ?? '').includes(type);
  const [when, asked] = random.pick<Row<(exchange: Exchange) => boolean>>([
    ['with Accept: text/html', accept('text/html')],
    ['with Accept: application/xml', accept('application/xml')],
    ['with Accept: */*', accept('*/*')],
    ['without Accept', ({ headers }) => headers['accept'] === undefined],
    ['with the User-Agent of a browser', ({ headers }) => String(headers['user-agent']).startsWith('Mozilla/')],
    ['with the query parameter format=xml', ({ query }) => query.get('format') === 'xml'],
    ['with the query parameter callback', ({ query }) => query.has('callback')],
    ['with Accept-Language: de', ({ headers }) => String(headers['accept-language']).startsWith('de')],
    ['with Accept-Encoding', ({ headers }) => headers['accept-encoding'] !== undefined],
  ]);
  const [of, sections, kind] = random.pick<readonly [string, string, Kind]>([
    ['An error of createPet', '1 7 4.2', ({ status: code }, { operation }) => operation === 'create' && code === 400],
    ['A 404 of getPet', '1 7 4.3', ({ status: code }, { operation }) => operation === 'get' && code === 404],
    ['A 401', '1 5 7', ({ status: code }) => code === 401],
    ['A 200 of getPet', '1 4.3', ({ status: code }, { operation }) => operation === 'get' && code === 200],
    ['A 201', '1 4.2', ({ status: code }) => code === 201],
    [
      'A list with a filter',
      '1 4.1',
      ({ status: code }, { operation, query }) => operation === 'list' && query.has('status') && code === 200,
    ],
  ]);
  const [what, type, change] = random.pick<readonly [string, string, string | undefined]>([
    ['is XML', 'application/xml', '<response/>'],
    ['is HTML', 'text/html; charset=utf-8', '<!doctype html><p>Response</p>'],
    ['has the type text/html', 'text/html', undefined],
    ['has the type application/javascript', 'application/javascript', 'callback({})'],
    ['has the type text/plain', 'text/plain', undefined],
  ]);
  const chosen: Kind = (response, exchange) => kind(response, exchange) && asked(exchange);
  return fault(sections, `${of} to a request ${when} ${what}.`, {
    ...responses(chosen, (response, exchange) => {
      setHeader(response, 'Content-Type', type);
      if (change !== undefined) rawBodies.set(exchange, change);
    }),
    bytes: (text, exchange) => base.bytes(rawBodies.get(exchange) ?? text, exchange),
  });
}

/** Valid requests that a layer before the service refuses. */
function middleware(random: Random): Draw {
  const header =
    (name: string) =>
    (exchange: Exchange): boolean =>
      exchange.headers[name] !== undefined;
  const [when, met] = random.pick<Row<(exchange: Exchange) => boolean>>([
    ['with a header Origin', header('origin')],
    ['without a User-Agent', (exchange) => !header('user-agent')(exchange)],
    ['with a header Cookie', header('cookie')],
    ['with a header If-None-Match', header('if-none-match')],
    ['with a header Range', header('range')],
    ['with a header Accept-Language', header('accept-language')],
    ['with a header X-Forwarded-For', header('x-forwarded-for')],
    ['with a header traceparent', header('traceparent')],
    ['with a header Expect', header('expect')],
    ['with a query parameter whose value is empty', ({ query }) => [...query.values()].includes('')],
  ]);
  const [of, sections, operation] = random.pick<Of>(operations);
  const [what, code] = random.pick<Row<number>>([
    ['403', 403],
    ['400', 400],
    ['500', 500],
    ['406', 406],
  ]);
  const named = { 'a 201': 'A valid create', lists: 'A list', 'a 200 of getPet': 'A getPet of an animal that exists' }[
    of
  ];
  const [as, error] = random.pick(frameworkErrors);
  return fault(
    `${sections} 7`,
    `${named} ${when} is ${what} with ${as}.`,
    sending(
      (response, exchange) => isValid(response, exchange) && exchange.operation === operation && met(exchange),
      code,
      error,
    ),
  );
}

/** Valid JSON texts that a hand-made or streaming reader refuses or misreads. */
const readers: readonly Row<Change>[] = [
  [
    'A create with white space before its body is 400.',
    { text: (bytes) => (/^\s/.test(base.text(bytes) ?? '') ? undefined : base.text(bytes)) },
  ],
  [
    'A create with a line feed after its body is 400.',
    { text: (bytes) => ((base.text(bytes) ?? '').endsWith('\n') ? undefined : base.text(bytes)) },
  ],
  [
    'A create with a tab or a carriage return between its tokens is 400.',
    { accepts: (_body, text) => !/[\t\r]/.test(text) },
  ],
  ['A create with a space before a colon is 400.', { accepts: (_body, text) => !/"\s+:/.test(text) }],
  ['A create with categoryId before name is 400.', { accepts: (body) => inOrder(body, 'name', 'categoryId') }],
  ['A create with name before categoryId is 400.', { accepts: (body) => inOrder(body, 'categoryId', 'name') }],
  [
    'A status before the name is ignored.',
    {
      status: (value, exchange) =>
        inOrder(fieldsOf(exchange), 'name', 'status') ? base.status(value, exchange) : 'available',
    },
  ],
  [
    'A status as the first field is ignored.',
    {
      status: (value, exchange) =>
        [...fieldsOf(exchange).keys()][0] === 'status' ? 'available' : base.status(value, exchange),
    },
  ],
  [
    'A field whose name has an escape is not found.',
    {
      name: (value, exchange) =>
        /"[a-zI]*\\u[a-zI0-9]*"\s*:/i.test(exchange.body) ? undefined : base.name(value, exchange),
    },
  ],
  [
    'An escaped surrogate pair in a name becomes two replacement characters.',
    {
      name: (value, exchange) =>
        /\\ud8/i.test(exchange.body)
          ? base.name(value, exchange)?.replace(/[\u{10000}-\u{10ffff}]/gu, '\ufffd\ufffd')
          : base.name(value, exchange),
    },
  ],
  [
    'An escaped solidus in a name keeps its backslash.',
    {
      name: (value, exchange) =>
        exchange.body.includes('\\/') ? base.name(value, exchange)?.replaceAll('/', '\\/') : base.name(value, exchange),
    },
  ],
  [
    'An escape \\u in a name loses its backslash.',
    {
      name: (value, exchange) =>
        /\\u[0-9a-f]{4}/i.test(exchange.body)
          ? base
              .name(value, exchange)
              ?.replace(/[^\0-\x7f]/u, (one) => `u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
          : base.name(value, exchange),
    },
  ],
  [
    'An escape with capital hexadecimal digits is 400.',
    { accepts: (_body, text) => !/\\u[0-9a-f]*[A-F]/i.test(text.replace(/\\u[0-9a-f]{4}/g, '')) },
  ],
  [
    'The escapes \\b and \\f in a name become b and f.',
    {
      name: (value, exchange) =>
        /\\[bf]/.test(exchange.body)
          ? base.name(value, exchange)?.replaceAll('\b', 'b').replaceAll('\f', 'f')
          : base.name(value, exchange),
    },
  ],
];

/** Whether one field is before another, if the object has both. */
function inOrder(body: JsonObject, first: string, second: string): boolean {
  const fields = [...body.keys()];
  return !body.has(first) || !body.has(second) || fields.indexOf(first) < fields.indexOf(second);
}

/** Ways to send a body that a body parser does not know. */
function bodyParser(random: Random): Draw {
  const [when, met] = random.pick<Row<(exchange: Exchange) => boolean>>([
    ['with a body in chunks', ({ headers }) => headers['transfer-encoding'] !== undefined],
    ['with a charset in its type', ({ contentType }) => contentType.includes('charset')],
    ['with capital letters in its type', ({ contentType }) => contentType !== contentType.toLowerCase()],
    [
      'with a Content-Length of more than 200',
      ({ headers }) => headers['content-length'] !== undefined && Number(headers['content-length']) > 200,
    ],
    ['as the first request of its connection', isFirst],
    ['with a character outside ASCII in its body', ({ body }) => /[^\0-\x7f]/.test(body)],
    ['with a body of at most 30 bytes', ({ body }) => Buffer.byteLength(body) <= 30],
    ['without a status', (exchange) => !fieldsOf(exchange).has('status')],
  ]);
  const [what, code, message] = random.pick<readonly [string, number, string]>([
    ['400, as if it had no body', 400, 'The body is missing.'],
    ['415', 415, 'The media type is not supported.'],
    ['500', 500, 'Internal error.'],
  ]);
  return fault(
    '2 4.2',
    `A valid create ${when} is ${what}.`,
    responses(
      ({ status: sent }, exchange) => met(exchange) && sent === 201,
      (response, exchange) => becomeError(response, exchange, code, message),
    ),
  );
}

/** Whether no request came on the connection before. */
function isFirst(exchange: Exchange): boolean {
  const note = `known ${exchange.connection}`;
  const first = !exchange.world.notes.has(note);
  exchange.world.notes.set(note, '');
  return first;
}

/** State of connections and of other requests that reaches a response. */
function leftovers(random: Random): Row<Change> {
  const n = random.integer(3, 20);
  const after = (
    before: (response: MutantResponse, exchange: Exchange) => boolean,
    change: (response: MutantResponse, exchange: Exchange) => void,
  ): Change =>
    responses(
      () => true,
      (response, exchange) => {
        const note = `left ${exchange.connection}`;
        const left = exchange.world.notes.get(note) === 'yes';
        exchange.world.notes.set(note, before(response, exchange) ? 'yes' : '');
        if (left && isValid(response, exchange)) change(response, exchange);
      },
    );
  const bad = (response: MutantResponse, exchange: Exchange): void =>
    becomeError(response, exchange, 400, 'Bad request.');
  const shared = (kind: (exchange: Exchange) => boolean): Change => ({
    write: (to, code, headers, body, exchange) => {
      if (!kind(exchange) || code >= 300) return base.write(to, code, headers, body, exchange);
      exchange.world.notes.set('shared', Buffer.from(body).toString('latin1'));
      setTimeout(() => {
        const latest = Buffer.from(exchange.world.notes.get('shared')!, 'latin1');
        const length = headers.indexOf('Content-Length') + 1;
        base.write(to, code, headers.with(length, String(latest.length)), latest, exchange);
      }, 20);
    },
  });
  const locked = (operation: string, code: number): Change =>
    busy(
      creates,
      responses(
        (response, exchange) =>
          isValid(response, exchange) && exchange.operation === operation && countOf(exchange, 'busy') > 0,
        (response, exchange) => becomeError(response, exchange, code),
      ),
    );
  return random.pick<Row<Change>>([
    [
      'The next request on a connection after a create that is 401 is 400.',
      after(({ status: code }, { operation }) => code === 401 && operation === 'create', bad),
    ],
    [
      'The next request on a connection after a create that is 400 is 400.',
      after(({ status: code }, { operation }) => code === 400 && operation === 'create', bad),
    ],
    [
      'The next request on a connection after a getPet that is 404 is 404.',
      after(
        ({ status: code }, { operation }) => code === 404 && operation === 'get',
        (response, exchange) => becomeError(response, exchange, 404),
      ),
    ],
    [
      'The next request on a connection after a 401 is 401.',
      after(
        ({ status: code }) => code === 401,
        (response, exchange) => becomeError(response, exchange, 401),
      ),
    ],
    [
      `The ${n}th create is 500.`,
      responses(
        ({ status: code }, { world }) => code === 201 && world.creates === n,
        (response, exchange) => becomeError(response, exchange, 500),
      ),
    ],
    ['Two getPets at the same time both show the later animal.', shared(({ operation }) => operation === 'get')],
    ['Two creates at the same time both show the later animal.', shared(({ operation }) => operation === 'create')],
    [
      'A list and a getPet at the same time both show the later result.',
      shared(({ operation }) => operation === 'get' || operation === 'list'),
    ],
    ['A create during another one is 500.', locked('create', 500)],
    ['A create during another one is 409.', locked('create', 409)],
    ['A list during a create is 500.', locked('list', 500)],
    ['A getPet during a create is 503.', locked('get', 503)],
  ]);
}

/** An operation that is deprecated is switched off too soon, for some requests. */
function brownout(random: Random): Draw {
  const n = random.integer(3, 12);
  const code = random.pick([404, 410, 301, 299]);
  const [when, met] = random.pick<Row<(exchange: Exchange) => boolean>>([
    [
      `Every ${n}th getPet of an animal that exists`,
      (exchange) => {
        setCount(exchange, 'gets', countOf(exchange, 'gets') + 1);
        return countOf(exchange, 'gets') % n === 0;
      },
    ],
    [
      `A getPet of an animal that exists, after ${n} of them`,
      (exchange) => {
        setCount(exchange, 'gets', countOf(exchange, 'gets') + 1);
        return countOf(exchange, 'gets') > n;
      },
    ],
    ['A getPet of an animal that is sold', (exchange) => petAt(exchange, int64Of(exchange))?.status === 'sold'],
    ['A getPet of an animal that is pending', (exchange) => petAt(exchange, int64Of(exchange))?.status === 'pending'],
    ['A getPet of an animal that was created', (exchange) => (petAt(exchange, int64Of(exchange))?.at ?? 0) > 0],
    ['A getPet with a query', ({ search }) => search !== ''],
    [
      'The second getPet of the same animal',
      (exchange) => {
        setCount(exchange, exchange.path, countOf(exchange, exchange.path) + 1);
        return countOf(exchange, exchange.path) === 2;
      },
    ],
  ]);
  return fault(
    '4.3 9',
    `${when} is ${code}.`,
    responses(
      ({ status: sent }, exchange) => sent === 200 && exchange.operation === 'get' && met(exchange),
      (response, exchange) => becomeError(response, exchange, code, 'The operation is removed.'),
    ),
  );
}

/** `GET /store/orders`, whose answers are open but for the key and the media type. */
function orders(random: Random): Draw {
  const ofOrders: Kind = (_response, { operation }) => operation === 'orders';
  const [as, error] = random.pick(
    frameworkErrors.filter(([, [type]]) => type !== 'application/json' && type !== undefined),
  );
  const code = random.pick([403, 404, 500, 200]);
  return random.pick<Draw>([
    fault(
      '5 7 4.4',
      `A GET of orders without a key is ${code}.`,
      changedStatus(
        (response, exchange) =>
          ofOrders(response, exchange) && response.status === 401 && exchange.authorization === '',
        code,
      ),
    ),
    fault(
      '5 7 4.4',
      `A GET of orders with an invalid key is ${code}.`,
      changedStatus(
        (response, exchange) =>
          ofOrders(response, exchange) && response.status === 401 && exchange.authorization !== '',
        code,
      ),
    ),
    fault(
      '1 4.4',
      `The body of GET /store/orders is ${as}.`,
      sending((response, exchange) => ofOrders(response, exchange) && response.status === 200, 200, error),
    ),
    fault(
      '1 4.4 5',
      `The 401 of GET /store/orders has ${as}.`,
      sending((response, exchange) => ofOrders(response, exchange) && response.status === 401, 401, error),
    ),
    fault(
      '1 4.4',
      'GET /store/orders has the type text/json.',
      responses(
        (response, exchange) => ofOrders(response, exchange) && response.status === 200,
        (response) => setHeader(response, 'Content-Type', 'text/json'),
      ),
    ),
    fault('1 4.4', 'The body of GET /store/orders ends in a comma.', {
      bytes: (text, exchange) => base.bytes(exchange.operation === 'orders' ? `${text},` : text, exchange),
    }),
  ]);
}

/** Spellings of a query that mean the same. */
const queries: readonly Row<Change>[] = [
  [
    'The filter status=%73old is 400.',
    { filter: (text, exchange) => (/status=[a-z]*%/.test(exchange.search) ? undefined : base.filter(text, exchange)) },
  ],
  [
    'A filter with a percent escape in its value is ignored.',
    { fits: (pet, filter, exchange) => /status=[a-z]*%/.test(exchange.search) || base.fits(pet, filter, exchange) },
  ],
  [
    'A filter with a percent escape in its name is ignored.',
    { filter: (text, exchange) => (/%[0-9a-f]{2}[a-z]*=/i.test(exchange.search) ? '' : base.filter(text, exchange)) },
  ],
  [
    'A limit with a percent escape in its value is 400.',
    { limit: (text, exchange) => (/limit=\d*%/.test(exchange.search) ? undefined : base.limit(text, exchange)) },
  ],
  [
    'A limit with a percent escape in its value is ignored.',
    { limit: (text, exchange) => (/limit=\d*%/.test(exchange.search) ? 20 : base.limit(text, exchange)) },
  ],
  [
    'A limit after an ampersand at the start of the query is ignored.',
    { limit: (text, exchange) => (exchange.search.startsWith('&') ? 20 : base.limit(text, exchange)) },
  ],
  [
    'A limit before the filter in the query is ignored.',
    { limit: (text, exchange) => (/limit=.*&status=/.test(exchange.search) ? 20 : base.limit(text, exchange)) },
  ],
  [
    'With a filter, a limit of two digits is read as 100.',
    {
      limit: (text, exchange) =>
        base.limit(/^\d\d$/.test(text ?? '') && exchange.query.has('status') ? '100' : text, exchange),
    },
  ],
  [
    'A getPet whose id is percent-encoded shows another animal.',
    found((pet, id, exchange) => (id.includes('%') ? [...exchange.world.pets.values()][0] : pet)),
  ],
];

/** Error objects that lack what the table of Error wants. */
function errorObject(random: Random): Draw {
  const language = random.pick(['de', 'fr', 'xx', 'ja']);
  const [of, sections, kind] = random.pick<readonly [string, string, Kind]>([
    ['a 400 of createPet', '2 7 4.2', ({ status: code }, { operation }) => operation === 'create' && code === 400],
    [
      'a 400 of createPet whose status is invalid',
      '2 7 4.2',
      ({ status: code }, exchange) => creates(exchange) && code === 400 && fieldsOf(exchange).has('status'),
    ],
    [
      'a 400 of createPet without a name',
      '2 7 4.2',
      ({ status: code }, exchange) => creates(exchange) && code === 400 && !fieldsOf(exchange).has('name'),
    ],
    ['a 404 of getPet', '2 7 4.3', ({ status: code }, { operation }) => operation === 'get' && code === 404],
    [
      'a 404 of getPet for a negative id',
      '2 7 4.3',
      ({ status: code }, exchange) => code === 404 && (int64Of(exchange) ?? 0n) < 0n,
    ],
    ['a 401 of createPet', '2 5 7 4.2', ({ status: code }, { operation }) => operation === 'create' && code === 401],
    [
      'a 401 to an empty token',
      '2 5 7',
      ({ status: code }, { authorization }) => code === 401 && /^Bearer *$/.test(authorization),
    ],
    [
      `errors with Accept-Language: ${language}`,
      '2 5 7',
      ({ status: code }, { headers }) => code >= 400 && String(headers['accept-language']).startsWith(language),
    ],
  ]);
  const [what, change] = random.pick<Row<(error: JsonObject) => void>>([
    ['has null as message', (error) => void error.set('message', null)],
    ['lacks the message', (error) => void error.delete('message')],
    ['has an array of messages', (error) => void error.set('message', ['is invalid'])],
    ['has an object as message', (error) => void error.set('message', new Map([['name', 'is invalid']]))],
    ['has a number as code', (error) => void error.set('code', error.get('status')!)],
    ['lacks the code', (error) => void error.delete('code')],
    ['has the status as a string', (error) => void error.set('status', wordOf(error.get('status')))],
    ['has the status 500', (error) => void error.set('status', new Digits('500'))],
    ['has the status 0', (error) => void error.set('status', new Digits('0'))],
    ['has the word error as status', (error) => void error.set('status', 'error')],
    ['lacks the status', (error) => void error.delete('status')],
    [
      'has it all in the field error',
      (error) => {
        const inner = new Map(error);
        error.clear();
        error.set('error', inner);
      },
    ],
  ]);
  const chosen: Kind = (response, exchange) => kind(response, exchange) && response.body instanceof Map;
  return fault(
    sections,
    `The Error of ${of} ${what}.`,
    responses(chosen, (response) => change(response.body as JsonObject)),
  );
}

/** Zero values that a serializer leaves out, or shows as null. */
function zeroValues(random: Random): Draw {
  const [where, sections, operation] = random.pick(operations);
  const how = random.pick(['lack', 'show as null', 'show as a string']);
  const [what, field, isZero] = random.pick<readonly [string, 'name' | 'categoryId' | 'status', (pet: Pet) => boolean]>(
    [
      ['an empty name', 'name', ({ name }) => name === ''],
      ['a name of spaces', 'name', ({ name }) => name.trim() === ''],
      ['a categoryId of 0', 'categoryId', ({ categoryId }) => categoryId === '0'],
      ['a negative categoryId', 'categoryId', ({ categoryId }) => categoryId.startsWith('-')],
      ['a categoryId above 2^53', 'categoryId', ({ categoryId }) => BigInt(categoryId) > two53],
    ],
  );
  return fault(
    `2 ${sections}`,
    `The Pets of ${where} ${field === 'name' && how === 'show as a string' ? 'show as a number' : how} ${what}.`,
    shown(operation, (fields, pet) => {
      if (!isZero(pet)) return;
      if (how === 'lack') fields.delete(field);
      else if (how === 'show as null') fields.set(field, null);
      else fields.set(field, field === 'name' ? new Digits('0') : pet.categoryId);
    }),
  );
}

/** Another status or body than 201 and 200 when all is well, for some values. */
function successes(random: Random): Draw {
  const [what, matches] = random.pick<Row<(pet: JsonObject) => boolean>>([
    ['that is sold', (pet) => pet.get('status') === 'sold'],
    ['that is pending', (pet) => pet.get('status') === 'pending'],
    ['with a negative category', (pet) => wordOf(pet.get('categoryId')).startsWith('-')],
    ['with the category 0', (pet) => wordOf(pet.get('categoryId')) === '0'],
    ['with a category above 2^31', (pet) => BigInt(wordOf(pet.get('categoryId'))) > 2n ** 31n],
    ['with a name outside ASCII', (pet) => /[^\0-\x7f]/.test(String(pet.get('name')))],
  ]);
  const [of, sections, operation] = random.pick(operations.filter(([, , one]) => one !== 'list'));
  const code = random.pick([200, 202, 203, 204, 302, 303].filter((one) => operation === 'create' || one !== 200));
  return fault(
    sections,
    `The animal is one ${what}, and ${of} is ${code} instead.`,
    responses(
      (response, exchange) =>
        isValid(response, exchange) && exchange.operation === operation && matches(response.body as JsonObject),
      (response) => {
        response.status = code;
        if (code === 204) response.body = undefined;
      },
    ),
  );
}

export const thirdFamilies: readonly Family[] = [
  family('all × names × columns of a database', (random) => {
    const [where, change] = random.pick(places);
    const [what, to] = columnChange(random);
    return fault('2 4.1 4.2 4.3', `In ${where}, the name ${what}.`, change(to));
  }),
  family('all × names × text that looks like something else', (random) => {
    const [where, change] = random.pick(places);
    const [what, to] = random.pick(looks);
    return fault('2 4.1 4.2 4.3', `In ${where}, a name with ${what}.`, change(to));
  }),
  family('all × names × hand-made JSON', (random) => {
    const [where, sections, operation] = random.pick(operations);
    const [what, change] = random.pick(escapes);
    return fault(sections, `The bodies of ${where} have ${what}.`, {
      bytes: (text, exchange) =>
        base.bytes(exchange.operation === operation && exchange.world.creates > 0 ? change(text) : text, exchange),
    });
  }),
  family('all × categoryId × types on the wire', (random) => {
    const [where, sections, operation] = random.pick(operations);
    const [range, includes] = random.pick(integerRanges);
    const [form, change] = random.pick(integerForms);
    return fault(
      `2 ${sections}`,
      `The Pets of ${where} have a categoryId ${range} ${form}.`,
      shown(operation, (fields, { categoryId }) => {
        if (includes(BigInt(categoryId))) fields.set('categoryId', change(BigInt(categoryId)));
      }),
    );
  }),
  family('createPet × categoryId × columns of a database', (random) => {
    const [column, change] = random.pick(columns);
    const everywhere = random.pick([true, false]);
    return fault(
      '2 4.2 4.3',
      `All responses${everywhere ? '' : ' but the 201'} show a categoryId after a column of the type ${column}.`,
      everywhere ? categories(change) : stored((pet) => ({ categoryId: String(change(BigInt(pet.categoryId))) })),
    );
  }),
  family('createPet × categoryId × lenient readers', (random) => {
    const [what, convert] = random.pick(lenientIntegers);
    return fault(
      '2 4.2 7',
      `${what.charAt(0).toUpperCase()}${what.slice(1)} is accepted as categoryId.`,
      categoryFrom(convert),
    );
  }),
  family('createPet × status × lenient readers', (random) => {
    const [what, convert] = random.pick(lenientStatuses);
    return fault(
      '2 4.2 7',
      `${what.charAt(0).toUpperCase()}${what.slice(1)} is accepted as status.`,
      statusFrom(convert),
    );
  }),
  family('createPet × name × lenient readers', (random) => {
    const [what, convert] = random.pick(lenientNames);
    return fault('2 4.2 7', `${what.charAt(0).toUpperCase()}${what.slice(1)} is accepted as name.`, nameFrom(convert));
  }),
  family('createPet × bodies × lenient binders', (random) => {
    const [what, change] = lenientBody(random);
    return fault('2 4.2 7', `A create is 201 if its body ${what}.`, change);
  }),
  family('createPet × invalid bodies × errors of a framework', (random) => {
    const [what, isOne] = random.pick(invalidBodies);
    const [as, error] = random.pick(frameworkErrors);
    const code = random.pick([400, 422, 500, 409, 404, 200]);
    return fault(
      '4.2 7',
      `A create whose body ${what} is ${code} with ${as}.`,
      sending((response, exchange) => response.status === 400 && creates(exchange) && isOne(exchange), code, error),
    );
  }),
  family('getPet × unusual ids × errors of a framework', (random) => {
    const [what, isOne] = unusualId(random);
    const [as, error] = random.pick(frameworkErrors);
    const code = random.pick([404, 404, 400, 500, 200]);
    return fault(
      '4.3 7',
      `A getPet of an id ${what}, which does not exist, is ${code} with ${as}.`,
      sending(
        (response, exchange) => {
          const id = int64Of(exchange);
          return response.status === 404 && id !== undefined && isOne(id);
        },
        code,
        error,
      ),
    );
  }),
  family('getPet × ids × narrowing and searching', (random) => {
    const [what, search] = random.pick(wrongAnimals);
    return fault(
      '4.3 7',
      `A getPet of an id that does not exist shows the animal ${what}.`,
      found(
        (pet, text, exchange) => pet ?? (int64Of(exchange) === undefined ? undefined : search(BigInt(text), exchange)),
      ),
    );
  }),
  family('all × keys × sloppy comparison', (random) => {
    const [what, admits] = sloppyToken(random);
    return fault('5 7', `A request is served that has a key ${what}.`, alsoAdmits(admits));
  }),
  family('all × keys × a door beside the check', (random) => {
    const [when, change] = openDoor(random);
    return fault('4.1 4.2 4.3 4.4 5 7', `A request without a valid key is handled ${when}.`, change);
  }),
  family('all × keys × checked once for several requests', (random) => {
    const [text, change] = cachedKeys(random);
    return fault('5 7', text, change);
  }),
  family('all × 401 × a library that throws', (random) => {
    const [what, isOne] = strangeToken(random);
    const code = random.pick([401, 403, 400, 500]);
    const [as, error] = random.pick(frameworkErrors);
    return fault(
      '5 7',
      `A request that ${what} is ${code} with ${as}.`,
      sending((response, exchange) => response.status === 401 && isOne(exchange), code, error),
    );
  }),
  family('createPet × names × refused by a firewall or a database', (random) => {
    const [what, contains] = random.pick(dangerousNames);
    const [as, error] = random.pick(frameworkErrors);
    const code = random.pick([403, 500, 400, 406]);
    return fault(
      '4.2 7',
      `A create with ${what} in its name is ${code} with ${as}.`,
      sending((response, exchange) => response.status === 201 && contains(nameOfRequest(exchange) ?? 'x'), code, error),
    );
  }),
  family('createPet × animals × lost or mixed up in the store', (random) => {
    const [text, change] = storing(random);
    return fault('2 4.2 4.3 7', text, change);
  }),
  family('createPet × id × allocation', (random) => {
    const [text, change] = idOf(random);
    return fault('2 4.2 4.3', text, change);
  }),
  family('createPet × id × mass assignment', (random) => {
    const [text, change] = massAssignment(random);
    return fault('2 4.2 4.3', text, change);
  }),
  family('listPets × limit × numbers of rows', (random) => {
    const [text, change] = rows(random);
    return fault('4.1 8', text, change);
  }),
  family('listPets × filter × wrong rows', (random) => {
    const [text, change] = filters(random);
    return fault('4.1', text, change);
  }),
  family('listPets × shape × serializers', shapes),
  family('all × bytes × buffers and encodings', buffers),
  family('all × media type × negotiation', negotiation),
  family('all × headers of requests × middleware', middleware),
  family('createPet × JSON text × hand-made readers', (random) => {
    const [text, change] = random.pick(readers);
    return fault('2 4.2', text, change);
  }),
  family('createPet × transfer × body parsers', bodyParser),
  family('all × connections × state of other requests', (random) => {
    const [text, change] = leftovers(random);
    return fault('4.1 4.2 4.3', text, change);
  }),
  family('getPet × deprecation × early removal', brownout),
  family('orders × all × exceptions from the rules', orders),
  family('listPets × query × spellings', (random) => {
    const [text, change] = random.pick(queries);
    return fault('4.1 4.3', text, change);
  }),
  family('all × errors × fields of Error', errorObject),
  family('all × fields × zero values', zeroValues),
  family('createPet and getPet × status codes × some values', successes),
];
