/** Near misses are not the key, and texts of the kit do not reveal keys. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { apiKey } from '../testing/servers.ts';
import {
  bearer,
  changedAt,
  inQuery,
  surrounded,
  otherCaseAt,
  encoded,
  redactor,
  replacedAt,
  swappedAt,
  token,
  withoutAt,
} from './credentials.ts';

const characters = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
const anyKey = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_]{6,40}$/),
  fc.string({ unit: characters, minLength: 6, maxLength: 40 }),
  fc.stringMatching(/^[ab]{6,12}$/),
);

/** A third of a key: longer parts must not be visible. */
const thirdOf = (key: string) => Math.max(6, Math.ceil(key.length / 3));

/** The longest part of the key in a text, in any case. */
function longestPiece(text: string, key: string): number {
  const [low, lowKey] = [text.toLowerCase(), key.toLowerCase()];
  let longest = 0;
  for (let at = 0; at < lowKey.length; at++)
    while (at + longest < lowKey.length && low.includes(lowKey.slice(at, at + longest + 1))) longest++;
  return longest;
}

test('bearer() is the key, with its own shell variable', () => {
  assert.deepEqual(bearer('abcdef'), { header: 'Bearer abcdef', shell: 'Bearer $API_KEY', key: 'main' });
  assert.deepEqual(bearer('abcdef', 'exhaust'), {
    header: 'Bearer abcdef',
    shell: 'Bearer $EXHAUST_KEY',
    key: 'exhaust',
  });
});

test('a near miss is never the key, and differs as described', () => {
  fc.assert(
    fc.property(anyKey, fc.nat(), (key, n) => {
      const at = n % key.length;
      const valueOf = (credential: { header: string | undefined; key: string } | undefined) => {
        if (credential === undefined) return undefined;
        assert.equal(credential.key, 'none');
        return /^Bearer (.*)$/.exec(credential.header!)![1]!;
      };
      const changed = valueOf(changedAt(key, at))!;
      assert.equal(changed.length, key.length);
      assert.deepEqual(
        [...changed].flatMap((c, i) => (c === key[i] ? [] : [i])),
        [at],
      );
      // A character of the same class, so that the form of the key is still valid.
      for (const ofClass of [/[0-9]/, /[a-z]/, /[A-Z]/])
        if (ofClass.test(key[at]!)) assert.match(changed[at]!, ofClass);

      assert.equal(valueOf(withoutAt(key, at)), key.slice(0, at) + key.slice(at + 1));
      assert.equal(valueOf(surrounded('', key, 'x')), `${key}x`);

      const otherCase = valueOf(otherCaseAt(key, at));
      assert.equal(otherCase === undefined, !/[A-Za-z]/.test(key[at]!));
      if (otherCase !== undefined) assert.ok(otherCase !== key && otherCase.toLowerCase() === key.toLowerCase());

      const swapped = valueOf(swappedAt(key, at));
      assert.equal(swapped === undefined, at === key.length - 1 || key[at] === key[at + 1]);
      if (swapped !== undefined)
        assert.ok(swapped !== key && [...swapped].sort().join('') === [...key].sort().join(''));
    }),
    { numRuns: 500 },
  );
});

test('no shell expression contains a part of the key', () => {
  const index = 20;
  for (const credential of [
    bearer(apiKey),
    changedAt(apiKey, index),
    otherCaseAt(apiKey, index),
    swappedAt(apiKey, index),
    withoutAt(apiKey, index),
    surrounded('', apiKey, 'x'),
    token(apiKey, '$API_KEY'),
  ]) {
    assert.ok(longestPiece(credential!.shell!, apiKey) <= 3, credential!.shell);
  }
  assert.ok(longestPiece(inQuery(apiKey).shell, apiKey) <= 3);
});

test('a character may be replaced by any text, which is sent in UTF-8', () => {
  const { header, shell } = replacedAt('abcdef', 2, 'Ａ&');
  assert.equal(Buffer.from(header!, 'latin1').toString(), 'Bearer abＡ&def');
  assert.match(shell!, /\\1Ａ\\&/);
  assert.equal(encoded('a_').text, '%61%5f');
});

test('a key in a query is unchanged, or every byte of it is encoded', () => {
  assert.deepEqual(inQuery('aZ09_-.~'), { text: 'aZ09_-.~', shell: '$API_KEY' });
  fc.assert(
    fc.property(anyKey, (key) => {
      assert.equal(new URL(`http://x/?key=${inQuery(key).text}`).searchParams.get('key'), key);
    }),
  );
});

describe('the redactor', () => {
  test('removes the key, near misses, large parts and other forms of it', () => {
    const key = apiKey;
    const redact = redactor([key, Buffer.from(`${key}:`).toString('base64')]);
    assert.equal(redact(`before ${key} after`), 'before [key] after');
    assert.equal(redact(key + key), '[key][key]');
    assert.equal(redact(`"${key}"\n${key}x`), '"[key]"\n[key]x');
    const at = Math.floor((key.length * 5) / 6);
    for (const miss of [
      changedAt(key, at),
      withoutAt(key, at),
      otherCaseAt(key, 1),
      swappedAt(key, at),
      surrounded('', key, '='),
      token(key.toUpperCase(), ''),
      token(key.toLowerCase(), ''),
      token(key.slice(0, 14), ''),
      token(`${key},${key}`, ''),
    ]) {
      const text = redact(`The token ${miss!.header} is not valid`);
      assert.ok(longestPiece(text, key) < thirdOf(key), text);
    }
    const basic = redact(`Basic ${Buffer.from(`${key}:`).toString('base64')} is no scheme of ours`);
    assert.equal(basic, 'Basic [key] is no scheme of ours');
  });

  test('does not change ordinary text', () => {
    const redact = redactor([apiKey]);
    for (const text of [
      '',
      'x',
      'The API key is missing or invalid.',
      'test_',
      apiKey.slice(0, 5),
      '[key]',
      'Ünï 🐈 \u0000 \ud800',
      'İstanbul İİİİİ',
    ])
      assert.equal(redact(text), text);
  });

  test('does not change words that are also words of the key', () => {
    const text = 'waiting 60 seconds; the Second, SECOND and second-hand window of petstore-conformance was 3 seconds.';
    for (const key of ['my-second-key-123', 'sixty-second-secret', 'SECOND_hand_window_key_9', 'x7second_Kb7rT2xVq9KdLw'])
      assert.equal(redactor([key])(text), text, key);
    const key = 'my-second-key-123';
    const redact = redactor([key]);
    assert.equal(redact(`${key} for a second, xs${key}s`), '[key] for a second, xs[key]s');
    assert.equal(redact('second-key-12 for seconds'), '[key] for seconds');
    assert.equal(redactor(['second'])('second'), '[key]');
    for (const key of ['abcdefghijklmnopqrstuvwxyz', 'correct-horse-battery-staple', 'a_Second_KEY_of_seconds'])
      for (let at = 0; at < key.length; at++)
        for (const miss of [changedAt(key, at), withoutAt(key, at), swappedAt(key, at), surrounded('', key, 'x')]) {
          const rest = redactor([key])(`The token ${miss?.header} is not valid`);
          assert.ok(longestPiece(rest, key) < key.length / 2, rest);
        }
  });

  test('for any key and text, no third of the key remains, except words, and nothing else is lost', () => {
    fc.assert(
      fc.property(
        anyKey,
        fc.array(
          fc.oneof(
            fc.string({ maxLength: 20 }),
            fc.constant('KEY'),
            fc.nat(30).map((n) => `PIECE${n}`),
          ),
          { maxLength: 8 },
        ),
        (key, parts) => {
          const text = parts
            .map((part) =>
              part === 'KEY' ? key : part.startsWith('PIECE') ? key.slice(Number(part.slice(5)) % key.length) : part,
            )
            .join('');
          const redacted = redactor([key])(text);
          // The replacement may be next to what is left, and be a part of the key itself.
          for (const rest of redacted.split('[key]')) {
            assert.ok(longestPiece(rest, key) < key.length, redacted);
            const isWord = (word: string) => /^([A-Z]?[a-z]+|[A-Z]+)$/.test(word) && word.length <= (key.length * 2) / 3;
            const others = rest.replace(/[A-Za-z]+/g, (word) => (isWord(word) ? '\0' : word));
            assert.ok(longestPiece(others, key) < Math.min(thirdOf(key), key.length), redacted);
          }
          if (longestPiece(text, key) < Math.min(thirdOf(key), key.length)) assert.equal(redacted, text);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('terminates for keys with repetitions or with the replacement in them, and for several keys', () => {
    const keys = ['aaaaaaaaaa', '[key][key]', 'x[key]x[key]x', 'abcabcabcabc', '......', '$&$1$$$&$1$$'];
    for (const key of keys) {
      assert.ok(!redactor([key])(key.repeat(3)).includes(key) || key.includes('[key]'));
      assert.equal(redactor([key])(`<${key}>`), '<[key]>');
    }
    assert.equal(redactor(['aaaaaa'])('a'.repeat(1_000)), '[key]'.repeat(166) + 'a'.repeat(4));
    const all = redactor(keys)(keys.join(' '));
    for (const key of keys.filter((key) => !key.includes('[key]'))) assert.ok(!all.includes(key), all);
  });

  test('takes linear time', () => {
    const redact = redactor([apiKey, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']);
    const texts = [apiKey, 'aaaaaaaaab', apiKey.slice(0, 9), 'plain text '].map((text) =>
      text.repeat(400_000 / text.length),
    );
    const started = process.cpuUsage();
    for (const text of texts) redact(text);
    const { user } = process.cpuUsage(started);
    assert.ok(user < 3_000_000, `${user / 1000} ms for 1.6 million characters`);
  });
});
