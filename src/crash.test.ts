/** A few of the cycles of `npm run test:crash`. crash.slow.test.ts has more. */
import test from 'node:test';
import { CrashRun } from './testing/crash.ts';

test('after kill -9 at any moment the server starts, and has everything that it confirmed', async (t) => {
  await new CrashRun(t, 1).run(5, ['creates', 'stop', 'start', 'command', 'import']);
});
