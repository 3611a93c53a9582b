import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { it } from 'node:test';

it('servers that cannot be kept to a core are told of, as is a generator', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const script = `
    import { arePinned, pinGenerator, pinServer } from ${JSON.stringify(new URL('cores.ts', import.meta.url).href)};
    pinGenerator();
    const before = arePinned();
    pinServer(process.pid);
    console.log(before, arePinned());`;
  const cores = "pid 7's current affinity list: 0-1";
  /** What is said where taskset fails for these arguments. */
  const said = (refused: string) => {
    writeFileSync(join(folder, 'taskset'), `#!/bin/sh\ncase "$*" in ${refused}) exit 1;; *) echo "${cores}";; esac\n`);
    chmodSync(join(folder, 'taskset'), 0o755);
    const env = { ...process.env, PATH: [folder, process.env['PATH']].join(delimiter) };
    return spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', script], { env, encoding: 'utf8' }).stdout;
  };
  assert.equal(said('nothing'), 'true true\n');
  assert.equal(said('"--all-tasks --cpu-list --pid 0 "*'), 'true false\n');
  assert.equal(said('"--all-tasks --cpu-list --pid 1 "*'), 'false false\n');
  assert.equal(said('*'), 'false false\n');
});
