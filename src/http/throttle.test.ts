import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { Throttle, type Throttled } from './throttle.ts';

/** Resolves in the next turn of the event loop, after what was scheduled for the end of this one. */
const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Lets so many turns pass, in each of which a connection is released. */
async function pass(turns: number): Promise<void> {
  for (let i = 0; i < turns; i += 1) await endOfTurn();
}

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
  await pass(5);
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
  const { held, events, add, take, turns } = setUp(t);
  const release = async (count: number): Promise<string[]> => {
    take(5);
    await turns();
    t.mock.timers.tick(100);
    await pass(count - 1);
    return events.splice(0);
  };
  add('a', 'b', 'c');
  for (let i = 0; i < 3; i += 1) assert.deepEqual(await release(3), ['c', 'b', 'a']);
  add('d');
  for (let i = 0; i < 3; i += 1) assert.deepEqual(await release(2), ['d', 'c']);
  assert.deepEqual([...held].sort(), ['a', 'b']);
});

test('after the release of a connection, a turn passes before another one can take time', async (t) => {
  const { throttle, held, events, add, take, turns } = setUp(t);
  const flood: Throttled = { // as a TLS handshake, or requests that have waited
    hold: () => held.add('flood'),
    release() {
      held.delete('flood');
      events.push('flood');
      throttle.beginUntrusted(flood, 5);
    },
  };
  add('a');
  throttle.add(flood);
  add('b');
  take(5);
  await turns();
  t.mock.timers.tick(100);
  assert.deepEqual(events, ['b']);
  assert.deepEqual([...held].sort(), ['a', 'flood'], 'b can be read now');
  await endOfTurn();
  assert.deepEqual(events, ['b', 'flood']);
  assert.deepEqual([...held].sort(), ['a', 'b', 'flood']);
});

test('a connection that arrives meanwhile is the next to be released', async (t) => {
  const { events, add, take, turns } = setUp(t);
  add('a', 'b', 'c');
  take(5);
  await turns();
  t.mock.timers.tick(100);
  add('d');
  await pass(3);
  assert.deepEqual(events, ['c', 'd', 'b', 'a']);
});

test('a connection that must wait because others took the time is still new', async (t) => {
  const { throttle, clock, events, add, turns } = setUp(t);
  const [a, b] = add('a', 'b', 'c');
  throttle.beginUntrusted(a!);
  clock.ms += 5;
  throttle.beginUntrusted(b!);
  await turns();
  t.mock.timers.tick(100);
  await pass(2);
  assert.deepEqual(events.splice(0), ['c', 'b', 'a']);
  throttle.beginUntrusted(a!);
  clock.ms += 5;
  throttle.beginUntrusted(b!);
  throttle.beginUntrusted(b!); // the rest of its chunk
  await turns();
  t.mock.timers.tick(100);
  await pass(2);
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

test('releases one connection in each turn, and holds the rest again if it takes too long', async (t) => {
  const { throttle, held, events, add, take, turns } = setUp(t);
  const names = Array.from({ length: 40 }, (_, i) => `${i}`);
  add(...[...names].reverse()); // the newest is released first
  throttle.beginTrusted();
  take(5);
  await turns();
  t.mock.timers.tick(50);
  for (let i = 1; i <= 20; i += 1) {
    assert.deepEqual(events, names.slice(0, i));
    await endOfTurn();
  }
  throttle.beginTrusted();
  take(5);
  await turns();
  assert.deepEqual(events, names.slice(0, 21));
  assert.equal(held.size, 40);
  t.mock.timers.tick(50);
  await pass(39);
  assert.deepEqual(events.slice(21), names);
  assert.equal(held.size, 0);
});

test('of those that have taken time, releases first the one that has waited longest', async (t) => {
  const { throttle, events, add, take, turns } = setUp(t);
  const [a, b, c] = add('a', 'b', 'c');
  for (const connection of [a, b, c]) throttle.beginUntrusted(connection!);
  const round = async (): Promise<string[]> => {
    take(5);
    await turns();
    t.mock.timers.tick(100);
    await pass(2);
    return events.splice(0);
  };
  assert.deepEqual(await round(), ['a', 'b', 'c']);
  throttle.beginUntrusted(a!);
  assert.deepEqual(await round(), ['b', 'c', 'a']);
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
