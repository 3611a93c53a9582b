/**
 * The text that the holder of a key sends: `petstore_`, 30 random characters out of 62 (178 bits), and 6 characters of
 * checksum. People and scanners for leaked secrets recognise the prefix. The checksum reveals a mistyped secret without
 * a lookup.
 */
import { createHash, randomInt } from 'node:crypto';
import { crc32 } from '../domain/crc32.ts';

/** What every secret begins with. */
export const secretPrefix = 'petstore_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 30;
const checksumLength = 6;
const pattern = new RegExp(`^${secretPrefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`);

/** Returns a new secret. */
export function newSecret(): string {
  let secret = secretPrefix;
  for (let i = 0; i < randomLength; i++) secret += alphabet[randomInt(alphabet.length)];
  return secret + checksum(secret);
}

/** Returns whether a text has the form of a secret and the right checksum. */
export function isSecret(text: string): boolean {
  return pattern.test(text) && text.endsWith(checksum(text.slice(0, -checksumLength)));
}

/** Returns the SHA-256 of a secret in hexadecimal, which is stored. A secret has too many bits to need a slow hash. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** Returns the CRC-32 of a text in base 62. */
function checksum(text: string): string {
  let rest = crc32(Buffer.from(text));
  let digits = '';
  for (let i = 0; i < checksumLength; i++) {
    digits = alphabet[rest % alphabet.length]! + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}
