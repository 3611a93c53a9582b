/** No response of any kind crashes or hangs the kit: a run ends with 0, 1 or 2, and all reports can be made. */
import { test } from 'node:test';
import * as fc from 'fast-check';
import { anyServer, survives } from './testing/any-response.ts';

test('no server crashes or hangs the kit', async () => {
  await fc.assert(fc.asyncProperty(anyServer, async (server) => void (await survives(server))), { numRuns: 150 });
});
