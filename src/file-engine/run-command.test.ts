import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { FileAccounts } from './accounts/file-accounts.ts';
import type { KeyAdmin } from '../engine.ts';
import { LockLostError } from '../files/errors.ts';
import { writeRecords } from './files/record-file.ts';
import { storeIdOf } from './files/store-id.ts';
import { usageFormat, usageName, type UsageFile } from './accounts/usage-file.ts';
import { encodeKey } from './accounts/key-record.ts';
import { keysFormat } from './accounts/key-ring.ts';
import { FileEngine } from './file-engine.ts';
import type { Key } from '../keys/key.ts';
import { dyingServer } from '../testing/dying-server.ts';
import { onSync } from '../testing/file-handle.ts';
import { temporaryFolder } from '../../harness/owner.ts';
import { FolderLock } from './lock/folder-lock.ts';
import { responseTo } from './lock/send-response.ts';
import { runCommand } from './run-command.ts';
import { execute, type Command, type CommandName, type Result } from '../control/commands.ts';

/** The keys of a folder, without usage, which no command for keys needs. */
const keysIn = (folder: string): FileAccounts =>
  new FileAccounts(folder, undefined, storeIdOf(folder), { noteChange() {} } as unknown as UsageFile);
const respond = (keys: KeyAdmin, command: unknown) =>
  responseTo(command, (given) => execute({ keys }, given, Date.now()));
const silent = (line: string): never => assert.fail(line);
const now = Date.UTC(2026, 10, 21, 12);
const hour = 3_600_000;
const create = (name: string, more: object = {}): Command<'create'> => ({
  op: 'create',
  name,
  plan: 'pro',
  expiresAt: null,
  ...more,
});
const run = async <Op extends CommandName>(keys: KeyAdmin, command: Command<Op>, at = now): Promise<Result<Op>> =>
  (await execute({ keys }, command, at)) as Result<Op>;

test('create returns the key and its secret; no other command shows the secret', async (t) => {
  const ring = keysIn(temporaryFolder(t));
  const { keys, secret, ...rest } = await run(ring, create('shop', { expiresAt: now + hour }));
  assert.deepEqual(rest, { unsynced: null });
  assert.deepEqual(keys, [{
    id: 'k1', name: 'shop', plan: 'pro', perMinute: null, perDay: null, state: 'active',
    createdAt: '2026-11-21T12:00:00.000Z', expiresAt: '2026-11-21T13:00:00.000Z',
    secrets: [{ last4: secret!.slice(-4), expiresAt: null }],
  }]);
  assert.equal(ring.find(secret!, now)?.id, 'k1');
  const list = await run(ring, { op: 'list' });
  assert.deepEqual(list, { items: keys, next: null });
});

test('create requires limits for enterprise and refuses them for other plans', async (t) => {
  const ring = keysIn(temporaryFolder(t));
  const { keys } = await run(ring, create('big', { plan: 'enterprise', perMinute: 5, perDay: 9 }));
  assert.deepEqual([keys[0]?.plan, keys[0]?.perMinute, keys[0]?.perDay], ['enterprise', 5, 9]);
  await assert.rejects(run(ring, create('big', { plan: 'enterprise' })), { exitCode: 2 });
  await assert.rejects(run(ring, create('big', { perDay: 9 })), { exitCode: 2 });
  assert.equal(ring.keys.length, 1);
});

test('a name has 1 to 100 characters of any script, and no control characters', async (t) => {
  const ring = keysIn(temporaryFolder(t));
  const good = [
    'a', 'x'.repeat(100), '🐕'.repeat(100), 'Zoë "the" <b>&\\\'', 'שלום', ' a ', '__proto__', 'constructor', '-', '%s',
    '👩‍👩‍👧',
  ];
  for (const [index, name] of good.entries()) {
    const { keys } = await run(ring, create(name));
    assert.deepEqual([keys[0]?.id, keys[0]?.name], [`k${index + 1}`, name]);
  }
  const bad = [
    '', 'x'.repeat(101), 'a\nb', 'a\n', '\r', '\t', '\0', '\u001b[2J', '\u007f', '\u0085', '\u009b31m', '\ud800',
    'a\udc00', ' ', '\u00a0\u3000', 'a\u202eb', '\u2066a', 'a\u2028b', 'a\u2029',
  ];
  for (const name of bad) {
    await assert.rejects(
      run(ring, create(name)),
      { exitCode: 2, message: /^--name must have 1 to 100 characters/ },
      JSON.stringify(name),
    );
  }
  assert.deepEqual(ring.keys.map(({ name }) => name), good);
});

test('an expiry time must be in the future', async (t) => {
  const ring = keysIn(temporaryFolder(t));
  for (const expiresAt of [now, now - 1, 0, -1]) {
    await assert.rejects(run(ring, create('a', { expiresAt })), { exitCode: 2, message: '--expires is in the past' });
  }
  assert.deepEqual(ring.keys, []);
  assert.equal((await run(ring, create('a', { expiresAt: now + 1 }))).keys[0]?.state, 'active');
});

test('rotate and list show the secrets that are valid at the time', async (t) => {
  const ring = keysIn(temporaryFolder(t));
  const first = await run(ring, create('a', { expiresAt: now + 30 * hour }));
  const second = await run(ring, { op: 'rotate', id: 'k1', graceMs: 24 * hour });
  const last4 = [first, second].map(({ secret }) => secret!.slice(-4));
  assert.deepEqual(second.keys[0]?.secrets, [
    { last4: last4[0], expiresAt: '2026-11-22T12:00:00.000Z' },
    { last4: last4[1], expiresAt: null },
  ]);
  const at = async (time: number) =>
    (await run(ring, { op: 'list' }, time)).items.map(({ state, secrets }) => [
      state,
      secrets.map((secret) => secret.last4),
    ]);
  assert.deepEqual(await at(now + 24 * hour - 1), [['active', last4]]);
  assert.deepEqual(await at(now + 24 * hour), [['active', [last4[1]]]]);
  assert.deepEqual(await at(now + 30 * hour), [['expired', []]]);
  await run(ring, { op: 'revoke', id: 'k1' });
  assert.deepEqual(await at(now + 30 * hour), [['revoked', []]]);
});

test('set-plan and revoke return the changed key', async (t) => {
  const ring = keysIn(temporaryFolder(t));
  await run(ring, create('a'));
  const moved = await run(ring, { op: 'set-plan', id: 'k1', plan: 'enterprise', perMinute: 3, perDay: 4 });
  assert.deepEqual([moved.keys[0]?.plan, moved.keys[0]?.perMinute, moved.keys[0]?.perDay], ['enterprise', 3, 4]);
  const back = await run(ring, { op: 'set-plan', id: 'k1', plan: 'free' });
  assert.deepEqual([back.keys[0]?.plan, back.keys[0]?.perMinute, back.keys[0]?.perDay], ['free', null, null]);
  await assert.rejects(run(ring, { op: 'set-plan', id: 'k1', plan: 'gold' }), { exitCode: 2 });
  assert.equal((await run(ring, { op: 'revoke', id: 'k1' })).keys[0]?.state, 'revoked');
  assert.equal('secret' in moved || 'secret' in back, false);
});

test('a response over the socket is a result, or one line with an exit code', async (t) => {
  const ring = keysIn(temporaryFolder(t));
  assert.deepEqual(await respond(ring, { op: 'list', from: 0 }), { result: { items: [], next: null } });
  assert.deepEqual(await respond(ring, { op: 'revoke', id: 'k9' }), {
    error: 'there is no key with the id k9; "petstore keys list" shows all keys',
    exitCode: 1,
  });
  assert.deepEqual(await respond(ring, create('')), {
    error: '--name must have 1 to 100 characters, at least one visible, and no control characters', exitCode: 2,
  });
  for (const unknown of [{ op: 'forgive', id: 'k1', later: true }, null, 'list', 5]) {
    assert.deepEqual(await respond(ring, unknown), {
      error: 'the running server is another version and does not support this command; restart it', exitCode: 1,
    });
  }
});

// The sender may be another version, or another program. Whatever it sends, keys.json must agree with the keys in
// memory.
test('no message creates an invalid key, and each receives a response', async (t) => {
  const odd = fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom(
      null, 0, -1, 1.5, 1e300, 8.64e15, 9e15, '', '5', 'k1', true, [], ['k1'], {}, now, now + hour, now + 0.5,
    ),
  );
  const usual = {
    id: fc.constantFrom('k1', 'k2'),
    name: fc.constant('a'),
    plan: fc.constantFrom('free', 'enterprise'),
    perMinute: fc.constant(5),
    perDay: fc.constant(5),
    expiresAt: fc.constantFrom(null, now + hour),
    graceMs: fc.constantFrom(0, hour),
  };
  const members = Object.fromEntries(Object.entries(usual).map(([name, good]) => [name, fc.oneof(good, odd)]));
  const op = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom('create', 'rotate', 'revoke', 'set-plan', 'list') },
    { weight: 1, arbitrary: odd },
  );
  const message = fc.oneof(
    { weight: 1, arbitrary: odd },
    { weight: 9, arbitrary: fc.record({ op, ...members }, { requiredKeys: ['op'], noNullPrototype: true }) },
  );
  let made = 0;
  let refused = 0;
  await fc.assert(fc.asyncProperty(fc.array(message, { maxLength: 12 }), async (messages) => {
    const folder = temporaryFolder(t);
    const ring = keysIn(folder);
    await run(ring, create('first'));
    for (const sent of messages) {
      const response = await respond(ring, JSON.parse(JSON.stringify(sent)));
      if ('error' in response!) {
        refused++;
        assert.match(response.error, /^[^\n]+$/);
        assert.ok(response.exitCode === 1 || response.exitCode === 2);
      } else {
        made++;
      }
    }
    assert.deepEqual(keysIn(folder).keys, ring.keys);
    for (const { name, expiresAt, secrets } of ring.keys) {
      assert.equal(typeof name, 'string');
      assert.ok(expiresAt === null || Number.isInteger(expiresAt));
      assert.ok(secrets.every((secret) => secret.expiresAt === null || Number.isInteger(secret.expiresAt)));
    }
    assert.ok('result' in (await respond(ring, { op: 'list' }))!);
    assert.deepEqual(readdirSync(folder), ['keys.json']);
  }), { numRuns: 300 });
  assert.ok(made > 100 && refused > 100, `${made} made, ${refused} refused: too few of one kind`);
});

test('members of a wrong type are refused, and nothing changes', async (t) => {
  const folder = temporaryFolder(t);
  const ring = keysIn(folder);
  await run(ring, create('first'));
  const before = readFileSync(join(folder, 'keys.json'), 'utf8');
  const good = { op: 'create', name: 'a', plan: 'enterprise', perMinute: 5, perDay: 5, expiresAt: null };
  const rotate = { op: 'rotate', id: 'k1', graceMs: 0 };
  const wrong = [
    null, 5, 'create', [], {},
    { op: null },
    { op: ['create'] },
    { op: 'toString' },
    ...['0', null, [], -1, 0.5, 1e300].map((from) => ({ op: 'list', from })),
    ...[5, null, ['a'], {}, undefined].map((name) => ({ ...good, name })),
    ...['5', null, [5], 0, 1.5].flatMap((count) => [
      { ...good, perMinute: count },
      { ...good, perDay: count },
    ]),
    ...[undefined, '2027-01-31', true, [], {}, now + 1e15 + 0.5, 9e15].map((expiresAt) => ({ ...good, expiresAt })),
    ...[undefined, null, '0', true, [], {}, -1, 0.5, 9e15, 1e300].map((graceMs) => ({ ...rotate, graceMs })),
    ...[undefined, null, 1, ['k1'].concat('k2'), {}, { toString: 1 }].flatMap((id) => [
      { ...rotate, id },
      { op: 'revoke', id },
      { op: 'set-plan', id, plan: 'free' },
    ]),
  ];
  for (const message of wrong) {
    assert.ok('error' in (await respond(ring, message))!, JSON.stringify(message));
  }
  assert.equal(readFileSync(join(folder, 'keys.json'), 'utf8'), before);
});

test('a command executes itself if the server ends before it receives the message', async (t) => {
  const folder = temporaryFolder(t);
  const sent: unknown[] = [];
  const server = await FolderLock.acquire(folder, 'server');
  assert.ok(server instanceof FolderLock);
  server.serve('http://127.0.0.1:8080', async (message) => {
    sent.push(message);
    if (sent.length === 2) void server.release();
    return null;
  });
  const { keys } = await runCommand(folder, create('a'), silent);
  assert.deepEqual(keys.map(({ id }) => id), ['k1']);
  assert.deepEqual(sent, [create('a'), create('a')]);
  assert.deepEqual(readdirSync(folder).sort(), ['keys.json', 'lock.2']);
});

test('if the server ends while it executes a command, the command is an error and not repeated', async (t) => {
  const folder = join(temporaryFolder(t), 'store');
  mkdirSync(folder);
  const messages: string[] = [];
  const server = createServer((socket) => socket.setEncoding('utf8').once('data', (text: string) => {
    messages.push(text);
    if (text.includes('who')) {
      const since = '2026-11-21T12:00:00.000Z';
      socket.end(`${JSON.stringify({ kind: 'server', pid: 4711, address: null, since })}\n`);
    } else {
      socket.destroy();
    }
  }));
  server.listen(join(folder, 'lock.1'));
  await once(server, 'listening');
  t.after(() => server.close());
  await assert.rejects(runCommand(folder, create('a'), silent), {
    message:
      'the server (process 4711) did not respond; check with "petstore keys list" or "petstore usage" '
      + 'whether the change was made',
    exitCode: 1,
  });
  assert.equal(messages.length, 2);
  assert.deepEqual(readdirSync(folder), ['lock.1']);
});

test('if the server ends without a response, a command that only reads is repeated', async (t) => {
  const folder = temporaryFolder(t);
  await runCommand(folder, create('a'), silent);
  const received = await dyingServer(t, folder, 'list');
  const { items } = await runCommand(folder, { op: 'list' }, silent);
  assert.deepEqual([items.map(({ id }) => id), received], [['k1'], ['who', 'list']]);
});

test('a list of many keys arrives in pages, and a server that ends between two of them is no loss', async (t) => {
  const folder = temporaryFolder(t);
  const keys = Array.from({ length: 900 }, (_, index): Key => ({
    id: `k${index + 1}`, name: `é${index}`, plan: { name: 'free' }, createdAt: now, expiresAt: null,
    revokedAt: index % 3 === 1 ? now : null, secrets: [],
  }));
  await writeRecords(join(folder, 'keys.json'), keysFormat, { store: storeIdOf(folder) }, keys.map(encodeKey));
  const engine = new FileEngine(folder, silent);
  const lengths: number[] = [];
  let left = Infinity;
  const serve = async (): Promise<FolderLock> => {
    const lock = await FolderLock.acquire(folder, 'server');
    assert.ok(lock instanceof FolderLock);
    lock.serve('http://127.0.0.1:1', async (command) => {
      if (left-- === 0) void lock.release();
      if (left < 0) return null;
      const response = await responseTo(command, (given) => execute({ keys: engine.keys }, given, now));
      lengths.push(Buffer.byteLength(JSON.stringify(response)));
      return response;
    });
    return lock;
  };
  const lock = await serve();
  const all = keys.map(({ id }) => id);
  const active = keys.filter(({ revokedAt }) => revokedAt === null).map(({ id }) => id);
  const listed = await runCommand(folder, { op: 'list' }, silent);
  assert.deepEqual([listed.items.map(({ id }) => id), listed.next], [all, null]);
  const used = await runCommand(folder, { op: 'usage', id: null }, silent);
  assert.deepEqual(used.items.map(({ id }) => id), active);
  const one = await runCommand(folder, { op: 'usage', id: 'k2' }, silent);
  assert.deepEqual(one.items.map(({ id }) => id), ['k2']);
  assert.ok(lengths.length > 5 && Math.max(...lengths) < 66_000, lengths.join());
  left = 1; // the second page is not sent any more, and the command reads the files
  assert.deepEqual((await runCommand(folder, { op: 'list' }, silent)).items.map(({ id }) => id), all);
  assert.ok(left < 0);
  await lock.release();
});

test('without a server, commands that only read take no lock', async (t) => {
  const folder = temporaryFolder(t);
  await runCommand(folder, create('a'), silent);
  const before = readdirSync(folder).sort();
  await runCommand(folder, { op: 'list' }, silent);
  await runCommand(folder, { op: 'usage', id: 'k1' }, silent);
  assert.deepEqual(readdirSync(folder).sort(), before);
});

test('without a server, a command is refused like a start if keys.json is missing or an old copy', async (t) => {
  const folder = temporaryFolder(t);
  await runCommand(folder, create('a'), silent);
  const old = readFileSync(join(folder, 'keys.json'));
  await runCommand(folder, create('b'), silent);
  const store = storeIdOf(folder);
  await writeRecords(join(folder, usageName), usageFormat, { store, keyChanges: 2 }, []);
  writeFileSync(join(folder, 'keys.json'), old);
  await assert.rejects(runCommand(folder, create('c'), silent), /keys\.json is missing or an old copy/);
  assert.deepEqual(readFileSync(join(folder, 'keys.json')), old);
});

test('without a server, a command that has lost the lock changes nothing', async (t) => {
  const folder = temporaryFolder(t);
  await onSync(t, async () => rmSync(join(folder, 'lock.1')));
  await assert.rejects(runCommand(folder, create('a'), silent), LockLostError);
  assert.equal(existsSync(join(folder, 'keys.json')), false);
});

test('commands on one folder wait for each other', async (t) => {
  const folder = join(temporaryFolder(t), 'store');
  const results = await Promise.all(Array.from({ length: 10 }, (_, i) => runCommand(folder, create(`n${i}`), silent)));
  const ring = keysIn(folder);
  assert.deepEqual(ring.keys.map(({ id }) => id), Array.from({ length: 10 }, (_, i) => `k${i + 1}`));
  for (const { keys, secret } of results) assert.equal(ring.find(secret!, Date.now())?.id, keys[0]?.id);
});
