/** `petstore` against a process that is not a server: whatever it sends, and however slowly, one line is shown. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chownSync, linkSync, mkdirSync, symlinkSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../../../harness/owner.ts';
import { Program, type Ended } from '../../../harness/program.ts';
import { cliPath, petstore, runServer } from '../../../harness/server.ts';
import { command } from '../../testing/command.ts';
import { InvalidResponseError } from './channel.ts';
import { askCommand } from './read-response.ts';

const who = { kind: 'server', pid: 4711, address: null, since: '2026-11-21T12:00:00.000Z' };
const line = (value: unknown): string => `${JSON.stringify(value)}\n`;
const deep = `${'['.repeat(100_000)}\n`;

/** Listens as the holder of the lock of a new folder. `respond` receives each message. Returns the folder. */
async function hostile(t: TestContext, respond: (socket: Socket, op: string) => void) {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'store');
  mkdirSync(folder);
  const messages: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).setEncoding('utf8').once('data', (text: string) => {
      messages.push(text);
      respond(socket, (JSON.parse(text) as { op: string }).op);
    });
  }).listen(join(parent, 'socket'));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await once(server, 'listening');
  linkSync(join(parent, 'socket'), join(folder, 'lock.7'));
  return { folder, messages };
}

/** Sends the same bytes for as long as they are read. */
function endless(socket: Socket, bytes: Buffer): void {
  const more = (): void => {
    while (socket.write(bytes));
  };
  socket.on('drain', more);
  more();
}

const commands = [
  ['status'], ['status', '--json'], ['keys', 'list'], ['usage'], ['keys', 'create', '--name', 'a', '--plan', 'free'],
  ['keys', 'rotate', 'k1'], ['keys', 'revoke', 'k1'], ['keys', 'set-plan', 'k1', 'pro'], ['keys', 'unban', 'k1'],
];

/** Checks that a command has failed with one line that has nothing of the other process. */
function failed(what: string, { code, stdout, stderr }: Ended): void {
  assert.equal(code, 1, what);
  assert.match(stderr, /^petstore: [^\n]{20,}\n$/, what);
  const isSecret = /^petstore_[0-9A-Za-z_]+\n$/.test(stdout); // it may contain "NaN"
  assert.doesNotMatch(`${isSecret ? '' : stdout}${stderr}`, /undefined|NaN|object Object|\n {4}at |\x1b|evil/, what);
  if (stdout !== '' && !isSecret) assert.deepEqual(Object.keys(JSON.parse(stdout) as object), ['state', 'reason', 'pid'], what);
}

const good = {
  list: { id: 'k1', name: 'a', plan: 'free', perMinute: null, perDay: null, state: 'active',
    createdAt: who.since, expiresAt: null, secrets: [] },
};
const replies: [name: string, reply: string][] = [
  ['no error text', line({ error: {}, exitCode: 1 })],
  ['an undefined error', line({ error: undefined, exitCode: 1 }).replace('{', '{"error":null,')],
  ['an exit code', line({ error: 'evil', exitCode: 0 })],
  ['an empty object', line({})], ['a number', line(5)], ['a text', line('evil')], ['an array', line([])],
  ['a result of null', line({ result: null })], ['a result of an array', line({ result: [[[]]] })],
  ['a prototype', '{"result":{"__proto__":{"keys":[]}}}\n'],
  ['keys of null', line({ result: { keys: [null], usages: [null], unsynced: null, secret: 'evil', unbanned: 1 } })],
  ['a negative page', line({ result: { items: [], next: -1 } })],
  ['a page that is too large', line({ result: { items: [], next: 1e300 } })],
  ['pages without an end', line({ result: { items: [], next: 1 } })],
  ['a page without a next one', line({ result: { items: [] } })],
  ['an item of null', line({ result: { items: [null], next: null } })],
  ['a key with an invalid id', line({ result: { items: [{ ...good.list, id: '\x1b[2Jevil' }], next: null } })],
  ['not JSON', 'evil\n'], ['zero bytes', '\0\n'], ['invalid UTF-8', '\xff\xfe\n'], ['a deep line', deep],
];

test('whatever a process responds to a command, the command fails with one line', { timeout: 300_000 }, async (t) => {
  for (const [name, reply] of replies) {
    const { folder } = await hostile(t, (socket, op) => socket.end(op === 'who' ? line(who) : reply, 'latin1'));
    await Promise.all(commands.map(async (words) => {
      failed(`${name}: ${words.join(' ')}`, await command(folder, ...words));
    }));
  }
});

test('a line without an end is read up to its limit, and takes little memory', async (t) => {
  for (const last of ['who', 'other']) {
    for (const byte of ['[', 'x']) {
      const bytes = Buffer.alloc(64 * 1024, byte);
      const { folder } = await hostile(t, (socket, op) => {
        if (op === 'who' && last !== 'who') socket.end(line(who));
        else endless(socket, bytes);
      });
      for (const words of [['status'], ...(last === 'who' ? [] : [['keys', 'list'], ['usage']])]) {
        const memory = `process.on('exit', () => process.stdout.write('memory ' + process.resourceUsage().maxRSS))`;
        const preload = ['--import', `data:text/javascript,${encodeURIComponent(memory)}`];
        const node = [process.execPath, ...preload, cliPath, ...words, '--data', folder];
        const { code, stdout, stderr } = await new Program(t, node).ended;
        assert.deepEqual([code, stderr.split('\n').length], [1, 2], stderr);
        const [, kilobytes] = /memory (\d+)$/.exec(stdout)!;
        assert.ok(Number(kilobytes) < 200_000, `${last} ${byte} ${words.join(' ')}: ${kilobytes} KB`);
      }
    }
  }
});

test('pages that do not end are received for a minute at most', async (t) => {
  let pages = 0;
  const { folder } = await hostile(t, (socket) => {
    socket.end(line({ result: { items: [good.list], next: ++pages } }));
  });
  const now = performance.now();
  t.mock.method(performance, 'now', () => now + pages * 1_000); // each page takes a second
  const asked = askCommand(join(folder, 'lock.7'), { op: 'list' }, 10_000);
  await assert.rejects(asked, InvalidResponseError);
  assert.ok(pages > 50 && pages < 70, `${pages}`);
});

test('a process that says it is someone else is not a server', async (t) => {
  const identities = [
    { ...who, pid: 'evil' }, { ...who, pid: -1 }, { ...who, kind: 'evil' }, { ...who, since: '\n\n' },
    { ...who, address: '\x1b[2J' }, { ...who, address: {} }, { ...who, address: 'x'.repeat(5_000) }, { pid: 1 }, null,
  ];
  for (const identity of identities) {
    const { folder } = await hostile(t, (socket) => socket.end(line(identity)));
    const ended = await command(folder, 'status');
    failed(JSON.stringify(identity).slice(0, 100), ended);
    assert.match(ended.stderr, /a process that does not identify itself/);
  }
});

test('another secret than the one that was sent is not shown', async (t) => {
  const other = 'petstore_0000000000000000000000000000000000';
  const { folder, messages } = await hostile(t, (socket, op) => {
    socket.end(op === 'who' ? line(who) : line({ result: { keys: [good.list], unsynced: null, secret: other } }));
  });
  const { code, stdout } = await petstore(t, folder, 'keys', 'create', '--name', 'a', '--plan', 'free');
  assert.equal(code, 1);
  assert.equal(stdout, `${(JSON.parse(messages.at(-1)!) as { secret: string }).secret}\n`);
});

test('a command sends nothing to the socket of another user, and a server does not start', async (t) => {
  if (process.geteuid!() !== 0) return t.skip('only root can make a socket of another user');
  const { folder, messages } = await hostile(t, (socket) => socket.end(line(who)));
  chownSync(join(folder, 'lock.7'), 65534, 65534);
  const problem = `petstore: ${join(folder, 'lock.7')} belongs to another user; run this as the user of the server`;
  const all = [...commands, ['import', join(folder, 'none')]].map((words) => petstore(t, folder, ...words));
  for (const { code, stdout, stderr } of await Promise.all([...all, runServer(t, folder).ended])) {
    assert.deepEqual([code, stderr.split('\n').length], [1, 2], stderr);
    assert.ok(stderr.startsWith(problem), stderr);
    assert.doesNotMatch(stdout, /petstore_/);
  }
  assert.deepEqual(messages, []);
});

test('a command does not follow a link in place of the lock', async (t) => {
  const { folder, messages } = await hostile(t, (socket) => socket.end(line(who)));
  const other = temporaryFolder(t);
  symlinkSync(join(folder, 'lock.7'), join(other, 'lock.1'));
  const { code, stderr } = await petstore(t, other, 'keys', 'create', '--name', 'a', '--plan', 'free');
  assert.deepEqual([code, stderr], [1, `petstore: ${join(other, 'lock.1')} is not a socket; remove it\n`]);
  assert.deepEqual(messages, []);
});

test('a backup and an export do not talk to the process on the socket', async (t) => {
  const { folder, messages } = await hostile(t, (socket) => endless(socket, Buffer.alloc(1024, 'x')));
  const to = join(folder, '..', 'backup');
  const made = await petstore(t, folder, 'backup', to);
  assert.deepEqual([made.code, made.stderr], [0, `wrote a backup with 0 animals to ${to}\n`]);
  const exported = await petstore(t, folder, 'export', '--format', 'json');
  assert.deepEqual([exported.code, exported.stdout], [0, '[]\n']);
  assert.deepEqual(messages, []);
});
