/** Test support: servers that end with the test. */
import { temporaryFolder, type Owner } from '../../harness/owner.ts';
import { faultProxy, scriptedServer, type ScriptedServer } from '../../harness/proxy.ts';
import { makeKey, startServer } from '../../harness/server.ts';
import { systemClock, type Clock } from '../client/clock.ts';
import type { Plan } from '../client/pacing.ts';
import { mutants } from '../mutants/mutants.ts';
import { startSmallServer } from '../mutants/server/small-server.ts';
import { variants } from '../mutants/variants.ts';

export interface Server {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** A key in a form that many services use. */
export const apiKey = 'test_Kb7rT2xVq9KdLw4sHc8NpZa3';

/** This project's own server, with a key whose limit is so high that no request waits. */
export async function ownServer(owner: Owner): Promise<Server> {
  const folder = temporaryFolder(owner);
  const apiKey = await makeKey(owner, folder, 'enterprise', '--per-minute', '1000000', '--per-day', '100000000');
  return { baseUrl: `${(await startServer(owner, folder)).address}/v1`, apiKey };
}

/** The small server: conforming, or a mutant or a variant by its id. */
export async function smallServer(
  owner: Owner,
  {
    mutant,
    variant,
    clock = systemClock,
    plan = 'business',
    secret = apiKey,
    animals,
  }: { mutant?: string; variant?: string; clock?: Clock; plan?: Plan; secret?: string; animals?: number } = {},
): Promise<Server> {
  const id = mutant ?? variant;
  const found = (mutant === undefined ? variants : mutants).find((known) => known.id === id);
  if (id !== undefined && found === undefined) throw new Error(`there is no mutant and no variant ${id}`);
  const { baseUrl, close } = await startSmallServer({ clock, keys: [{ secret, plan }], hooks: found?.hooks, animals });
  owner.after(close);
  return { baseUrl, apiKey: secret };
}

/** A server that responds as `respond` says, and whose key is `apiKey`. */
export async function scripted(...args: Parameters<typeof scriptedServer>): Promise<ScriptedServer & Server> {
  return { ...(await scriptedServer(...args)), apiKey };
}

/** A proxy in front of another server. */
export async function proxy(
  owner: Owner,
  upstream: Server,
  change?: Parameters<typeof faultProxy>[2],
  host?: string,
): Promise<ScriptedServer & Server> {
  return { ...(await faultProxy(owner, upstream.baseUrl, change, host)), apiKey: upstream.apiKey };
}
