/** Ordinary names are those that every server must accept, and generated names can be sent as JSON. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { hasLoneSurrogate, newPetText } from '../client/pet.ts';
import { anyName, controlName, invisibleName, isOrdinary, fragileNames, meaningfulNames } from './names.ts';

test('fragile names are ordinary and unique', () => {
  for (const name of fragileNames) assert.ok(isOrdinary(name) || name.length > 64, JSON.stringify(name));
  const all = [...fragileNames, ...meaningfulNames];
  assert.ok(all.filter(isOrdinary).length > 60);
  assert.equal(new Set(all).size, all.length);
});

test('each kind of damage shows in a fragile name', () => {
  const damages: Record<string, (name: string) => string> = {
    trim: (s) => s.trim(),
    'trim the end': (s) => s.trimEnd(),
    'trim the start': (s) => s.trimStart(),
    'collapse spaces': (s) => s.replace(/ +/g, ' '),
    'lower case': (s) => s.toLowerCase(),
    'upper case': (s) => s.toUpperCase(),
    NFC: (s) => s.normalize('NFC'),
    NFD: (s) => s.normalize('NFD'),
    NFKC: (s) => s.normalize('NFKC'),
    'no accents': (s) => s.normalize('NFD').replace(/\p{M}/gu, ''),
    'ASCII only': (s) => s.replace(/[^\0-\x7f]/g, '?'),
    'Latin-1': (s) => Buffer.from(s, 'latin1').toString('latin1'),
    'UCS-2 without pairs': (s) => s.replace(/[\ud800-\udfff]/g, '?'),
    '64 characters': (s) => s.slice(0, 64),
    'escaped HTML': (s) => s.replace(/&/g, '&amp;').replace(/</g, '&lt;'),
    'unescaped HTML': (s) => s.replace(/&lt;/g, '<').replace(/&#39;/g, "'"),
    'stripped tags': (s) => s.replace(/<[^>]*>/g, ''),
    'decoded percent': (s) => s.replace(/%41/g, 'A'),
    number: (s) => (s.trim() !== '' && !Number.isNaN(Number(s)) ? String(Number(s)) : s),
    'unescaped backslashes': (s) => s.replace(/\\(.)/g, '$1'),
    'smart quotes': (s) => s.replace(/[“”]/g, '"'),
    'no emoji variation': (s) => s.replace(/\ufe0f/g, ''),
    'no joiners': (s) => s.replace(/\u200d/g, ''),
    'quotes doubled': (s) => s.replace(/'/g, "''"),
  };
  for (const [kind, damage] of Object.entries(damages))
    assert.ok(
      fragileNames.some((name) => damage(name) !== name),
      kind,
    );
});

test('names that a server may reject are not ordinary', () => {
  for (const name of [
    '',
    ' ',
    '   ',
    'x'.repeat(65),
    'a\tb',
    'a\0b',
    'a\nb',
    'half \ud83d',
    'a\u00a0b',
    'a\u2028b',
    '\ufeff',
    'a\u202eb',
    invisibleName,
    controlName,
  ])
    assert.ok(!isOrdinary(name), JSON.stringify(name));
  for (const name of ['x', 'Rex', 'x'.repeat(64), '🐈'.repeat(32), "D'Artagnan", 'a b'])
    assert.ok(isOrdinary(name), name);
});

test('controlName contains every control character except U+0000', () => {
  for (let code = 1; code < 32; code++) assert.ok(controlName.includes(String.fromCharCode(code)), `${code}`);
  assert.ok(!controlName.includes('\0'));
});

test('generated names survive JSON and UTF-8; most are ordinary, some are not', () => {
  for (const name of [...fragileNames, ...fc.sample(anyName, { numRuns: 10_000, seed: 1 })]) {
    assert.equal((JSON.parse(newPetText({ name, categoryId: 1n })) as { name: string }).name, name);
    assert.ok(!hasLoneSurrogate(name), JSON.stringify(name));
  }
  const some = fc.sample(anyName, { numRuns: 500, seed: 1 });
  const ordinary = some.filter(isOrdinary).length;
  assert.ok(ordinary > 150 && ordinary < 490, `${ordinary} of 500 are ordinary`);
});

test('texts of each kind that some format reads as another type are among the names', () => {
  const kinds = [/^(yes|no)$/, /^\d{4}-\d\d-\d\d$/, /^nan$/i, /^(none|nil)$/i, /^\d+e\d+$/, /^0x/, /^-?inf/i];
  for (const kind of [...kinds, /^\d+:\d+/])
    assert.ok(meaningfulNames.some((name) => kind.test(name)), `${kind}`);
});
