import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../../../harness/owner.ts';
import { runServer, startServer } from '../../../harness/server.ts';

test('of eight servers that start together after a kill, one serves, the others exit with 1', async (t) => {
  const folder = temporaryFolder(t);
  await (await startServer(t, folder)).kill();
  const servers = Array.from({ length: 8 }, () => runServer(t, folder));
  const outcomes = await Promise.all(
    servers.map((server) =>
      Promise.race([server.ended, server.printed(/listening on (\S+)\n/).catch(() => server.ended)]),
    ),
  );
  const winners = servers.filter((_, i) => Array.isArray(outcomes[i]));
  assert.equal(winners.length, 1, servers.map(({ stderr }) => stderr).join(''));
  const { pid } = winners[0]!.child;
  for (const server of servers) {
    if (server === winners[0]) continue;
    const { code, stdout, stderr } = await server.ended;
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(
      stderr,
      new RegExp(
        `^petstore: the data folder ${folder} is in use by process ${pid} `
          + '\\(server, (http://127\\.0\\.0\\.1:\\d+, )?since \\S+Z\\); stop that process, or .*\n$',
      ),
    );
  }
  const [, address] = await winners[0]!.printed(/listening on (\S+)\n/);
  const late = await runServer(t, folder).ended;
  assert.equal(late.code, 1);
  assert.ok(late.stderr.includes(`process ${pid} (server, ${address}, since `), late.stderr);
  assert.equal((await fetch(`${address}/healthz`)).status, 200);
});
