import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { it } from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { Program } from '../../harness/program.ts';

it('a server or load generator that cannot be pinned to its core is reported', async (t) => {
  if (availableParallelism() < 2) return t.skip('there is a single core');
  const folder = temporaryFolder(t);
  const script = `
    import { arePinned, pinGenerator, pinServer } from ${JSON.stringify(new URL('cores.ts', import.meta.url).href)};
    pinGenerator();
    const before = arePinned();
    pinServer(process.pid);
    console.log(before, arePinned());`;
  /** What is printed if taskset fails for these arguments. */
  const printed = async (refused: string) => {
    writeFileSync(join(folder, 'taskset'), `#!/bin/sh\ncase "$*" in ${refused}) exit 1;; esac\n`);
    chmodSync(join(folder, 'taskset'), 0o755);
    const env = { PATH: [folder, process.env['PATH']].join(delimiter) };
    const command = [process.execPath, '--import', 'tsx', '--input-type=module', '--eval', script];
    return (await new Program(t, command, env).ended).stdout;
  };
  assert.equal(await printed('nothing'), 'true true\n');
  assert.equal(await printed('*"--pid 0 "*'), 'true false\n');
  assert.equal(await printed('*"--pid 1-"*'), 'false false\n');
});
