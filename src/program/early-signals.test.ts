/** Signals at many moments of a start, from the first line of JavaScript on. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { certificateFlags, makeCertificate } from '../../harness/certificates.ts';
import { temporaryFolder } from '../../harness/owner.ts';
import { Program } from '../../harness/program.ts';
import { cliPath, runServer, serverPath } from '../../harness/server.ts';

const preload = fileURLToPath(new URL('../testing/signal-at.mjs', import.meta.url));
const certificate = makeCertificate();
/** One of the first modules, one in the middle and one of the last; the first calls, and later ones. */
const moments = [
  ...[1, 2, 40, 60].map((load) => ({ SIGNAL_AT_LOAD: String(load) })),
  ...[1, 2, 3, 5, 8, 13, 21, 30, 40].map((call) => ({ SIGNAL_AT_CALL: String(call) })),
];

/** Starts a server that receives a signal at a moment of its start, which may not come. */
function start(t: TestContext, signal: NodeJS.Signals, at: object, flags: readonly string[], program = [serverPath]) {
  const signalled = join(temporaryFolder(t), 'signalled');
  const command = [process.execPath, '--import', preload, ...program];
  const server = runServer(t, temporaryFolder(t), flags, command, { SIGNAL: signal, SIGNALLED: signalled, ...at });
  return { server, wasSignalled: () => existsSync(signalled) };
}

test('with TLS, SIGHUP does not end a start, whenever it arrives', async (t) => {
  const flags = certificateFlags(temporaryFolder(t), certificate);
  const count = (await Promise.all(moments.map(async (at, index) => {
    const program = index % 2 === 0 ? [serverPath] : [cliPath, 'serve'];
    const { server, wasSignalled } = start(t, 'SIGHUP', at, flags, program);
    await server.printed(/^petstore listening on https:\S+\n/);
    const { code, stderr } = await server.stop();
    assert.equal(code, 0, JSON.stringify(at));
    assert.match(stderr, /^(petstore: (read \S+cert\.pem again|0 animals|there is no valid API key)[^\n]*\n)*$/);
    return wasSignalled();
  }))).filter(Boolean).length;
  assert.ok(count >= 10, `${count} of ${moments.length} moments came`);
});

test('every signal that stops a server ends a start with exit code 0, whenever it arrives', async (t) => {
  // SIGINT has the handlers of SIGTERM.
  const some = moments.filter((_, index) => index % 4 === 0);
  for (const [signal, when] of [['SIGTERM', moments], ['SIGINT', some], ['SIGHUP', moments]] as const) {
    await Promise.all(when.map(async (at) => {
      const { server, wasSignalled } = start(t, signal, at, []);
      await Promise.race([server.ended, server.printed(/listening on \S+\n/).catch(() => {})]);
      if (!wasSignalled()) server.child.kill();
      const { code, stderr } = await server.ended;
      assert.equal(code, 0, `${signal} ${JSON.stringify(at)}: ${stderr}`);
      assert.match(stderr, /^(petstore: (0 animals|there is no valid API key)[^\n]*\n)*$/);
    }));
  }
});

test('the reload of the unit waits until the process handles SIGHUP', async (t) => {
  if (process.platform !== 'linux') return t.skip('the unit is for Linux');
  const unit = readFileSync(fileURLToPath(new URL('../../deploy/petstore.service', import.meta.url)), 'utf8');
  const [, line] = /^ExecReload=\/bin\/sh -c "(.+)"$/m.exec(unit.replace(/\\\n */g, ''))!;
  const reload = (pid: number) =>
    new Program(t, ['/bin/sh', '-c', line!.replaceAll('$$', '$')], { MAINPID: String(pid) }).ended;
  const flags = certificateFlags(temporaryFolder(t), certificate);
  const server = runServer(t, temporaryFolder(t), flags);
  assert.deepEqual(await reload(server.child.pid!), { code: 0, stdout: '', stderr: '' });
  await server.printed(/^petstore listening on https:\S+\n/);
  assert.deepEqual(await reload(server.child.pid!), { code: 0, stdout: '', stderr: '' });
  await server.printed(/cert\.pem again/, 'stderr');
  assert.equal((await server.stop()).code, 0);
  assert.notEqual((await reload(server.child.pid!)).code, 0);
});
