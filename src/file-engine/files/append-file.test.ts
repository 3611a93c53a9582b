import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { pretendPlatform } from '../../testing/platform.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { AppendFile } from './append-file.ts';

test('a new file has mode 0600, and an existing file is not replaced', async (t) => {
  const path = join(temporaryFolder(t), 'f');
  const file = await AppendFile.open(path, 0, 'wx');
  assert.equal(file.size, 0);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await assert.rejects(AppendFile.open(path, 0, 'wx'), { code: 'EEXIST' });
  await assert.rejects(AppendFile.open(`${path}x`, 0), { code: 'ENOENT' });
  await file.close();
});

test('zeros follow the content until `truncate` removes them', async (t) => {
  const path = join(temporaryFolder(t), 'f');
  const file = await AppendFile.open(path, 0, 'wx');
  await file.append(Buffer.from('a'));
  const { size: length } = statSync(path);
  assert(length > 100_000);
  assert(readFileSync(path).equals(Buffer.concat([Buffer.from('a')], length)));
  await file.append(Buffer.alloc(length - 1, 'b'));
  assert.equal(statSync(path).size, length, 'the file grows only when they are used up');
  await file.append(Buffer.from('c'));
  assert(statSync(path).size > length + 100_000);
  await file.truncate();
  assert.equal(file.size, length + 1);
  assert(readFileSync(path).equals(Buffer.from(`a${'b'.repeat(length - 1)}c`)));
  await file.append(Buffer.from('d'));
  assert.equal(readFileSync(path)[length + 1], 'd'.charCodeAt(0));
  await file.close();
});

test('bytes are appended after the existing content, and after the truncated length', async (t) => {
  const path = join(temporaryFolder(t), 'f');
  writeFileSync(path, 'old');
  const file = await AppendFile.open(path, 3);
  await file.append(Buffer.from(' new'));
  await file.append(Buffer.alloc(0));
  await file.append(Buffer.from('er'));
  assert.equal(file.size, 9);
  await file.sync();
  assert.equal(readFileSync(path, 'utf8').replace(/\0+$/, ''), 'old newer');
  await file.truncate(4);
  assert.equal(file.size, 4);
  assert.equal(readFileSync(path, 'utf8'), 'old ');
  await file.append(Buffer.from('end'));
  await file.truncate();
  assert.equal(readFileSync(path, 'utf8'), 'old end');
  await file.close();
});

test('rewriting writes the same content again', async (t) => {
  const path = join(temporaryFolder(t), 'f');
  writeFileSync(path, 'content');
  const file = await AppendFile.open(path, 7);
  for (const [from, written] of [[7, false], [3, true], [0, true]] as const) {
    utimesSync(path, 1, 1);
    await file.rewrite(from);
    assert.equal(statSync(path).mtimeMs > 1_000, written);
    assert.equal(readFileSync(path, 'utf8'), 'content');
  }
  await file.close();
});

test('without room for zeros, content can still be appended', { skip: process.platform === 'win32' }, async (t) => {
  const path = join(temporaryFolder(t), 'f');
  const script = `
    import { AppendFile } from ${JSON.stringify(new URL('../../../dist/file-engine/files/append-file.js', import.meta.url).href)};
    const file = await AppendFile.open(process.argv[1], 0, 'wx');
    let count = 0;
    try {
      for (;;) await file.append(Buffer.alloc(1000, 'a')), count++;
    } catch (error) {
      process.stdout.write(\`\${count} \${error.code}\`);
    }
  `;
  const node = [process.execPath, '--input-type=module', '-e', script, path];
  const { stdout } = await promisify(execFile)('bash', ['-c', 'ulimit -f 64; exec "$@"', 'bash', ...node]);
  assert.equal(stdout, '65 EFBIG');
});

test('a large append is written whole', async (t) => {
  const path = join(temporaryFolder(t), 'f');
  const file = await AppendFile.open(path, 0, 'wx');
  const bytes = Buffer.alloc(3_000_001, 'abcdefg');
  await file.append(bytes);
  await file.append(bytes.subarray(5, 12));
  await file.truncate();
  await file.close();
  assert.equal(file.size, 3_000_008);
  assert(readFileSync(path).equals(Buffer.concat([bytes, bytes.subarray(5, 12)])));
});

test(
  'a failed append rejects with the error of the file system and does not change the size',
  { skip: process.platform !== 'linux' },
  async () => {
    const full = await AppendFile.open('/dev/full', 0);
    await assert.rejects(full.append(Buffer.from('x')), { code: 'ENOSPC' });
    assert.equal(full.size, 0);
    await full.close();
  },
);

test('on Linux, a sync after writes has nothing to do', async (t) => {
  for (const platform of ['linux', 'darwin']) {
    pretendPlatform(t, platform);
    const file = await AppendFile.open(join(temporaryFolder(t), 'f'), 0, 'wx');
    await file.append(Buffer.from('x'));
    await file.truncate(0);
    await file.sync();
    await file.append(Buffer.from('y'));
    await file.close(); // from now on, a sync that does something fails
    assert.equal(await file.sync().then(() => true, () => false), platform === 'linux');
  }
});

test('a closed file can be neither written nor synced', async (t) => {
  const file = await AppendFile.open(join(temporaryFolder(t), 'f'), 0, 'wx');
  await file.close();
  await assert.rejects(file.append(Buffer.from('x')), { code: 'EBADF' });
  await assert.rejects(file.sync(), { code: 'EBADF' });
});
