/**
 * The API key as its holder sees it: `petstore_`, 30 random characters of 62 (178 bits), 6 characters of checksum.
 * The prefix lets a person, and a scanner for leaked secrets, tell what it is; the checksum tells a mistyped key from a
 * revoked one without asking the key ring.
 */
import { createHash, randomInt } from 'node:crypto';
import { crc32 } from '../files/crc32.ts';

const prefix = 'petstore_';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 30;
const checksumLength = 6;
const pattern = new RegExp(`^${prefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`);

/** A new secret. */
export function newSecret(): string {
  let secret = prefix;
  for (let i = 0; i < randomLength; i++) secret += alphabet[randomInt(alphabet.length)];
  return secret + checksum(secret);
}

/** Whether a text has the form of a secret, checksum included. */
export function isSecret(text: string): boolean {
  return pattern.test(text) && text.endsWith(checksum(text.slice(0, -checksumLength)));
}

/** What is kept of a secret: its SHA-256 in hexadecimal. A secret has too many bits to need a slow hash. */
export function hashSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** CRC-32 of the text in base 62. */
function checksum(text: string): string {
  let rest = crc32(Buffer.from(text));
  let digits = '';
  for (let i = 0; i < checksumLength; i++) {
    digits = alphabet[rest % alphabet.length]! + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}
