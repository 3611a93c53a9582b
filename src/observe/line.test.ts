import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { newSecret } from '../keys/secret.ts';
import { anyCharacter } from '../testing/strings.ts';
import { accessLine, eventLine, visible, type Access } from './line.ts';

const time = Date.parse('2026-11-21T12:00:05.007Z');
const access: Access = {
  time, id: 'a1', key: 'k1', method: 'GET', path: '/v1/pets', status: 200, bytes: 1523, ms: 0.81234, address: '::1',
};

/** Any UTF-16 string, and those that could end a line or look like another one. */
const text = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) }),
  fc.string({
    unit: fc.constantFrom('\n', '\r', '"', '\\', '\u2028', '\u2029', '\x7f', '\x85', '\x1b', '\ud800', 'a'),
  }),
  fc.constantFrom(
    '\npetstore: the disk is full', '"}\n{"time":"x","level":"error"}', '/x" 500 1 B 1 ms\n', '\x1b[2K\rpetstore: ',
    '\u202e\u2066', '\u{e0041}', '\\u000a', '\udc00\ud800',
  ),
);

/** One line, of visible characters and spaces only, in well-formed Unicode. In JSON it is ASCII. */
function assertOneLine(line: string, isAscii: boolean): void {
  if (isAscii) assert.match(line, /^[ -~]+\n$/);
  assert.match(line, /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+\n$/u);
  assert.equal(Buffer.from(line).toString(), line);
}

test('an event is a line of text, or a JSON object with time, level, message and fields', () => {
  assert.equal(eventLine('text', time, 'warn', 'a "b"\n', { key: 'k1' }), 'petstore: a "b"\\u{a}\n');
  const line = eventLine('json', time, 'warn', 'a "b"\n', { key: 'k1', status: 503 });
  assert.deepEqual(JSON.parse(line), {
    time: '2026-11-21T12:00:05.007Z', level: 'warn', message: 'a "b"\n', key: 'k1', status: 503,
  });
});

test('a request is a line of text, or a JSON object', () => {
  assert.equal(
    accessLine('text', access),
    '2026-11-21T12:00:05.007Z a1 k1 ::1 GET "/v1/pets" 200 1523 B 0.81 ms\n',
  );
  const json = JSON.parse(accessLine('json', access)) as object;
  assert.deepEqual(json, {
    ...{ ...access, time: '2026-11-21T12:00:05.007Z', level: 'info', message: 'request', ms: 0.81 },
  });
  const unread = { ...access, key: null, method: null, path: null, status: 400, bytes: 90, ms: 0, address: '' };
  assert.equal(accessLine('text', unread), '2026-11-21T12:00:05.007Z a1 - - - - 400 90 B 0 ms\n');
  const { key, method, path, address } = JSON.parse(accessLine('json', unread)) as Access;
  assert.deepEqual([key, method, path, address], [null, null, null, '-']);
});

test('times have three digits of milliseconds, in any order of the calls', () => {
  const instants = fc.integer({ min: 0, max: 4e12 });
  fc.assert(fc.property(fc.array(fc.oneof(instants, fc.integer({ min: time, max: time + 3000 }))), (times) => {
    for (const instant of times) {
      const { time: shown } = JSON.parse(eventLine('json', instant, 'info', '')) as { time: string };
      assert.equal(shown, new Date(instant).toISOString());
    }
  }));
});

test('no path, address or message can end a line, forge one or hide in it', () => {
  fc.assert(fc.property(text, text, (one, two) => {
    const request = { ...access, path: one, address: two };
    for (const format of ['text', 'json'] as const) {
      assertOneLine(accessLine(format, request), true);
      assertOneLine(eventLine(format, time, 'info', one, { path: two, [two]: one }), format === 'json');
    }
    const json = JSON.parse(accessLine('json', request)) as Access;
    assert.equal(json.path, one);
    assert.deepEqual({ ...json, path: '', address: '' }, {
      ...access, ...{ time: new Date(time).toISOString(), level: 'info', message: 'request' },
      ...{ ms: 0.81, path: '', address: '' },
    });
    assert.equal((JSON.parse(eventLine('json', time, 'info', one)) as { message: string }).message, one);
    // In text the path is the only thing in quotes, so the other columns are where they are expected.
    const line = /^\S+Z a1 k1 (\S.*) GET "[^"]*" 200 1523 B 0\.81 ms\n$/;
    assert.match(accessLine('text', { ...request, address: '::1' }), line);
    assert.ok(visible(one).startsWith('petstore: ') === one.startsWith('petstore: '));
  }), { numRuns: 2_000 });
});

test('a long path is cut, so that a line stays short, and no part of a secret is left', () => {
  const pathIn = (path: string): string => (JSON.parse(accessLine('json', { ...access, path })) as Access).path!;
  assert.equal(pathIn('/-'.repeat(500)), '/-'.repeat(500));
  assert.equal(pathIn('/-'.repeat(8_000)), `${'/-'.repeat(500)}...`);
  const secret = newSecret();
  for (let before = 900; before < 1_010; before++) { // it is cut within the first secret, or beside it
    const cut = pathIn(`${'/'.repeat(before)}${secret}/${secret}/${'end/'.repeat(99)}`);
    assert.ok(!cut.includes(secret.slice(9, 12)) && cut.endsWith('...'), cut);
  }
  const long = { ...access, path: 'ä'.repeat(16_000) };
  for (const format of ['text', 'json'] as const) assert.ok(accessLine(format, long).length < 6_300);
});

test('a secret in a path is not logged', () => {
  const secret = newSecret();
  for (const format of ['text', 'json'] as const) {
    const random = secret.slice('petstore_'.length);
    for (const path of [
      `/v1/pets/${secret}`, `/${secret}x${secret}`, `/${secret.slice(0, -1)}`, `/petstore%5f${random}`, `/${random}`,
      `/PETSTORE_${random}`, `/Petstore_${random.slice(0, 20)}`, `/petstore-${random.slice(0, 30)}`, `/x${random}x`,
    ]) {
      const line = accessLine(format, { ...access, path });
      assert.ok(!line.includes(random.slice(0, 10)) && line.includes('...'), line);
    }
  }
  assert.match(accessLine('json', { ...access, path: `/v1/${secret}/x` }), /"path":"\/v1\/petstore_\.\.\.\/x"/);
  for (const path of [`/${'a'.repeat(29)}`, `/petstore_${'a'.repeat(19)}`, '/shop-0123456789/0123456789_0123456789'])
    assert.ok(accessLine('json', { ...access, path }).includes(`"${path}"`), path);
  assert.ok(accessLine('json', { ...access, path: '/petstore_shop/v1/pets' }).includes('/petstore_shop/v1/pets'));
});
