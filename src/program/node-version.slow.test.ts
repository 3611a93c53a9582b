/** The built programs on a real Node 18, which npm installs. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { Program } from '../../harness/program.ts';
import { distFolder } from '../../harness/server.ts';

test('Node 18 is refused in one line, by every program', { timeout: 300_000 }, async (t) => {
  const place = temporaryFolder(t);
  const name = `node-${process.platform}-${process.arch}`;
  const install = ['npm', 'install', '--no-save', '--no-audit', '--no-fund', '--prefix', place, `${name}@18`];
  const { code } = await new Program(t, install, process.env).ended;
  if (code !== 0) return t.skip(`npm cannot install ${name}@18`);
  const node = join(place, 'node_modules', name, 'bin', 'node');
  for (const program of ['server.js', 'cli.js', 'petstore-conformance.mjs', 'petstore-limits.mjs']) {
    const { code, stdout, stderr } = await new Program(t, [node, join(distFolder, program), '--version']).ended;
    assert.deepEqual([code, stdout], [1, ''], program);
    assert.match(stderr, /^petstore: this is Node 18\.[0-9.]+, but Node 20 or later is needed; [^\n]+\n$/, program);
  }
});
