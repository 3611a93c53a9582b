/** Valid and invalid credentials. Each includes the shell expression that creates it from `$API_KEY`. */
import type { Credential } from './request.ts';

/** The key as a bearer token. */
export function bearer(key: string, of: 'main' | 'exhaust' = 'main'): Credential {
  return { header: `Bearer ${key}`, shell: `Bearer ${of === 'main' ? '$API_KEY' : '$EXHAUST_KEY'}`, key: of };
}

/** No Authorization header. */
export const nobody: Credential = { header: undefined, shell: undefined, key: 'none' };

/** An invalid Authorization header. */
export function invalid(header: string, shell: string): Credential {
  return { header, shell, key: 'none' };
}

/** A key that no server has. */
export const wrongKey = invalid('Bearer wrong', 'Bearer wrong');

/** The key with one character replaced by another of the same class, as a bearer token. */
export function changedAt(key: string, index: number): Credential {
  return replacedAt(key, index, successor(key[index]!));
}

/** The key with one character replaced by a text, in UTF-8. */
export function replacedAt(key: string, index: number, text: string): Credential {
  const sed = `./\\1${escaped(text)}`;
  return editedAt(key, index, 1, Buffer.from(text).toString('latin1'), sed);
}

/** Escapes a text for the replacement in a command of sed. */
const escaped = (text: string) => text.replace(/[\\&/]/g, '\\$&');

/** The key with the case of one letter changed, or undefined if the character is not a letter. */
export function otherCaseAt(key: string, index: number): Credential | undefined {
  const was = key[index]!;
  const now = was === was.toLowerCase() ? was.toUpperCase() : was.toLowerCase();
  return now === was ? undefined : replacedAt(key, index, now);
}

/** The key with two neighbouring characters swapped, or undefined if they are equal. */
export function swappedAt(key: string, index: number): Credential | undefined {
  const [a, b] = [key[index], key[index + 1]];
  if (a === undefined || b === undefined || a === b) return undefined;
  return editedAt(key, index, 2, b + a, '\\(.\\)\\(.\\)/\\1\\3\\2');
}

/** The key without one character. */
export function withoutAt(key: string, index: number): Credential {
  return editedAt(key, index, 1, '', './\\1');
}

/** The key with characters at an index replaced. `sed` has the pattern for them, and what replaces the whole match. */
function editedAt(key: string, index: number, count: number, by: string, sed: string): Credential {
  const shell = `$(printf %s "$API_KEY" | sed 's/^\\(${'.'.repeat(index)}\\)${sed}/')`;
  return token(key.slice(0, index) + by + key.slice(index + count), shell);
}

/** The key with a text before and after it. */
export function surrounded(before: string, key: string, after: string): Credential {
  const quoted = (text: string) => text.replace(/[$`"\\]/g, '\\$&');
  return token(before + key + after, `${quoted(before)}\${API_KEY}${quoted(after)}`);
}

/** An invalid bearer token, and its shell expression. */
export function token(value: string, shell: string): Credential {
  return invalid(`Bearer ${value}`, `Bearer ${shell}`);
}

/** Another character of the same class, so that a server which checks only the form of a key accepts it. */
function successor(c: string): string {
  if (/[0-8a-yA-Y]/.test(c)) return String.fromCharCode(c.charCodeAt(0) + 1);
  return { '9': '0', z: 'a', Z: 'A', '-': '_', _: '-' }[c] ?? 'x';
}

/** The key with every byte in hexadecimal, between two texts. Without them, in percent encoding. */
export function encoded(key: string, before = '%', after = ''): { readonly text: string; readonly shell: string } {
  const text = Buffer.from(key).toString('hex').replace(/../g, (hex) => before + hex + after);
  const sed = `s/../${escaped(before)}&${escaped(after)}/g`;
  return { text, shell: `$(printf %s "$API_KEY" | od -An -v -tx1 | tr -d ' \\n' | sed '${sed}')` };
}

/** The key for a query: unchanged if it is safe there, otherwise percent-encoded. */
export function inQuery(key: string): { readonly text: string; readonly shell: string } {
  return /^[A-Za-z0-9_.~-]*$/.test(key) ? { text: key, shell: '$API_KEY' } : encoded(key);
}

/**
 * Returns a function that removes keys from a text: every part of it that contains a third of a key or more, in any
 * case, because a server may return a near miss. A word that is also a word of the key is kept.
 */
export function redactor(keys: readonly string[]): (text: string) => string {
  const pieces = keys.map((given) => {
    const key = lower(given);
    const length = Math.min(key.length, Math.max(6, Math.ceil(key.length / 3)));
    return {
      key,
      length,
      starts: new Set(Array.from({ length: key.length - length + 1 }, (_, i) => key.slice(i, i + length))),
    };
  });
  const redact = (text: string) => pieces.reduce(without, text);
  return (text) => {
    // A server may return any character as a JSON escape.
    const unescaped = text.replace(/\\u00([2-7][0-9a-fA-F])/g, (_, hex: string) =>
      String.fromCharCode(parseInt(hex, 16)),
    );
    const redacted = redact(unescaped);
    return redacted === unescaped ? redact(text) : redacted;
  };
}

function without(
  text: string,
  { key, length, starts }: { key: string; length: number; starts: ReadonlySet<string> },
): string {
  const low = lower(text);
  let kept = '';
  let from = 0;
  for (let at = 0; at + length <= low.length;) {
    if (!starts.has(low.slice(at, at + length))) {
      at++;
      continue;
    }
    let end = at + length;
    while (end < low.length && key.includes(low.slice(at, end + 1))) end++;
    if (end - at < key.length && isWord(text, at, end, key.length)) {
      at++;
      continue;
    }
    kept += `${text.slice(from, at)}[key]`;
    from = at = end;
  }
  return kept + text.slice(from);
}

/**
 * Whether a part of a text is a word, or a part of one, of at most two thirds of the length of the key. Without this
 * limit, the near misses of a key that consists of letters would be words.
 */
function isWord(text: string, start: number, end: number, keyLength: number): boolean {
  if (!/^[^a-z0-9]?[a-z]+[^a-z0-9]?$/i.test(text.slice(start, end))) return false;
  const isLetter = (at: number) => /[a-z]/i.test(text.charAt(at));
  let [from, to] = [start, end];
  while (!isLetter(from)) from++;
  while (!isLetter(to - 1)) to--;
  while (isLetter(from - 1)) from--;
  while (isLetter(to)) to++;
  const word = text.slice(from, to);
  return word.length <= (keyLength * 2) / 3 && /^([A-Z]?[a-z]+|[A-Z]+)$/.test(word);
}

/** Changes only A to Z, because the lower case of other letters may be longer. */
function lower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
