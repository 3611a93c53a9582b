import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { Program } from '../../harness/program.ts';

/** Runs the `curl` commands that a server with `--demo` has printed. Each must receive 200 or 201. */
export async function runDemoCommands(t: TestContext, stdout: string): Promise<void> {
  const commands = stdout.split('\n').filter((line) => /^ {2}(echo .* \| )?curl /.test(line));
  assert.equal(commands.length, 4);
  for (const command of commands) {
    const args = ['sh', '-c', `${command} -s -o /dev/null -w '%{http_code}'`];
    const { code, stdout: status } = await new Program(t, args).ended;
    if (code === 127) return t.diagnostic('curl is not installed: the commands were not tried');
    assert.match(status, /^20[01]$/, command);
  }
}
