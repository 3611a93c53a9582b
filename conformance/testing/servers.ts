/** Test support: servers that end with the test. */
import { faultProxy, scriptedServer, type ScriptedServer, type TestContext } from '../../harness/proxy.ts';
import { petstore, startServer, temporaryFolder as newFolder } from '../../harness/server.ts';
import { systemClock, type Clock } from '../client/clock.ts';
import type { Plan } from '../client/pacing.ts';
import { mutants } from '../mutants/mutants.ts';
import { startSmallServer } from '../mutants/server/small-server.ts';

export interface Server {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** A key of the form that many services use. */
export const apiKey = 'test_Kb7rT2xVq9KdLw4sHc8NpZa3';

/** A new empty folder, removed when the test has ended. */
export function temporaryFolder(t: TestContext): string {
  const { path, remove } = newFolder('conformance-test-');
  t.after(remove);
  return path;
}

/** This project's own server, with a key whose limit is so high by default that no request waits. */
export async function ownServer(t: TestContext, { perMinute = 1_000_000, host = '127.0.0.1' } = {}): Promise<Server> {
  const { path, remove } = newFolder('conformance-test-');
  const plan = ['--plan', 'enterprise', '--per-minute', String(perMinute), '--per-day', '100000000'];
  const key = await petstore(path, 'keys', 'create', '--name', 'test', ...plan);
  const server = await startServer(path, ['--host', host]);
  t.after(async () => {
    await server.stop('SIGKILL');
    remove();
  });
  return { baseUrl: `${server.address}/v1`, apiKey: key.trim() };
}

/** The small server: conforming, or a mutant by its id. */
export async function smallServer(
  t: TestContext,
  {
    mutant,
    clock = systemClock,
    plan = 'business',
    secret = apiKey,
    animals,
  }: { mutant?: string; clock?: Clock; plan?: Plan; secret?: string; animals?: number } = {},
): Promise<Server> {
  const found = mutants.find(({ id }) => id === mutant);
  if (mutant !== undefined && found === undefined) throw new Error(`there is no mutant ${mutant}`);
  const { baseUrl, close } = await startSmallServer({ clock, keys: [{ secret, plan }], hooks: found?.hooks, animals });
  t.after(close);
  return { baseUrl, apiKey: secret };
}

/** A server that responds as `respond` says, and whose key is `apiKey`. */
export async function scripted(...args: Parameters<typeof scriptedServer>): Promise<ScriptedServer & Server> {
  return { ...(await scriptedServer(...args)), apiKey };
}

/** A proxy in front of another server. */
export async function proxy(
  t: TestContext,
  upstream: Server,
  change?: Parameters<typeof faultProxy>[2],
  host?: string,
): Promise<ScriptedServer & Server> {
  return { ...(await faultProxy(t, upstream.baseUrl, change, host)), apiKey: upstream.apiKey };
}
