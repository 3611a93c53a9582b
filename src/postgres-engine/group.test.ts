import assert from 'node:assert/strict';
import test from 'node:test';
import { UnavailableError } from '../engine.ts';
import { Group } from './group.ts';

/** A group whose runs end when the test says so. */
function manualGroup(maxItems: number, sizeOf?: (item: number) => number) {
  type Run = { items: readonly number[]; end: (results: readonly number[]) => void; fail: (error: Error) => void };
  const runs: Run[] = [];
  const group = new Group<number, number>(maxItems, (items) => new Promise((end, fail) => {
    runs.push({ items, end, fail });
  }), sizeOf);
  return { group, runs };
}

const turn = (): Promise<void> => new Promise(setImmediate);

test('items that arrive together share a group, and those that arrive while it is under way the next one', async () => {
  const { group, runs } = manualGroup(3);
  const first = [1, 2].map((item) => group.add(item));
  await turn();
  const later = [3, 4, 5, 6].map((item) => group.add(item));
  await turn();
  assert.deepEqual([runs.map(({ items }) => items), group.waiting], [[[1, 2]], 4]);
  runs[0]!.end([10, 20]);
  assert.deepEqual(await Promise.all(first), [10, 20]);
  await turn();
  assert.deepEqual([runs[1]!.items, group.waiting], [[3, 4, 5], 1]);
  runs[1]!.fail(new Error('no'));
  for (const result of later.slice(0, 3)) await assert.rejects(result, { message: 'no' });
  await turn();
  runs[2]!.end([60]);
  assert.equal(await later[3], 60);
  assert.deepEqual([group.groups, group.items], [3, 6]);
});

test('a group ends with the item that makes it large', async () => {
  const { group, runs } = manualGroup(100, (item) => item * 1024);
  const results = [500, 600, 1, 2].map((item) => group.add(item));
  await turn();
  assert.deepEqual(runs[0]!.items, [500, 600]);
  runs[0]!.end([1, 2]);
  await turn();
  runs[1]!.end([3, 4]);
  assert.deepEqual(await Promise.all(results), [1, 2, 3, 4]);
});

test('more than 10,000 waiting items are refused at once', async () => {
  const { group, runs } = manualGroup(500);
  const results = [];
  void group.add(-1);
  await turn();
  for (let item = 0; item < 10_000; item++) results.push(group.add(item));
  await assert.rejects(group.add(10_000), UnavailableError);
  assert.equal(group.waiting, 10_000);
  const echo = async (): Promise<void> => {
    for (let run = 0; run < runs.length; run++) {
      runs[run]!.end(runs[run]!.items);
      await turn();
    }
  };
  await echo();
  assert.deepEqual(await Promise.all(results), results.map((_, item) => item));
});

test('an item without a result in time is refused, even in a running group, and the group goes on', async (t) => {
  const alive = setInterval(() => {}, 1_000); // the timer of a group does not keep a process running
  t.after(() => clearInterval(alive));
  const { group, runs } = manualGroup(1);
  const [running, waiting] = [group.add(1), group.add(2)];
  const outcomes = await Promise.allSettled([running, waiting]);
  for (const outcome of outcomes) {
    assert.equal(outcome.status, 'rejected');
    assert.ok((outcome as PromiseRejectedResult).reason instanceof UnavailableError);
  }
  assert.equal(group.waiting, 0);
  const next = group.add(3);
  runs[0]!.end([1]);
  await turn();
  assert.deepEqual(runs.map(({ items }) => items), [[1], [3]]);
  runs[1]!.end([30]);
  assert.equal(await next, 30);
});
