/** The usage of keys with the built programs: after stops and kills, on a failing disk, and in `petstore`. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import test, { type TestContext } from 'node:test';
import type { UsageReport } from './control/commands.ts';
import { temporaryFolder } from '../harness/owner.ts';
import { cliPath, makeKey, petstore, startServer, type RunningServer } from '../harness/server.ts';
import type { HttpResponse } from './testing/http-response.ts';
import { send } from './testing/service.ts';

const list = ({ address }: RunningServer, key: string): Promise<HttpResponse> =>
  send(address, 'GET', '/v1/pets?limit=1', { key });
const create = ({ address }: RunningServer, key: string, name: string): Promise<HttpResponse> =>
  send(address, 'POST', '/v1/pets', { key, body: JSON.stringify({ name, categoryId: 1 }) });

/** Returns how much of its day key k1 has used, from `petstore usage --json`. */
async function usedToday(t: TestContext, folder: string): Promise<number> {
  const { stdout } = await petstore(t, folder, 'usage', 'k1', '--json');
  return (JSON.parse(stdout) as { day: { used: number } }[])[0]!.day.used;
}

/** Skips a test that counts the requests of a day if the next day is about to begin. Returns whether it did. */
function nearMidnight(t: TestContext): boolean {
  const near = Date.now() % 86_400_000 > 86_400_000 - 60_000;
  if (near) t.skip('midnight UTC is less than a minute away, and this test counts the requests of one day');
  return near;
}

test('usage survives a clean stop exactly, and kill -9 as of the last write', async (t) => {
  if (nearMidnight(t)) return;
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder);
  const first = await startServer(t, folder);
  for (let i = 0; i < 7; i += 1) assert.equal((await list(first, key)).status, 200);
  assert.equal(await usedToday(t, folder), 7);
  assert.equal((await first.stop()).code, 0);
  assert.equal(await usedToday(t, folder), 7);

  const second = await startServer(t, folder);
  assert.equal(await usedToday(t, folder), 7);
  for (let i = 0; i < 5; i += 1) await list(second, key);
  while (!readFileSync(join(folder, 'usage.json'), 'utf8').includes('"used":12}}')) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  for (let i = 0; i < 3; i += 1) await list(second, key);
  await second.kill();
  const kept = await usedToday(t, folder);
  assert.ok(kept >= 12 && kept <= 15, `${kept} of 15`);
  const third = await startServer(t, folder);
  await list(third, key);
  assert.equal(await usedToday(t, folder), kept + 1);
  await third.stop(); // while it runs, there may be a temporary file
  assert.deepEqual(readdirSync(folder).filter((name) => name.startsWith('usage.json')), ['usage.json']);
});

test('kill -9 while usage.json is written leaves a complete file, and its usage stays in force', async (t) => {
  if (nearMidnight(t)) return;
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder, 'enterprise', '--per-minute', '1000000', '--per-day', '1000000');
  for (const file of ['usage.json.tmp', 'usage.json', 'usage.json.tmp']) {
    const server = await startServer(t, folder);
    const before = await usedToday(t, folder);
    const watcher = watch(folder, (_, name) => {
      if (name === file) server.child.kill('SIGKILL');
    });
    t.after(() => watcher.close());
    let admitted = 0;
    await Promise.all(Array.from({ length: 8 }, async () => {
      while ((await list(server, key).catch(() => null)) !== null) admitted += 1;
    }));
    watcher.close();
    await server.ended;
    const after = await usedToday(t, folder);
    assert.ok(after >= before && after <= before + admitted + 8, `${after}, ${before} before, ${admitted} admitted`);
    if (file === 'usage.json') assert.ok(after > before, 'the completed write is in force');
  }
  const used = await usedToday(t, folder);
  await petstore(
    t, folder, 'keys', 'set-plan', 'k1', 'enterprise', '--per-minute', '1000000', '--per-day',
    String(used + 20),
  );
  const last = await startServer(t, folder);
  let more = 0;
  while ((await list(last, key)).status === 200) more += 1;
  assert.equal(more, 20);
  const { stderr } = await last.stop();
  assert.doesNotMatch(stderr, /usage/);
  const again = await startServer(t, folder);
  assert.equal((await list(again, key)).status, 429);
});

test('a client that ignores 429 is banned; the ban survives kill -9, until it is lifted', async (t) => {
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder, 'enterprise', '--per-minute', '1', '--per-day', '100000');
  const isBanned = async (server: RunningServer): Promise<boolean> =>
    (await list(server, key)).body.includes('key_banned');
  const server = await startServer(t, folder);
  while (!(await isBanned(server))); // refusals in the 2 s of grace, then 60 more
  const [banned] = JSON.parse((await petstore(t, folder, 'usage', '--json')).stdout) as {
    ban: { end: string; active: boolean };
  }[];
  assert.equal(banned!.ban.active, true);
  const path = join(folder, 'usage.json');
  while (!existsSync(path) || !readFileSync(path, 'utf8').includes(banned!.ban.end)) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await server.kill();
  const again = await startServer(t, folder);
  const { status, headers } = await list(again, key);
  assert.deepEqual([status, headers.get('x-ratelimit-reset')], [429, String(Date.parse(banned!.ban.end) / 1000)]);
  assert.equal((await petstore(t, folder, 'keys', 'unban', 'k1')).code, 0);
  assert.equal(await isBanned(again), false);
});

test('with a damaged usage.json the server starts, and sets it aside when it saves', async (t) => {
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder);
  writeFileSync(join(folder, 'usage.json'), '{"format":"petstore-usage","ver');
  const server = await startServer(t, folder);
  const { headers } = await list(server, key);
  assert.equal(headers.get('x-ratelimit-remaining'), '999');
  const { code, stderr } = await server.stop();
  assert.equal(code, 0);
  const lines = stderr.split('\n').filter((text) => text.includes('usage'));
  assert.equal(lines.length, 2);
  assert.match(lines[0]!, /^petstore: .*usage\.json, line 1: .*; all counters and bans start from nothing, and /);
  assert.match(lines[1]!, /^petstore: the damaged .*usage\.json was renamed to .*usage\.json\.broken-1$/);
  assert.equal(readFileSync(join(folder, 'usage.json.broken-1'), 'utf8'), '{"format":"petstore-usage","ver');
});

test('if usage cannot be saved, the server logs it once, continues to run, and exits with 1', async (t) => {
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder);
  const server = await startServer(t, folder);
  mkdirSync(join(folder, 'usage.json', 'x'), { recursive: true });
  assert.equal((await create(server, key, 'Rex')).status, 201);
  while (!server.stderr.includes('usage.json')) await once(server.child.stderr!, 'data');
  assert.equal((await create(server, key, 'Mia')).status, 201);
  const { code, stderr } = await server.stop();
  assert.equal(code, 1);
  assert.match(
    stderr,
    /cannot write .*usage\.json: [^\n]*; a restart would lose recent usage and bans\n(?:[^\n]*\n)*petstore: stopping failed: cannot write .*usage\.json: [^\n]+\n$/,
  );
  assert.equal(stderr.match(/a restart would lose/g)?.length, 1);
  assert.match(readFileSync(join(folder, 'pets.json'), 'utf8'), /"Rex"[^]*"Mia"/);
});

/** Returns a folder with an unused Pro key and a Free key that has used 7 of its day and is banned until 2035. */
async function bannedFolder(t: TestContext): Promise<{ folder: string; secret: string }> {
  const folder = temporaryFolder(t);
  const secret = await makeKey(t, folder, 'free');
  await makeKey(t, folder, 'pro');
  const now = Date.now();
  const start = (lengthMs: number): string => new Date(now - (now % lengthMs)).toISOString();
  writeFileSync(
    join(folder, 'usage.json'),
    `{"format":"petstore-usage","version":2,"keys":[
{"id":"k1","minute":{"start":"${start(60_000)}","used":0},"day":{"start":"${start(86_400_000)}","used":7},"ban":{"start":"${start(1_000)}","end":"2035-12-31T00:00:00.000Z"}}
]}\n`,
  );
  return { folder, secret };
}

const table = `ID  NAME  PLAN  THIS MINUTE  THIS DAY    BAN
k1  test  free  0 of 60      7 of 1000   until 2035-12-31T00:00:00.000Z
k2  test  pro   0 of 300     0 of 10000  -
`;

test('usage and unban work without a server', async (t) => {
  if (nearMidnight(t)) return;
  const { folder } = await bannedFolder(t);
  assert.deepEqual(await petstore(t, folder, 'usage'), { code: 0, stdout: table, stderr: '' });
  assert.deepEqual(await petstore(t, folder, 'keys', 'unban', 'k2'), {
    code: 0,
    stdout: '',
    stderr: 'key k2 (test, plan pro) is not banned\n',
  });
  assert.deepEqual(await petstore(t, folder, 'keys', 'unban', 'k1'), {
    code: 0,
    stdout: '',
    stderr: 'lifted the ban of key k1 (test, plan free)\n',
  });
  assert.deepEqual(
    (await petstore(t, folder, 'usage', 'k1')).stdout.split('\n')[1],
    'k1  test  free  0 of 60      7 of 1000  -',
  );
});

test('usage and unban work with a running server: current values, and a change from the next request on', async (t) => {
  if (nearMidnight(t)) return;
  const { folder, secret } = await bannedFolder(t);
  const server = await startServer(t, folder);
  assert.equal((await list(server, secret)).status, 429);
  assert.equal((await petstore(t, folder, 'usage')).stdout, table);
  assert.equal(
    (await petstore(t, folder, 'keys', 'unban', 'k1')).stderr,
    'lifted the ban of key k1 (test, plan free)\n',
  );
  await server.kill(); // the unban is already on disk
  const again = await startServer(t, folder);
  for (let i = 0; i < 3; i += 1) assert.equal((await list(again, secret)).status, 200);
  const { stdout } = await petstore(t, folder, 'usage', '--json');
  const [free, pro] = JSON.parse(stdout) as [UsageReport, UsageReport];
  const { minute, day, ...rest } = free;
  assert.deepEqual(rest, { id: 'k1', name: 'test', plan: 'free', ban: null });
  assert.deepEqual([day.limit, day.used], [1000, 10]);
  assert.equal(minute.limit, 60);
  const now = Date.now();
  assert.ok(Date.parse(minute.resetAt) - now <= 60_000 && Date.parse(day.resetAt) - now <= 86_400_000);
  assert.equal(pro.day.used, 0);
  assert.equal((JSON.parse((await petstore(t, folder, 'usage', 'k2', '--json')).stdout) as unknown[]).length, 1);
  await petstore(t, folder, 'keys', 'revoke', 'k2');
  assert.doesNotMatch((await petstore(t, folder, 'usage')).stdout, /^k2/m);
});

test('an unban that cannot be saved is an error', async (t) => {
  const { folder, secret } = await bannedFolder(t);
  const server = await startServer(t, folder);
  rmSync(join(folder, 'usage.json'));
  mkdirSync(join(folder, 'usage.json', 'x'), { recursive: true });
  const { code, stderr } = await petstore(t, folder, 'keys', 'unban', 'k1');
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^petstore: could not save that the ban of key k1 was lifted: cannot write .*usage\.json: [^\n]+\n$/,
  );
  assert.equal((await list(server, secret)).status, 200);
});

test('wrong arguments of usage and unban are one line', async (t) => {
  const called = `node ${relative('', cliPath)}`;
  const { folder } = await bannedFolder(t);
  for (const [args, code, message] of [
    [['usage', 'k9'], 1, `there is no key with the id k9; "${called} keys list --data ${folder}" shows all keys`],
    [['keys', 'unban', 'k9'], 1, `there is no key with the id k9; "${called} keys list --data ${folder}" shows all keys`],
    [['keys', 'unban'], 2, 'keys unban expects ID, received 0; see --help'],
    [['usage', 'k1', 'k2'], 2, 'usage expects [KEY], received 2; see --help'],
    [['usage', '--plan', 'pro'], 2, 'usage does not accept --plan; see --help'],
    [['keys', 'usage'], 2, 'there is no command "keys usage" (did you mean usage?); see --help'],
  ] as const) {
    assert.deepEqual(await petstore(t, folder, ...args), { code, stdout: '', stderr: `petstore: ${message}\n` });
  }
  writeFileSync(join(folder, 'usage.json'), '5');
  const { code, stderr } = await petstore(t, folder, 'usage');
  assert.equal(code, 0);
  assert.match(stderr, /^petstore: .*usage\.json, line 1: [^\n]*; all counters and bans start from nothing, [^\n]*\n$/);
  assert.equal(readFileSync(join(folder, 'usage.json'), 'utf8'), '5'); // a command that only reads changes nothing
});
