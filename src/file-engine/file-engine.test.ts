import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { testEngine } from '../testing/engine-contract.ts';
import { lateEngine } from '../testing/late-engine.ts';
import { FileEngine } from './file-engine.ts';

async function open(t: TestContext, now: () => number): Promise<FileEngine> {
  let close = async (): Promise<void> => {};
  t.after(() => close()); // registered before the hook that removes the folder
  const engine = new FileEngine(temporaryFolder(t), (line) => assert.fail(line), { now });
  await engine.readOrders();
  await engine.load();
  close = () => engine.close();
  return engine;
}

testEngine('the file engine', open);
testEngine('a late engine', async (t, now) => lateEngine(await open(t, now)));
