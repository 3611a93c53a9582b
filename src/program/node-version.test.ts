/** The built programs on an old Node. A real one is tried in node-version.slow.test.ts. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Program } from '../../harness/program.ts';
import { distFolder } from '../../harness/server.ts';

const programs = ['server.js', 'cli.js', 'petstore-conformance.mjs', 'petstore-limits.mjs'];

test('an old Node is refused in one line, by every program and before anything else', async (t) => {
  const version = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.8' } })`;
  const node = [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(version)}`];
  const line = 'petstore: this is Node 18.20.8, but Node 20 or later is needed; install a newer version\n';
  for (const name of programs) {
    for (const flags of [['--version'], ['serve'], ['--no-such-flag']]) {
      const ended = await new Program(t, [...node, join(distFolder, name), ...flags]).ended;
      assert.deepEqual(ended, { code: 1, stdout: '', stderr: line }, name);
    }
  }
});

test('no program imports anything by name before it knows the version of Node', () => {
  const importLine = /^import\b.*$/gm;
  for (const name of programs) {
    const text = readFileSync(join(distFolder, name), 'utf8');
    for (const [line] of text.matchAll(importLine)) {
      const isOwn = /^import (\{ catchEarlySignals \} from )?'\.\/program\/(node-version|early-signals)\.js';$/.test(line);
      assert.ok(isOwn || /^import \* as \w+ from "node:\w+(\/\w+)?";/.test(line), `${name}: ${line}`);
    }
  }
  for (const name of ['program/node-version.js', 'program/early-signals.js']) {
    assert.doesNotMatch(readFileSync(join(distFolder, name), 'utf8'), importLine);
  }
});
