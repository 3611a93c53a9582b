import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { ArrivalClock } from './arrival.ts';

interface Clocks {
  readonly arrivals: ArrivalClock;
  /** Lets time go by, with the timers that are due then. */
  pass(ms: number): void;
  /** The same for a process that stands still: what is due comes late. */
  stall(ms: number): void;
  /** The time of what is read now, as ms ago; in a turn of its own. */
  age(): Promise<number>;
}

function clocks(t: TestContext): Clocks {
  let now = 1_000_000;
  t.mock.timers.enable({ apis: ['setInterval'] });
  t.mock.method(performance, 'now', () => now);
  const arrivals = new ArrivalClock(() => now);
  t.after(() => arrivals.close());
  return {
    arrivals,
    pass(ms) {
      for (const end = now + ms; now < end; ) {
        const step = Math.min(10, end - now);
        now += step;
        t.mock.timers.tick(step);
      }
    },
    stall: (ms) => void (now += ms),
    async age() {
      const age = now - arrivals.read();
      await new Promise(setImmediate);
      return age;
    },
  };
}

test('what is read has just arrived, while nothing holds the process up', async (t) => {
  const { pass, age } = clocks(t);
  for (let i = 0; i < 100; i += 1) {
    assert.equal(await age(), 0);
    pass(70);
  }
});

test('what is read in one turn arrived together', async (t) => {
  const { arrivals, pass, age } = clocks(t);
  const first = arrivals.read();
  pass(3_000);
  assert.equal(arrivals.read(), first);
  await new Promise(setImmediate);
  assert.equal(await age(), 0);
});

test('what is read after a stall may have come since before it', async (t) => {
  const { pass, stall, age } = clocks(t);
  pass(1_000); // just after a beat
  stall(3_000);
  assert.equal(await age(), 3_000); // read before the late beat
  pass(250); // the late beat
  assert.equal(await age(), 3_250);
  pass(250); // the next
  assert.equal(await age(), 0);
});

test('connections that are accepted turn after turn waited together, 5 s at most', async (t) => {
  const { arrivals, pass } = clocks(t);
  const turn = () => new Promise(setImmediate);
  const accept = async (count: number): Promise<number[]> => {
    const times: number[] = [];
    for (let i = 0; i < count; i += 1) {
      times.push(arrivals.accept());
      pass(1_000);
      await turn();
    }
    return times;
  };
  const [start, ...others] = await accept(8);
  assert.deepEqual(others.map((time) => time - start!), [0, 0, 0, 0, 0, 1_000, 2_000]);
  await turn();
  await turn();
  assert.deepEqual((await accept(2)).map((time) => time - start!), [8_000, 8_000]);
});
