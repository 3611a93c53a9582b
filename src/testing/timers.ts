/** Helper for tests of timers that are refreshed, which not every Node 20 can mock. */
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Stops the clock of `setTimeout`. Returns a function that lets time pass, and then some turns of the event loop. */
export function stopTime({ mock }: Pick<TestContext, 'mock'>): (ms: number) => Promise<void> {
  let now = 0;
  const running = new Map<unknown, { due: number; expire: () => void }>();
  mock.method(globalThis, 'setTimeout', (expire: () => void, ms = 0) => {
    const timer = {
      unref: () => timer,
      refresh() {
        running.set(timer, { due: now + ms, expire });
        return timer;
      },
    };
    return timer.refresh();
  });
  mock.method(globalThis, 'clearTimeout', (timer: unknown) => void running.delete(timer));
  return async (ms) => {
    now += ms;
    for (const [timer, { due, expire }] of [...running]) if (due <= now && running.delete(timer)) expire();
    for (let turn = 0; turn < 3; turn++) await nextTurn();
  };
}

/**
 * Runs a function again if a minute of the clock has ended meanwhile: the windows of a server are minutes, and the
 * clock of its process cannot be set. The function starts a new server each time.
 */
export async function withinMinute<T>(run: () => Promise<T>): Promise<T> {
  for (;;) {
    const minute = Math.floor(Date.now() / 60_000);
    const result = await run();
    if (Math.floor(Date.now() / 60_000) === minute) return result;
  }
}
