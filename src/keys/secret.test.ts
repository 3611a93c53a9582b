import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { hashSecret, isSecret, newSecret } from './secret.ts';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const prefix = 'petstore_';
const secrets = Array.from({ length: 2_000 }, newSecret);

test('a secret is a prefix, 30 random characters and a checksum, and consists of letters, digits and _', () => {
  for (const secret of secrets) {
    assert.match(secret, /^petstore_[0-9A-Za-z]{36}$/);
    assert.equal(isSecret(secret), true);
  }
  assert.ok(30 * Math.log2(alphabet.length) >= 160);
});

test('secrets differ', () => {
  assert.equal(new Set(secrets.map((secret) => secret.slice(prefix.length, -6))).size, secrets.length);
});

test('every character is equally frequent at every position', () => {
  const counts = new Map<string, number>();
  for (const secret of secrets) {
    for (const character of secret.slice(prefix.length, -6)) counts.set(character, (counts.get(character) ?? 0) + 1);
  }
  assert.equal(counts.size, alphabet.length);
  const expected = (secrets.length * 30) / alphabet.length;
  const chiSquare = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  assert.ok(chiSquare < 160, `χ² is ${chiSquare}: with 61 degrees of freedom that comes once in 10^10 runs`);
  for (let place = prefix.length; place < prefix.length + 30; place++) {
    assert.equal(new Set(secrets.map((secret) => secret[place])).size, alphabet.length, `place ${place}`);
  }
});

test('the checksum is the CRC-32 of the text before it, in base 62', () => {
  for (const secret of secrets.slice(0, 50)) {
    let rest = crc32(secret.slice(0, -6));
    const digits = Array.from({ length: 6 }, () => {
      const digit = alphabet[rest % 62]!;
      rest = Math.floor(rest / 62);
      return digit;
    });
    assert.equal(secret.slice(-6), digits.reverse().join(''));
  }
});

test('the checksum detects one wrong character, and two that were exchanged', () => {
  const place = fc.integer({ min: prefix.length, max: prefix.length + 35 });
  fc.assert(fc.property(fc.constantFrom(...secrets), place, fc.constantFrom(...alphabet), (secret, at, other) => {
    const changed = secret.slice(0, at) + other + secret.slice(at + 1);
    assert.equal(isSecret(changed), changed === secret);
    const swapped = secret.slice(0, at - 1) + secret[at]! + secret[at - 1]! + secret.slice(at + 1);
    assert.equal(isSecret(swapped), swapped === secret);
  }), { numRuns: 2_000 });
});

test('a text of any other form is not a secret', () => {
  const secret = secrets[0]!;
  const others = [
    '',
    prefix,
    secret.slice(1),
    secret.slice(0, -1),
    `${secret}0`, `${secret}\n`, `\n${secret}`, ` ${secret}`,
    secret.replace('petstore_', 'PETSTORE_'),
    secret.replace('_', '-'),
    secret.slice(prefix.length),
  ];
  for (const other of others) assert.equal(isSecret(other), false, JSON.stringify(other));
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.string({ unit: fc.constantFrom(...alphabet), minLength: 36, maxLength: 36 }).map((text) => prefix + text),
      ),
      (text) => assert.equal(isSecret(text), false),
    ),
  );
});

test('the hash is SHA-256 in hexadecimal (FIPS 180-2, appendix B.1)', () => {
  assert.equal(hashSecret('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});

/** Computes the CRC-32 of ISO 3309 bit by bit. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
