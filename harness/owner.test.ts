import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Program } from './program.ts';

test('a signal that arrives twice, as Ctrl-C does under npm, does not interrupt the clean-up', async (t) => {
  const module = JSON.stringify(new URL('owner.ts', import.meta.url).href);
  const program = `
    import { exitOnSignals, thisProcess } from ${module};
    thisProcess.after(() => console.log('done'));
    thisProcess.after(() => process.kill(process.pid, 'SIGINT'));
    exitOnSignals();
    setInterval(() => {}, 1000);
    process.kill(process.pid, 'SIGINT');
  `;
  const command = [process.execPath, '--import', 'tsx', '--input-type=module', '--eval', program];
  const { code, stdout } = await new Program(t, command).ended;
  assert.deepEqual([code, stdout], [130, 'done\n']);
});
