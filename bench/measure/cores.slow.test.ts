import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { it } from 'node:test';

it('a server or load generator that cannot be pinned to its core is reported', (t) => {
  if (availableParallelism() < 2) return t.skip('there is a single core');
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const script = `
    import { arePinned, pinGenerator, pinServer } from ${JSON.stringify(new URL('cores.ts', import.meta.url).href)};
    pinGenerator();
    const before = arePinned();
    pinServer(process.pid);
    console.log(before, arePinned());`;
  /** What is printed if taskset fails for these arguments. */
  const printed = (refused: string) => {
    writeFileSync(join(folder, 'taskset'), `#!/bin/sh\ncase "$*" in ${refused}) exit 1;; esac\n`);
    chmodSync(join(folder, 'taskset'), 0o755);
    const env = { ...process.env, PATH: [folder, process.env['PATH']].join(delimiter) };
    const args = ['--import', 'tsx', '--input-type=module', '--eval', script];
    return spawnSync(process.execPath, args, { env, encoding: 'utf8' }).stdout;
  };
  assert.equal(printed('nothing'), 'true true\n');
  assert.equal(printed('*"--pid 0 "*'), 'true false\n');
  assert.equal(printed('*"--pid 1-"*'), 'false false\n');
});
