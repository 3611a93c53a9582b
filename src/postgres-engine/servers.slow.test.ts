/** Built servers as processes on one PostgreSQL, of which some are killed, and the mistakes of their operators. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder, type Owner } from '../../harness/owner.ts';
import { createDatabase, noPostgres, startCluster, testDatabase } from '../../harness/postgres.ts';
import type { Cluster } from '../../harness/postgres-cluster.ts';
import { outputOf, Program, type Ended } from '../../harness/program.ts';
import { cliPath, distFolder, serverPath, type RunningServer } from '../../harness/server.ts';
import type { UsageReport } from '../control/commands.ts';
import { newSecret } from '../keys/secret.ts';
import { connectTo, queryOn, withinOneDay } from '../testing/database.ts';
import { runDemoCommands } from '../testing/demo.ts';
import { codeOf, type HttpResponse } from '../testing/http-response.ts';
import { send } from '../testing/service.ts';

const dayMs = 24 * 60 * 60_000;
const rateLimitHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];

function runServer(owner: Owner, url: string, ...flags: readonly string[]): Program {
  const env = { PORT: '0', LOG_FORMAT: 'text', DATABASE_URL: url };
  return new Program(owner, [process.execPath, serverPath, ...flags], env);
}

async function startServer(owner: Owner, url: string): Promise<RunningServer> {
  const server = runServer(owner, url);
  const [, address = ''] = await server.printed(/listening on (http:\S+)\n/);
  return Object.assign(server, { address });
}

/** Runs the operator's command on a database. */
function petstore(owner: Owner, url: string, ...args: readonly string[]): Promise<Ended> {
  return new Program(owner, [process.execPath, cliPath, ...args, '--database', url]).ended;
}

/** Adds a key that only has the limit of a day, and returns its secret. */
async function makeKey(owner: Owner, url: string, perDay = 1_000_000): Promise<string> {
  const plan = ['--plan', 'enterprise', '--per-minute', '1000000', '--per-day', String(perDay)];
  return (await outputOf(petstore(owner, url, 'keys', 'create', '--name', 'test', ...plan))).trimEnd();
}

/** How many requests the keys have used today, the oldest key first. */
async function usedToday(owner: Owner, url: string): Promise<number[]> {
  const reports = JSON.parse(await outputOf(petstore(owner, url, 'usage', '--json'))) as readonly UsageReport[];
  return reports.map(({ day }) => day.used);
}

/** Checks that a program has ended with one line on stderr that does not have the password. Returns the line. */
function problemOf({ code, stdout, stderr }: Ended, exitCode: number, password: string): string {
  assert.ok(!stderr.includes(password) && !stderr.includes(encodeURIComponent(password)), 'the password is shown');
  assert.deepEqual([code, stdout], [exitCode, ''], stderr);
  assert.match(stderr, /^petstore: [^\n]+\n$/);
  return stderr;
}

test('three servers admit exactly the limit, even if one is killed, and count what it confirmed', async (t) => {
  const url = await testDatabase(t);
  if (url === null) return t.skip(noPostgres);
  const limit = 20;
  const servers = await Promise.all([1, 2, 3].map(() => startServer(t, url))); // at once on an empty database
  for (const [round, killAfter] of [null, 1, 10, 18].entries()) {
    await withinOneDay(async () => {
      const key = await makeKey(t, url, limit);
      const doomed = servers[round % servers.length]!;
      const remainders: string[] = [];
      let refused = 0;
      let lost = 0;
      let dying: Promise<Ended> | undefined;
      await Promise.all(Array.from({ length: 64 }, async (_, worker) => {
        const server = servers[worker % servers.length]!;
        for (;;) {
          const response = await send(server.address, 'GET', '/v1/pets', { key }).catch(() => null);
          if (response === null) {
            assert.equal(server, doomed, 'only the killed server breaks connections');
            assert.notEqual(dying, undefined);
            lost++;
            return;
          }
          const { status, headers, body } = response;
          if (status === 429) {
            refused++;
            return;
          }
          assert.equal(status, 200, body);
          remainders.push(headers.get('x-ratelimit-remaining')!);
          if (killAfter !== null && remainders.length >= killAfter) dying ??= doomed.kill();
        }
      }));
      await dying;
      assert.equal(new Set(remainders).size, remainders.length, 'each remainder is confirmed once');
      assert.ok(remainders.length <= limit, `${remainders.length} of ${limit}`);
      assert.ok(remainders.length >= limit - lost, `${remainders.length} confirmed, ${lost} lost`);
      assert.equal(refused + lost, 64);
      const used = (await usedToday(t, url)).at(-1)!;
      assert.equal(used, limit, `${remainders.length} confirmed`);
      if (dying !== undefined) servers[round % servers.length] = await startServer(t, url);
    });
  }
});

test('a change of a key by a command is in force on every server from the next request on', async (t) => {
  const url = await testDatabase(t);
  if (url === null) return t.skip(noPostgres);
  const servers = await Promise.all([1, 2].map(() => startServer(t, url)));
  const statuses = (key: string): Promise<number[]> => Promise.all(servers.map(async ({ address }) =>
    (await send(address, 'GET', '/v1/pets', { key })).status));
  const key = await makeKey(t, url);
  assert.deepEqual(await statuses(key), [200, 200]);
  const rotated = (await outputOf(petstore(t, url, 'keys', 'rotate', 'k1', '--grace', '0s'))).trimEnd();
  assert.deepEqual(await statuses(key), [401, 401]);
  assert.deepEqual(await statuses(rotated), [200, 200]);
  await withinOneDay(async () => {
    await outputOf(petstore(t, url, 'keys', 'set-plan', 'k1', 'enterprise', '--per-minute', '9000', '--per-day', '1'));
    assert.deepEqual(await statuses(rotated), [429, 429]);
  });
  await outputOf(petstore(t, url, 'keys', 'revoke', 'k1'));
  assert.deepEqual(await statuses(rotated), [401, 401]);
  for (const server of servers) assert.equal((await server.stop()).code, 0);
});

test('a server with --demo fills an empty database, once', async (t) => {
  const url = await testDatabase(t);
  if (url === null) return t.skip(noPostgres);
  const outputs = [];
  for (let start = 1; start <= 2; start++) {
    const server = runServer(t, url, '--demo');
    await server.printed(/animals in /, 'stderr');
    if (start === 1) await runDemoCommands(t, server.stdout);
    const { code, stdout } = await server.stop();
    assert.equal(code, 0);
    outputs.push(stdout);
  }
  assert.match(outputs[1]!, /^petstore listening on \S+\n$/);
  const { animals, orders, keys } = JSON.parse(await outputOf(petstore(t, url, 'status', '--json'))) as {
    readonly animals: number; readonly orders: number; readonly keys: number;
  };
  assert.deepEqual([animals >= 32, orders, keys], [true, 8, 1]); // one more if curl is installed
});

/** The URL of another database or user of a cluster. */
function urlOf(cluster: Cluster, database: string, user = 'postgres', password = ''): string {
  const url = new URL(cluster.url);
  Object.assign(url, { pathname: database, username: user, password: encodeURIComponent(password) });
  return url.href;
}

test('a database that cannot be used is one line and exit code 1, for the server and for commands', async (t) => {
  const cluster = await startCluster(t);
  if (cluster === null) return t.skip(noPostgres);
  const password = 'geheim@ß/%41';
  const admin = await connectTo({ after() {} }, cluster.url);
  const [[rules] = []] = await admin.query('show hba_file');
  const trust = readFileSync(rules as string, 'utf8');
  writeFileSync(rules as string, `host all guarded 127.0.0.1/32 scram-sha-256\n${trust}`);
  await admin.query("set password_encryption = 'scram-sha-256'");
  await admin.query(`create role guarded login password '${password}'`);
  await admin.query('create role powerless login');
  await admin.query('create role reader login');
  for (const [name, encoding] of [['good', 'UTF8'], ['newer', 'UTF8'], ['readable', 'UTF8'], ['ascii', 'SQL_ASCII']]) {
    await admin.query(`create database ${name} template template0 encoding '${encoding}' locale 'C'`);
  }
  await admin.query('grant create on database good to guarded');
  await outputOf(petstore(t, urlOf(cluster, 'newer'), 'keys', 'list'));
  await queryOn(urlOf(cluster, 'newer'), 'update petstore.store set version = 2, min_version = 2');
  const readable = urlOf(cluster, 'readable', 'reader');
  await outputOf(petstore(t, urlOf(cluster, 'readable'), 'keys', 'list'));
  await queryOn(urlOf(cluster, 'readable'), 'grant usage on schema petstore to reader');
  await queryOn(urlOf(cluster, 'readable'), 'grant select on all tables in schema petstore to reader');
  await cluster.stop();
  await cluster.start(); // with the new rules
  const right = /lacks the right to update on the table petstore\.store in postgres:\S+; grant it, or use the user /;
  assert.match(problemOf(await runServer(t, readable).ended, 1, password), right);
  assert.equal((await petstore(t, readable, 'keys', 'list')).code, 0);
  const refusal = await petstore(t, readable, 'keys', 'create', '--name', 'a', '--plan', 'free');
  assert.equal(refusal.code, 1);
  assert.match(refusal.stderr, /refused that: permission denied for table keys; nothing was changed\n$/);

  for (const [url, problem] of [
    [urlOf(cluster, 'ascii'), /SQL_ASCII.*UTF8/],
    [urlOf(cluster, 'good', 'powerless'), /lacks privileges in postgres:/],
    [urlOf(cluster, 'good', 'guarded', `${password}x`), /refuses this user: password authentication failed/],
    [urlOf(cluster, 'good', 'guarded'), /requires a password: set PGPASSWORD/],
    [urlOf(cluster, 'good', 'nobody-knows', password), /refuses this user: .*does not exist/],
    [urlOf(cluster, 'missing'), /the database \S+\/missing does not exist/],
    [urlOf(cluster, 'newer'), /has schema version 2, but this version of petstore uses 1; install /],
  ] as const) {
    const ends = await Promise.all([runServer(t, url).ended, petstore(t, url, 'keys', 'list')]);
    for (const end of ends) assert.match(problemOf(end, 1, password), problem);
  }

  const guarded = urlOf(cluster, 'good', 'guarded');
  const withPassword = urlOf(cluster, 'good', 'guarded', password);
  const passwords = join(temporaryFolder(t), 'pgpass');
  writeFileSync(passwords, `127.0.0.1:*:good:guarded:${password}\n`, { mode: 0o600 });
  const open = join(temporaryFolder(t), 'pgpass');
  writeFileSync(open, readFileSync(passwords), { mode: 0o644 });
  const list = [process.execPath, cliPath, 'keys', 'list', '--json'];
  const refused = await new Program(t, list, { DATABASE_URL: guarded, PGPASSFILE: open }).ended;
  assert.match(problemOf(refused, 1, password), /other users have access to the passwords in /);
  for (const [url, env] of [
    [withPassword, {}], [guarded, { PGPASSWORD: password }], [guarded, { PGPASSFILE: passwords }],
  ] as const) {
    const { code, stdout, stderr } = await new Program(t, list, { DATABASE_URL: url, ...env }).ended;
    assert.deepEqual([code, stdout, stderr], [0, '[]\n', '']);
  }
  const server = await startServer(t, withPassword);
  const advice = /no valid API key; create one: .* --database postgres:\/\/guarded@127\.0\.0\.1:\d+\/good\n/;
  await server.printed(advice, 'stderr');
  const { code, stdout, stderr } = await server.stop();
  assert.equal(code, 0);
  for (const text of [password, encodeURIComponent(password)]) assert.ok(!`${stdout}${stderr}`.includes(text));
});

/** The lines of a server's log that say that the database went and returned. */
function reachability({ stderr }: Program): string[] {
  return [...stderr.matchAll(/^petstore: the database \S+ (cannot be reached|can be reached again)/gm)]
    .map(([, change]) => change!);
}

/** Checks the response to a request while the database is away. */
function assertUnavailable(response: HttpResponse): void {
  const { status, headers } = response;
  assert.equal(status, 503);
  assert.ok(['storage_unavailable', 'not_ready'].includes(codeOf(response) as string), response.body);
  assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  for (const name of rateLimitHeaders) assert.match(headers.get(name) ?? '', /^\d+$/, name);
}

test('a server that starts before its database refuses requests until it is there, and then serves', async (t) => {
  const cluster = await startCluster(t);
  if (cluster === null) return t.skip(noPostgres);
  const url = await createDatabase(cluster.url);
  const key = await makeKey(t, url);
  await cluster.stop();
  const address = `unix:${join(temporaryFolder(t), 'socket')}`; // it is not printed before the database is there
  const server = runServer(t, url, '--host', address);
  const ask = (path: string, sent: string | null = null): Promise<HttpResponse> =>
    send(address, 'GET', path, { key: sent });
  await server.printed(/cannot be reached/, 'stderr');
  while ((await ask('/healthz').catch(() => null)) === null) assert.equal(server.child.exitCode, null, server.stderr);

  assert.equal((await ask('/healthz')).status, 200);
  const notReady = await ask('/readyz');
  assert.deepEqual([notReady.status, codeOf(notReady)], [503, 'not_ready']);
  for (let sent = 0; sent < 100; sent++) assertUnavailable(await ask('/v1/pets', sent % 2 === 0 ? key : newSecret()));
  assert.equal((await ask('/v1/pets')).status, 401);
  assert.equal((await ask('/v1/pets', 'petstore_x')).status, 401, 'a secret with a wrong checksum');
  assert.deepEqual([server.stdout, reachability(server)], ['', ['cannot be reached']]);
  const command = await petstore(t, url, 'keys', 'list');
  assert.match(problemOf(command, 1, 'no password'), /cannot reach the database postgres:\S+: .*ECONNREFUSED/);

  await cluster.start();
  await server.printed(/listening on /);
  assert.equal((await ask('/readyz')).status, 200);
  const { status, headers } = await ask('/v1/pets', key);
  assert.deepEqual([status, headers.get('x-ratelimit-remaining')], [200, '999999'], 'no refused request was counted');
  assert.deepEqual(reachability(server), ['cannot be reached', 'can be reached again']);
  for (let sent = 0; sent < 5; sent++) await Promise.all([ask('/v1/pets', key), ask('/readyz')]);
  const connections = "select count(*) from pg_stat_activity where application_name = 'petstore'";
  const [[count] = []] = await queryOn(url, connections);
  assert.ok(Number(count) <= 4, `${String(count)} connections`);
  assert.equal((await server.stop()).code, 0);
});

test('a kill -9 of the database under load loses nothing that was confirmed, and service resumes', async (t) => {
  const cluster = await startCluster(t);
  if (cluster === null) return t.skip(noPostgres);
  const url = await createDatabase(cluster.url);
  const key = await makeKey(t, url);
  const server = await startServer(t, url);
  for (let round = 1; round <= 3; round++) {
    const confirmed = new Map<number, string>();
    let attempts = 0;
    let isEnding = false;
    // The database may lose the last counts when it crashes, but not those before an animal that it has confirmed.
    let surelyCounted = 0;
    let crash: 'later' | 'now' | 'before' = 'later';
    const phase = { created: 0, refused: 0 };
    const before = (await usedToday(t, url))[0]!;
    const day = Math.floor(Date.now() / dayMs);
    const clients = Promise.all(Array.from({ length: 8 }, async (_, client) => {
      while (!isEnding) {
        const since = crash;
        const name = `r${round} c${client} ${attempts++}`;
        const read = await send(server.address, 'GET', '/v1/pets?limit=2', { key });
        if (read.status !== 200) assertUnavailable(read);
        const body = JSON.stringify({ name, categoryId: 1 });
        const response = await send(server.address, 'POST', '/v1/pets', { key, body });
        if (response.status === 201) {
          confirmed.set((JSON.parse(response.body) as { id: number }).id, name);
          surelyCounted += read.status === 200 && since === crash && crash !== 'now' ? 2 : 1;
          phase.created++;
        } else {
          assertUnavailable(response);
          phase.refused++;
        }
      }
    }));
    const reached = async (what: keyof typeof phase, count: number): Promise<void> => {
      const from = phase[what];
      const alive = (): void => assert.equal(server.child.exitCode, null, server.stderr);
      while (phase[what] < from + count) {
        alive();
        await Promise.race([clients, send(server.address, 'GET', '/healthz')]); // `clients` settles early if one fails
      }
    };
    await reached('created', 40);
    crash = 'now';
    await cluster.stop('SIGKILL');
    await reached('refused', 16);
    assert.equal((await send(server.address, 'GET', '/healthz')).status, 200);
    assert.equal((await send(server.address, 'GET', '/readyz')).status, 503);
    await cluster.start();
    crash = 'before';
    await reached('created', 40);
    isEnding = true;
    await clients;

    assert.equal((await send(server.address, 'GET', '/readyz')).status, 200);
    const rows = await queryOn(url, 'select id, line from petstore.pets');
    const nameIn = (line: unknown): string => (JSON.parse(line as string) as { name: string }).name;
    const stored = new Map(rows.map(([id, line]) => [Number(id), nameIn(line)]));
    for (const [id, name] of confirmed) assert.equal(stored.get(id), name);
    assert.equal(new Set(stored.values()).size, stored.size, 'no animal is there twice');
    const used = (await usedToday(t, url))[0]! - before;
    if (Math.floor(Date.now() / dayMs) === day) assert.ok(used >= surelyCounted, `${used} used, not ${surelyCounted}`);
    const changes = Array.from({ length: round }, () => ['cannot be reached', 'can be reached again']).flat();
    assert.deepEqual(reachability(server), changes, server.stderr);
    const connections = "select count(*) from pg_stat_activity where application_name = 'petstore'";
    const [[count] = []] = await queryOn(url, connections);
    assert.ok(Number(count) <= 4, `${String(count)} connections`);
  }
  const { code, stderr } = await server.stop();
  assert.deepEqual([code, /bug in the server/.exec(stderr)], [0, null]);
});

test('without the package pg, one line says how to install it for each way of installation', async (t) => {
  const place = temporaryFolder(t);
  const url = 'postgres://petstore:geheim@127.0.0.1:1/petstore';
  for (const [program, command, modules] of [
    ['my checkout', `npm install --no-save --prefix '${place}/my checkout' pg`, 'my checkout/node_modules'],
    ['usr/lib/node_modules/pet-store-service', 'npm install --global pg', 'usr/lib/node_modules'],
    ['project/node_modules/pet-store-service', `npm install --prefix ${place}/project pg`, 'project/node_modules'],
  ] as const) {
    const dist = join(place, program, 'dist');
    cpSync(distFolder, dist, { recursive: true });
    const run = (): Promise<Ended[]> => Promise.all([['server.js'], ['cli.js', 'keys', 'list']].map(([file, ...args]) =>
      new Program(t, [process.execPath, join(dist, file!), ...args, '--database', url], { LOG_FORMAT: 'text' }).ended));
    for (const end of await run()) {
      const line = problemOf(end, 1, 'geheim');
      assert.equal(line, `petstore: a database needs the package pg, which is not installed; run: ${command}\n`);
    }
    // What that command installs is found.
    const pg = join(place, modules, 'pg');
    mkdirSync(pg, { recursive: true });
    writeFileSync(join(pg, 'index.js'), 'exports.Client = class { constructor() { process.exit(77); } };');
    for (const { code, stderr } of await run()) assert.equal(code, 77, stderr);
  }
});

test('a wrong place of the data is one line without the password, and exit code 2', async (t) => {
  const good = 'postgres://petstore:geheim@db.example.com:5432/petstore';
  const wrong = [
    'geheim', 'mysql://petstore:geheim@db.example.com/petstore', 'postgres://petstore:geheim@db.example.com',
    'postgres://petstore:geheim@db.example.com/', 'postgres://petstore:geheim@db.example.com/a/b',
    `${good}?sslmode=disable`, `${good}#geheim`, `${good} `, `${good}\n`, '//petstore:geheim@db.example.com/petstore',
    'postgres://petstore:geheim%@db.example.com/petstore', 'postgres:///petstore?password=geheim',
    'postgres://petstore:geheim@db.example.com:99999/petstore',
  ];
  const runs: [string, Promise<Ended>][] = [];
  const run = (what: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): void =>
    void runs.push([
      what, new Program(t, [process.execPath, ...args], { LOG_FORMAT: 'text', PORT: '0', ...env }).ended,
    ]);
  for (const program of [[serverPath], [cliPath, 'serve'], [cliPath, 'keys', 'list']]) {
    run('--data and --database', [...program, '--data', temporaryFolder(t), '--database', good]);
    run('expects|argument', [...program, good]);
    await Promise.all(runs.map(([, ended]) => ended));
  }
  run('no command', [cliPath, good]);
  for (const value of wrong) {
    run('--database', [serverPath, '--database', value]);
    run('--database', [cliPath, 'keys', 'list', '--database', value]);
    run('DATABASE_URL', [serverPath], { DATABASE_URL: value });
    run('DATABASE_URL', [cliPath, 'keys', 'list'], { DATABASE_URL: value });
    await Promise.all(runs.map(([, ended]) => ended)); // few processes at once
  }
  for (const [what, ended] of runs) assert.match(problemOf(await ended, 2, 'geheim'), new RegExp(what));
  const refused = await petstore(t, good, 'backup', '/nowhere');
  assert.match(problemOf(refused, 2, 'geheim'), /pg_dump/);
});
