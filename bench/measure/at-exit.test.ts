import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';

test('a signal that arrives twice, as Ctrl-C does under npm, does not interrupt the clean-up', async () => {
  const module = JSON.stringify(new URL('at-exit.ts', import.meta.url).href);
  const program = `
    import { atExit, exitOnSignals } from ${module};
    atExit(() => console.log('done'));
    atExit(() => process.kill(process.pid, 'SIGINT'));
    exitOnSignals();
    setInterval(() => {}, 1000);
    process.kill(process.pid, 'SIGINT');
  `;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program]);
  let printed = '';
  child.stdout.on('data', (text) => (printed += String(text)));
  assert.deepEqual([await once(child, 'close'), printed], [[130, null], 'done\n']);
});
