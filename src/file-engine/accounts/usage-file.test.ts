import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { LockLostError } from '../../files/errors.ts';
import { readJson, type JsonObject } from '../../json/read.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { limitsOf } from '../../limits/plans.ts';
import { onSync } from '../../testing/file-handle.ts';
import { testStore } from '../../testing/journal.ts';
import { decodeUsage, encodeUsage, UsageFile } from './usage-file.ts';

const free = limitsOf({ name: 'free' });
const noon = Date.UTC(2026, 10, 21, 12);
const minute = 60_000;
const silent = (line: string): never => assert.fail(line);

interface Site {
  readonly folder: string;
  readonly path: string;
  now: number;
  readonly logged: string[];
  open(): UsageFile;
}

function site(t: TestContext): Site {
  const folder = temporaryFolder(t);
  const logged: string[] = [];
  const opened: Site = {
    folder,
    path: join(folder, 'usage.json'),
    now: noon,
    logged,
    open: () => new UsageFile(folder, () => opened.now, (line) => logged.push(line)),
  };
  return opened;
}

const use = ({ limiter }: UsageFile, id: string, count: number, now: number): void => {
  for (let i = 0; i < count; i += 1) limiter.admitKey(id, free, now, 0);
};
/** Exhausts the minute of a Free key at `now`, then sends 60 refused requests 3 s later, which ban it. */
const ban = (file: UsageFile, id: string, now: number): void => {
  use(file, id, 61, now);
  use(file, id, 60, now + 3_000);
};
const used = ({ limiter }: UsageFile, id: string, now: number): number[] => {
  const { minute, day } = limiter.usageOf(id, now);
  return [minute.used, day.used];
};

test('the file is one JSON document with one key per line', async (t) => {
  const { path, folder } = site(t);
  const file = new UsageFile(folder, () => noon, assert.fail, undefined, testStore);
  use(file, 'k1', 61, noon);
  use(file, 'k2', 2, noon);
  use(file, 'k3', 61, noon);
  use(file, 'k1', 60, noon + 3_000);
  use(file, 'k3', 2, noon + 3_000);
  await file.close();
  assert.equal(
    readFileSync(path, 'utf8'),
    `{"format":"petstore-usage","version":2,"store":"${testStore}","durable":0,"keyChanges":0,"keys":[
{"id":"k1","minute":{"start":"2026-11-21T12:00:00.000Z","used":60,"firstRefusedAt":"2026-11-21T12:00:00.000Z","refusals":60},"day":{"start":"2026-11-21T00:00:00.000Z","used":60},"ban":{"start":"2026-11-21T12:00:03.000Z","end":"2026-11-21T12:05:03.000Z"}},
{"id":"k2","minute":{"start":"2026-11-21T12:00:00.000Z","used":2},"day":{"start":"2026-11-21T00:00:00.000Z","used":2}},
{"id":"k3","minute":{"start":"2026-11-21T12:00:00.000Z","used":60,"firstRefusedAt":"2026-11-21T12:00:00.000Z","refusals":2},"day":{"start":"2026-11-21T00:00:00.000Z","used":60}}
],"crc32":"158f755d"}
`,
  );
});

test('the file records what is on disk of the animals and the keys, and is saved after each change', async (t) => {
  const { open } = site(t);
  const file = open();
  const numbers = { durable: 0, keyChanges: 0 };
  const recorded = async (of = open()): Promise<number[]> => {
    await of.close();
    return [open().recorded.durable, open().recorded.keyChanges];
  };
  file.noteChange(); // before it follows them
  file.follow(() => numbers);
  assert.deepEqual(await recorded(file), [0, 0]);
  numbers.durable = 7;
  assert.deepEqual(await recorded(file), [0, 0], 'nothing has changed yet');
  file.noteChange();
  assert.deepEqual(await recorded(file), [7, 0]);
  numbers.keyChanges = 2;
  file.noteChange();
  assert.deepEqual(await recorded(file), [7, 2]);
  // A command changes the usage without reading the animals.
  const command = open();
  use(command, 'k1', 1, noon);
  assert.deepEqual(await recorded(command), [7, 2]);
  // What has changed without the file is saved soon after the start.
  for (const [durable, keyChanges] of [[8, 2], [8, 3]] as const) {
    const next = open();
    next.follow(() => ({ durable, keyChanges }));
    assert.deepEqual(await recorded(next), [durable, keyChanges]);
  }
});

test('encodeUsage and decodeUsage are inverse', () => {
  const time = fc.integer({ min: -1e12, max: 4e12 });
  const window = (length: number) =>
    fc.record({
      start: time.map((ms) => Math.floor(ms / length) * length),
      used: fc.maxSafeNat(),
      firstRefusedAt: fc.option(time),
    });
  const ban = fc.option(
    fc.tuple(time, fc.integer({ min: 1, max: 3_600 })).map(([ms, seconds]) => {
      const start = Math.floor(ms / 1000) * 1000;
      return { start, end: start + seconds * 1000 };
    }),
  );
  fc.assert(fc.property(window(minute), window(86_400_000), fc.nat(), ban, (minuteUsed, dayUsed, refusals, stored) => {
    const id = 'k7';
    const { usage } = decodeUsage(
      readJson(
        Buffer.from(
          '{"id":"k7","minute":{"start":"1970-01-01T00:00:00Z","used":0},"day":{"start":"1970-01-01T00:00:00Z","used":0}}',
        ),
      ) as JsonObject,
    );
    Object.assign(usage.minute, minuteUsed);
    Object.assign(usage.day, dayUsed);
    usage.refusals = refusals;
    usage.ban = stored;
    assert.deepEqual(
      decodeUsage(readJson(Buffer.from(encodeUsage(id, usage, (time) => new Date(time).toISOString()))) as JsonObject),
      { id, usage },
    );
  }));
});

test(
  'a write begins within a second of the first unsaved change, not for every request',
  { timeout: 120_000 },
  async (t) => {
    const { path, open } = site(t);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const file = open();
    const saved = async (id: string, count: number): Promise<void> => {
      while (
        !existsSync(path) ||
        !readFileSync(path, 'utf8').includes(
          `{"id":"${id}","minute":{"start":"2026-11-21T12:00:00.000Z","used":${count}}`,
        )
      )
        await new Promise(setImmediate);
    };
    use(file, 'k1', 1, noon);
    t.mock.timers.tick(700);
    use(file, 'k1', 1, noon);
    assert.equal(existsSync(path), false);
    t.mock.timers.tick(300);
    await saved('k1', 2);
    t.mock.timers.tick(100_000);
    await new Promise(setImmediate);
    const { mtimeMs } = statSync(path);
    t.mock.timers.tick(100_000);
    assert.equal(statSync(path).mtimeMs, mtimeMs);
    use(file, 'k1', 1, noon);
    t.mock.timers.tick(1_000);
    await saved('k1', 3);
    await file.close();
  },
);

test('close() waits for the write that is under way', async (t) => {
  const { path, open } = site(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const file = open();
  use(file, 'k1', 1, noon);
  t.mock.timers.tick(1_000);
  await file.close();
  assert.ok(existsSync(path));
});

test('requests during a write are saved by the next write', async (t) => {
  const { open } = site(t);
  const file = open();
  use(file, 'k1', 1, noon);
  const first = file.save();
  use(file, 'k1', 1, noon);
  await first;
  use(file, 'k2', 1, noon);
  await file.close();
  const again = open();
  assert.deepEqual([used(again, 'k1', noon), used(again, 'k2', noon)], [[2, 2], [1, 1]]);
});

test('while a write hangs, only one more waits, which saves everything', async (t) => {
  const { open } = site(t);
  let writes = 0;
  let letGo = (): void => {};
  const hangs = new Promise<void>((resolve) => (letGo = resolve));
  await onSync(t, async (handle) => {
    if ((await handle.stat()).isFile()) writes++;
    await hangs;
  });
  const file = open();
  const saves: Promise<void>[] = [];
  for (let count = 0; count < 10; count++) {
    use(file, 'k1', 1, noon);
    saves.push(file.save());
    await new Promise(setImmediate);
  }
  letGo();
  await Promise.all(saves);
  await file.close();
  assert.deepEqual([writes, used(open(), 'k1', noon)], [2, [10, 10]]);
});

test('keys that have not been used today are not saved', async (t) => {
  const opened = site(t);
  const file = opened.open();
  use(file, 'k1', 60, noon);
  use(file, 'k2', 1, noon);
  opened.now += 24 * 60 * minute;
  use(file, 'k2', 1, opened.now);
  await file.close();
  assert.deepEqual([...readFileSync(opened.path, 'utf8').matchAll(/"id":"(\w+)"/g)].map(([, id]) => id), ['k2']);
});

test('a ban is saved until 24 h after its end, also on the next day', async (t) => {
  const opened = site(t);
  opened.now = Date.UTC(2026, 10, 21, 23, 58);
  const file = opened.open();
  ban(file, 'k1', opened.now);
  const end = opened.now + 3_000 + 5 * minute;
  for (const [now, kept] of [
    [opened.now + 3 * minute, true],
    [end + 24 * 60 * minute, true],
    [end + 24 * 60 * minute + 1, false],
  ] as const) {
    opened.now = now;
    await file.save();
    assert.equal(opened.open().limiter.usageOf('k1', now).ban !== null, kept);
  }
  await file.close();
});

test('windows and bans more than 60 s in the future are dropped when the file is read', async (t) => {
  const opened = site(t);
  const file = opened.open();
  ban(file, 'k1', noon);
  await file.close();
  opened.now = noon - 90_000;
  const again = opened.open();
  assert.equal(again.limiter.admitKey('k1', free, noon - 30_000, 0).refusedBy, null);
  await again.close();
});

test('a ban is saved even if nothing else has changed', async (t) => {
  const opened = site(t);
  const file = opened.open();
  use(file, 'k1', 61, noon);
  use(file, 'k1', 59, noon + 3_000);
  await file.save();
  use(file, 'k1', 1, noon + 4_000);
  await file.close();
  assert.notEqual(opened.open().limiter.usageOf('k1', noon).ban, null);
});

test('refusals by a ban cause no write', async (t) => {
  const opened = site(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const file = opened.open();
  ban(file, 'k1', noon);
  await file.save();
  const { ino } = statSync(opened.path);
  use(file, 'k1', 60, noon + 4_000);
  t.mock.timers.tick(1_000);
  await file.close();
  assert.equal(statSync(opened.path).ino, ino);
  use(file, 'k1', 1, noon - 120_000); // setting the clock back to before the ban ends it
  await file.close();
  assert.notEqual(statSync(opened.path).ino, ino);
});

test('nothing is written if nothing has changed', async (t) => {
  const { folder, open } = site(t);
  const file = open();
  file.limiter.usageOf('k1', noon);
  await file.close();
  assert.deepEqual(readdirSync(folder), []);
});

test('thousands of keys are all written, in several pieces', async (t) => {
  const { open } = site(t);
  const file = open();
  for (let n = 1; n <= 3_000; n += 1) use(file, `k${n}`, 1 + (n % 3), noon);
  await file.close();
  const again = open();
  for (let n = 1; n <= 3_000; n += 1) assert.deepEqual(used(again, `k${n}`, noon), [1 + (n % 3), 1 + (n % 3)]);
});

const line = (rest: string): string => `{"format":"petstore-usage","version":2,"keys":[\n${rest}\n]}\n`;
const goodDay = '"day":{"start":"2026-11-21T00:00:00.000Z","used":1}';
const good = `{"id":"k1","minute":{"start":"2026-11-21T12:00:00.000Z","used":1},${goodDay}}`;

test('if the file is damaged, all counters start from nothing; it is renamed before it is next written', async (t) => {
  const opened = site(t);
  const broken = [
    '', '{', 'null', '[]', '{}', '\0\0\0\0',
    line(good).slice(0, -20),
    line(good).replace('usage"', 'keys"'),
    line(good).replace(':2,"keys"', ':0,"keys"'),
    line('5'),
    line('{}'),
    line(`${good},\n${good}`),
    line(good.replace('"used":1', '"used":-1')),
    line(good.replace('"used":1', '"used":1.5')),
    line(good.replace('"used":1', '"used":"1"')),
    line(good.replace('12:00:00', '12:00:01')),
    line(good.replace('T00:00:00', 'T12:00:00')),
    line(good.replace('2026-11-21T12:00:00.000Z', 'noon')),
    line(good.replace('"used":1}', '"used":1,"firstRefusedAt":null}')),
    line(good.replace('"used":1}', '"used":1,"refusals":-1}')),
    line(good.replace(goodDay, `${goodDay},"ban":null`)),
    line(good.replace(goodDay, `${goodDay},"ban":{"start":"2026-11-21T12:00:00Z","end":"2026-11-21T12:00:00Z"}`)),
    line(good.replace(goodDay, `${goodDay},"ban":{"start":"2026-11-21T12:00:00.5Z","end":"2026-11-21T12:00:01.5Z"}`)),
    line(good.replace('"k1"', '1')),
  ];
  for (const [index, text] of broken.entries()) {
    writeFileSync(opened.path, text);
    const file = opened.open();
    assert.deepEqual(used(file, 'k1', noon), [0, 0], text);
    assert.equal(opened.logged.length, 1, text);
    const logged = opened.logged.pop()!;
    assert.match(logged, /^[^\n]+usage\.json, line \d+: [^\n]+; all counters and bans start from nothing, /);
    assert.equal(readFileSync(opened.path, 'utf8'), text);
    await file.close(); // nothing has changed
    assert.equal(readFileSync(opened.path, 'utf8'), text);
    use(file, 'k1', 1, noon);
    await file.close();
    const aside = `${opened.path}.broken-${index + 1}`;
    assert.deepEqual(opened.logged.splice(0), [`the damaged ${opened.path} was renamed to ${aside}`]);
    assert.equal(readFileSync(aside, 'utf8'), text);
    assert.deepEqual(used(opened.open(), 'k1', noon), [1, 1]);
  }
});

test('unknown members of a record are ignored', (t) => {
  const { path, open } = site(t);
  writeFileSync(path, line(good.replace('"used":1}', '"used":1,"hour":[]}')));
  assert.deepEqual(used(open(), 'k1', noon), [1, 1]);
});

test('a file that cannot be read is not set aside, and an error is thrown', (t) => {
  const { path, open, folder } = site(t);
  mkdirSync(path);
  assert.throws(open, { message: /^cannot read .*usage\.json: it is not a regular file/, exitCode: 1 });
  assert.deepEqual(readdirSync(folder), ['usage.json']);
});

test('a failed write is logged once and tried again; nothing is lost in memory', async (t) => {
  const { folder, path, logged, open } = site(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const file = open();
  mkdirSync(path); // a file cannot replace a folder
  writeFileSync(join(path, 'x'), '');
  use(file, 'k1', 4, noon);
  await assert.rejects(file.save(), { message: /^cannot write .*usage\.json: / });
  const failAgain = async (): Promise<void> => {
    t.mock.timers.tick(1_000);
    await assert.rejects(file.save());
  };
  await failAgain();
  await failAgain();
  assert.deepEqual(
    logged.map((text) => /^cannot write .*usage\.json: .*; a restart would lose recent usage and bans$/.test(text)),
    [true],
  );
  rmSync(path, { recursive: true });
  t.mock.timers.tick(1_000);
  await file.save();
  while (logged.length < 2) await new Promise(setImmediate);
  assert.match(logged[1]!, /^the usage of the keys is saved in .*usage\.json again$/);
  await file.close();
  const again = new UsageFile(folder, () => noon, silent);
  assert.deepEqual(used(again, 'k1', noon), [4, 4]);
});

test('without the lock nothing is written, and the reason is not logged again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { folder, logged } = site(t);
  let checks = 0;
  const file = new UsageFile(folder, () => noon, (line) => logged.push(line), () => {
    checks++;
    throw new LockLostError('lost');
  });
  use(file, 'k1', 1, noon);
  for (let count = 1; count <= 2; count++) {
    while (checks < count) {
      t.mock.timers.tick(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  await assert.rejects(file.close(), LockLostError);
  assert.deepEqual([readdirSync(folder), logged], [[], []]);
});

test('close() rejects if the last write fails', async (t) => {
  const { path, open } = site(t);
  const file = open();
  use(file, 'k1', 3, noon);
  mkdirSync(join(path, 'x'), { recursive: true });
  await assert.rejects(file.close(), { message: /^cannot write .*usage\.json: / });
});
