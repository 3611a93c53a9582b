/** No wait, no duration and no verdict depends on the system's clock, which may be set during a run. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from './clock.ts';

test("setting the system's clock does not change the clock of the process", (t) => {
  const before = systemClock.now();
  assert.ok(Number.isInteger(before) && Math.abs(before - Date.now()) < 60_000, `${before}`);
  t.mock.method(Date, 'now', () => 0);
  const after = systemClock.now();
  assert.ok(after >= before && after < before + 60_000, `${after - before}`);
});

test("nothing in the kit or in the rate-limit bench reads the system's clock", () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const names = ['conformance', 'bench/limits'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)));
  const sources = [...names, 'bench/limits.ts'].filter((name) => /(?<!\.test)\.ts$/.test(name));
  assert.ok(sources.includes(join('conformance', 'run.ts')));
  for (const name of sources.filter((name) => !/node_modules|testing/.test(name))) {
    const found = /\bDate\.now\b|\bnew Date\(\)|(?<!new )\bDate\(/.exec(readFileSync(join(root, name), 'utf8'));
    assert.equal(found, null, `${name}: ${found?.[0]}; use a Clock`);
  }
});
