import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { Throttle, type Throttled } from './throttle.ts';

/** Resolves in the next turn of the event loop, after what was scheduled for the end of this one. */
const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));

/** A throttle with a clock and timers that stand still. */
function setUp(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const clock = { ms: 0 };
  const throttle = new Throttle(() => clock.ms);
  const held = new Set<string>();
  const events: string[] = [];
  const connection = (name: string): Throttled => ({
    hold() {
      held.add(name);
    },
    release() {
      held.delete(name);
      events.push(name);
    },
  });
  const other = connection('other');
  return {
    throttle,
    held,
    events,
    clock,
    /** Adds connections that are not trusted. */
    add(...names: string[]): Throttled[] {
      const added = names.map(connection);
      for (const each of added) throttle.add(each);
      return added;
    },
    /** Lets a connection that is not trusted take so many milliseconds of this turn. */
    take(ms: number): void {
      throttle.beginUntrusted(other);
      clock.ms += ms;
      throttle.beginUntrusted(other);
    },
    /** Ends this turn and the next, after which a timer releases the connections. */
    async turns(): Promise<void> {
      await endOfTurn();
      await endOfTurn();
    },
  };
}

test('holds the connections that are not trusted when they have taken more than 2 ms of a turn', async (t) => {
  const { throttle, held, add, take, turns } = setUp(t);
  const [, , c] = add('a', 'b', 'c');
  throttle.setTrusted(c!, true);
  take(2);
  assert.deepEqual([...held], []);
  take(0.1);
  assert.deepEqual([...held], ['a', 'b']);
  await turns();
  assert.deepEqual([...held], ['a', 'b']);
});

test('does not add up the time of several turns', async (t) => {
  const { held, add, take, turns } = setUp(t);
  add('a');
  for (let i = 0; i < 10; i += 1) {
    take(1.5);
    await turns();
  }
  assert.deepEqual([...held], []);
});

test('does not count the time of trusted connections', (t) => {
  const { throttle, clock, held, add } = setUp(t);
  const [a] = add('a');
  for (let i = 0; i < 10; i += 1) {
    throttle.beginUntrusted(a!);
    throttle.beginTrusted();
    clock.ms += 5;
  }
  assert.deepEqual([...held], []);
});

test('counts what is announced', (t) => {
  const { throttle, held, add } = setUp(t);
  const [a] = add('a');
  throttle.beginUntrusted(a!, 2.1);
  assert.deepEqual([...held], ['a']);
});

test('after ten times the time of the turn, releases new connections, the newest first, then the others', async (t) => {
  const { throttle, held, events, add, take, turns } = setUp(t);
  const [a, b] = add('a', 'b', 'c');
  throttle.beginTrusted();
  throttle.beginUntrusted(a!);
  throttle.beginUntrusted(b!);
  take(5);
  add('d');
  await turns();
  add('e');
  t.mock.timers.tick(49);
  assert.deepEqual([...held].sort(), ['a', 'b', 'c', 'd', 'e']);
  t.mock.timers.tick(1);
  assert.deepEqual(events, ['e', 'd', 'c', 'a', 'b']);
  add('f');
  assert.deepEqual([...held], []);
});

test('holds connections for at most 1 s', async (t) => {
  const { throttle, events, add, take, turns } = setUp(t);
  add('a');
  throttle.beginTrusted();
  take(500);
  await turns();
  t.mock.timers.tick(999);
  assert.deepEqual(events, []);
  t.mock.timers.tick(1);
  assert.deepEqual(events, ['a']);
});

test('releases the newest first again if nothing was read from it meanwhile', async (t) => {
  const { events, add, take, turns } = setUp(t);
  const release = async (): Promise<string[]> => {
    take(5);
    await turns();
    t.mock.timers.tick(100);
    return events.splice(0);
  };
  add('a', 'b', 'c');
  for (let i = 0; i < 3; i += 1) assert.deepEqual(await release(), ['c', 'b', 'a']);
  add(...Array.from({ length: 20 }, (_, i) => `d${i}`));
  for (let i = 0; i < 3; i += 1) assert.equal((await release())[0], 'd19');
});

test('an expensive connection is released in a turn of its own', async (t) => {
  const { throttle, held, events, add, take, turns } = setUp(t);
  const expensive: Throttled = {
    isExpensive: true,
    hold: () => {},
    release() {
      events.push('expensive');
      throttle.beginUntrusted(expensive, 2.5);
      throttle.delete(expensive);
    },
  };
  add('a');
  throttle.add(expensive);
  add('b', 'c');
  take(5);
  await turns();
  t.mock.timers.tick(100);
  assert.deepEqual(events, ['c', 'b']);
  assert.deepEqual([...held], ['a'], 'b and c can be read now');
  await endOfTurn();
  assert.deepEqual(events, ['c', 'b', 'expensive']);
  assert.deepEqual([...held].sort(), ['a', 'b', 'c']);
});

test('a connection that must wait because others took the time is still new', async (t) => {
  const { throttle, clock, events, add, turns } = setUp(t);
  const [a, b] = add('a', 'b', 'c');
  throttle.beginUntrusted(a!);
  clock.ms += 5;
  throttle.beginUntrusted(b!);
  await turns();
  t.mock.timers.tick(100);
  assert.deepEqual(events.splice(0), ['c', 'b', 'a']);
  throttle.beginUntrusted(a!);
  clock.ms += 5;
  throttle.beginUntrusted(b!);
  throttle.beginUntrusted(b!); // the rest of its chunk
  await turns();
  t.mock.timers.tick(100);
  assert.deepEqual(events, ['c', 'a', 'b']);
});

test('releases them in the next turn if no trusted connection has had a request in the last second', async (t) => {
  const { throttle, clock, events, add, take, turns } = setUp(t);
  add('a');
  take(5);
  await turns();
  t.mock.timers.tick(1); // timers fire after 1 ms at the earliest
  assert.deepEqual(events, ['a']);
  throttle.beginTrusted();
  take(5);
  await turns();
  t.mock.timers.tick(49);
  assert.deepEqual(events, ['a']);
  t.mock.timers.tick(1);
  clock.ms += 1_000;
  take(5);
  await turns();
  t.mock.timers.tick(1);
  assert.deepEqual(events, ['a', 'a', 'a']);
});

test('releases 16 connections in each turn, and holds the rest again if these take too long', async (t) => {
  const { throttle, held, events, add, take, turns } = setUp(t);
  const names = Array.from({ length: 40 }, (_, i) => `${i}`);
  add(...[...names].reverse()); // the newest is released first
  throttle.beginTrusted();
  take(5);
  await turns();
  t.mock.timers.tick(50);
  assert.deepEqual(events, names.slice(0, 16));
  await endOfTurn();
  assert.deepEqual(events, names.slice(0, 32));
  throttle.beginTrusted();
  take(5);
  await turns();
  assert.deepEqual(events, names.slice(0, 32));
  assert.equal(held.size, 40);
  t.mock.timers.tick(50);
  await turns();
  await turns();
  assert.deepEqual(events.slice(32).sort(), names.sort());
});

test('when a connection is destroyed, holds the trusted ones until the turn has ended, and the others longer', async (t) => {
  const { throttle, held, add, take, turns } = setUp(t);
  const [a, b] = add('a', 'b', 'c');
  throttle.setTrusted(b!, true);
  throttle.delete(a!);
  throttle.noteFlood();
  take(5);
  assert.deepEqual([...held], ['b', 'c']);
  await endOfTurn();
  assert.deepEqual([...held], ['c']);
  await turns();
  t.mock.timers.tick(49); // although no trusted connection has had a request
  assert.deepEqual([...held], ['c']);
  t.mock.timers.tick(1);
  assert.deepEqual([...held], []);
});

test('holds the trusted ones until the turn has ended when the others have taken more than 10 ms of it', async (t) => {
  const { throttle, held, add, take, turns } = setUp(t);
  const [a] = add('a', 'b');
  throttle.setTrusted(a!, true);
  take(9);
  assert.deepEqual([...held], ['b']);
  take(2);
  assert.deepEqual([...held], ['b', 'a']);
  await endOfTurn();
  assert.deepEqual([...held], ['b']);
  await turns();
  t.mock.timers.tick(1); // no trusted connection has had a request
  assert.deepEqual([...held], []);
});

test('releases a held connection when its request turns out to have a valid key', async (t) => {
  const { throttle, held, add, take } = setUp(t);
  const [a] = add('a', 'b');
  take(5);
  throttle.setTrusted(a!, true);
  assert.deepEqual([...held], ['b']);
  throttle.setTrusted(a!, false);
  assert.deepEqual([...held], ['b', 'a']);
});

test('does not hold them longer because of work for trusted connections in the same turn', async (t) => {
  const { throttle, clock, events, add, take, turns } = setUp(t);
  add('a');
  take(3);
  throttle.beginTrusted();
  clock.ms += 100;
  await turns();
  t.mock.timers.tick(10 * 4 * 3);
  assert.deepEqual(events, ['a']);
});
