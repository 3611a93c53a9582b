import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../harness/owner.ts';
import { NotStarted } from '../../harness/program.ts';
import { LoadClient } from './client.ts';
import { nodeCommand, ServerProcess } from './server-process.ts';

const baseline = fileURLToPath(new URL('../speed/baseline.mjs', import.meta.url));

const right = { method: 'GET', path: '/', status: 200, headers: ['Content-Length', '2'], body: '{}' };

/** The variables of a baseline with these responses. */
function responses(t: TestContext, text = JSON.stringify([right])) {
  const file = join(temporaryFolder(t), 'responses.json');
  writeFileSync(file, text);
  return { BENCH_RESPONSES: file };
}

const clientOf = ({ address }: ServerProcess): LoadClient =>
  new LoadClient(address, [{ method: 'GET', path: '/', headers: {}, status: 200, isRight: () => true }], 2);

describe('a server process', () => {
  it('reports what it has used, and that it has ended', async (t) => {
    const server = await ServerProcess.start(nodeCommand(baseline), responses(t));
    const { user, resident } = await server.usage();
    assert.ok(user > 1_000 && resident > 1e6);
    await server.stop();
    await assert.rejects(server.usage(), /the server ended while it was measured \(exit code 0\)/);
    await assert.rejects(clientOf(server).send(2), /received: no response/);
  });

  it('that ends under load reports the signal, or the exit code and the last error', async (t) => {
    const env = responses(t);
    const killed = await ServerProcess.start(nodeCommand(baseline), env);
    const task = killed.during(clientOf(killed).send(1e9));
    process.kill(killed.pid, 'SIGKILL');
    await assert.rejects(task, /^Error: the server ended while it was measured \(SIGKILL\)$/);
    // It exits at the second line on stdin; the first is sent at the start.
    const fails =
      "let n = 0; process.stdin.on('data', () => { if (++n < 2) return; console.error('Error: the disk is full');"
      + ' process.exit(3); })';
    const [node = '', ...args] = nodeCommand(baseline);
    const failing = await ServerProcess.start(
      [node, '--import', `data:text/javascript,${encodeURIComponent(fails)}`, ...args],
      env,
    );
    const under = failing.during(clientOf(failing).send(1e9));
    await assert.rejects(
      Promise.all([under, failing.usage().catch(() => {})]),
      /measured \(exit code 3; Error: the disk is full\)$/,
    );
  });

  it('that cannot start reports the reason', async (t) => {
    const why = (error: Error) => error instanceof NotStarted && /^SyntaxError: .* not valid JSON$/.test(error.message);
    await assert.rejects(ServerProcess.start(nodeCommand(baseline), responses(t, 'no')), why);
    await assert.rejects(ServerProcess.start(['/no/such/program']), NotStarted);
  });
});
