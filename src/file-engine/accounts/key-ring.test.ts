import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { OperatorError } from '../../domain/operator-error.ts';
import { onFolderSync } from '../../testing/journal.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { KeyRing } from './key-ring.ts';
import { hashSecret, newSecret } from '../../keys/secret.ts';

const now = Date.UTC(2026, 10, 21, 12);
const hour = 3_600_000;
const pro = { name: 'pro' } as const;
const enterprise = { name: 'enterprise', perMinute: 7, perDay: 70 } as const;

test('without a file there are no keys, and reading creates no file', (t) => {
  const folder = temporaryFolder(t);
  const ring = new KeyRing(folder);
  assert.deepEqual(ring.keys, []);
  assert.equal(ring.find(newSecret(), now), null);
  assert.deepEqual(readdirSync(folder), []);
});

test('a key is found by its secret only', async (t) => {
  const ring = new KeyRing(temporaryFolder(t));
  const { key, secret } = await ring.create('a', pro, null, now);
  assert.deepEqual(
    [key.id, key.name, key.plan, key.createdAt, key.expiresAt, key.revokedAt],
    ['k1', 'a', pro, now, null, null],
  );
  assert.equal(ring.find(secret, now), key);
  assert.equal(ring.find(secret, now), key); // now among the recent secrets
  assert.equal(ring.find(secret, Number.MAX_SAFE_INTEGER), key);
  for (const other of [
    '',
    'k1',
    'a',
    hashSecret(secret),
    secret.slice(-4),
    `${secret} `,
    secret.toLowerCase(),
    newSecret(),
    '__proto__',
  ]) {
    assert.equal(ring.find(other, now), null, other);
  }
});

test('the file contains the hash and the last four characters, one key per line, with mode 0600', async (t) => {
  const folder = temporaryFolder(t);
  const umask = process.umask(0);
  t.after(() => process.umask(umask));
  const ring = new KeyRing(folder);
  const secrets = [
    (await ring.create('a', pro, null, now)).secret,
    (await ring.create('b', enterprise, now + hour, now)).secret,
  ];
  secrets.push((await ring.rotate('k1', hour, now)).secret);

  const text = readFileSync(join(folder, 'keys.json'), 'utf8');
  for (const secret of secrets) {
    const random = secret.slice('petstore_'.length);
    for (let at = 0; at + 5 <= random.length; at++) assert.equal(text.includes(random.slice(at, at + 5)), false);
    assert.ok(text.includes(`"sha256":"${hashSecret(secret)}","last4":"${secret.slice(-4)}"`));
  }
  assert.equal(text.split('\n').filter((line) => line.startsWith('{"id":')).length, 2);
  assert.equal(JSON.parse(text).keys[1].expiresAt, '2026-11-21T13:00:00.000Z');
  assert.equal(statSync(join(folder, 'keys.json')).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(folder), ['keys.json']);
});

test('after a rotation both secrets are valid until the grace period ends', async (t) => {
  const ring = new KeyRing(temporaryFolder(t));
  const { secret: first } = await ring.create('a', pro, null, now);
  assert.equal(ring.find(first, now)?.id, 'k1');
  const { key, secret: second } = await ring.rotate('k1', 24 * hour, now);
  assert.notEqual(first, second);
  for (const secret of [first, second]) assert.equal(ring.find(secret, now + 24 * hour - 1), key);
  assert.equal(ring.find(first, now + 24 * hour), null);
  assert.equal(ring.find(second, now + 24 * hour), key);
});

test('with a grace period of 0 the old secret is invalid at once, even if it was used recently', async (t) => {
  const ring = new KeyRing(temporaryFolder(t));
  const { secret: first } = await ring.create('a', pro, null, now);
  assert.notEqual(ring.find(first, now), null);
  const { secret: second } = await ring.rotate('k1', 0, now);
  assert.equal(ring.find(first, now), null);
  assert.equal(ring.find(first, now - hour), null); // also after the clock is set back
  assert.notEqual(ring.find(second, now), null);
});

test('another rotation can shorten the grace period of a secret, but not prolong it', async (t) => {
  const ring = new KeyRing(temporaryFolder(t));
  const { secret: first } = await ring.create('a', pro, null, now);
  const { secret: second } = await ring.rotate('k1', hour, now);
  const { secret: third, key } = await ring.rotate('k1', 10 * hour, now);
  assert.deepEqual(key.secrets.map(({ expiresAt }) => expiresAt), [now + hour, now + 10 * hour, null]);
  assert.equal(ring.find(first, now + hour), null);
  assert.equal(ring.find(second, now + hour), key);
  const later = await ring.rotate('k1', 2 * hour, now + hour);
  assert.deepEqual(later.key.secrets.map(({ expiresAt }) => expiresAt), [now + 3 * hour, now + 3 * hour, null]);
  assert.equal(ring.find(third, now + 3 * hour), null);
});

test('an expired key is invalid from its expiry time on, and can only be revoked', async (t) => {
  const ring = new KeyRing(temporaryFolder(t));
  const { secret } = await ring.create('a', pro, now + hour, now);
  assert.notEqual(ring.find(secret, now + hour - 1), null);
  assert.equal(ring.find(secret, now + hour), null);
  const message = 'key k1 has expired; create a new one with "petstore keys create"';
  const refusal = { name: 'Error', message, exitCode: 1 };
  await assert.rejects(ring.rotate('k1', hour, now + hour), refusal);
  await assert.rejects(ring.setPlan('k1', enterprise, now + hour), refusal);
  await ring.revoke('k1', now + hour);
  assert.equal(ring.find(secret, now), null); // also when the clock is set back
  await assert.rejects(ring.rotate('k1', hour, now), {
    message: 'key k1 is revoked; create a new one with "petstore keys create"',
  });
});

test('all secrets of a revoked key are invalid permanently', async (t) => {
  const folder = temporaryFolder(t);
  const ring = new KeyRing(folder);
  const { secret: first } = await ring.create('a', pro, null, now);
  const { secret: second } = await ring.rotate('k1', hour, now);
  const { secret: other } = await ring.create('b', pro, null, now);
  const { key: { revokedAt, secrets } } = await ring.revoke('k1', now + 1);
  assert.deepEqual([revokedAt, secrets], [now + 1, []]);
  for (const secret of [first, second]) {
    for (const ringNow of [ring, new KeyRing(folder)]) assert.equal(ringNow.find(secret, now - hour), null);
  }
  assert.notEqual(ring.find(other, now), null);
  await assert.rejects(ring.revoke('k1', now), {
    message: 'key k1 is revoked; create a new one with "petstore keys create"',
    exitCode: 1,
  });
  await assert.rejects(ring.rotate('k1', 0, now), {
    message: 'key k1 is revoked; create a new one with "petstore keys create"',
  });
});

test('a key keeps its secrets when it moves to another plan', async (t) => {
  const folder = temporaryFolder(t);
  const ring = new KeyRing(folder);
  const { secret } = await ring.create('a', pro, null, now);
  await ring.setPlan('k1', enterprise, now);
  assert.deepEqual(ring.find(secret, now)?.plan, enterprise);
  assert.deepEqual(new KeyRing(folder).find(secret, now)?.plan, enterprise);
});

test('changing a key that does not exist is an error', async (t) => {
  const ring = new KeyRing(temporaryFolder(t));
  await ring.create('a', pro, null, now);
  for (const id of ['k2', 'k0', 'k01', 'K1', '', 'a', '__proto__']) {
    const refusal = { message: `there is no key with the id ${id}; "petstore keys list" shows all keys`, exitCode: 1 };
    await assert.rejects(ring.revoke(id, now), refusal);
    await assert.rejects(ring.rotate(id, 0, now), refusal);
    await assert.rejects(ring.setPlan(id, pro, now), refusal);
  }
});

test('ten concurrent changes are all made', async (t) => {
  const folder = temporaryFolder(t);
  const ring = new KeyRing(folder);
  const { secret } = await ring.create('a', pro, null, now);
  const made = await Promise.all(Array.from({ length: 10 }, (_, i) => ring.create(`b${i}`, pro, null, now)));
  const changed = await Promise.all([
    ...made.slice(0, 5).map(({ key }) => ring.rotate(key.id, hour, now)),
    ring.setPlan('k1', enterprise, now), ring.rotate('k1', hour, now), ring.create('c', pro, null, now),
  ]);
  assert.deepEqual(made.map(({ key }) => key.id), Array.from({ length: 10 }, (_, i) => `k${i + 2}`));
  const issued = [...made, ...changed].flatMap((one) => {
    return 'secret' in one ? [[String(one.secret), one.key.id] as const] : [];
  });
  for (const keys of [ring, new KeyRing(folder)]) {
    assert.equal(keys.keys.length, 12);
    for (const [issuedSecret, id] of [...issued, [secret, 'k1'] as const]) {
      assert.equal(keys.find(issuedSecret, now)?.id, id);
    }
    assert.deepEqual(keys.keys[0]?.plan, enterprise);
  }
});

test('a change takes effect when it is on disk, not before', async (t) => {
  const folder = temporaryFolder(t);
  const ring = new KeyRing(folder);
  const { secret } = await ring.create('a', pro, null, now);
  const revoked = ring.revoke('k1', now);
  while (ring.find(secret, now) !== null) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(new KeyRing(folder).find(secret, now), null);
  await revoked;
});

for (const [what, obstacle] of [
  ['the temporary file cannot be written', 'keys.json.tmp'],
  ['the file cannot be replaced', 'keys.json'],
] as const) {
  test(`a failed write changes nothing, and the next one works: ${what}`, async (t) => {
    const folder = temporaryFolder(t);
    const ring = new KeyRing(folder);
    let secret = '';
    if (obstacle !== 'keys.json') secret = (await ring.create('a', pro, null, now)).secret;
    const before = {
      keys: ring.keys,
      file: obstacle !== 'keys.json' && readFileSync(join(folder, 'keys.json'), 'utf8'),
    };
    mkdirSync(join(folder, obstacle)); // a folder in its place stops root too
    const attempts = [ring.create('b', pro, null, now), ring.revoke('k1', now), ring.rotate('k1', 0, now)];
    for (const attempt of await Promise.allSettled(attempts)) assert.equal(attempt.status, 'rejected');
    assert.equal(ring.keys, before.keys);
    if (secret !== '') {
      assert.equal(ring.find(secret, now)?.id, 'k1');
      assert.equal(readFileSync(join(folder, 'keys.json'), 'utf8'), before.file);
    }
    rmdirSync(join(folder, obstacle));
    assert.equal(existsSync(join(folder, 'keys.json.tmp')), false);
    const { key } = await ring.create('c', pro, null, now);
    assert.equal(key.id, `k${before.keys.length + 1}`);
    assert.deepEqual(new KeyRing(folder).keys, ring.keys);
  });
}

test('if the folder cannot be synced, a change is in force and reported, until a later sync succeeds', async (t) => {
  const folder = temporaryFolder(t);
  const ring = new KeyRing(folder);
  const { secret: first, unsynced: none } = await ring.create('a', pro, null, now);
  assert.equal(none, null);
  await onFolderSync(t, () => {
    throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
  });
  const { secret: second, unsynced } = await ring.rotate('k1', 0, now);
  const what = `cannot sync the folder of ${join(folder, 'keys.json')}: EIO: i/o error`;
  const remedy = 'the disk may be failing: the log of the machine says more';
  assert.equal(unsynced, `${what}; the file was replaced, but a power cut may undo that; ${remedy}`);
  assert.equal(ring.changes, 1);
  for (const keys of [ring, new KeyRing(folder)]) {
    assert.deepEqual([keys.find(first, now), keys.find(second, now)?.id], [null, 'k1']);
  }
  t.mock.restoreAll();
  assert.equal((await ring.create('b', pro, null, now)).unsynced, null);
});

test('a missing or old file is refused if more changes are recorded', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'keys.json');
  let changed = 0;
  const ring = new KeyRing(folder, undefined, undefined, () => changed++);
  await ring.create('a', pro, null, now);
  const old = readFileSync(file);
  await ring.revoke('k1', now);
  assert.deepEqual([ring.changes, changed], [2, 2]);
  new KeyRing(folder).checkChanges(2);
  const advice = 'restore it from a backup, or remove usage.json to go on without the later changes';
  const refused = (changes: string) => ({
    message: `${file} is missing or an old copy: ${changes} made to it, but 2 according to usage.json; ` +
      `nothing was changed; ${advice}`,
  });
  writeFileSync(file, old);
  assert.throws(() => new KeyRing(folder).checkChanges(2), refused('1 change was'));
  rmSync(file);
  assert.throws(() => new KeyRing(folder).checkChanges(2), refused('0 changes were'));
});

/** The text of a file without its checksum, as if an operator had edited it. */
const unsigned = (file: string): string => readFileSync(file, 'utf8').replace(/,"crc32":"[0-9a-f]{8}"/, '');

test('the rest of an interrupted write does no harm', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'keys.json.tmp'), '{"half', { mode: 0o644 });
  await new KeyRing(folder).create('a', pro, null, now);
  assert.equal(statSync(join(folder, 'keys.json')).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(folder), ['keys.json']);
});

test('a new id is larger than all others, also after a key was removed from the file by hand', async (t) => {
  const folder = temporaryFolder(t);
  const ring = new KeyRing(folder);
  for (const name of ['a', 'b', 'c']) await ring.create(name, pro, null, now);
  const file = join(folder, 'keys.json');
  writeFileSync(file, unsigned(file).split('\n').filter((line) => !line.includes('"id":"k2"')).join('\n'));
  const mended = new KeyRing(folder);
  assert.deepEqual(mended.keys.map(({ id }) => id), ['k1', 'k3']);
  assert.equal((await mended.create('d', pro, null, now)).key.id, 'k4');
});

test('a damaged file is refused with its name and line, and not changed', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'keys.json');
  const ring = new KeyRing(folder);
  await ring.create('a', pro, null, now);
  await ring.create('b', enterprise, now + hour, now);
  const good = unsigned(file);
  const damaged: [line: number, text: string | Buffer][] = [
    [1, ''],
    [1, '[]'],
    [1, '"petstore-keys"'],
    [1, '{}'],
    [1, good.replace('petstore-keys', 'petstore')],
    [1, good.replace('"keys":[', '"keys":{},"other":[')],
    [1, good.replace('"version":2', '"version":0')],
    [1, good.replace('"version":2', '"version":"2"')],
    [1, good.replace('"version":2,', '')],
    [1, `\uFEFF${good}`],
    [1, good.replace('\n{"id":"k1"', '\n17,\n{"id":"k1"')],
    [2, good.replace(/,"secrets":.*/, '},')],
    [2, good.replace('"id":"k1"', '"id":"k1","id":"k1"')],
    [2, good.replace('"id":"k1"', '"id":1')],
    [2, good.replace('"id":"k1"', '"id":"__proto__"')],
    [2, good.replace('"id":"k1"', '"id":"k0"')],
    [2, good.replace('"name":"a"', '"name":null')],
    [2, good.replace('{"name":"pro"}', '"pro"')],
    [2, good.replace('{"name":"pro"}', '{"name":"gold"}')],
    [2, good.replace('{"name":"pro"}', '{"name":"pro","perMinute":5}')],
    [2, good.replace('"createdAt":"2026', '"createdAt":"x2026')],
    [2, good.replace('"createdAt":', '"madeAt":')],
    [2, good.replace('"revokedAt":null', '"revokedAt":false')],
    [2, good.replace(/"sha256":"./, '"sha256":"')],
    [2, good.replace(/"sha256":"./, '"sha256":"G')],
    [2, good.replace(/"secrets":\[(.*)\]}/, '"secrets":{}}')],
    [2, good.replace(/"secrets":\[(.*)\]}/, '"secrets":[null]}')],
    [2, Buffer.from(good.replace('"name":"a"', '"name":"\xff"'), 'latin1')],
    [3, good.replace('"id":"k2"', '"id":"k1"')],
    [3, good.replace('"perDay":70', '"perDay":0')],
    [3, good.replace('"perDay":70', '"perDay":9007199254740993')],
    [3, good.replace(',"perDay":70', '')],
    [3, good.slice(0, good.indexOf('"b"'))],
    [5, `${good}x`],
  ];
  for (const [line, text] of damaged) {
    writeFileSync(file, text);
    assert.notEqual(text, good);
    assert.throws(() => new KeyRing(folder), (error) => {
      assert.ok(error instanceof OperatorError, String(error));
      assert.ok(error.message.startsWith(`${file}, line ${line}: `), `${error.message} for ${text}`);
      assert.equal(error.message.includes('\n'), false);
      assert.match(error.message, /; correct the file, or restore it from a backup$/);
      assert.equal(error.exitCode, 1);
      return true;
    });
    assert.deepEqual(readFileSync(file), Buffer.from(text));
  }
});

test('a file of another version is refused, and the error says why', (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'keys.json'), '{"format":"petstore-keys","version":3,"keys":[]}\n');
  assert.throws(() => new KeyRing(folder), /keys\.json has version 3 of its format, but this program supports only/);
});

test('unknown members of a key are ignored', async (t) => {
  const folder = temporaryFolder(t);
  const { secret } = await new KeyRing(folder).create('a', pro, null, now);
  const file = join(folder, 'keys.json');
  writeFileSync(file, unsigned(file).replace('"name":"a"', '"name":"a","note":[{}]'));
  assert.equal(new KeyRing(folder).find(secret, now)?.name, 'a');
});

// The model has no files, hashes or caches: it stores the secrets themselves, with their expiry times.
test('the keys and the file agree with a model after any changes, also if the clock is set back', async (t) => {
  const plan = fc.oneof(
    fc.constantFrom({ name: 'free' as const }, pro),
    fc.record(
      {
        name: fc.constant('enterprise' as const),
        perMinute: fc.integer({ min: 1 }),
        perDay: fc.maxSafeNat().map((n) => Math.max(n, 1)),
      },
      { noNullPrototype: true },
    ),
  );
  const which = fc.nat({ max: 3 });
  const change = fc.record({
    step: fc.constantFrom(0, 1, hour, 5 * hour, -hour),
    op: fc.oneof(
      fc.record({
        op: fc.constant('create' as const),
        name: fc.string({ unit: 'grapheme', minLength: 1 }),
        plan,
        lifeMs: fc.option(fc.integer({ min: 1, max: 10 * hour })),
      }),
      fc.record({ op: fc.constant('rotate' as const), which, graceMs: fc.constantFrom(0, 1, hour, 24 * hour) }),
      fc.record({ op: fc.constant('revoke' as const), which }),
      fc.record({ op: fc.constant('plan' as const), which, plan }),
    ),
  });
  await fc.assert(fc.asyncProperty(fc.array(change, { maxLength: 8 }), async (changes) => {
    const folder = temporaryFolder(t);
    const ring = new KeyRing(folder);
    // `end` is -Infinity if the key is revoked.
    const model: { plan: object; name: string; end: number; secrets: Map<string, number> }[] = [];
    let time = now;
    for (const { step, op } of changes) {
      time += step;
      if (op.op === 'create') {
        const expiresAt = op.lifeMs === null ? null : time + op.lifeMs;
        const { secret } = await ring.create(op.name, op.plan, expiresAt, time);
        model.push({
          plan: op.plan,
          name: op.name,
          end: expiresAt ?? Infinity,
          secrets: new Map([[secret, Infinity]]),
        });
      } else {
        const key = model[op.which];
        const id = `k${op.which + 1}`;
        const done =
          op.op === 'rotate'
            ? ring.rotate(id, op.graceMs, time)
            : op.op === 'revoke'
              ? ring.revoke(id, time)
              : ring.setPlan(id, op.plan, time);
        const refused = key === undefined || key.end === -Infinity || (time >= key.end && op.op !== 'revoke');
        if (refused) {
          await assert.rejects(done, OperatorError);
        } else {
          const result = await done;
          if (op.op === 'plan') key.plan = op.plan;
          else if (op.op === 'revoke') key.end = -Infinity;
          else {
            for (const [secret, end] of key.secrets) {
              key.secrets.set(secret, end <= time ? -Infinity : Math.min(end, time + op.graceMs));
            }
          }
          if ('secret' in result) key.secrets.set(String(result.secret), Infinity);
        }
        for (const [secret, end] of key?.secrets ?? []) {
          if (op.op === 'rotate' && end <= time) key?.secrets.set(secret, -Infinity);
        }
      }
    }
    const read = new KeyRing(folder);
    assert.deepEqual(read.keys, ring.keys);
    for (const keys of [ring, read]) {
      assert.deepEqual(
        keys.keys.map(({ id, name, plan }) => ({ id, name, plan })),
        model.map(({ name, plan }, i) => ({ id: `k${i + 1}`, name, plan })),
      );
      for (const [i, key] of model.entries()) {
        for (const [secret, end] of key.secrets) {
          for (const at of [time, time + 1, time + hour, time + 5 * hour, time + 30 * hour]) {
            assert.equal(keys.find(secret, at)?.id, at < key.end && at < end ? `k${i + 1}` : undefined);
          }
        }
      }
    }
  }), { numRuns: 60 });
});

test('without the lock no change is made', async (t) => {
  const folder = temporaryFolder(t);
  let isHeld = true;
  const ring = new KeyRing(folder, () => {
    if (!isHeld) throw new OperatorError('the lock is lost');
  });
  await ring.create('a', pro, null, now);
  const { keys } = ring;
  const before = readFileSync(join(folder, 'keys.json'), 'utf8');
  isHeld = false;
  await assert.rejects(ring.revoke('k1', now), { message: 'the lock is lost' });
  assert.deepEqual([ring.keys, readFileSync(join(folder, 'keys.json'), 'utf8')], [keys, before]);
  assert.deepEqual(readdirSync(folder), ['keys.json']);
});

test('a key whose next id, and a number of changes whose next one, could not be read are refused', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'keys.json');
  await new KeyRing(folder).create('a', pro, null, now);
  const text = readFileSync(path, 'utf8').replace(/,"crc32".*/, '}');
  writeFileSync(path, text.replace('"k1"', '"k999999999999999"'));
  await assert.rejects(new KeyRing(folder).create('b', pro, null, now), {
    message: `${path} has a key k999999999999999, and larger ids cannot be assigned; renumber it`,
  });
  assert.equal(new KeyRing(folder).keys.length, 1);
  writeFileSync(path, text.replace('"keyChanges":1', `"keyChanges":${Number.MAX_SAFE_INTEGER}`));
  assert.throws(() => new KeyRing(folder), /line 1: "keyChanges" may be 99999999999999 at most; correct the file/);
});
