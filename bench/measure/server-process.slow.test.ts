import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { NotStarted } from '../../harness/program.ts';
import { load } from './load.ts';
import { nodeCommand, ServerProcess } from './server-process.ts';

const baseline = fileURLToPath(new URL('../speed/baseline.mjs', import.meta.url));
const env = { BENCH_RESPONSE: '{"status":200,"headers":[],"body":"{}"}' };

describe('a server process', () => {
  it('reports what it has used, and that it has ended', async () => {
    const server = await ServerProcess.start(nodeCommand(baseline), env);
    const { user, resident } = await server.usage();
    assert.ok(user > 1_000 && resident > 1e6);
    await server.stop();
    await assert.rejects(server.usage(), /the server ended while it was measured \(exit code 0\)/);
    await assert.rejects(load({ url: server.address, connections: 2, status: 200 }, 2), /received: 2 missing$/);
  });

  it('that ends under load reports the signal, or the exit code and the last error', async () => {
    const killed = await ServerProcess.start(nodeCommand(baseline), env);
    const task = killed.during(load({ url: killed.address, connections: 2, status: 200 }, 1e9));
    process.kill(killed.pid, 'SIGKILL');
    await assert.rejects(task, /^Error: the server ended while it was measured \(SIGKILL\)$/);
    // It exits at the second line on stdin; the first is sent at the start.
    const fails =
      "let n = 0; process.stdin.on('data', () => { if (++n === 2) { console.error('Error: the disk is full'); process.exit(3); } })";
    const [node = '', ...args] = nodeCommand(baseline);
    const failing = await ServerProcess.start(
      [node, '--import', `data:text/javascript,${encodeURIComponent(fails)}`, ...args],
      env,
    );
    const under = failing.during(load({ url: failing.address, connections: 2, status: 200 }, 1e9));
    await assert.rejects(
      Promise.all([under, failing.usage().catch(() => {})]),
      /measured \(exit code 3; Error: the disk is full\)$/,
    );
  });

  it('that cannot start reports the reason', async () => {
    const why = (error: Error) => error instanceof NotStarted && /^SyntaxError: .* not valid JSON$/.test(error.message);
    await assert.rejects(ServerProcess.start(nodeCommand(baseline)), why);
    await assert.rejects(ServerProcess.start(['/no/such/program']), NotStarted);
  });
});
