/**
 * Valid credentials, and those that are not quite valid. How a shell would make them from `$API_KEY` stands beside
 * each.
 */
import type { Credential } from './request.ts';

/** The key as a bearer token. */
export function bearer(key: string, of: 'main' | 'exhaust' = 'main'): Credential {
  return { header: `Bearer ${key}`, shell: `Bearer ${of === 'main' ? '$API_KEY' : '$EXHAUST_KEY'}`, key: of };
}

/** No Authorization header at all. */
export const nobody: Credential = { header: undefined, shell: undefined, key: 'none' };

/** An Authorization header that is not valid. */
export function invalid(header: string, shell: string): Credential {
  return { header, shell, key: 'none' };
}

/** A bearer token that differs from the key at one place, by another character of the same class. */
export function changedAt(key: string, index: number): Credential {
  return changed(key, index, successor(key[index]!));
}

/** A bearer token with the letter at `index` in the other case, or undefined where there is no letter. */
export function otherCaseAt(key: string, index: number): Credential | undefined {
  const was = key[index]!;
  const now = was === was.toLowerCase() ? was.toUpperCase() : was.toLowerCase();
  return now === was ? undefined : changed(key, index, now);
}

/** A bearer token with two neighbouring characters swapped, or undefined where they are equal. */
export function swappedAt(key: string, index: number): Credential | undefined {
  const [a, b] = [key[index], key[index + 1]];
  if (a === undefined || b === undefined || a === b) return undefined;
  const dots = '.'.repeat(index);
  return token(
    key.slice(0, index) + b + a + key.slice(index + 2),
    `$(printf %s "$API_KEY" | sed 's/^\\(${dots}\\)\\(.\\)\\(.\\)/\\1\\3\\2/')`,
  );
}

/** A bearer token without the character at `index`. */
export function withoutAt(key: string, index: number): Credential {
  return token(
    key.slice(0, index) + key.slice(index + 1),
    `$(printf %s "$API_KEY" | sed 's/^\\(${'.'.repeat(index)}\\)./\\1/')`,
  );
}

/** A bearer token with more after the key. */
export function lengthened(key: string, by: string): Credential {
  return token(key + by, `\${API_KEY}${by}`);
}

/** Any bearer token, with the shell's words for it. */
export function token(value: string, shell: string): Credential {
  return invalid(`Bearer ${value}`, `Bearer ${shell}`);
}

function changed(key: string, index: number, now: string): Credential {
  return token(
    key.slice(0, index) + now + key.slice(index + 1),
    `$(printf %s "$API_KEY" | sed 's/^\\(${'.'.repeat(index)}\\)./\\1${now}/')`,
  );
}

/**
 * Another letter for a letter, another digit for a digit, x for the rest: what a check of the form alone would let
 * pass.
 */
function successor(c: string): string {
  if (/[0-8a-yA-Y]/.test(c)) return String.fromCharCode(c.charCodeAt(0) + 1);
  return { '9': '0', z: 'a', Z: 'A', '-': '_', _: '-' }[c] ?? 'x';
}

/** The key for a query: as it is where that is safe there, else every byte of it as %xx. */
export function inQuery(key: string): { readonly text: string; readonly shell: string } {
  if (/^[A-Za-z0-9_.~-]*$/.test(key)) return { text: key, shell: '$API_KEY' };
  const text = Buffer.from(key).toString('hex').replace(/../g, '%$&');
  return { text, shell: `$(printf %s "$API_KEY" | od -An -v -tx1 | tr -d ' \\n' | sed 's/../%&/g')` };
}

/**
 * Takes the keys out of text: every piece of it that has a third of a key or more, in either case, so that a server
 * that echoes a near miss gives nothing away.
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
    // A server may write any character as JSON's escape; who reads the report can read that, too.
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
    kept += `${text.slice(from, at)}[key]`;
    from = at = end;
  }
  return kept + text.slice(from);
}

/** Its letters A to Z in lower case; the others stay, since theirs may be longer. */
function lower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
