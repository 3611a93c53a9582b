import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { LineBuffer, type LineFormat, type Sink } from './line-buffer.ts';

const format: LineFormat<string> = { lineOf: (line) => line, droppedLine: (count) => `(${count})\n` };

function add(buffer: LineBuffer<string>, line: string, isUrgent: boolean): void {
  buffer.add(line, line.length, isUrgent);
}

/** A sink whose writes end when the test says so. */
class SlowSink implements Sink {
  readonly blocksExit = false;
  readonly writes: string[] = [];
  last = '';
  #done: ((lostLines: number) => void) | null = null;

  write(text: string, done: (lostLines: number) => void): void {
    assert.equal(this.#done, null, 'one write is under way at a time');
    this.writes.push(text);
    this.#done = done;
  }

  writeLast(text: string, isLate: boolean): void {
    this.last += isLate ? `(late)${text}` : text;
  }

  /** Ends the write under way, or lets it fail. Returns whether there was one. */
  finish(fails = false): boolean {
    const done = this.#done;
    if (done === null) return false;
    this.#done = null;
    done(fails ? this.writes.pop()!.split('\n').length - 1 : 0);
    return true;
  }
}

test('lines that are not urgent are written together, after 64 KB or 100 ms', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sink = new SlowSink();
  const buffer = new LineBuffer(sink, format);
  add(buffer, 'a\n', false);
  t.mock.timers.tick(99);
  add(buffer, 'b\n', false);
  assert.deepEqual(sink.writes, []);
  t.mock.timers.tick(1);
  assert.deepEqual(sink.writes, ['a\nb\n']);
  sink.finish();
  const line = `${'x'.repeat(1023)}\n`;
  for (let i = 0; i < 64; i++) add(buffer, line, false);
  assert.equal(sink.writes[1], line.repeat(64));
  add(buffer, 'c\n', false);
  sink.finish();
  assert.equal(sink.writes.length, 2, 'what came during a write waits for its own 100 ms');
  t.mock.timers.tick(100);
  assert.equal(sink.writes[2], 'c\n');
});

test('an urgent line is written at once, after those before it', () => {
  const sink = new SlowSink();
  const buffer = new LineBuffer(sink, format);
  add(buffer, 'a\n', false);
  add(buffer, 'b\n', true);
  assert.deepEqual(sink.writes, ['a\nb\n']);
  add(buffer, 'c\n', true);
  add(buffer, 'd\n', false);
  sink.finish();
  assert.deepEqual(sink.writes, ['a\nb\n', 'c\nd\n']);
});

test('flushed() resolves when all lines are written, or after its time', async (t) => {
  const sink = new SlowSink();
  const buffer = new LineBuffer(sink, format);
  await buffer.flushed(1e6);
  add(buffer, 'a\n', false);
  const flushed = buffer.flushed(1e6);
  add(buffer, 'b\n', false);
  assert.deepEqual(sink.writes, ['a\n']);
  sink.finish();
  assert.deepEqual(sink.writes, ['a\n', 'b\n']);
  let isFlushed = false;
  void flushed.then(() => (isFlushed = true));
  await null;
  assert.equal(isFlushed, false);
  sink.finish();
  await flushed;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  add(buffer, 'c\n', false);
  const timedOut = buffer.flushed(500);
  t.mock.timers.tick(500);
  await timedOut;
});

test('a slow reader costs a limited amount of memory; one line says how many are missing, in their place', (t) => {
  const action = fc.oneof(
    fc.record({ length: fc.integer({ min: 1, max: 60 }), isUrgent: fc.boolean() }),
    fc.constantFrom('finish' as const, 'fail' as const),
  );
  t.mock.timers.enable({ apis: ['setTimeout'] });
  fc.assert(fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
    const sink = new SlowSink();
    const buffer = new LineBuffer(sink, format, 200);
    let added = 0;
    for (const step of actions) {
      if (step === 'finish' || step === 'fail') sink.finish(step === 'fail');
      else add(buffer, `${String(added++).padEnd(step.length, '.')}\n`, step.isUrgent);
    }
    assert.ok(sink.writes.every((text) => text.length <= 200 + format.droppedLine(added).length));
    void buffer.flushed(1e6);
    do t.mock.timers.tick(100);
    while (sink.finish());
    // Every line was written in its place, or counted there.
    let expected = 0;
    let dropped = 0;
    for (const line of sink.writes.join('').split('\n').slice(0, -1)) {
      const missing = /^\((\d+)\)$/.exec(line);
      if (missing === null) assert.equal(Number.parseInt(line), expected++);
      else {
        expected += Number(missing[1]);
        dropped += Number(missing[1]);
      }
    }
    assert.deepEqual([expected, dropped], [added, buffer.dropped]);
  }), { numRuns: 300 });
});

test('at a crash, what waits and a last line are written at once', () => {
  const sink = new SlowSink();
  const buffer = new LineBuffer(sink, format);
  add(buffer, 'a\n', false);
  buffer.writeLast('b\n');
  assert.equal(sink.last, 'a\nb\n');
  add(buffer, 'c\n', true);
  add(buffer, 'd\n', true);
  buffer.writeLast('e\n');
  assert.equal(sink.last, 'a\nb\n(late)d\ne\n');
});
