/** More cycles of `npm run test:crash`, and proof that they find a fault. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { serverPath } from '../harness/server.ts';
import { CrashRun } from './testing/crash.ts';

test('nothing that was confirmed is lost in 24 kills', async (t) => {
  const run = new CrashRun(t, 20);
  await run.run(24);
  t.diagnostic(JSON.stringify(run.figures));
  assert(run.figures.acknowledged > 500);
});

test('a server that confirms animals before it has written them is found', async (t) => {
  const writeLater = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const { writeSync } = fs;
    const later = (descriptor, bytes, offset, length, position) => {
      const copy = Buffer.from(bytes.subarray(offset, offset + length));
      if (!copy.includes('"pet":')) return writeSync(descriptor, copy, 0, length, position);
      setTimeout(() => writeSync(descriptor, copy, 0, length, position), 50);
      return length;
    };
    fs.writeSync = later;
    fs.write = (...args) => setImmediate(args.pop(), null, later(...args));
    syncBuiltinESMExports();`;
  const preload = `data:text/javascript,${encodeURIComponent(writeLater)}`;
  const run = new CrashRun(t, 3, [process.execPath, '--import', preload, serverPath]);
  // Missing animals, or a start that is refused because the marker after them is there.
  await assert.rejects(run.run(8, ['creates']));
  t.diagnostic(JSON.stringify(run.figures));
});
