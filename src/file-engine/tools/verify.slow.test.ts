/** `petstore verify` as a process. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../../../harness/owner.ts';
import { Program } from '../../../harness/program.ts';
import { cliPath, petstore, startServer } from '../../../harness/server.ts';

const hasStrace = (() => {
  try {
    execFileSync('strace', ['-f', '-o', '/dev/null', 'true']);
    return true;
  } catch {
    return false;
  }
})();

test('verify has the exit code 0, 1 or 2, and salvage copies what it can', async (t) => {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'store');
  const server = await startServer(t, folder, ['--demo']);
  const running = await petstore(t, folder, 'verify');
  assert.deepEqual([running.code, running.stderr], [0, '']);
  assert.match(running.stdout, /^usage\.json[^]*journal: 1 segment, 32 animals, up to record 32\n[^]*is intact\n$/);
  await server.stop();
  const path = join(folder, 'pets.json');
  writeFileSync(path, readFileSync(path, 'utf8').replace('Mittens', 'Kittens'));
  const damaged = await petstore(t, folder, 'verify');
  assert.equal(damaged.code, 1);
  assert.match(damaged.stderr, /^petstore: \S+pets\.json, line 2: the line does not match its checksum[^\n]+\n$/);
  const to = join(parent, 'salvaged');
  const salvaged = await petstore(t, folder, 'salvage', to);
  assert.equal(salvaged.code, 1);
  assert.match(salvaged.stderr, /^petstore: lost: animal 1: \S+pets\.json, line 2 is damaged\n/);
  assert.match(salvaged.stderr, /copied 31 animals, 1 key and \d+ orders to \S+salvaged\n$/);
  assert.equal((await petstore(t, to, 'verify')).code, 0);
  const missing = await petstore(t, join(parent, 'none'), 'verify');
  assert.deepEqual([missing.code, missing.stdout], [2, '']);
  assert.match(missing.stderr, /^petstore: cannot read \S+none: ENOENT[^\n]+\n$/);
  assert.deepEqual(readdirSync(parent).sort(), ['salvaged', 'store']);
});

test(
  'verify opens no file for writing and changes no name',
  { skip: !hasStrace && 'strace is not there, or may not be used' },
  async (t) => {
    const parent = temporaryFolder(t);
    const folder = join(parent, 'store');
    await (await startServer(t, folder, ['--demo'])).stop();
    const journal = readdirSync(folder).find((name) => name.endsWith('.journal'))!;
    writeFileSync(join(folder, journal), 'torn', { flag: 'a' }); // which a start would remove
    const trace = join(parent, 'trace');
    const command = [process.execPath, cliPath, 'verify', '--data', folder];
    const strace = ['strace', '-f', '-e', 'trace=%file', '-o', trace];
    const { code, stderr } = await new Program(t, [...strace, ...command]).ended;
    assert.equal(code, 0, stderr);
    const calls = readFileSync(trace, 'utf8').split('\n').filter((line) => line.includes(folder));
    assert.ok(calls.some((line) => line.includes('pets.json') && line.includes('O_RDONLY')));
    for (const line of calls.filter((one) => !one.includes('execve('))) {
      assert.match(line, / (open(at)?\(.*O_RDONLY|stat|fstat|newfstatat|statx|lstat|access|readlink|getcwd)/, line);
      assert.doesNotMatch(line, /O_WRONLY|O_RDWR|O_CREAT|O_TRUNC/);
    }
  },
);
