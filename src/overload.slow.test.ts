/** Attacks without a key: the process stays alive, its memory does not grow, and it serves a client that has a key. */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { attacks, Overload, type Attack } from '../harness/overload.ts';

const responses = 2_000;
/** Only a server or an attacker that hangs takes so long: opening 11,000 connections over TLS takes up to a minute. */
const hangMs = 1_200_000;

/** Attacks, and returns the memory of the server. */
async function survive(
  t: TestContext, overload: Overload, kind: Attack, connections: number, newcomer = false,
): Promise<number> {
  const latencies = await overload.survive(kind, connections, responses, newcomer);
  const { residentBytes } = overload;
  t.diagnostic(`${kind.name}: ${JSON.stringify(latencies)}, ${(residentBytes / 1e6).toFixed(0)} MB`);
  return residentBytes;
}

for (const scheme of ['http', 'https'] as const) {
  for (const heapMb of [256, null]) {
    const heap = heapMb === null ? 'the default size' : `${heapMb} MB`;
    test(`survives ten attacks in a row, ${scheme}, a heap of ${heap}`, { timeout: hangMs }, async (t) => {
      const overload = await Overload.start(t, scheme, heapMb);
      const resident: number[] = [];
      // Four more come first, because the heap grows for some seconds until V8 has found its size.
      for (let i = -3; i <= 10; i += 1) {
        const bytes = await survive(t, overload, attacks[0]!, i % 2 === 0 ? 11_000 : 1_100);
        if (i > 0) resident.push(bytes);
      }
      // One value shows little, because it depends on when V8 has last collected garbage. A leak raises all of them.
      const [first, last] = [resident.slice(0, 3), resident.slice(-3)];
      assert(Math.min(...last) <= 1.2 * Math.max(...first), `bytes after each attack: ${resident.join(', ')}`);
      const { code, stderr } = await overload.server.stop();
      assert.equal(code, 0, stderr);
    });
  }

  test(`survives an attack of each kind, and serves a new client, ${scheme}`, { timeout: hangMs }, async (t) => {
    const overload = await Overload.start(t, scheme, 256);
    for (const kind of attacks.slice(1)) {
      await survive(t, overload, kind, 1_100);
      await survive(t, overload, kind, 300, true); // fewer than are served
    }
    const { code, stderr } = await overload.server.stop();
    assert.equal(code, 0, stderr);
  });
}
