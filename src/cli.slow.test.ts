/** The command `petstore` as a process, with and without a running server. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, test, type TestContext } from 'node:test';
import { commands } from './cli/commands.ts';
import type { KeyReport } from './control/commands.ts';
import { FolderLock } from './file-engine/lock/folder-lock.ts';
import { hashSecret } from './keys/secret.ts';
import { temporaryFolder } from '../harness/owner.ts';
import { Program, type Ended } from '../harness/program.ts';
import { cliPath, petstore, serverPath, startServer, type RunningServer } from '../harness/server.ts';

const secretLine = /^petstore_[0-9A-Za-z]{36}\n$/;
const oneLine = /^petstore: [^\n]+\n$/;

/** Returns the status of a request with this secret. */
async function statusFor({ address }: RunningServer, secret: string): Promise<number> {
  const response = await fetch(`${address}/v1/pets?limit=1`, { headers: { Authorization: `Bearer ${secret}` } });
  await response.arrayBuffer();
  return response.status;
}

async function succeeded(command: Promise<Ended>): Promise<Ended> {
  const ended = await command;
  assert.equal(ended.code, 0, ended.stderr);
  return ended;
}

async function issued(t: TestContext, folder: string, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await succeeded(petstore(t, folder, 'keys', ...args));
  assert.match(stdout, secretLine);
  assert.match(stderr, /^[^\n]+; its secret will not be shown again\n$/);
  assert.ok(!stderr.includes(stdout.trim().slice(-8)), 'the secret is on stderr');
  return stdout.trimEnd();
}

async function listed(t: TestContext, folder: string): Promise<KeyReport[]> {
  const { stdout, stderr } = await succeeded(petstore(t, folder, 'keys', 'list', '--json'));
  assert.equal(stderr, '');
  return JSON.parse(stdout) as KeyReport[];
}

for (const running of [false, true]) {
  const where = running ? 'with a running server' : 'without a server';

  test(`every key command works ${where}`, async (t) => {
    const folder = join(temporaryFolder(t), 'store');
    const server = running ? await startServer(t, folder) : null;
    const accepted = async (secret: string, status: number): Promise<void> => {
      if (server !== null) assert.equal(await statusFor(server, secret), status);
    };
    const umask = process.umask(0);
    t.after(() => process.umask(umask));

    const first = await issued(t, folder, 'create', '--name', 'shop', '--plan', 'pro');
    await accepted(first, 200);
    assert.equal(statSync(folder).mode & 0o777, 0o700);
    for (const name of readdirSync(folder).filter((file) => /^(keys\.json|lock\..*)$/.test(file))) {
      assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600, name);
    }
    process.umask(umask);
    const big = await issued(
      t, folder, 'create', '--name', 'big', '--plan', 'enterprise', '--per-minute', '5000', '--per-day', '1000000',
      '--expires', '2999-12-31',
    );
    await accepted(big, 200);

    const second = await issued(t, folder, 'rotate', 'k1');
    for (const secret of [first, second]) await accepted(secret, 200);
    const before = Date.now();
    const third = await issued(t, folder, 'rotate', 'k1', '--grace', '2h');
    const [shop, other] = await listed(t, folder);
    const { createdAt, secrets, ...rest } = shop!;
    assert.deepEqual(rest, {
      id: 'k1',
      name: 'shop',
      plan: 'pro',
      perMinute: null,
      perDay: null,
      state: 'active',
      expiresAt: null,
    });
    assert.equal(new Date(createdAt).toISOString(), createdAt);
    assert.deepEqual(secrets.map(({ last4 }) => last4), [first, second, third].map((secret) => secret.slice(-4)));
    const graceMs = Date.parse(secrets[1]!.expiresAt!) - before;
    assert.ok(graceMs >= 7_200_000 && graceMs < 7_200_000 + 60_000, `${graceMs}`);
    assert.deepEqual(secrets.map(({ expiresAt }) => expiresAt), [secrets[1]!.expiresAt, secrets[1]!.expiresAt, null]);
    assert.deepEqual({ ...other, createdAt: '' }, {
      id: 'k2', name: 'big', plan: 'enterprise', perMinute: 5000, perDay: 1_000_000, state: 'active', createdAt: '',
      expiresAt: '2999-12-31T00:00:00.000Z', secrets: [{ last4: big.slice(-4), expiresAt: null }],
    });

    const fourth = await issued(t, folder, 'rotate', 'k1', '--grace', '0s');
    for (const secret of [first, second, third]) await accepted(secret, 401);
    await accepted(fourth, 200);

    const moved = await succeeded(
      petstore(t, folder, 'keys', 'set-plan', 'k1', 'enterprise', '--per-minute', '7', '--per-day', '8'),
    );
    assert.deepEqual([moved.stdout, moved.stderr], ['', 'moved key k1 (shop, plan enterprise 7/min 8/day)\n']);
    await accepted(fourth, 200);
    const back = await succeeded(petstore(t, folder, 'keys', 'set-plan', 'k2', 'free'));
    assert.deepEqual([back.stdout, back.stderr], ['', 'moved key k2 (big, plan free)\n']);

    const revoked = await succeeded(petstore(t, folder, 'keys', 'revoke', 'k1'));
    assert.deepEqual([revoked.stdout, revoked.stderr], ['', 'revoked key k1 (shop, plan enterprise 7/min 8/day)\n']);
    await accepted(fourth, 401);
    await accepted(big, 200);

    const { stdout: table } = await succeeded(petstore(t, folder, 'keys', 'list'));
    const rows = table.trimEnd().split('\n');
    assert.match(rows[0]!, /^ID +NAME +PLAN +STATE +CREATED +EXPIRES +SECRETS$/);
    assert.match(rows[1]!, /^k1 +shop +enterprise 7\/min 8\/day +revoked +\S+Z +-$/);
    assert.match(rows[2]!, new RegExp(`^k2 +big +free +active +\\S+Z +2999-12-31T00:00:00.000Z +…${big.slice(-4)}$`));
    assert.equal(rows.length, 3);

    const text = readFileSync(join(folder, 'keys.json'), 'utf8');
    const ended = await server?.stop();
    for (const secret of [first, second, third, fourth, big]) {
      for (const place of [text, table, ended?.stdout ?? '', ended?.stderr ?? '']) {
        assert.ok(!place.includes(secret.slice(9, 29)));
      }
    }
    assert.equal(readdirSync(folder).some((name) => name.startsWith('lock.new') || name.endsWith('.tmp')), false);
  });

  test(`an error is one line and an exit code, and changes nothing, ${where}`, async (t) => {
    const folder = temporaryFolder(t);
    await issued(t, folder, 'create', '--name', 'first', '--plan', 'free');
    await issued(t, folder, 'create', '--name', 'over', '--plan', 'free');
    await succeeded(petstore(t, folder, 'keys', 'revoke', 'k2'));
    if (running) await startServer(t, folder);
    const before = readFileSync(join(folder, 'keys.json'), 'utf8');
    const create = ['create', '--name', 'a', '--plan'];
    const wrong: [code: number, message: RegExp, ...args: string[]][] = [
      [1, /there is no key with the id k9; "node \S+ keys list --data \S+" shows all keys/, 'revoke', 'k9'],
      [1, /there is no key with the id K1; /, 'rotate', 'K1'],
      [1, /there is no key with the id __proto__; /, 'set-plan', '__proto__', 'pro'],
      [2, /an argument must be a text [^\n]+, not "\\u001b\[2J\\nx"/, 'revoke', '\u001b[2J\nx'],
      [1, /key k2 is revoked; create a new one with "node \S+ keys create --data \S+"/, 'revoke', 'k2'],
      [1, /key k2 is revoked; create a new one with "node \S+ keys create --data \S+"/, 'rotate', 'k2'],
      [2, /the plan must be free \(up to 60 a minute and 1,000 a day\), pro .* or enterprise/, ...create, 'gold'],
      [2, /the plan must be free /, 'set-plan', 'k1', 'Free'],
      [
        2,
        /the enterprise plan needs its requests per minute and per day/,
        ...create, 'enterprise', '--per-minute', '5',
      ],
      [2, /the pro plan has fixed limits; /, 'set-plan', 'k1', 'pro', '--per-day', '5'],
      [
        2,
        /--name must be a text in UTF-8 without control characters/,
        'create', '--plan', 'pro', '--name', 'a\u001b[31m',
      ],
      [2, /--name must have 1 to 100/, 'create', '--plan', 'pro', '--name='],
      [2, /--name must be a text/, 'create', '--plan', 'pro', '--name', ' '],
      [2, /--name must be a text/, 'create', '--plan', 'pro', '--name', 'a\u202eb'],
      [2, /--expires is in the past/, ...create, 'pro', '--expires', '2020-01-01'],
      [2, /--expires is in the past/, ...create, 'pro', '--expires', '0s'],
      [2, /--expires must be a time before the year 10000/, ...create, 'pro', '--expires', '9999-12-31T23:59:59-23:59'],
    ];
    const ended = await Promise.all(wrong.map(([, , ...args]) => petstore(t, folder, 'keys', ...args)));
    for (const [index, [code, message, ...args]] of wrong.entries()) {
      assert.deepEqual([ended[index]!.code, ended[index]!.stdout], [code, ''], args.join(' '));
      assert.match(ended[index]!.stderr, oneLine);
      assert.match(ended[index]!.stderr, message);
    }
    assert.equal(readFileSync(join(folder, 'keys.json'), 'utf8'), before);
  });

  test(`ten concurrent commands are all carried out ${where}`, async (t) => {
    const folder = join(temporaryFolder(t), 'store');
    const server = running ? await startServer(t, folder) : null;
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, i) => issued(t, folder, 'create', '--name', `n${i}`, '--plan', 'pro')),
    );
    const keys = await listed(t, folder);
    assert.deepEqual(keys.map(({ id }) => id), made.map((_, i) => `k${i + 1}`));
    assert.deepEqual(keys.map(({ name }) => name).sort(), made.map((_, i) => `n${i}`));
    const byName = (name: string): KeyReport => keys.find((key) => key.name === name)!;
    assert.deepEqual(made.map((secret) => secret.slice(-4)), made.map((_, i) => byName(`n${i}`).secrets[0]!.last4));
    const id = (i: number): string => byName(`n${i}`).id;
    const [, , , rotated] = await Promise.all([
      ...[0, 1, 2].map((i) => succeeded(petstore(t, folder, 'keys', 'revoke', id(i)))),
      issued(t, folder, 'rotate', id(3)),
      succeeded(petstore(t, folder, 'keys', 'set-plan', id(4), 'business')),
      issued(t, folder, 'create', '--name', 'late', '--plan', 'free'),
    ] as const);
    const after = await listed(t, folder);
    assert.deepEqual(
      [0, 1, 2, 3].map((i) => after.find((key) => key.name === `n${i}`)!.state),
      ['revoked', 'revoked', 'revoked', 'active'],
    );
    assert.equal(after.find((key) => key.name === 'n3')!.secrets.length, 2);
    assert.equal(after.find((key) => key.name === 'n4')!.plan, 'business');
    assert.equal(after.length, 11);
    if (server !== null) {
      assert.deepEqual(
        await Promise.all(made.map((secret) => statusFor(server, secret))),
        [401, 401, 401, 200, 200, 200, 200, 200, 200, 200],
      );
      assert.equal(await statusFor(server, rotated as string), 200);
    }
  });
}

// One of these tests mostly waits, so they run concurrently.
describe('with a running server, concurrently', { concurrency: true }, () => {
  test('a server that identifies itself but does not respond has no status', async (t) => {
    const folder = temporaryFolder(t);
    const server = await FolderLock.acquire(folder, 'server');
    assert.ok(server instanceof FolderLock);
    let respond = (_: null): void => {};
    server.serve('http://127.0.0.1:1', () => new Promise((resolve) => (respond = resolve)));
    const { code, stdout, stderr } = await petstore(t, folder, 'status', '--json');
    const reason = `the server (process ${process.pid}) does not respond; it was suspended or hangs`;
    assert.deepEqual(JSON.parse(stdout), { state: 'unresponsive', reason, pid: process.pid });
    assert.deepEqual([code, stderr], [1, `petstore: ${reason}\n`]);
    respond(null);
    await server.release();
  });

  test('a key is refused from its expiry time on', async (t) => {
    const folder = temporaryFolder(t);
    const server = await startServer(t, folder);
    const secret = await issued(
      t, folder, 'create', '--name', 'a', '--plan', 'enterprise', '--per-minute', '100000', '--per-day', '100000',
      '--expires', '2s',
    );
    const [key] = await listed(t, folder);
    const end = Date.parse(key!.expiresAt!);
    for (let status = 200, started = 0; status === 200; ) {
      assert.ok(started < end, 'accepted after its end');
      started = Date.now();
      status = await statusFor(server, secret);
      assert.ok(status === 200 || Date.now() >= end, `${status} before its end`);
      assert.ok(status === 200 || status === 401);
      await delay(Math.max(0, end - 50 - Date.now()));
    }
    assert.equal((await listed(t, folder))[0]?.state, 'expired');
  });

  test('keys made before and after the start of the server are valid, also after kill -9', async (t) => {
    const folder = temporaryFolder(t);
    const early = await issued(t, folder, 'create', '--name', 'early', '--plan', 'free');
    const first = await startServer(t, folder);
    assert.equal(await statusFor(first, early), 200);
    const late = await issued(t, folder, 'create', '--name', 'late', '--plan', 'free');
    await first.kill();
    assert.deepEqual((await listed(t, folder)).map(({ name }) => name), ['early', 'late']);
    const second = await startServer(t, folder);
    for (const secret of [early, late]) assert.equal(await statusFor(second, secret), 200);
  });

  test('names are shown as they were given, and contain no control characters', async (t) => {
    const folder = temporaryFolder(t);
    await startServer(t, folder);
    const names = [
      'Zoë "the" <b>&\\\'', '🐕🐈‍⬛', 'שלום', '__proto__', '$(id) `id` %s', '--name', 'x'.repeat(100), '鰐'.repeat(100),
      'a  b',
    ];
    for (const name of names) await issued(t, folder, 'create', `--name=${name}`, '--plan', 'free');
    assert.deepEqual((await listed(t, folder)).map((key) => key.name), names);
    const { stdout } = await succeeded(petstore(t, folder, 'keys', 'list'));
    assert.doesNotMatch(stdout, /[^\P{Cc}\n]/u);
    assert.equal(stdout.split('\n').length, names.length + 2);
  });
});

/** What a command prints if it is not known whether a server has created a key. */
const noResponse = new RegExp(
  '^petstore: the server \\(process \\d+\\) did not respond; '
    + 'check with "node \\S+ keys list --data \\S+" or "node \\S+ usage --data \\S+" '
    + 'whether the change was made; if it was, the new secret is the one on stdout\\n$',
);

test('if the server ends while it creates a key, the secret is printed: the key may exist', async (t) => {
  const folder = temporaryFolder(t);
  const since = '2026-11-21T12:00:00.000Z';
  const server = createServer((socket) => socket.setEncoding('utf8').once('data', (text: string) => {
    if (!text.includes('who')) return void socket.destroy();
    socket.end(`${JSON.stringify({ kind: 'server', pid: 4711, address: null, since })}\n`);
  }));
  server.listen(join(folder, 'lock.1'));
  await once(server, 'listening');
  t.after(() => server.close());
  const { code, stdout, stderr } = await petstore(t, folder, 'keys', 'create', '--name', 'a', '--plan', 'free');
  assert.equal(code, 1);
  assert.match(stdout, secretLine);
  assert.match(stderr, noResponse);
});

test('commands that run while servers start and stop are either complete or have no effect', async (t) => {
  const folder = temporaryFolder(t);
  const run = (i: number): Promise<Ended> => petstore(t, folder, 'keys', 'create', '--name', `n${i}`, '--plan', 'free');
  const commands: Promise<Ended>[] = [];
  const stops: Promise<Ended>[] = [];
  for (let round = 0; round < 4; round++) {
    const server = await startServerBetweenCommands(t, folder);
    commands.push(...[0, 1, 2, 3].map((i) => run(round * 4 + i)));
    await commands.at(-3 - (round % 2)); // the other commands are under way
    stops.push(server.stop());
  }
  for (const { code, stderr } of await Promise.all(stops)) assert.equal(code, 0, stderr);
  const ended = await Promise.all(commands);
  const keys = await listed(t, folder);
  const file = readFileSync(join(folder, 'keys.json'), 'utf8');
  for (const [i, { code, stdout, stderr }] of ended.entries()) {
    if (code === 0) {
      assert.equal(keys.filter(({ name }) => name === `n${i}`).length, 1, `n${i} was confirmed`);
      assert.ok(file.includes(hashSecret(stdout.trim())));
    } else {
      assert.match(stderr, noResponse);
      assert.match(stdout, secretLine);
      assert.equal(file.includes(hashSecret(stdout.trim())), keys.some(({ name }) => name === `n${i}`), `n${i}`);
    }
  }
  t.diagnostic(`${ended.filter(({ code }) => code !== 0).length} of ${ended.length} received no response`);
  assert.equal(new Set(keys.map(({ id }) => id)).size, keys.length);
  assert.equal(new Set(keys.map(({ name }) => name)).size, keys.length);
});

/** Starts a server. Tries again if a command holds the folder, because a server does not wait for it. */
async function startServerBetweenCommands(t: TestContext, folder: string): Promise<RunningServer> {
  for (;;) {
    try {
      return await startServer(t, folder);
    } catch (error) {
      assert.match(
        String(error),
        /is in use by (process \d+ \((command|server), |a process that does not identify itself)/,
      );
    }
  }
}

test('a wrong command line is one line and exit code 2, and the data folder is not created', async (t) => {
  const folder = join(temporaryFolder(t), 'never');
  const create = ['keys', 'create', '--name', 'a', '--plan', 'enterprise'];
  const wrong: [message: RegExp, ...args: string[]][] = [
    [/^petstore: the command is missing; see --help\n$/],
    [/there is no command "create" \(did you mean keys create\?\); see --help/, 'create'],
    [/there is no command "lsit" \(did you mean keys list\?\)/, 'lsit'],
    [/there is no command "stauts" \(did you mean status\?\)/, 'stauts'],
    [/there is no command "improt a.json" \(did you mean import\?\)/, 'improt', 'a.json'],
    [/there is no command "key create" \(did you mean keys create\?\)/, 'key', 'create'],
    [/there is no command "key" \(did you mean keys\?\)/, 'key'],
    [/there is no command "help" \(did you mean --help\?\)/, 'help'],
    [/there is no command "help keys" \(did you mean --help\?\)/, 'help', 'keys'],
    [/there is no command "version" \(did you mean --version\?\)/, 'version'],
    [/there is no command "dogs"; see --help/, 'dogs'],
    [/there is no command "keys make"; see --help/, 'keys', 'make'],
    [/there is no command "keys crate" \(did you mean keys create\?\); see --help/, 'keys', 'crate'],
    [/there is no command "sevre" \(did you mean serve\?\)/, 'sevre'],
    [/Unknown option '--pln' \(did you mean --plan\?\); see --help/, 'keys', 'create', '--pln', 'pro'],
    [/Unknown option '--prot' \(did you mean --port\?\); see --help/, 'serve', '--prot', '1'],
    [/there is no command "keys toString"/, 'keys', 'toString'],
    [/there is no command "key list" \(did you mean keys list\?\)/, 'key', 'list'],
    [/there is no command "list" \(did you mean keys list\?\)/, 'list'],
    [/keys create needs --plan: free \(up to 60 a minute and 1,000 a day\), pro .* or ent/, 'keys', 'create', '--name', 'a'],
    [/keys create needs --name: a name by which people/, 'keys', 'create', '--plan', 'pro'],
    [/keys create expects no arguments, received 1/, ...create, 'more'],
    [/keys list expects no arguments, received 1/, 'keys', 'list', 'k1'],
    [/keys revoke expects ID, received 0/, 'keys', 'revoke'],
    [/keys revoke expects ID, received 2/, 'keys', 'revoke', 'k1', 'k2'],
    [/keys rotate expects ID, received 0/, 'keys', 'rotate'],
    [/keys set-plan expects ID PLAN, received 1; PLAN is free \(up to 60 .* or enterprise \(custom limits\); see/, 'keys', 'set-plan', 'k1'],
    [/keys revoke does not accept --grace/, 'keys', 'revoke', 'k1', '--grace', '1h'],
    [/keys create does not accept --orders/, ...create, '--orders'],
    [/export --json needs FILE, because stdout is for the animals/, 'export', '--json'],
    [/keys list does not accept --name/, 'keys', 'list', '--name', 'a'],
    [/Unknown option '--what'/, 'keys', 'list', '--what'],
    [/Option '--name' argument is ambiguous/, 'keys', 'create', '--name', '--plan', 'pro'],
    [
      /--per-minute must be a whole number from 1 to 9007199254740991, not "0"/,
      ...create, '--per-minute', '0', '--per-day', '1',
    ],
    [
      /--per-day must be a whole number from 1 to 9007199254740991, not "1e3"/,
      ...create, '--per-minute', '1', '--per-day', '1e3',
    ],
    [
      /--per-day must be a whole number from 1 to 9007199254740991, not "9007199254740992"/,
      ...create, '--per-minute', '1', '--per-day', '9007199254740992',
    ],
    [
      /--per-day must be a whole number from 1 to 9007199254740991, not "5 5"/,
      'keys', 'set-plan', 'k1', 'enterprise', '--per-minute', '1', '--per-day', '5 5',
    ],
    [
      /--grace must be a duration like 90s, 30m, 24h or 7d, at most 100 years, not "1w"/,
      'keys', 'rotate', 'k1', '--grace', '1w',
    ],
    [/--grace must be a duration/, 'keys', 'rotate', 'k1', '--grace', '999999999d'],
    [/--expires must be a date like 2027-01-31, .* not "tomorrow"/, ...create, '--expires', 'tomorrow'],
    [/--expires must be a date .* not "2027-02-30"/, ...create, '--expires', '2027-02-30'],
    [/the plan must be free \(up to 60 .* or enterprise/, 'keys', 'create', '--name', 'a', '--plan', 'gold'],
    [/the enterprise plan needs its requests/, ...create],
    [/the free plan has fixed limits/, 'keys', 'set-plan', 'k1', 'free', '--per-day', '5'],
  ];
  const ended = await Promise.all(wrong.map(([, ...args]) => petstore(t, folder, ...args)));
  for (const [index, [message, ...args]] of wrong.entries()) {
    const { code, stdout, stderr } = ended[index]!;
    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    assert.match(stderr, oneLine);
    assert.match(stderr, message);
  }
  assert.equal(existsSync(folder), false);
});

test('--help, --version and no arguments', async (t) => {
  const run = (...args: string[]): Promise<Ended> => new Program(t, [process.execPath, cliPath, ...args]).ended;
  const printed = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(...args);
    assert.deepEqual([code, stderr], [0, ''], args.join(' '));
    return stdout;
  };
  const help = await printed('--help');
  assert.equal(await printed(), help);
  assert.match(await printed('--version'), /^\d+\.\d+\.\d+\n$/);
  const names = [...help.matchAll(/^ {2}(\S+(?: \S+)?) {2,}\S/gm)].map(([, name]) => name!);
  assert.deepEqual(names, ['serve', ...Object.keys(commands)]);
  const group = await printed('keys');
  assert.equal(await printed('keys', '--help'), group);
  for (const name of ['create', 'list', 'rotate', 'revoke', 'set-plan', 'unban']) assert.ok(group.includes(`  ${name} `));
  // The hints name the command as it was called.
  const called = `node ${relative('', cliPath)}`;
  assert.ok(help.includes(`\n${called} COMMAND --help `), help);
  const served = await printed('serve', '--help');
  assert.ok(served.startsWith(`Usage: ${called} serve `), served);
  assert.match(served, new RegExp(`\n\nExample:\n\n  ${called} serve --.+\n$`));
  for (const text of [help, group]) assertFits(text);
  for (const [name, command] of Object.entries(commands)) {
    const text = await printed(...name.split(' '), '--help');
    assertFits(text);
    assert.ok(text.startsWith(`Usage: ${called} ${name} `), text);
    for (const flag of command.flags) assert.match(text, new RegExp(`^  --${flag} .+`, 'm'));
    assert.ok(text.endsWith(`\n\nExample:\n\n  ${called} ${name} ${command.example}\n`), text);
  }
  assert.match(await printed('keys', 'create', '-h'), /^ {2}pro +up to 300 a minute and 10,000 a day$/m);
});

/** Asserts that no line is wider than a terminal of 80 columns, except the commands, which are not broken. */
function assertFits(text: string): void {
  const wide = text.split('\n').filter((line) => line.length > 80 && !/^(Usage: |  node )/.test(line));
  assert.deepEqual(wide, []);
}

test('hints can be followed: they name the command as it was called, and the same data', async (t) => {
  const parent = temporaryFolder(t);
  const path = join(parent, 'petstore'); // as npm installs it
  symlinkSync(cliPath, path);
  const run = (args: string[]): Promise<Ended> => new Program(t, [path, ...args], {}, { cwd: parent }).ended;
  await succeeded(petstore(t, join(parent, 'a store'), 'keys', 'create', '--name', 'a', '--plan', 'free'));
  const hint = "petstore keys list --data 'a store'";
  for (const data of [['--data', 'a store'], ['--data=a store']]) {
    const { stderr } = await run(['keys', 'rotate', 'k9', ...data]);
    assert.equal(stderr, `petstore: there is no key with the id k9; "${hint}" shows all keys\n`);
  }
  const bin = { PATH: `${parent}:${process.env['PATH']}` };
  const followed = await succeeded(new Program(t, ['sh', '-c', hint], bin, { cwd: parent }).ended);
  assert.match(followed.stdout, /^k1 /m);

  const server = new Program(t, [path, 'serve'], { PORT: '0', DATA_DIR: join(parent, 'new'), LOG_FORMAT: 'text' });
  const [, command = ''] = await server.printed(/no valid API key; create one: (.+)\n/, 'stderr');
  assert.equal(command, `petstore keys create --name me --plan free --data ${join(parent, 'new')}`);
  assert.match((await succeeded(new Program(t, ['sh', '-c', command], bin).ended)).stdout, secretLine);

  const url = 'postgres://shop:secret@127.0.0.1:1/pets';
  const { stderr } = await run(['keys', 'list', '--database', url]);
  assert.doesNotMatch(stderr, /secret/);
});

test('a pipe that is closed early ends a command without a word', async (t) => {
  const folder = temporaryFolder(t);
  await succeeded(petstore(t, folder, 'keys', 'create', '--name', 'a', '--plan', 'free'));
  const ofCli = ['keys list', 'usage --json', 'export', '--help', '--version', 'serve --help', 'serve --version'];
  const ofServer = ['--help', '--version'];
  for (const [path, args] of [
    ...ofCli.map((args) => [cliPath, args] as const), ...ofServer.map((args) => [serverPath, args] as const),
  ]) {
    const command = `"$0" "$1" ${args} --data "$2" | true; echo "$PIPESTATUS"`;
    const ended = await new Program(t, ['bash', '--norc', '-c', command, process.execPath, path, folder]).ended;
    assert.deepEqual([ended.stdout, ended.stderr.replace(/^exported 0 animals\n/, '')], ['0\n', ''], args);
  }
});

test('a second key with the same name is reported, and usage takes a name that only one key has', async (t) => {
  const folder = temporaryFolder(t);
  const create = (name: string) => succeeded(petstore(t, folder, 'keys', 'create', '--name', name, '--plan', 'free'));
  assert.doesNotMatch((await create('till')).stderr, /same name/);
  await create('shop');
  assert.match((await create('till')).stderr, /^petstore: k1 and k3 have the same name$/m);
  assert.match((await succeeded(petstore(t, folder, 'usage', 'shop'))).stdout, /^k2 /m);
  const { code, stderr } = await petstore(t, folder, 'usage', 'till');
  assert.deepEqual([code, stderr], [1, 'petstore: k1 and k3 have this name: give one of these ids\n']);
  for (const change of [['rotate'], ['revoke'], ['unban'], ['set-plan', 'pro']]) {
    const [op = '', ...more] = change;
    const ended = await petstore(t, folder, 'keys', op, 'shop', ...more);
    assert.deepEqual([ended.code, ended.stdout], [1, ''], op);
    assert.match(ended.stderr, /^petstore: there is no key with the id shop; "[^"]+ keys list [^"]+" shows all keys\n$/);
  }
  await succeeded(petstore(t, folder, 'keys', 'revoke', 'k1'));
  assert.match((await succeeded(petstore(t, folder, 'usage', 'till'))).stdout, /^k3 /m);
  assert.doesNotMatch((await create('shop 2')).stderr, /same name/);
  await succeeded(petstore(t, folder, 'keys', 'revoke', 'k2'));
  assert.match((await succeeded(petstore(t, folder, 'usage', 'shop'))).stdout, /^k2 /m);
});

test('on a terminal, keys revoke asks', async (t) => {
  const folder = temporaryFolder(t);
  await succeeded(petstore(t, folder, 'keys', 'create', '--name', 'a', '--plan', 'free'));
  const onTerminal = (...args: string[]): Program => {
    const words = [process.execPath, cliPath, ...args, '--data', folder].map((word) => `'${word}'`).join(' ');
    return new Program(t, ['script', '--quiet', '--return', '--command', words, '/dev/null']);
  };
  if ((await new Program(t, ['script', '--version']).ended).code !== 0) return t.skip('script is not installed');
  const isRevoked = async () => (await succeeded(petstore(t, folder, 'keys', 'list'))).stdout.includes('revoked');
  const answer = async (id: string, typed: string): Promise<Ended> => {
    const asking = onTerminal('keys', 'revoke', id);
    const question = `Once it is revoked, key ${id} (a, plan free) can never be used again. Type yes to revoke it: `;
    await asking.printed(new RegExp(question.replaceAll(/[().]/g, '\\$&')));
    asking.child.stdin.write(typed);
    return asking.ended;
  };
  for (const [typed, code] of [['no\r', 1], ['\r', 1], ['yes, no\r', 1], ['\x04', 1], ['\x03', 130]] as const) {
    const refused = await answer('k1', typed);
    assert.equal(refused.code, code, JSON.stringify(typed));
    const [, ...lines] = refused.stdout.replaceAll(/\r|\x1b\[[\d;]*\w/g, '').trimEnd().split('\n');
    assert.deepEqual(lines, ['petstore: nothing was changed'], JSON.stringify(typed));
    assert.equal(await isRevoked(), false);
  }
  for (const [index, typed] of ['yes', 'y', 'YES', ' Y '].entries()) {
    assert.equal((await answer(`k${index + 1}`, `${typed}\r`)).code, 0, typed);
    await succeeded(petstore(t, folder, 'keys', 'create', '--name', 'a', '--plan', 'free'));
  }
  assert.equal((await onTerminal('keys', 'revoke', 'k5', '--yes').ended).code, 0);
  // There is nothing to confirm.
  for (const [id, problem] of [['k1', 'key k1 is revoked'], ['k9', 'there is no key with the id k9']] as const) {
    const { code, stdout } = await onTerminal('keys', 'revoke', id).ended;
    assert.equal(code, 1);
    assert.match(stdout, new RegExp(`petstore: ${problem}; `));
    assert.doesNotMatch(stdout, /Type yes/);
  }
});

test('the data folder is --data or DATA_DIR, an empty --data is an error; only create makes it', async (t) => {
  const parent = temporaryFolder(t);
  const [named, missing] = [join(parent, 'named'), join(parent, 'missing')];
  const run = (env: NodeJS.ProcessEnv, ...args: string[]): Promise<Ended> =>
    new Program(t, [process.execPath, cliPath, 'keys', ...args], env).ended;
  await succeeded(run({ DATA_DIR: named }, 'create', '--name', 'a', '--plan', 'free'));
  assert.match((await succeeded(run({ DATA_DIR: missing }, 'list', '--data', named))).stdout, /^k1 /m);
  for (const args of [['list'], ['rotate', 'k1'], ['revoke', 'k1'], ['set-plan', 'k1', 'pro'], ['unban', 'k1']]) {
    const { code, stdout, stderr } = await run({ DATA_DIR: missing }, ...args);
    assert.deepEqual(
      [code, stdout, stderr],
      [1, '', `petstore: there is no data folder ${missing}; name the folder of the server with --data\n`],
    );
  }
  assert.equal(existsSync(missing), false);
  const empty = await run({}, 'list', '--data', '');
  assert.deepEqual([empty.code, empty.stdout, empty.stderr], [2, '', 'petstore: --data must be a path, not ""\n']);

  const none = join(parent, 'none');
  mkdirSync(none);
  assert.deepEqual((await succeeded(run({}, 'list', '--data', none, '--json'))).stdout, '[]\n');
  assert.match((await succeeded(run({}, 'list', '--data', none))).stdout, /^ID .*\n$/);
});

test('an unusable folder or a damaged keys.json is one line that names it', async (t) => {
  const parent = temporaryFolder(t);
  const file = join(parent, 'file');
  writeFileSync(file, '');
  const bad = join(parent, 'bad');
  mkdirSync(bad);
  writeFileSync(join(bad, 'keys.json'), '{"format":"petstore-keys","version":2,"keys":[\n{"id":"k1"}\n]}\n');
  const newer = join(parent, 'newer');
  mkdirSync(newer);
  writeFileSync(join(newer, 'keys.json'), '{"format":"petstore-keys","version":3,"keys":[]}\n');
  const long = join(parent, 'l'.repeat(100));
  const create = ['keys', 'create', '--name', 'a', '--plan', 'free'];
  for (const [folder, message] of [
    [file, 'file'],
    [bad, `${join(bad, 'keys.json')}, line 2: `],
    [newer, 'has version 3 of its format'],
    [long, 'bytes too long'],
  ] as const) {
    const { code, stdout, stderr } = await petstore(t, folder, ...create);
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(stderr, oneLine);
    assert.ok(stderr.includes(message), stderr);
  }
  assert.deepEqual(readdirSync(bad).sort(), ['keys.json', 'lock.1']);
  assert.deepEqual(readdirSync(parent).sort(), ['bad', 'file', 'newer']);
});

/** Runs `petstore` where the sync of a folder fails. */
function runUnsynced(t: TestContext, folder: string, ...args: string[]): Promise<Ended> {
  const failing = `
    import { open } from 'node:fs/promises';
    const handle = await open(${JSON.stringify(folder)});
    const { ino } = await handle.stat();
    const prototype = Object.getPrototypeOf(handle);
    const { sync } = prototype;
    prototype.sync = async function () {
      if ((await this.stat()).ino === ino) {
        throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO', syscall: 'fsync' });
      }
      await sync.call(this);
    };
    await handle.close();`;
  const node = [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(failing)}`];
  return new Program(t, [...node, cliPath, ...args]).ended;
}

test('a new folder or file is kept if its name cannot be synced, and the command fails with the reason', async (t) => {
  const parent = temporaryFolder(t);
  const [folder, good] = [join(parent, 'store'), join(parent, 'good')];
  await issued(t, folder, 'create', '--name', 'a', '--plan', 'free');
  await (await startServer(t, folder)).stop(); // it begins the journal
  await succeeded(petstore(t, folder, 'backup', good));
  for (const [name, done, made, ...args] of [
    ['backup', 'wrote a backup with 0 animals to', 'folder was created', '--data', folder],
    ['salvage', 'copied 0 animals, 1 key and 0 orders to', 'folder was created', '--data', folder],
    ['export', 'exported 0 animals to', 'file was replaced', '--data', folder],
    ['restore', 'restored', 'folder was created'],
  ]) {
    const to = join(parent, name!);
    const target = name === 'restore' ? [good, '--data', to] : [to, ...args];
    const { code, stdout, stderr } = await runUnsynced(t, parent, name!, ...target);
    assert.deepEqual([code, stdout], [1, ''], stderr);
    const [result = '', reason, ...more] = stderr.split('\n');
    assert.ok(result.startsWith(`${done} `) && result.includes(to), stderr);
    const advice = 'the disk may be failing: the log of the machine says more';
    const effect = `the ${made}, but a power cut may undo that; ${advice}`;
    assert.equal(reason, `petstore: cannot sync the folder of ${to}: EIO: i/o error; ${effect}`);
    assert.deepEqual(more, ['']);
    await succeeded(name === 'export' ? petstore(t, folder, 'import', to) : petstore(t, to, 'verify'));
  }
});

test('if a change cannot be synced, its secret is printed and valid, and the command fails', async (t) => {
  const folder = temporaryFolder(t);
  const old = await issued(t, folder, 'create', '--name', 'a', '--plan', 'free');
  const rotate = ['keys', 'rotate', 'k1', '--grace', '0s', '--data', folder];
  const { code, stdout, stderr } = await runUnsynced(t, folder, ...rotate);
  assert.equal(code, 1);
  assert.match(stdout, secretLine);
  assert.match(stderr, /^rotated key k1 [^\n]+\npetstore: cannot sync the folder of [^\n]+\n$/);
  const again = await runUnsynced(t, folder, ...rotate, '--json');
  const { secret, unsynced } = JSON.parse(again.stdout) as { secret: string; unsynced: string };
  assert.deepEqual([again.code, again.stderr], [1, `petstore: ${unsynced}\n`]);
  assert.match(unsynced, /^cannot sync the folder of /);
  const server = await startServer(t, folder);
  const statuses = [old, stdout.trimEnd(), secret].map((one) => statusFor(server, one));
  assert.deepEqual(await Promise.all(statuses), [401, 401, 200]);
});

test('if a server does not respond to a change of a key, the secret that it may have is printed', async (t) => {
  const folder = temporaryFolder(t);
  const received: { op: string; secret?: string }[] = [];
  const since = '2026-11-21T12:00:00.000Z';
  // It receives a command, and ends before it responds.
  const dying = createServer((socket) => socket.once('data', (bytes) => {
    const message = JSON.parse(bytes.toString()) as { op: string };
    if (message.op === 'who') return void socket.end(`${JSON.stringify({ pid: 1, kind: 'server', address: null, since })}\n`);
    received.push(message);
    socket.destroy();
  }));
  dying.listen(join(folder, 'lock.1'));
  await once(dying, 'listening');
  t.after(() => dying.close());
  for (const args of [['create', '--name', 'a', '--plan', 'free'], ['rotate', 'k1', '--grace', '0s']]) {
    const { code, stdout, stderr } = await petstore(t, folder, 'keys', ...args);
    assert.equal(code, 1);
    assert.match(stdout, secretLine);
    assert.equal(stdout, `${received.at(-1)?.secret}\n`);
    assert.match(stderr, /^petstore: the server \(process 1\) did not respond; .*the new secret is the one on stdout\n$/);
  }
  const revoked = await petstore(t, folder, 'keys', 'revoke', 'k1');
  assert.deepEqual([revoked.code, revoked.stdout], [1, '']);
  assert.match(revoked.stderr, /^petstore: the server \(process 1\) did not respond; check with [^\n]+\n$/);
});

test('if a new secret cannot be written to stdout, it is written to stderr', async (t) => {
  if (!existsSync('/dev/full')) return t.skip('there is no /dev/full');
  const folder = temporaryFolder(t);
  const server = await startServer(t, folder);
  await issued(t, folder, 'create', '--name', 'shop', '--plan', 'pro');
  for (const flags of [[], ['--json']]) {
    const command = `exec "$0" "$@" > /dev/full`;
    const args = [process.execPath, cliPath, 'keys', 'rotate', 'k1', '--grace', '0s', '--data', folder, ...flags];
    const { code, stderr } = await new Program(t, ['sh', '-c', command, ...args]).ended;
    assert.equal(code, 1);
    const [problem = ''] = stderr.split('\n');
    assert.match(problem, /^petstore: cannot write the new secret to stdout \(ENOSPC[^\n]*\), so it follows here$/);
    const [secret = ''] = /petstore_[0-9A-Za-z]{36}/.exec(stderr) ?? [];
    assert.equal(await statusFor(server, secret), 200, stderr);
  }
});

test('KEY=$(npm run -s petstore -- keys create …) works', async (t) => {
  const folder = temporaryFolder(t);
  const root = dirname(dirname(cliPath));
  const run = (...args: string[]): Promise<Ended> =>
    new Program(t, ['npm', '--prefix', root, 'run', '-s', 'petstore', '--', 'keys', ...args, '--data', folder], {
      HOME: folder,
    }).ended;
  assert.match((await succeeded(run('create', '--name', 'with space', '--plan', 'pro'))).stdout, secretLine);
  assert.equal((JSON.parse((await succeeded(run('list', '--json'))).stdout) as KeyReport[])[0]?.name, 'with space');
  assert.equal(statSync(cliPath).mode & 0o111, 0o111);
});

test('if the current folder was removed, every command and the server say so in one line', async (t) => {
  const parent = temporaryFolder(t);
  const commands = [
    'status', 'keys list', 'usage', 'backup x', 'restore x', 'verify', 'salvage x', 'export x', 'import x',
  ];
  for (const [index, command] of [...commands, 'serve --log-format text'].entries()) {
    const gone = join(parent, `${index}`);
    mkdirSync(gone);
    const script = 'cd "$0" && rmdir "$0" && exec "$@"';
    const run = ['sh', '-c', script, gone, process.execPath, cliPath, ...command.split(' ')];
    const { code, stderr } = await new Program(t, run).ended;
    const line = 'petstore: the current folder no longer exists; change to another one\n';
    assert.deepEqual([code, stderr], [1, line], command);
  }
});

test('if the data folder is a file or a loop of links, every command says which path to check', async (t) => {
  const parent = temporaryFolder(t);
  const [file, loop] = [join(parent, 'file'), join(parent, 'loop')];
  writeFileSync(file, '');
  symlinkSync(loop, loop);
  const commands = [['status'], ['keys', 'list'], ['usage'], ['verify'], ['backup', join(parent, 'x')], ['export']];
  for (const path of [file, loop, join(file, 'below'), join(parent, 'x'.repeat(300))]) {
    for (const command of commands) {
      const { code, stderr } = await petstore(t, path, ...command);
      assert.match(stderr, /^petstore: [^\n]+; (check the path|choose another|choose a shorter path|name the folder)[^\n]*\n$/);
      assert.ok(stderr.includes(path), stderr);
      assert.equal(code, command[0] === 'verify' ? 2 : 1);
    }
  }
});
