import assert from 'node:assert/strict';
import {
  closeSync, copyFileSync, existsSync, linkSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../../../harness/owner.ts';
import { FolderLock } from '../lock/folder-lock.ts';
import { openStores } from '../../testing/stores.ts';
import { backUp } from '../tools/backup.ts';
import { Progress } from '../../program/progress.ts';
import { createFolder, requireParent } from './new-folder.ts';
import { isStdout, OutputFile } from './output.ts';

const silent = (line: string): never => assert.fail(line);

async function write(path: string, replaces = true): Promise<void> {
  const file = new OutputFile(path, replaces);
  try {
    file.write(Buffer.from('new'));
    await file.commit();
  } catch (error) {
    file.discard();
    throw error;
  }
}

/** A data folder and a backup of it, beside a link to the folder. */
async function makeFolders(t: TestContext) {
  const parent = temporaryFolder(t);
  const [folder, backup, link] = [join(parent, 'store'), join(parent, 'backup'), join(parent, 'link')];
  await (await openStores(folder)).close();
  await backUp(folder, backup, silent, new Progress('backup'));
  symlinkSync(folder, link);
  return { parent, folder, backup, link };
}

const contentOf = (folder: string): Map<string, string> => new Map(readdirSync(folder).sort().map((name) => {
  return [name, name.startsWith('lock.') ? '' : readFileSync(join(folder, name), 'latin1')];
}));

const names = [
  'keys.json', 'pets.json', 'usage.json', 'orders.json', 'backup.json', 'lock.1', 'lock.9', 'lock.new-0',
  'pets.4.journal', 'pets.12.journal', 'pets.4.journal.torn-1', 'usage.json.broken-2', 'pets.json.tmp',
  'KEYS.JSON', '\u212aeys.json', 'order\u017f.json',
];

test('no file, folder or socket gets a name that a data folder or a backup reserves, even with --force', async (t) => {
  const { folder, backup, link } = await makeFolders(t);
  for (const [place, real] of [[folder, folder], [backup, backup], [link, folder]] as const) {
    const before = contentOf(real);
    for (const name of names) {
      const path = join(place, name);
      const problem = `cannot write ${path}: the data folder ${place} reserves this name`;
      const refusal = { message: `${problem}; choose another path` };
      for (const force of [false, true]) await assert.rejects(write(path, force), refusal, name);
      await assert.rejects(createFolder(path, async () => ({})), refusal, name);
      assert.throws(() => requireParent(path), refusal, 'a Unix socket for HTTP');
      if (!before.has(name)) await assert.rejects(FolderLock.acquire(path, 'command'), refusal, name);
    }
    assert.deepEqual(contentOf(real), before);
    await write(join(place, 'animals.ndjson'), false);
    rmSync(join(place, 'animals.ndjson'));
  }
});

test('a file of a data folder is not replaced, whatever its name and its folder are', async (t) => {
  const { parent, folder, backup } = await makeFolders(t);
  const other = join(parent, 'other');
  mkdirSync(other);
  for (const place of [folder, backup]) {
    const before = contentOf(place);
    for (const name of before.keys()) {
      const [symbolic, hard, copy] = ['symbolic', 'hard', 'copy'].map((kind) => join(other, `${kind}-${name}`));
      symlinkSync(join(place, name), symbolic!);
      await assert.rejects(write(symbolic!), /reserves this name|is not a regular file/, name);
      if (name.startsWith('lock.')) continue;
      linkSync(join(place, name), hard!);
      copyFileSync(join(place, name), copy!);
      if (name === 'orders.json' && place === folder) continue; // the operator has written it, without a head
      for (const path of [hard!, copy!]) {
        const message = `${path} is a file of a data folder or a backup; name another one`;
        await assert.rejects(write(path), { message });
      }
    }
    assert.deepEqual(contentOf(place), before);
    rmSync(other, { recursive: true });
    mkdirSync(other);
  }
});

test('each file that shows that a folder is a data folder protects the others', async (t) => {
  const { parent, backup } = await makeFolders(t);
  const other = join(parent, 'other');
  for (const name of readdirSync(backup)) {
    mkdirSync(other);
    copyFileSync(join(backup, name), join(other, name));
    await assert.rejects(write(join(other, 'lock.1')), /reserves this name/, name);
    rmSync(other, { recursive: true });
  }
  mkdirSync(other);
  const server = createServer().listen(join(other, 'lock.3'));
  await new Promise((resolve) => server.on('listening', resolve));
  await assert.rejects(write(join(other, 'keys.json')), /reserves this name/);
  server.close();
  rmSync(other, { recursive: true });
  for (const name of ['keys.json', 'usage.json']) {
    mkdirSync(other);
    const { format, ...rest } = JSON.parse(readFileSync(join(backup, name), 'utf8')) as { format: string };
    writeFileSync(join(other, name), `${' '.repeat(1000)}${JSON.stringify({ ...rest, format }, null, 2)}`);
    await assert.rejects(write(join(other, name), true), /reserves this name/, 'a person has moved its head');
    rmSync(other, { recursive: true });
  }
});

test('the names are free in any other folder, and a file is replaced only if that is requested', async (t) => {
  const folder = temporaryFolder(t);
  for (const name of names.slice(0, 8)) {
    const path = join(folder, name);
    await write(path, false);
    await assert.rejects(write(path, false), {
      message: `${path} exists; name another file, or replace it with --force`,
    });
    await write(path, true);
  }
  mkdirSync(join(folder, 'keys.json.d'));
  writeFileSync(join(folder, 'keys.json'), '{"format":"something","version":2}');
  await write(join(folder, 'orders.json'), true);
  assert.deepEqual(readdirSync(folder).filter((name) => name.includes('tmp-')), []);
});

test('what appears while a file is written is not replaced', async (t) => {
  const { folder: source, parent } = await makeFolders(t);
  const folder = join(parent, 'new');
  mkdirSync(folder);
  const path = join(folder, 'orders.json');
  const file = new OutputFile(path, false);
  writeFileSync(path, 'of somebody else');
  await assert.rejects(file.commit(), /exists; name another file/);
  file.discard();
  const forced = new OutputFile(path, true);
  copyFileSync(join(source, 'keys.json'), join(folder, 'keys.json'));
  await assert.rejects(forced.commit(), /reserves this name/);
  forced.discard();
  assert.deepEqual(contentOf(folder).get('orders.json'), 'of somebody else');
  assert.deepEqual(readdirSync(folder).sort(), ['keys.json', 'orders.json']);
});

test('the path of a descriptor replaces a file only if it is one, and is open for writing', async (t) => {
  if (!existsSync('/proc/self/fd')) return t.skip('there is no /proc/self/fd');
  const path = join(temporaryFolder(t), 'file');
  writeFileSync(path, 'old');
  for (const folder of ['/dev/fd', '/proc/self/fd']) {
    for (const flags of ['r', 'r+']) {
      writeFileSync(path, 'old');
      const descriptor = openSync(path, flags);
      if (flags === 'r+') await write(`${folder}/${descriptor}`, false);
      else await assert.rejects(write(`${folder}/${descriptor}`, false), /exists; name another file/);
      assert.equal(readFileSync(path, 'utf8'), flags === 'r+' ? 'new' : 'old');
      closeSync(descriptor);
    }
  }
  await assert.rejects(write(`/proc/self/root${path}`, false), /exists; name another file/);
});

test('/dev/stdout is stdout, whatever that is', () => {
  assert.equal(isStdout('/dev/stdout'), true);
  assert.equal(isStdout('/dev/null/no'), false);
});
