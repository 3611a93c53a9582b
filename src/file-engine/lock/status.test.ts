/** `petstore status`, with the built server, with a server that does not respond, and without one. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, renameSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../../../harness/owner.ts';
import type { Ended } from '../../../harness/program.ts';
import { petstore, startServer, type RunningServer } from '../../../harness/server.ts';
import { writeRecords } from '../files/record-file.ts';
import { storeIdOf } from '../files/store-id.ts';
import { KeyUsage } from '../../limits/key-usage.ts';
import { encodeUsage, usageFormat, usageName } from '../accounts/usage-file.ts';
import { command, newKey } from '../../testing/command.ts';
import { dyingServer } from '../../testing/dying-server.ts';
import { send } from '../../testing/service.ts';
import { FolderLock } from './folder-lock.ts';
import { askStatus, type NoStatus, type Status } from './status-client.ts';

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** Returns the status of a server that responds. */
async function statusOf(folder: string): Promise<Status> {
  const { code, stdout, stderr } = await command(folder, 'status', '--json');
  assert.deepEqual([code, stderr], [0, ''], stdout);
  return JSON.parse(stdout) as Status;
}

type Run = (folder: string, ...args: readonly string[]) => Promise<Ended>;

/** Checks that there is no status: one line on stderr, exit code 1, and with --json an object that says the same. */
async function hasNoStatus(folder: string, state: string, reason: RegExp, run: Run = command): Promise<NoStatus> {
  const [text, json]: Ended[] = await Promise.all([run(folder, 'status'), run(folder, 'status', '--json')]);
  assert.deepEqual([text!.code, text!.stdout, json!.code, json!.stderr], [1, '', 1, text!.stderr]);
  const found = JSON.parse(json!.stdout) as NoStatus;
  assert.deepEqual([Object.keys(found), found.state], [['state', 'reason', 'pid'], state]);
  assert.match(found.reason, reason);
  assert.equal(text!.stderr, `petstore: ${found.reason}\n`);
  return found;
}

const get = ({ address }: RunningServer, key: string): Promise<unknown> => send(address, 'GET', '/v1/pets', { key });

test('the status of a server has all its figures, and no secret', async (t) => {
  const folder = temporaryFolder(t);
  const keys = [await newKey(folder), await newKey(folder, 'free'), await newKey(folder)];
  const server = await startServer(t, folder, ['--max-connections', '77']);
  const fresh = await statusOf(folder);
  assert.deepEqual([fresh.state, fresh.snapshot?.writtenAt, fresh.busiest], ['ready', null, []]);
  const before = new Date().toISOString();
  const body = '{"name":"Rex","categoryId":1}';
  assert.equal((await send(server.address, 'POST', '/v1/pets', { key: keys[0]!, body })).status, 201);
  for (let i = 0; i < 3; i++) await get(server, keys[1]!);

  const status = await statusOf(folder);
  const { startedAt, since, version, disk, journal, snapshot, connections, requests, busiest, ...rest } = status;
  assert.deepEqual(rest, {
    state: 'ready', reason: null, percent: 100, pid: server.child.pid, address: server.address, animals: 1, orders: 0,
    droppedLogLines: 0, bannedKeys: 0, banned: [],
  });
  for (const one of [startedAt, since, journal!.lastSyncAt]) assert.match(one, time);
  assert.ok(startedAt < since && since < before && before < journal!.lastSyncAt, JSON.stringify(status));
  assert.match(version, /^\d+\.\d+\.\d+$/);
  assert.ok(disk.freeBytes! > 0);
  assert.ok(journal!.bytes > body.length && journal!.lastSyncMs > 0);
  assert.deepEqual([journal!.failures, snapshot], [0, { bytes: 0, writtenAt: null, failures: 0 }]);
  assert.deepEqual(connections, { open: 0, limit: 77, refused: 0, dropped: 0 });
  assert.deepEqual(busiest.map(({ id }) => id).sort(), ['k1', 'k2']);
  const used = busiest.find(({ id }) => id === 'k2')!;
  assert.deepEqual([used.plan, used.day.limit, used.day.used], ['free', 1000, 3]);
  assert.equal(requests.day, 4); // fails at midnight, as all tests of the day's window do
  assert.deepEqual((({ minute, day, ban }) => [typeof minute.used, minute.limit, day.limit, ban])(used),
    ['number', 60, 1000, null]);

  const { code, stdout, stderr } = await petstore(t, folder, 'status');
  assert.deepEqual([code, stderr], [0, '']);
  const shown = [
    `state        ready since ${since}`,
    `process      ${server.child.pid}, version ${version}, started ${startedAt}`,
    `address      ${server.address}`,
    'animals      1, and 0 orders',
    /^disk         [0-9.]+ [kMGT]B free$/,
    /^journal      [0-9.]+ (bytes|kB), 0 failures, last synced \S+Z in [0-9.]+ ms$/,
    'snapshot     none yet, 0 failures',
    'connections  0 of 77, 0 refused, 0 dropped',
    /^requests     [0-4] this minute, 4 this day \(admitted, with a key\)$/,
    '',
    /^ID +NAME +PLAN +THIS MINUTE +THIS DAY +BAN$/,
    /^k[12] +test +(business|free) +[0-3] of (1000|60) +[13] of (100000|1000) +-$/,
    /^k[12] +test +(business|free) +[0-3] of (1000|60) +[13] of (100000|1000) +-$/,
    '',
  ];
  const lines = stdout.split('\n');
  assert.equal(lines.length, shown.length, stdout);
  for (const [i, line] of shown.entries()) {
    if (typeof line === 'string') assert.equal(lines[i], line);
    else assert.match(lines[i]!, line);
  }
  for (const key of keys) assert.ok(!JSON.stringify(status).concat(stdout).includes(key.slice(9, 29)));
});

test('a restart shows the time of the snapshot, and a revoked key is not among the busiest', async (t) => {
  const folder = temporaryFolder(t);
  const keys = [await newKey(folder), await newKey(folder)];
  const first = await startServer(t, folder);
  await send(first.address, 'POST', '/v1/pets', { key: keys[0]!, body: '{"name":"Rex","categoryId":1}' });
  await get(first, keys[1]!);
  assert.equal((await command(folder, 'keys', 'revoke', 'k2')).code, 0);
  assert.deepEqual((await statusOf(folder)).busiest.map(({ id }) => id), ['k1']);
  await first.stop();
  await startServer(t, folder);
  const { snapshot, startedAt, requests } = await statusOf(folder);
  assert.ok(snapshot!.bytes > 0 && snapshot!.writtenAt! < startedAt, JSON.stringify(snapshot));
  assert.equal(requests.day, 2);
});

test('banned keys are shown, those with the longest bans first, and at most five', async (t) => {
  const folder = temporaryFolder(t);
  for (let n = 1; n <= 7; n++) await newKey(folder);
  const now = Math.floor(Date.now() / 1000) * 1000;
  const lines = Array.from({ length: 7 }, (_, i) => {
    const usage = new KeyUsage();
    usage.roll(now);
    usage.ban = { start: now - 60_000, end: now + (i < 6 ? 3_000_000 + i * 1_000 : -1_000) }; // the last one is over
    return encodeUsage(`k${i + 1}`, usage, (at) => new Date(at).toISOString());
  });
  await writeRecords(join(folder, usageName), usageFormat, { store: storeIdOf(folder) }, lines);
  await startServer(t, folder);
  const { bannedKeys, banned, busiest } = await statusOf(folder);
  assert.deepEqual([bannedKeys, busiest, banned.map(({ id }) => id)], [6, [], ['k6', 'k5', 'k4', 'k3', 'k2']]);
  const { stdout } = await command(folder, 'status');
  assert.match(stdout, /^bans         6 in force$/m);
  assert.match(stdout, new RegExp(`^k6 .* until ${banned[0]!.ban!.end}$`, 'm'));
});

test('if creates are refused, the first status says so and why', async (t) => {
  const folder = temporaryFolder(t);
  await startServer(t, folder);
  const before = new Date().toISOString();
  renameSync(join(folder, 'lock.1'), join(folder, 'lock.2')); // where it is still found
  const { state, reason, since } = await statusOf(folder);
  assert.equal(state, 'creates-refused');
  assert.match(reason!, /lock\.1 was removed or replaced, so another process may use the data folder; .+ again$/);
  assert.ok(before < since);
  const { code, stdout } = await command(folder, 'status');
  assert.equal(code, 0);
  assert.ok(stdout.startsWith(`state        refusing creates since ${since}: ${reason}\n`), stdout);
});

test('the status says that a server is stopping', async (t) => {
  const folder = temporaryFolder(t);
  const key = await newKey(folder);
  const server = await startServer(t, folder);
  const socket = connect(Number(new URL(server.address).port), '127.0.0.1');
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Length: 29\r\n`;
  socket.write(`${head}Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n`);
  await once(socket, 'data'); // the request has begun, so the server waits for its body
  const before = new Date().toISOString();
  server.child.kill();
  let status = await statusOf(folder);
  while (status.state === 'ready') status = await statusOf(folder);
  assert.equal(status.state, 'stopping');
  assert.ok(before <= status.since);
  assert.match((await command(folder, 'status')).stdout, /^state        stopping since \S+Z\n/);
  socket.end('{"name":"Rex","categoryId":1}');
  assert.equal((await server.ended).code, 0);
  await hasNoStatus(folder, 'stopped', /^no server is running on \S+$/);
});

test('without a server, the status says what uses the folder', async (t) => {
  const folder = join(temporaryFolder(t), 'store');
  const missing = /^there is no data folder \S+store; name the folder of the server with --data$/;
  await hasNoStatus(folder, 'stopped', missing);
  mkdirSync(folder);
  await hasNoStatus(folder, 'stopped', /^no server is running on \S+store$/);
  const lock = await FolderLock.acquire(folder, 'command');
  assert.ok(lock instanceof FolderLock);
  const used = /^no server is running on \S+; process \d+ \(command, since \S+\) uses it$/;
  const { pid } = await hasNoStatus(folder, 'stopped', used);
  assert.equal(pid, process.pid);
  await lock.release();
  await hasNoStatus(join(folder, 'lock.1'), 'unknown', /lock\.1 is not a folder; /);
});

test('a server of another version, one that starts, and one that is about to end', async (t) => {
  const folder = temporaryFolder(t);
  const server = await FolderLock.acquire(folder, 'server');
  assert.ok(server instanceof FolderLock);
  await hasNoStatus(folder, 'starting', /^the server \(process \d+\) does not respond to commands yet$/);
  server.serve('http://127.0.0.1:1', async () => null);
  await hasNoStatus(folder, 'stopping', /^the server \(process \d+\) is about to end$/);
  const error = 'the running server is another version and does not support this command; restart it';
  server.serve('http://127.0.0.1:1', async () => ({ error, exitCode: 1 }));
  const refused = new RegExp(`^the server \\(process ${process.pid}\\): ${error}$`);
  const { pid } = await hasNoStatus(folder, 'unknown', refused);
  assert.equal(pid, process.pid);
  await server.release();
});

test('a server that ends without a response is stopped, not unresponsive', async (t) => {
  for (const op of ['who', 'status']) {
    const folder = temporaryFolder(t);
    const received = await dyingServer(t, folder, op);
    assert.equal((await askStatus(folder)).state, 'stopped');
    assert.equal(received.at(-1), op);
  }
});

test('a server that was suspended is unresponsive', async (t) => {
  const folder = temporaryFolder(t);
  const server = await startServer(t, folder);
  server.child.kill('SIGSTOP');
  const silent = /^a process that does not identify itself \(\S+lock\.1\) uses \S+; it was suspended, [^\n]+$/;
  await hasNoStatus(folder, 'unresponsive', silent, (of, ...args) => petstore(t, of, ...args));
  server.child.kill('SIGCONT');
  assert.equal((await statusOf(folder)).state, 'ready');
});
