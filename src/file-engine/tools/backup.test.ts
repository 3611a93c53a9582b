import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../../../harness/owner.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { crc32, crcHex } from '../../domain/crc32.ts';
import { LineTable } from '../store/line-table.ts';
import { onSync } from '../../testing/file-handle.ts';
import { keepCreating, newPet, openStores, order, serve } from '../../testing/stores.ts';
import { backUp, restore } from './backup.ts';
import { Progress } from '../../program/progress.ts';
import { verify } from './verify.ts';

const silent = (line: string): never => assert.fail(line);
const make = (folder: string, to: string) => backUp(folder, to, silent, new Progress('backup'));

/** What was used on the day; the minute may end during a test. */
const usedOn = (line: string): unknown => (JSON.parse(line) as { day: unknown }).day;

/** What a server would serve from a folder. */
async function served(folder: string) {
  const { store, ring: keys, usage, orderTable: orders, pets, close } = await openStores(folder);
  const all = (table: LineTable) => [...table.pieces(table.count, Infinity)].map(String).join('');
  const result = {
    store,
    keys: keys.keys, usage: [...usage.contents.lines].map(usedOn), orders: all(orders), pets: all(pets.table),
    sequence: pets.durable,
  };
  await close();
  return result;
}

async function storeIn(folder: string) {
  await (await openStores(folder)).close();
  return served(folder);
}

test('a backup of a stopped folder, restored, is the same store', async (t) => {
  const parent = temporaryFolder(t);
  const [folder, to, restored] = [join(parent, 'store'), join(parent, 'backup'), join(parent, 'restored')];
  const before = await storeIn(folder);
  const made = await make(folder, to);
  assert.deepEqual([made.animals, made.unsynced], [3, null]);
  assert.deepEqual(readdirSync(to).sort(), [
    'backup.json', 'keys.json', 'orders.json', 'pets.4.journal', 'pets.json', 'usage.json',
  ]);
  const manifest = await restore(to, restored);
  assert.equal(manifest.sequence, 3);
  for (const path of [to, restored]) {
    assert.equal(statSync(path).mode & 0o777, 0o700);
    for (const name of readdirSync(path)) assert.equal(statSync(join(path, name)).mode & 0o777, 0o600, name);
  }
  assert.deepEqual(await served(restored), before);
  assert.deepEqual(await served(folder), before);
  assert.deepEqual(readdirSync(parent).sort(), ['backup', 'restored', 'store']);
});

test('a backup of a running server contains what was confirmed before', async (t) => {
  const { parent, folder, stores: { pets, ring: keys, usage } } = await serve(t);
  await usage.save();
  const lines = [...usage.contents.lines];
  const creating = pets.create(newPet('under way')); // has its id, but is not on disk
  const made = make(folder, join(parent, 'backup'));
  await creating;
  await made;
  for (let i = 0; i < 5; i++) await pets.create(newPet('later'));
  await restore(join(parent, 'backup'), join(parent, 'restored'));
  const restored = await served(join(parent, 'restored'));
  const { sequence } = restored;
  assert.ok(sequence === 3 || sequence === 4, `${sequence}`);
  const rows = [...pets.table.pieces(9, Infinity)].map(String).join('').split(/(?<=\n)/);
  assert.equal(restored.pets, rows.slice(0, sequence).join(''));
  assert.equal(restored.orders, `${order},\n`);
  assert.deepEqual([restored.keys, restored.usage], [keys.keys, lines.map(usedOn)]);
});

test('each backup made while a server adds animals and writes snapshots verifies, and has what was confirmed', async (t) => {
  const { parent, folder, stores: { pets } } = await serve(t);
  const stop = keepCreating(pets);
  for (let i = 0; i < 20; i++) {
    const confirmed = pets.durable;
    const to = join(parent, `${i}`);
    const { animals, lastRecord } = await make(folder, to);
    assert.ok(lastRecord >= confirmed && animals === lastRecord, `${animals}, ${lastRecord}, ${confirmed}`);
    const { damage, unreadable, notes } = await verify(to, new Progress('verify'));
    assert.deepEqual([damage, unreadable, notes], [[], [], []]);
  }
  await stop();
});

test('a backup and a restored folder appear complete or not at all, whichever sync fails', async (t) => {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'store');
  await storeIn(folder);
  let left = Infinity;
  let failed = '';
  await onSync(t, async (handle) => {
    if (left-- !== 0) return;
    failed = (await handle.stat()).ino === statSync(parent).ino ? 'parent' : 'other';
    throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO', syscall: 'fsync' });
  });
  await make(folder, join(parent, 'good'));
  const steps: [string, () => Promise<{ unsynced: string | null }>][] = [
    ['backup', () => make(folder, join(parent, 'backup'))],
    ['restored', () => restore(join(parent, 'good'), join(parent, 'restored'))],
  ];
  for (const [name, run] of steps) {
    let failures = 0;
    const before = readdirSync(parent);
    for (left = 0; ; left = ++failures) {
      const made = await run().catch((error: Error) => error);
      if (!(made instanceof Error)) {
        // The last sync is that of the parent: the folder has its name then.
        const what = `cannot sync the folder of ${join(parent, name)}: EIO: i/o error; the folder was created`;
        assert.ok(made.unsynced?.startsWith(`${what}, but a power cut may undo that`), `${made.unsynced}`);
        break;
      }
      assert.match(made.message, /^cannot write [^;]+: EIO: i\/o error; [^;]+$/);
      assert.deepEqual(readdirSync(parent), before, `after failure ${failures}`);
    }
    assert.ok(failures > 5, `${failures}`);
    assert.equal(failed, 'parent');
    left = Infinity;
    assert.deepEqual(await served(join(parent, name)), await served(folder));
  }
});

test('a target that is not an empty folder is refused and left alone', async (t) => {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'store');
  await storeIn(folder);
  const [good, full, empty] = [join(parent, 'good'), join(parent, 'full'), join(parent, 'empty')];
  const file = join(parent, 'file');
  await make(folder, good);
  for (const path of [full, empty]) mkdirSync(path);
  writeFileSync(join(full, 'note'), '');
  writeFileSync(file, '');
  for (const path of [full, file, folder]) {
    const refusal = { message: `${path} is not an empty folder; name one that does not exist` };
    await assert.rejects(make(folder, path), refusal);
    await assert.rejects(restore(good, path), refusal);
  }
  const [missing, below] = [join(parent, 'no', 'parent'), join(file, 'below')];
  for (const run of [(path: string) => make(folder, path), (path: string) => restore(good, path)]) {
    const absent = `the folder ${join(parent, 'no')} does not exist; create it`;
    await assert.rejects(run(missing), { message: `cannot write ${missing}: ${absent}` });
    const other = `${file} is not a folder; choose another path`;
    await assert.rejects(run(below), { message: `cannot write ${below}: ${other}` });
  }
  await assert.rejects(make(join(parent, 'no'), join(parent, 'x')), /there is no data folder/);
  assert.deepEqual(readdirSync(parent).sort(), ['empty', 'file', 'full', 'good', 'store']);
  assert.deepEqual(readdirSync(full), ['note']);
  await restore(good, empty);
  assert.equal(readdirSync(empty).length, 5);
});

test('a backup with any byte changed, removed or added, or a file missing, is not restored', async (t) => {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'store');
  await storeIn(folder);
  const [from, to] = [join(parent, 'backup'), join(parent, 'restored')];
  await make(folder, from);
  const isRefused = async (name: string, bytes: Buffer, what: string): Promise<void> => {
    writeFileSync(join(from, name), bytes);
    await assert.rejects(restore(from, to), (error: Error) => {
      return error instanceof OperatorError && error.message.includes(name.slice(0, 4));
    }, `${name}: ${what}`);
    assert.deepEqual(readdirSync(parent).sort(), ['backup', 'store']);
  };
  for (const name of readdirSync(from)) {
    const bytes = readFileSync(join(from, name));
    for (let at = 0; at < bytes.length; at += name === 'backup.json' ? 1 : 97) {
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1;
      await isRefused(name, flipped, `bit flipped in byte ${at}`);
    }
    await isRefused(name, bytes.subarray(0, -1), 'truncated');
    await isRefused(name, Buffer.alloc(0), 'emptied');
    await isRefused(name, Buffer.concat([bytes, Buffer.from('\n')]), 'longer');
    writeFileSync(join(from, name), bytes);
  }
  await assert.rejects(restore(folder, to), /is not a backup: there is no backup\.json/);
  const manifest = readFileSync(join(from, 'backup.json'), 'utf8');
  writeFileSync(join(from, 'backup.json'), manifest.replace('"version":1', '"version":2'));
  await assert.rejects(restore(from, to), /backup\.json has version 2, but this program supports version 1; use a n/);
});

/** Anything that JSON can have in place of another value. */
const values = [
  'null', 'true', '0', '-1', '1.5', '1e999', '9007199254740993', '""', '"\\u0000"', '"a\\nb"', '[]', '{}', '[[]]',
  '['.repeat(20_000) + ']'.repeat(20_000), `"${'x'.repeat(20_000)}"`,
];
const names = [
  '../victim', '/etc/passwd', '..', '.', '', 'keys.json/', './keys.json', 'KEYS.JSON', 'keys.json\\u0000', 'note',
  'lock.1', 'backup.json', 'pets.5.journal', 'pets.json.tmp',
];

test('a forged manifest is one line, by restore and by verify, and nothing is created', async (t) => {
  const parent = temporaryFolder(t);
  const [folder, from, to] = [join(parent, 'store'), join(parent, 'backup'), join(parent, 'restored')];
  await storeIn(folder);
  await make(folder, from);
  writeFileSync(join(parent, 'victim'), 'old');
  writeFileSync(join(from, 'note'), '');
  const path = join(from, 'backup.json');
  const sound = readFileSync(path, 'utf8').replace(/,"crc32".*\n$/, '');
  const isRefused = async (text: string, expected = /^[^\n]*backup\.json is damaged: [^\n]+; use another backup$/) => {
    writeFileSync(path, `${text},"crc32":"${crcHex(crc32(Buffer.from(text)))}"}\n`);
    const what = text.slice(0, 200);
    await assert.rejects(restore(from, to), (error: Error) => {
      return error instanceof OperatorError && error.exitCode === 1 && expected.test(error.message);
    }, what);
    assert.deepEqual(readdirSync(parent).sort(), ['backup', 'store', 'victim'], what);
    const { damage } = await verify(from, new Progress('verify'));
    assert.ok(damage.some((line) => expected.test(line)), what);
  };
  const members = ['format', 'version', 'store', 'sequence', 'createdAt'].map((name) => [name, /[^,]+/] as const);
  const inFiles = [['name', /"[^"]*"/], ['bytes', /[0-9]+/], ['sha256', /"[^"]*"/]] as const;
  for (const [name, value] of [...members, ...inFiles]) {
    const member = new RegExp(`("${name}":)${value.source}`);
    assert.match(sound, member);
    for (const other of values) {
      const text = sound.replace(member, (_, before: string) => before + other);
      const isLength = name === 'bytes' && other === '0';
      if (isLength) await isRefused(text, /keys\.json is damaged: it has [0-9]+ bytes, but should have 0; use another/);
      else await isRefused(text);
    }
    await isRefused(sound.replace(new RegExp(`${member.source},?`), ''));
  }
  const [head, list = ''] = sound.split(/(?<="files":)/);
  for (const other of values) await isRefused(`${head}${other}`);
  for (const other of values) await isRefused(`${head}[${other}]`);
  for (const name of names) await isRefused(sound.replace('"keys.json"', `"${name}"`));
  const files = list.slice(2, -2).split(',\n');
  assert.equal(files.length, 5);
  for (const [index, file] of files.entries()) {
    await isRefused(`${head}[${files.toSpliced(index, 1).join()}]`);
    await isRefused(`${head}[${[...files, file].join()}]`);
    await isRefused(`${head}[${files.toSpliced(index, 1, files[(index + 1) % 5]!).join()}]`);
  }
  const long = `${head}[${Array(10_000).fill(files[0]).join()}]`;
  await isRefused(long, /^\S+backup\.json, line 1: the file has [0-9]+ bytes/);
  await isRefused(sound.replace(/"store":"./, (text) => text.slice(0, -1) + (text.endsWith('0') ? '1' : '0')));
  assert.equal(readFileSync(join(parent, 'victim'), 'utf8'), 'old');
});

test('a backup with links, FIFOs, devices or endless files is refused without reading them', async (t) => {
  const parent = temporaryFolder(t);
  const [folder, from, to] = [join(parent, 'store'), join(parent, 'backup'), join(parent, 'restored')];
  await storeIn(folder);
  await make(folder, from);
  const manifest = readFileSync(join(from, 'backup.json'), 'utf8');
  const isRefused = async (name: string): Promise<void> => {
    await assert.rejects(restore(from, to), (error: Error) => {
      return error instanceof OperatorError && error.message.includes(name) && !error.message.includes('\n');
    }, name);
    assert.deepEqual(readdirSync(parent).sort(), ['aside', 'backup', 'store']);
    const { damage, unreadable } = await verify(from, new Progress('verify'));
    assert.ok([...damage, ...unreadable].some((line) => line.includes(name)), name);
  };
  for (const name of readdirSync(from)) {
    const [path, aside] = [join(from, name), join(parent, 'aside')];
    renameSync(path, aside);
    for (const target of ['/dev/zero', '/dev/null', '/proc/self/mem', aside, path, join(parent, 'none')]) {
      symlinkSync(target, path);
      await isRefused(name);
      rmSync(path);
    }
    execFileSync('mkfifo', [path]);
    await isRefused(name);
    rmSync(path);
    mkdirSync(path);
    await isRefused(name);
    rmSync(path, { recursive: true });
    // A file with a hole: its length in the manifest is right. It begins as the sound one does.
    for (const beginning of [readFileSync(aside), '']) {
      writeFileSync(path, beginning);
      truncateSync(path, 2 ** 40);
      const entry = new RegExp(`("name":"${name.replaceAll('.', '\\.')}","bytes":)[0-9]+`);
      const text = manifest.replace(entry, `$1${2 ** 40}`).replace(/,"crc32".*\n$/, '');
      if (name !== 'backup.json') writeManifest(from, text);
      await isRefused(name);
    }
    renameSync(aside, path);
    writeFileSync(join(from, 'backup.json'), manifest);
  }
});

function writeManifest(folder: string, text: string): void {
  writeFileSync(join(folder, 'backup.json'), `${text},"crc32":"${crcHex(crc32(Buffer.from(text)))}"}\n`);
}

test('a backup whose files are as its manifest says, but would be refused at a start, is not restored', async (t) => {
  const parent = temporaryFolder(t);
  const [folder, from, to] = [join(parent, 'store'), join(parent, 'backup'), join(parent, 'restored')];
  await storeIn(folder);
  await make(folder, from);
  const manifest = readFileSync(join(from, 'backup.json'), 'utf8').replace(/,"crc32".*\n$/, '');
  for (const name of readdirSync(from).filter((one) => one !== 'backup.json')) {
    const path = join(from, name);
    const sound = readFileSync(path);
    for (const content of ['', '{}', '[{},{},{}]', `${'['.repeat(100_000)}`, sound.subarray(0, -9), 'x'.repeat(20e6)]) {
      writeFileSync(path, content);
      const sha256 = createHash('sha256').update(content).digest('hex');
      const entry = new RegExp(`("name":"${name.replaceAll('.', '\\.')}","bytes":)[0-9]+,"sha256":"[^"]*"`);
      writeManifest(from, manifest.replace(entry, `$1${content.length},"sha256":"${sha256}"`));
      await assert.rejects(restore(from, to), (error: Error) => {
        const problem = `cannot restore ${from}, use another backup: `;
        return error instanceof OperatorError && error.message.startsWith(problem);
      }, `${name}: ${content.slice(0, 20).toString()}`);
      assert.deepEqual(readdirSync(parent).sort(), ['backup', 'store']);
    }
    writeFileSync(path, sound);
  }
});
