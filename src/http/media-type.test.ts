import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { isJsonInUtf8 } from './media-type.ts';

/** Text that is valid after `application/json`. */
const accepted = [
  '', ';charset=utf-8', '; charset=utf-8', ';CHARSET=UTF-8', ';Charset=Utf-8', ' \t;\t charset=utf-8',
  ';charset="utf-8"', ';charset="UTF-8"', ';charset="\\u\\t\\f-\\8"',
  ';', ';;', ' ; ; ;', ';;charset=utf-8', '; ;charset=utf-8;', '; ', ';charset=utf-8;charset=UTF-8',
  ';charset=utf-8; charset="utf-8"',
  ';version=1', ';a=b;c=d;charset=utf-8', ';a="";charset=utf-8', ";!#$%&'*+-.^_`|~=!#$%&'*+-.^_`|~",
  ';a="; charset=latin1"', ';a="\\"; charset=latin1; b=\\""', ';a="\\\\";charset=utf-8', ';a=" \t\x80\xff,;/"',
  ';charset*=latin1', ';xcharset=latin1', ';charsetx=latin1',
];

/** Text that is not. */
const refused = [
  'x', '-patch+json', '/x', '=utf-8', ' text/plain', ', application/json', ',text/plain', ' charset=utf-8', '\n', '\0',
  ';charset=latin1', ';charset=utf8', ';charset=utf-16', ';charset=utf-8x', ';charset=xutf-8', ';charset=iso-8859-1',
  ';charset="iso-8859-1"', ';charset=""', ';charset=" utf-8"', ';charset="utf\\\\-8"', ';a=b;charset=latin1',
  ';charset=utf-8;charset=latin1', ';charset=latin1;charset=utf-8', ';charset="utf-8";CHARSET=utf-16',
  ';charset=', ';charset', ';=utf-8', ';a', ';charset =utf-8', ';charset= utf-8', ';\ncharset=utf-8',
  ';charset="utf-8', ';charset=utf-8"', ';charset="utf-8"x', ";charset='utf-8'", ';a="\\', ';a="\\"', ';a="b"c"',
  ';a=b c', ';a=b,c=d', ';a@b=c', ';a=b@c', ';a=\xe4', ';charset=utf-8;junk', ';charset=utf-8 junk',
  ';a="\x7f"', ';a="\0"', ';a="\n"', ';a="\\\n"', ';a="\\\0"', ';a="\\\x7f"', ';a="\u0100"', ';a="\\\u0100"',
];

const otherTypes = [
  '', ' ', ';', 'json', 'application', 'application/', '/json', 'text/json', 'text/plain', '*/*', 'application/*',
  'application/jso',
  'application//json', 'application/problem+json', 'xapplication/json', ' application/json', 'application /json',
  'application/ json',
  '"application/json"', 'multipart/form-data;boundary=application/json', 'application/j\u017fon',
  'appl\u0131cation/json',
];

test('accepts application/json in UTF-8, in every spelling that RFC 9110 allows', () => {
  for (const type of ['application/json', 'Application/JSON', 'APPLICATION/json']) {
    for (const rest of accepted) assert.equal(isJsonInUtf8(type + rest), true, type + rest);
  }
});

test('refuses other types, other charsets, and values that violate the grammar', () => {
  for (const value of [...otherTypes, ...refused.map((rest) => `application/json${rest}`)]) {
    assert.equal(isJsonInUtf8(value), false, JSON.stringify(value));
  }
});

// Generators of parameters from their grammar; `valid` says whether a parameter is compatible with UTF-8.

const space = fc.string({ unit: fc.constantFrom(' ', '\t'), maxLength: 3 });
const token = fc.string({ unit: fc.constantFrom(..."!#$%&'*+-.^_`|~09azAZ"), minLength: 1, maxLength: 8 });
const flags = fc.array(fc.boolean(), { maxLength: 16 });
const mixedCase = (text: string) =>
  flags.map((upper) => [...text].map((c, i) => (upper[i] ? c.toUpperCase() : c)).join(''));
const quote = (text: string, escaped: readonly boolean[]): string =>
  `"${[...text].map((c, i) => (escaped[i] || c === '"' || c === '\\' ? `\\${c}` : c)).join('')}"`;
const quoted = fc.tuple(fc.string({ unit: fc.constantFrom(...' \t!"#;=\\~\x80\xff,azAZ09'), maxLength: 12 }), flags)
  .map(([text, escaped]) => quote(text, escaped));
const other = fc.tuple(token.filter((name) => name.toLowerCase() !== 'charset'), fc.oneof(token, quoted))
  .map(([name, value]) => ({ text: `${name}=${value}`, valid: true }));
const charset = fc.tuple(mixedCase('charset'), fc.oneof(mixedCase('utf-8'), token), fc.option(flags))
  .map(([name, value, escaped]) => ({
    text: `${name}=${escaped === null ? value : quote(value, escaped)}`,
    valid: value.toLowerCase() === 'utf-8',
  }));
const nothing = fc.constant({ text: '', valid: true });
const parameters = fc.array(fc.tuple(space, space, fc.oneof(other, charset, nothing)), { maxLength: 5 });

test('accepts any number of parameters in any order, unless one is a charset other than utf-8', () => {
  let acceptedCount = 0;
  fc.assert(fc.property(mixedCase('application/json'), parameters, (type, list) => {
    const value = type + list.map(([before, after, { text }]) => `${before};${after}${text}`).join('');
    const expected = list.every(([, , parameter]) => parameter.valid);
    if (expected) acceptedCount += 1;
    assert.equal(isJsonInUtf8(value), expected, value);
  }), { numRuns: 2_000 });
  assert(acceptedCount > 500 && acceptedCount < 1_900, `${acceptedCount} of 2000 were accepted`);
});

test('takes time linear in the length, whatever is repeated', () => {
  const length = 1 << 17; // 8 times the maximum of a head: a quadratic algorithm would take minutes
  const start = performance.now();
  const units = [
    ' ', '\t', ';', ' ;', '; ', 'a', '=', '"', '\\', '\\"', 'a=', 'a=b', 'a="', ';a=b', ';a="b"', ';a="', ';a', ' a',
    '/', '\0', '\xff',
  ];
  for (const unit of units) {
    const long = unit.repeat(length / unit.length);
    for (const before of ['', 'application/json', 'application/json;', 'application/json;a', 'application/json;a=']) {
      for (const after of ['', ' ', ';', '"', '\0']) isJsonInUtf8(before + long + after);
    }
  }
  const inQuotes = 'a\\"'.repeat(5_000);
  assert.equal(isJsonInUtf8(`application/json;a="${inQuotes}"`), true);
  assert.equal(isJsonInUtf8(`application/json;a="${inQuotes}`), false);
  assert(performance.now() - start < 20_000);
});
