/** No wait, no duration and no verdict depends on the system's clock, which may be set during a run. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Stops, systemClock, timeLimit } from './clock.ts';

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

describe('a process that does not run', () => {
  /** Its stops, by a clock that the test moves. */
  const stopsWith = () => {
    let now = 0;
    return { stops: new Stops(() => now), move: (ms: number) => void (now += ms) };
  };

  test('for two seconds or more has stopped; one that is busy for less has not', () => {
    const { stops, move } = stopsWith();
    const counts = [0, 1_999, 1_999, 60_000, 250, 2_000].map((ms) => {
      move(ms);
      return stops.count;
    });
    assert.deepEqual(counts, [0, 0, 0, 1, 1, 2]);
  });

  test('has its time again: a time limit begins again after each stop', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { stops, move } = stopsWith();
    let isLate = false;
    timeLimit(30_000, () => (isLate = true), stops);
    const pass = (ms: number) => {
      for (let left = ms; left > 0; left -= 1_000) {
        move(1_000);
        void stops.count; // as its interval does
        t.mock.timers.tick(1_000);
      }
    };
    for (let i = 0; i < 3; i++) {
      pass(29_000);
      move(60_000);
      t.mock.timers.tick(60_000);
      assert.equal(isLate, false, `after stop ${i + 1}`);
    }
    pass(29_000);
    assert.equal(isLate, false);
    pass(1_000);
    assert.equal(isLate, true);
  });

  test('has no time limit that was cancelled, even after a stop', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { stops, move } = stopsWith();
    const cancel = timeLimit(1_000, () => assert.fail('late'), stops);
    move(60_000);
    t.mock.timers.tick(1_000);
    cancel();
    t.mock.timers.tick(60_000);
  });
});
