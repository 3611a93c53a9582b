import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import * as fc from 'fast-check';
import type { Opened } from '../testing/journal.ts';
import { PowerCut } from '../testing/power-cut.ts';
import { temporaryFolder } from '../../harness/owner.ts';

/**
 * Concurrent appends: their number, and the length of the names. `cut` cuts the power meanwhile, `rotate` starts a new
 * segment, `reopen` closes and opens the journal, and `fail` lets the next syncs fail.
 */
type Step = readonly ['append' | 'cut', number, number] | readonly ['rotate' | 'reopen' | 'fail'];

test('no confirmed record is lost, and the journal opens again, after power cuts and failed syncs', async (t) => {
  const folder = join(temporaryFolder(t), 'store');
  let random = mulberry32(0);
  const disk = new PowerCut(folder, () => random());
  const { numbers, openJournal, pet } = await import('../testing/journal.ts');
  const manyBytes = { weight: 2, arbitrary: fc.constant(70_000) }; // so that the reserved space is used up
  const some = [
    fc.integer({ min: 1, max: 3 }),
    fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max: 500 }) }, manyBytes),
  ] as const;
  const steps = fc.array(
    fc.oneof(
      fc.tuple(fc.constantFrom('append' as const, 'append' as const, 'cut' as const), ...some),
      fc.tuple(fc.constantFrom('rotate' as const, 'reopen' as const, 'fail' as const)),
    ),
    { minLength: 10, maxLength: 40, size: 'max' },
  );
  const seen = { acknowledged: 0, refused: 0, torn: 0, cuts: 0, extended: 0 };
  await fc.assert(
    fc.asyncProperty(steps, fc.nat(), async (stepList: Step[], seed) => {
      random = mulberry32(seed);
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder);
      disk.begin();
      let failures = 0;
      let cut: Map<string, Buffer> | null = null;
      let due = false;
      disk.failSync = () => {
        if (due) cut ??= disk.cut();
        return failures-- > 0;
      };
      const acknowledged: number[] = [];
      let lastId = 0;
      const start = async (): Promise<Opened> => {
        [failures, due, cut] = [0, false, null];
        disk.begin();
        const opened = await openJournal(folder);
        seen.torn += opened.logged.length;
        for (const id of acknowledged) assert(opened.applied.includes(id), `${id} was acknowledged`);
        return opened;
      };
      const refused = (): void => void seen.refused++;
      let { journal } = await start();
      for (const [what, count = 0, bytes = 0] of stepList) {
        if (what === 'fail') failures = 1 + Math.floor(random() * 3);
        else if (what === 'rotate') await journal.rotate().catch(refused);
        else if (what === 'reopen') {
          await journal.close().catch(refused);
          journal = (await start()).journal;
        } else {
          due = what === 'cut';
          const before = lengthIn(folder);
          await Promise.all(numbers(lastId + 1, (lastId += count)).map(async (id) => {
            await journal.append(pet(id, 'x'.repeat(bytes))).then(() => cut ?? acknowledged.push(id), refused);
          }));
          if (before > 256 * 1024 && lengthIn(folder) > before) seen.extended++; // the reserved space was used up
          if (random() < 0.7) await journal.idle(); // a marker
          if (!due) continue;
          const files = cut ?? disk.cut();
          await journal.close().catch(() => {}); // has no effect: the files are overwritten next
          for (const [name, content] of files) writeFileSync(join(folder, name), content);
          seen.cuts++;
          journal = (await start()).journal;
        }
      }
      await journal.close().catch(refused);
      seen.acknowledged += acknowledged.length;
    }),
    { numRuns: 60, includeErrorInReport: true },
  );
  for (const [what, count] of Object.entries(seen)) assert(count > 20, `${what}: ${count}`);
});

/** Returns the length of all files in a folder, reserved space included. */
function lengthIn(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}

/** Returns a generator of numbers from 0 to 1 (Tommy Ettinger's Mulberry32). */
function mulberry32(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
