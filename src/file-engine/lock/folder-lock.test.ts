import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs, {
  chmodSync, existsSync, linkSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, unlinkSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, mock, test, type TestContext } from 'node:test';
import { counted } from '../../domain/counted.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { LockLostError } from '../../files/errors.ts';
import { onSync } from '../../testing/file-handle.ts';
import { onFolderSync } from '../../testing/journal.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { petstore, runServer } from '../../../harness/server.ts';
import { Channel, sendMessage } from './channel.ts';
import { FolderLock, type HeldLock, type Holder } from './folder-lock.ts';

const patienceMs = 30_000;
const builtLock = new URL('../../../dist/file-engine/lock/folder-lock.js', import.meta.url).href;

async function acquired(t: TestContext, folder: string): Promise<FolderLock> {
  const lock = await FolderLock.acquire(folder, 'server');
  assert.ok(lock instanceof FolderLock, 'the lock is held');
  t.after(() => lock.release());
  return lock;
}

async function refused(folder: string): Promise<HeldLock> {
  const held = await FolderLock.acquire(folder, 'server');
  assert.ok(!(held instanceof FolderLock), 'the lock was given');
  return held;
}

/** Returns a folder with a lock.1 whose holder has ended. */
async function staleFolder(t: TestContext): Promise<string> {
  const folder = temporaryFolder(t);
  await (await acquired(t, folder)).release();
  assert.deepEqual(readdirSync(folder), ['lock.1']);
  return folder;
}

/** A process that takes and releases locks on request: `{ folder }` takes one, `{ release: true }` releases it. */
class Taker {
  readonly child: ChildProcess;
  readonly #ended: Promise<never>;

  constructor(t: TestContext) {
    const program = `
      import { FolderLock } from ${JSON.stringify(builtLock)};
      let lock;
      process.on('message', async ({ folder, at, release }) => {
        if (release) { await lock.release(); process.send('released'); return; }
        while (Date.now() < at); // so that all start at the same moment
        const got = await FolderLock.acquire(folder, 'server');
        if (got instanceof FolderLock) lock = got;
        process.send(got === lock ? 'taken' : got);
      });
      process.send('ready');`;
    this.child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#ended = once(this.child, 'exit').then(([code]) =>
      assert.fail(`the process ended with exit code ${String(code)}`),
    );
    this.#ended.catch(() => {}); // it may end after its last message
    t.after(() => this.kill());
  }

  async nextMessage(): Promise<unknown> {
    const [message] = (await Promise.race([once(this.child, 'message'), this.#ended])) as [unknown];
    return message;
  }

  take(folder: string, at = 0): Promise<unknown> {
    const message = this.nextMessage();
    this.child.send({ folder, at });
    return message;
  }

  release(): Promise<unknown> {
    const message = this.nextMessage();
    this.child.send({ release: true });
    return message;
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }
}

async function takers(t: TestContext, count: number): Promise<Taker[]> {
  const all = Array.from({ length: count }, () => new Taker(t));
  for (const message of await Promise.all(all.map((taker) => taker.nextMessage()))) assert.equal(message, 'ready');
  return all;
}

/** Runs `interfere` between two steps of the algorithm: before the next call of this function of node:fs. */
function before(t: TestContext, name: 'linkSync' | 'rmSync', interfere: () => void): void {
  const real = fs[name] as (...args: unknown[]) => unknown;
  const restore = (): void => {
    mocked.mock.restore();
    syncBuiltinESMExports();
  };
  const mocked = mock.method(fs, name as 'linkSync', (...args: unknown[]) => {
    restore();
    interfere();
    return real(...args);
  });
  syncBuiltinESMExports();
  t.after(restore);
}

/** Listens on a socket, which the test can link to any name, and responds to each message with `response`. */
async function listener(t: TestContext, folder: string, response: object): Promise<string> {
  const path = join(temporaryFolder(t), 'listener');
  const server = createServer((socket) =>
    socket.on('data', () => socket.end(`${JSON.stringify(response)}\n`)).on('error', () => {}),
  );
  server.listen(path);
  await once(server, 'listening');
  t.after(() => server.close());
  assert.equal(statSync(path).dev, statSync(folder).dev);
  return path;
}

const other: Holder = { kind: 'server', pid: 4711, address: 'http://127.0.0.1:1', since: '2026-11-21T12:00:00.000Z' };

test('the holder reports its process id, its kind, its address once it has one, and its start', async (t) => {
  const folder = temporaryFolder(t);
  const start = Date.now();
  const lock = await acquired(t, folder);
  const { socketPath, holder } = await refused(folder);
  assert.equal(socketPath, join(folder, 'lock.1'));
  assert.deepEqual({ ...holder, since: '' }, { kind: 'server', pid: process.pid, address: null, since: '' });
  const since = Date.parse(holder!.since);
  assert.ok(start <= since && since <= Date.now());
  lock.serve('http://127.0.0.1:8080', async () => null);
  assert.deepEqual((await refused(folder)).holder, { ...holder, address: 'http://127.0.0.1:8080' });
  assert.deepEqual(readdirSync(folder), ['lock.1']); // refused processes leave no files
});

test('a new folder has mode 0700, an existing one keeps its mode, and the socket has mode 0600', async (t) => {
  const umask = process.umask(0);
  t.after(() => process.umask(umask));
  const parent = temporaryFolder(t);
  const made = join(parent, 'a', 'b');
  await acquired(t, made);
  for (const folder of [join(parent, 'a'), made]) assert.equal(statSync(folder).mode & 0o777, 0o700);
  const there = join(parent, 'there');
  mkdirSync(there, { mode: 0o755 });
  const modes: number[] = [];
  before(t, 'linkSync', () => modes.push(...readdirSync(there).map((name) => lstatSync(join(there, name)).mode)));
  await acquired(t, there);
  assert.equal(statSync(there).mode & 0o777, 0o755);
  assert.deepEqual(modes.map((mode) => mode & 0o777), [0o600]); // already before it is linked to the name of the lock
  assert.equal(lstatSync(join(there, 'lock.1')).mode & 0o777, 0o600);
  assert.ok(lstatSync(join(there, 'lock.1')).isSocket());
});

test('the number grows, lower numbers are removed, the last one stays, and no temporary socket is left', async (t) => {
  const folder = temporaryFolder(t);
  for (let n = 1; n <= 12; n++) {
    const lock = await acquired(t, folder);
    assert.deepEqual(readdirSync(folder), [`lock.${n}`]);
    await lock.release();
    assert.deepEqual(readdirSync(folder), [`lock.${n}`]); // the holder has ended; the number stays
  }
});

test('files with similar names are ignored', { timeout: 120_000 }, async (t) => {
  const folder = await staleFolder(t);
  const strangers = [
    'lock', 'lock.', 'lock.0', 'lock.01', 'lock.007', 'lock.-1', 'lock.1e9', 'lock.99x', 'lock.new-0', 'block.9',
    'keys.json',
  ];
  for (const name of strangers) writeFileSync(join(folder, name), '');
  await acquired(t, folder);
  assert.deepEqual(readdirSync(folder).sort(), [...strangers, 'lock.2'].sort());
});

test('a file, folder or link in place of a lock is refused, because it would hide that of a running server', async (t) => {
  const folder = temporaryFolder(t);
  await acquired(t, folder);
  const link = (path: string): void => fs.symlinkSync(join(folder, 'nowhere'), path);
  for (const make of [(path: string) => writeFileSync(path, ''), mkdirSync, link]) {
    const path = join(folder, 'lock.5');
    make(path);
    const expected = { name: 'Error', message: `${path} is not a socket; remove it`, exitCode: 1 };
    await assert.rejects(FolderLock.acquire(folder, 'server'), expected);
    rmSync(path, { recursive: true });
    await refused(folder);
  }
});

test('the highest possible number is an error, because no number follows it', async (t) => {
  const folder = await staleFolder(t);
  const highest = join(folder, 'lock.999999999999999');
  renameSync(join(folder, 'lock.1'), highest);
  for (let starter = 0; starter < 2; starter += 1) {
    await assert.rejects(FolderLock.acquire(folder, 'server'), (error) => {
      assert.ok(error instanceof OperatorError);
      assert.equal(error.message, `${highest} has the highest possible number; remove it when no server is running`);
      return true;
    });
    assert.deepEqual(readdirSync(folder), ['lock.999999999999999']);
  }
  rmSync(highest);
  await acquired(t, folder);
  await refused(folder);
});

test('the lock of a killed process can be taken over', async (t) => {
  const folder = temporaryFolder(t);
  const [taker] = await takers(t, 1);
  assert.equal(await taker!.take(folder), 'taken');
  assert.equal((await refused(folder)).holder?.pid, taker!.child.pid);
  await taker!.kill();
  assert.deepEqual(readdirSync(folder), ['lock.1']);
  await acquired(t, folder);
  assert.deepEqual(readdirSync(folder), ['lock.2']);
});

// One of these tests mostly waits, so they run concurrently.
describe('several processes', { concurrency: true }, () => {
  test(
    'a paused process still holds the lock, whether it does not respond or cannot be connected to',
    { skip: process.platform === 'darwin' && 'macOS refuses where Linux says EAGAIN' },
    async (t) => {
      const folder = temporaryFolder(t);
      const [taker] = await takers(t, 1);
      assert.equal(await taker!.take(folder), 'taken');
      taker!.child.kill('SIGSTOP');
      const socketPath = join(folder, 'lock.1');
      assert.deepEqual(await refused(folder), { socketPath, holder: null });

      // Connections that are not accepted fill the queue of the listener, until connecting fails with EAGAIN.
      for (let code: unknown; code !== 'EAGAIN';) {
        const socket = connect(socketPath);
        t.after(() => socket.destroy());
        code = await new Promise((resolve) =>
          socket.once('connect', resolve).once('error', (error: NodeJS.ErrnoException) => resolve(error.code)),
        );
      }
      assert.deepEqual(await refused(folder), { socketPath, holder: null });
      assert.deepEqual(readdirSync(folder), ['lock.1']);

      await taker!.kill();
      await acquired(t, folder);
    },
  );

  test('of two or eight processes that start together on a stale lock, exactly one takes it', async (t) => {
    const folder = await staleFolder(t);
    const all = await takers(t, 8);
    const wins = new Map<Taker, number>();
    for (let round = 0; round < 100; round++) {
      const starters = round < 50 ? all.slice(0, 2) : all;
      const at = Date.now() + 3;
      const outcomes = await Promise.all(starters.map((taker) => taker.take(folder, at)));
      const winners = starters.filter((_, i) => outcomes[i] === 'taken');
      assert.equal(winners.length, 1, `round ${round}: ${JSON.stringify(outcomes)}`);
      const winner = winners[0]!;
      for (const outcome of outcomes) {
        if (outcome !== 'taken') assert.equal((outcome as HeldLock).holder?.pid, winner.child.pid);
      }
      assert.deepEqual(readdirSync(folder), [`lock.${round + 2}`]);
      assert.equal((await refused(folder)).holder?.pid, winner.child.pid);
      wins.set(winner, (wins.get(winner) ?? 0) + 1);
      assert.equal(await winner.release(), 'released');
    }
    t.diagnostic(`${wins.size} different processes took the lock`); // if only one, they did not start together
  });
});

test('a process that does not identify itself holds the lock', async (t) => {
  for (const response of [{}, [], { pid: 1 }, { error: 'no' }]) {
    const folder = temporaryFolder(t);
    linkSync(await listener(t, folder, response), join(folder, 'lock.3'));
    assert.deepEqual(await refused(folder), { socketPath: join(folder, 'lock.3'), holder: null });
  }
  const folder = temporaryFolder(t);
  const path = join(folder, 'lock.7');
  const abrupt = createServer((socket) => socket.destroy()).listen(path);
  t.after(() => abrupt.close());
  await once(abrupt, 'listening');
  assert.deepEqual(await refused(folder), { socketPath: path, holder: null });
});

// A slow process saw that lock.1 has no holder. Before it links its socket, `before` makes other processes act.
test('a lock of another user is named, whether its holder lives or not', async (t) => {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o777);
  const holder = await FolderLock.acquire(folder, 'command');
  assert.ok(holder instanceof FolderLock);
  await holder.release();
  chmodSync(join(folder, 'lock.1'), 0o000);
  const isRoot = process.geteuid!() === 0;
  if (isRoot) process.seteuid!(65534);
  try {
    await assert.rejects(FolderLock.acquire(folder, 'server'), /lock\.1 belongs to another user; run this as the user/);
  } finally {
    if (isRoot) process.seteuid!(0);
  }
});

test('a slow process whose number is taken finds the holder', { timeout: 120_000 }, async (t) => {
  const folder = await staleFolder(t);
  const quick = await listener(t, folder, other);
  before(t, 'linkSync', () => linkSync(quick, join(folder, 'lock.2')));
  assert.deepEqual(await refused(folder), { socketPath: join(folder, 'lock.2'), holder: other });
});

test('a slow process that saw an old number withdraws, because the holder has a higher one', async (t) => {
  const folder = await staleFolder(t);
  const quick = await listener(t, folder, other);
  before(t, 'linkSync', () => {
    linkSync(quick, join(folder, 'lock.3')); // lock.2 was taken and removed: its name is free again
    unlinkSync(join(folder, 'lock.1'));
  });
  assert.deepEqual(await refused(folder), { socketPath: join(folder, 'lock.3'), holder: other });
  assert.deepEqual(readdirSync(folder), ['lock.3']);
  assert.deepEqual(await sendMessage(join(folder, 'lock.3'), { op: 'who' }, patienceMs), other);
});

test('a slow process that withdrew takes the lock if the holder of the higher number has ended', async (t) => {
  const folder = await staleFolder(t);
  before(t, 'linkSync', () => fs.renameSync(join(folder, 'lock.1'), join(folder, 'lock.10')));
  await acquired(t, folder);
  assert.deepEqual(readdirSync(folder), ['lock.11']);
});

test('there is one holder even if a process is overtaken while it withdraws or removes lower numbers', async (t) => {
  const folder = await staleFolder(t);
  before(t, 'linkSync', () => {
    fs.renameSync(join(folder, 'lock.1'), join(folder, 'lock.3'));
    before(t, 'rmSync', () => rmSync(join(folder, 'lock.2'), { force: true })); // as the new holder does
  });
  const lock = await acquired(t, folder);
  assert.deepEqual(readdirSync(folder), ['lock.4']);
  await lock.release();
  before(t, 'rmSync', () => unlinkSync(join(folder, 'lock.4')));
  await acquired(t, folder);
  assert.deepEqual(readdirSync(folder), ['lock.5']);
});

test('if a lock disappears while it is examined, the search starts again', async (t) => {
  const folder = await staleFolder(t);
  const quick = await listener(t, folder, other);
  const real = fs.readdirSync;
  const restore = (): void => {
    mocked.mock.restore();
    syncBuiltinESMExports();
  };
  const mocked = mock.method(fs, 'readdirSync', (path: string) => {
    restore();
    const seen = real(path);
    linkSync(quick, join(folder, 'lock.2'));
    unlinkSync(join(folder, 'lock.1'));
    return seen;
  });
  syncBuiltinESMExports();
  t.after(restore);
  assert.deepEqual(await refused(folder), { socketPath: join(folder, 'lock.2'), holder: other });
});

test('a holder that closes does not remove the lock of its successor', async (t) => {
  const folder = temporaryFolder(t);
  const first = await acquired(t, folder);
  const idle = connect(join(folder, 'lock.1')); // keeps the first from closing completely
  await once(idle, 'connect');
  const released = first.release();
  let second = await FolderLock.acquire(folder, 'server');
  while (!(second instanceof FolderLock)) second = await FolderLock.acquire(folder, 'server');
  assert.deepEqual(readdirSync(folder), ['lock.2']);
  await released;
  await first.release();
  assert.deepEqual(readdirSync(folder), ['lock.2']);
  assert.equal((await refused(folder)).holder?.pid, process.pid);
  await second.release();
});

test('the holder notices that its lock was removed or replaced, reports it once, and does not recover', async (t) => {
  const disturbances: ((path: string) => void)[] = [
    unlinkSync,
    (path) => renameSync(path, path.replace('lock.1', 'lock.7')),
    (path) => renameSync(path, join(temporaryFolder(t), 'moved')),
    (path) => {
      unlinkSync(path);
      writeFileSync(path, '');
    },
  ];
  for (const disturb of disturbances) {
    const folder = temporaryFolder(t);
    const path = join(folder, 'lock.1');
    const lock = await acquired(t, folder);
    const reasons: string[] = [];
    lock.serve('http://127.0.0.1:8080', async () => null, (reason) => reasons.push(reason));
    lock.check();
    linkSync(path, `${path}-kept`);
    disturb(path);
    for (let count = 0; count < 2; count++) assert.throws(() => lock.check(), LockLostError);
    rmSync(path, { force: true });
    renameSync(`${path}-kept`, path);
    assert.throws(() => lock.check(), LockLostError, 'another process may have used the folder meanwhile');
    assert.equal(reasons.length, 1);
    assert.ok(reasons[0]!.startsWith(`the lock ${path} was removed or replaced`), reasons[0]);
  }
});

test('messages other than who receive null, or the response of the owner once it serves', async (t) => {
  const folder = temporaryFolder(t);
  const received: unknown[] = [];
  const messages = [null, 'who', ['who'], { op: 'WHO' }, { who: 1 }, { op: ['who'] }];
  const lock = await acquired(t, folder);
  const path = join(folder, 'lock.1');
  for (const message of messages) assert.equal(await sendMessage(path, message, patienceMs), null);
  lock.serve('http://127.0.0.1:8080', async (message) => {
    received.push(message);
    return 'response';
  });
  for (const message of messages) assert.equal(await sendMessage(path, message, patienceMs), 'response');
  assert.deepEqual(received, messages);
  assert.equal(((await sendMessage(path, { op: 'who', more: 1 }, patienceMs)) as Holder).pid, process.pid);
});

test(
  'release() waits for the responses to earlier messages; later messages receive null',
  { timeout: 120_000 },
  async (t) => {
    const folder = temporaryFolder(t);
    let respondNow = (_: string): void => {};
    const response = new Promise<string>((resolve) => (respondNow = resolve));
    t.after(() => respondNow(''));
    const messages: unknown[] = [];
    const lock = await acquired(t, folder);
    lock.serve('http://127.0.0.1:8080', (message) => {
      messages.push(message);
      return response;
    });
    const path = join(folder, 'lock.1');
    const sent = sendMessage(path, { op: 'create' }, patienceMs);
    while (messages.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const released = lock.release();
    assert.equal((await refused(folder)).holder?.pid, process.pid); // a command may still be executing
    assert.equal(await sendMessage(path, { op: 'create' }, patienceMs), null);
    respondNow('done');
    assert.equal(await sent, 'done');
    await released;
    assert.equal(messages.length, 1);
    await acquired(t, folder);
  },
);

test(
  'a path that is too long is one line and nothing is created; one byte less works',
  { skip: process.platform !== 'linux' && 'the limits are those of Linux' },
  async (t) => {
    const parent = temporaryFolder(t);
    const longest = 107 - '/lock.new-0123456789ab'.length;
    const rest = longest - Buffer.byteLength(parent) - 1;
    assert.ok(rest > 10, `${parent} is itself too long for this test: set TMPDIR`);
    for (const name of ['x'.repeat(rest - 4) + 'éé', 'y'.repeat(rest - 3) + '/zz']) {
      // the limit is in bytes, not characters
      const folder = join(parent, name);
      for (const excess of [1, 2, 300]) {
        const tooLong = folder + 'w'.repeat(excess);
        await assert.rejects(FolderLock.acquire(tooLong, 'server'), (error) => {
          assert.ok(error instanceof OperatorError);
          assert.equal(
            error.message,
            `the data folder's path is ${counted(excess, 'byte')} too long for the lock's socket: ${tooLong}; `
              + 'choose a shorter one with --data',
          );
          return true;
        });
      }
      assert.deepEqual(
        readdirSync(parent).filter((there) => name.startsWith(there) || there.endsWith('w')),
        [],
      );
      await acquired(t, folder);
      assert.deepEqual(readdirSync(folder), ['lock.1']);
      assert.equal((await refused(folder)).holder?.pid, process.pid);
    }
  },
);

test('the entry of each new folder in its parent is synced; a folder whose entry cannot be is removed', async (t) => {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'a', 'b');
  const seen: string[] = [];
  await onFolderSync(t, () => void seen.push(readdirSync(parent, { recursive: true }).join()));
  await acquired(t, folder);
  assert.deepEqual(seen, ['', 'a', 'a,a/b']);
  t.mock.restoreAll();
  await onFolderSync(t, () => {
    throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
  });
  await assert.rejects(FolderLock.acquire(join(parent, 'c'), 'server'), {
    message: /^cannot use the data folder .*\/c: EIO: i\/o error; the disk may be failing: /,
  });
  assert.equal(existsSync(join(parent, 'c')), false);
});

test('a server also syncs the entry of an existing folder, if the parent allows it; a command does not', async (t) => {
  const parent = temporaryFolder(t);
  const synced: number[] = [];
  let code: string | null = null;
  await onSync(t, async (handle) => {
    synced.push((await handle.stat()).ino);
    if (code !== null) throw Object.assign(new Error(`${code}: no sync`), { code });
  });
  const take = async (kind: Holder['kind']): Promise<void> => {
    const folder = join(parent, `${kind} ${code}`);
    mkdirSync(folder);
    const lock = await FolderLock.acquire(folder, kind);
    assert.ok(lock instanceof FolderLock);
    await lock.release();
  };
  await take('command');
  assert.deepEqual(synced, []);
  await take('server');
  assert.deepEqual(synced, [statSync(parent).ino]);
  for (code of ['EACCES', 'EPERM', 'EROFS', 'EINVAL']) await take('server');
  code = 'EIO';
  await assert.rejects(take('server'), /^Error: cannot use the data folder .*: EIO: i\/o error; the disk may be failing/);
  assert.equal(existsSync(join(parent, 'server EIO')), true, 'a folder that was there is not removed');
});

test('a folder that cannot be created or used is one line', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'file');
  writeFileSync(file, '');
  for (const path of [file, join(file, 'below')]) {
    await assert.rejects(FolderLock.acquire(path, 'server'), (error) => {
      assert.ok(error instanceof OperatorError);
      assert.match(error.message, /^cannot use the data folder \S+: \S.*; [^\n]+$/);
      assert.ok(error.message.includes(path));
      return true;
    });
  }
  // If linking fails, the temporary socket is removed.
  const held = join(folder, 'held');
  mkdirSync(held);
  before(t, 'linkSync', () => {
    throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM' });
  });
  await assert.rejects(FolderLock.acquire(held, 'server'), {
    message: `cannot use the data folder ${held}: EPERM: operation not permitted; `
      + 'this user must be able to write there; choose another folder with --data',
  });
  assert.deepEqual(readdirSync(held), []);
  assert.equal(existsSync(held), true);
});

test('what a killed process has left is removed by the next holder, and nothing of one that is starting', async (t) => {
  const folder = temporaryFolder(t);
  const die = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    fs.linkSync = () => process.kill(process.pid, 'SIGKILL');
    syncBuiltinESMExports();
    const { FolderLock } = await import(${JSON.stringify(builtLock)});
    await FolderLock.acquire(process.argv[1], 'server');`;
  for (let left = 1; left <= 2; left++) {
    const dying = spawn(process.execPath, ['--input-type=module', '-e', die, folder], { stdio: 'inherit' });
    assert.deepEqual(await once(dying, 'exit'), [null, 'SIGKILL']);
    assert.equal(readdirSync(folder).filter((name) => name.startsWith('lock.new-')).length, left);
  }
  const starting = createServer().listen(join(folder, 'lock.new-0123456789ab'));
  t.after(() => starting.close());
  await once(starting, 'listening');
  writeFileSync(join(folder, 'lock.new-ba9876543210'), 'not a socket');
  await acquired(t, folder);
  assert.deepEqual(readdirSync(folder).sort(), ['lock.1', 'lock.new-0123456789ab', 'lock.new-ba9876543210']);
});

test('a holder that fails removes the folders that it has made, if they are empty', async (t) => {
  const parent = temporaryFolder(t);
  const take = async (folder: string): Promise<FolderLock> => {
    const lock = await FolderLock.acquire(folder, 'server');
    assert.ok(lock instanceof FolderLock);
    return lock;
  };
  await (await take(join(parent, 'a', 'b'))).abandon();
  assert.deepEqual(readdirSync(parent), []);
  mkdirSync(join(parent, 'a'));
  await (await take(join(parent, 'a', 'b', 'c'))).abandon();
  assert.deepEqual(readdirSync(parent, { recursive: true }), ['a']);
  await (await take(join(parent, 'a'))).abandon();
  assert.deepEqual(readdirSync(parent, { recursive: true }).sort(), ['a', 'a/lock.1'], 'it was there before');

  for (const name of ['keys.json', 'lock.new-0123456789ab', 'lock.2']) {
    const folder = join(parent, `with ${name}`);
    const lock = await take(folder);
    writeFileSync(join(folder, name), '');
    await lock.abandon();
    assert.deepEqual(readdirSync(folder).sort(), [name, 'lock.1'].sort());
  }
  const replaced = join(parent, 'replaced');
  const lock = await take(replaced);
  unlinkSync(join(replaced, 'lock.1'));
  writeFileSync(join(replaced, 'lock.1'), '');
  await lock.abandon();
  assert.deepEqual(readdirSync(replaced), ['lock.1']);
});

test('of processes that take a new folder and fail at the same time, at most one holds it at any time', async (t) => {
  const parent = temporaryFolder(t);
  let [holders, taken] = [0, 0];
  await Promise.all(Array.from({ length: 20 }, async () => {
    for (let round = 0; round < 10; round++) {
      const lock = await FolderLock.acquire(join(parent, 'new', 'store'), 'command');
      if (!(lock instanceof FolderLock)) continue;
      assert.equal(++holders, 1);
      taken++;
      await new Promise((resolve) => setImmediate(resolve));
      holders--;
      await lock.abandon();
    }
  }));
  assert.ok(taken > 10, `${taken}`);
});

test('a server and a command that fail leave no new folder', async (t) => {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'new', 'store');
  const port = createServer().listen(0, '127.0.0.1');
  t.after(() => port.close());
  await once(port, 'listening');
  const { port: number } = port.address() as { port: number };
  const missing = join(parent, 'none');
  const wrong = join(temporaryFolder(t), 'wrong');
  writeFileSync(wrong, '{"name":"Rex","categoryId":1}\n{"name":""}\n');
  for (const run of [
    () => runServer(t, folder, ['--port', String(number)]).ended,
    () => runServer(t, folder, ['--host', `unix:${missing}/http.sock`]).ended,
    () => petstore(t, folder, 'keys', 'create', '--name=', '--plan', 'free'),
    () => petstore(t, folder, 'import', '--orders', missing),
    () => petstore(t, folder, 'import', wrong),
    () => petstore(t, folder, 'import', '--keep-ids', wrong),
  ]) {
    const { code, stderr } = await run();
    assert.ok(code === 1 || code === 2, stderr);
    assert.match(stderr, /^petstore: [^\n]+\n$/);
    assert.deepEqual(readdirSync(parent), [], stderr);
  }
});

test('a file system without sockets or hard links is named, and no temporary name is shown', async (t) => {
  for (const code of ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EACCES']) {
    for (const syscall of ['link', 'listen'] as const) {
      const folder = join(temporaryFolder(t), 'store');
      const failure = (path: string): Error =>
        Object.assign(new Error(`${code}: no, ${syscall} '${path}'`), { code, syscall });
      if (syscall === 'link') {
        const real = mock.method(fs, 'linkSync', (path: string) => {
          throw failure(path);
        });
        syncBuiltinESMExports();
        t.after(() => {
          real.mock.restore();
          syncBuiltinESMExports();
        });
      } else {
        t.mock.method(Channel.prototype, 'listen', async (path: string) => {
          throw failure(path);
        });
      }
      const remedy = code === 'EACCES'
        ? 'this user must be able to write there'
        : 'its file system must have Unix sockets and hard links';
      await assert.rejects(FolderLock.acquire(folder, 'server'), {
        message: new RegExp(`^cannot use the data folder ${folder}: ${code}: [a-z ]+; ${remedy}; choose another [^']+$`),
      });
      assert.equal(existsSync(folder), false);
      mock.restoreAll();
      t.mock.restoreAll();
      syncBuiltinESMExports();
    }
  }
});

test('a file in place of the folder, or above it, is named', async (t) => {
  const file = join(temporaryFolder(t), 'file');
  writeFileSync(file, '');
  for (const folder of [file, join(file, 'below')]) {
    const problem = `cannot use the data folder ${folder}: ${file} is not a folder; choose another with --data`;
    await assert.rejects(FolderLock.acquire(folder, 'server'), { message: problem });
    const create = await petstore(t, folder, 'keys', 'create', '--name', 'a', '--plan', 'free');
    assert.deepEqual([create.code, create.stderr], [1, `petstore: ${problem}\n`]);
  }
  assert.equal((await petstore(t, file, 'status')).stderr.includes('is not a folder'), true);
});
