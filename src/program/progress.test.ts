import assert from 'node:assert/strict';
import test from 'node:test';
import { Progress } from './progress.ts';

/** Shows 0, 1, 2, … 100 percent, one each `everyMs`. Returns what was written and logged. */
function run(isTTY: boolean, everyMs: number): { written: string[]; logged: string[] } {
  const [written, logged]: string[][] = [[], []];
  let now = 5_000;
  const terminal = { isTTY, write: (text: string) => written!.push(text) };
  const progress = new Progress('reading', (line) => logged!.push(line), terminal, () => now);
  for (let percent = 0; percent <= 100; percent++) {
    progress.show(percent);
    now += everyMs;
  }
  progress.end();
  progress.end();
  return { written: written!, logged: logged! };
}

test('on a terminal a bar is drawn at most every 100 ms, in one line, and removed at the end', () => {
  const { written, logged } = run(true, 10);
  assert.deepEqual(logged, []);
  assert.deepEqual(written.slice(0, 2), [
    '\r\x1b[Kreading [###---------------------------] 10 %',
    '\r\x1b[Kreading [######------------------------] 20 %',
  ]);
  assert.equal(written.at(-2), `\r\x1b[Kreading [${'#'.repeat(30)}] 100 %`);
  assert.equal(written.at(-1), '\r\x1b[K');
  assert.equal(written.length, 11);
});

test('elsewhere a line is logged every 10 s', () => {
  const { written, logged } = run(false, 1_000);
  assert.deepEqual(written, []);
  assert.deepEqual(logged, Array.from({ length: 10 }, (_, i) => `reading: ${10 * (i + 1)} %`));
});

test('what takes no time shows nothing', () => {
  for (const isTTY of [true, false]) assert.deepEqual(run(isTTY, 0), { written: [], logged: [] });
});

test('what is added is shown as a part of what is expected', () => {
  const written: string[] = [];
  let now = 0;
  const progress = new Progress('work', null, { isTTY: true, write: (text) => written.push(text) }, () => now);
  progress.expect(4096);
  now += 1_000;
  for (let i = 0; i < 2049; i++) {
    now += 100;
    progress.add(1);
  }
  assert.equal(written.at(-1), '\r\x1b[Kwork [###############---------------] 50 %');
});
