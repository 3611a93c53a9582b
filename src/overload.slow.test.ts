/** Attacks without a key: the process stays alive, its memory does not grow, and it serves a client that has a key. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { certificateFlags, makeCertificate } from '../harness/certificates.ts';
import { attack, attacks, SteadyClient, type Attack } from '../harness/overload.ts';
import { temporaryFolder } from '../harness/owner.ts';
import { makeKey, serverPath, startServer } from '../harness/server.ts';

const heaps: readonly [name: string, flags: readonly string[]][] = [
  ['256 MB', ['--max-old-space-size=256']],
  ['the default size', []],
];

/** Starts a server with sample animals, and a client with a key whose limits it does not reach. */
async function underLoad(t: TestContext, scheme: string, nodeFlags: readonly string[]) {
  const folder = temporaryFolder(t);
  const tls = scheme === 'https' ? certificateFlags(folder, makeCertificate()) : [];
  const store = join(folder, 'store');
  const command = [process.execPath, ...nodeFlags, serverPath];
  const server = await startServer(t, store, ['--demo', ...tls], command, { ACCESS_LOG: 'off' });
  const limits = ['--per-minute', '1000000000', '--per-day', '1000000000'];
  const secret = await makeKey(t, store, 'enterprise', ...limits);
  const client = await SteadyClient.connect(t, server.address, secret, 32);
  return {
    server,
    /** Attacks while the client sends requests; resolves to the memory of the server, in bytes. */
    async survive(kind: Attack, connections: number): Promise<number> {
      client.begin();
      const attacker = await attack(t, server.address, kind, connections);
      const latencies = await client.end(10_000); // throws if a response was wrong, or the connection was closed
      await attacker.kill();
      const resident = residentBytes(server.child.pid!);
      t.diagnostic(`${kind.name}: ${JSON.stringify(latencies)}, ${(resident / 1e6).toFixed(0)} MB`);
      return resident;
    },
  };
}

for (const scheme of ['http', 'https']) {
  for (const [heap, nodeFlags] of heaps) {
    test(`survives ten attacks in a row, ${scheme}, a heap of ${heap}`, { timeout: 600_000 }, async (t) => {
      const { server, survive } = await underLoad(t, scheme, nodeFlags);
      const resident: number[] = [];
      for (let i = 1; i <= 10; i += 1) resident.push(await survive(attacks[0]!, i % 2 === 0 ? 11_000 : 1_100));
      assert(resident[9]! <= 1.2 * resident[1]!, `bytes after each attack: ${resident.join(', ')}`);
      const { code, stderr } = await server.stop();
      assert.equal(code, 0, stderr);
    });
  }

  test(`survives an attack of each kind, ${scheme}`, { timeout: 600_000 }, async (t) => {
    const { server, survive } = await underLoad(t, scheme, ['--max-old-space-size=256']);
    for (const kind of attacks.slice(1)) await survive(kind, 1_100);
    const { code, stderr } = await server.stop();
    assert.equal(code, 0, stderr);
  });
}

/** The memory of a process; 0 where the system does not tell. */
function residentBytes(pid: number): number {
  const file = `/proc/${pid}/status`;
  return existsSync(file) ? 1024 * Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(file, 'utf8'))![1]) : 0;
}
