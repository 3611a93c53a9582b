/** The targets of the scale bench that use a database: one or several servers of this project, and a peer. */
import { temporaryFolder, thisProcess } from '../../harness/owner.ts';
import { NotStarted } from '../../harness/program.ts';
import { built, serverPath } from '../../harness/server.ts';
import { unpinServer } from '../measure/cores.ts';
import type { Duration } from '../measure/load.ts';
import { unlimited } from '../measure/own-server.ts';
import { nodeCommand, ServerProcess } from '../measure/server-process.ts';
import { measureServers, type ScaleSample } from '../speed/check.ts';
import type { RunningTarget } from '../speed/running-target.ts';
import { ours, peerCommand, startPeer } from '../speed/targets.ts';
import { animals, type Workload } from '../speed/workloads.ts';
import type { BenchDatabase } from './database.ts';

export const onDatabase = `${ours} on PostgreSQL`;
export const peer = 'fastify + PostgreSQL';

/**
 * Measures `count` servers of this project on a fresh database. One server has a core of its own, as other targets
 * have; several share all cores.
 */
export function measureOnDatabase(
  database: BenchDatabase, count: number, workload: Workload, duration: Duration,
): Promise<ScaleSample> {
  const command = [...nodeCommand(built(serverPath)), '--port', '0', '--log-format', 'text', '--database'];
  return database.with('filled', async (url) => {
    const servers: RunningTarget[] = [];
    while (servers.length < count) {
      const process = await ServerProcess.start([...command, url]);
      if (count > 1) unpinServer(process.pid);
      servers.push(targetOf(process, `${process.address}/v1`, database));
    }
    return measureServers(servers, workload, duration, () => database.cpu());
  });
}

/**
 * Measures the peer on a fresh database.
 *
 * @param unusable why the peer could not be installed; undefined if it could
 * @throws NotStarted if it could not be installed
 */
export function measurePeer(
  database: BenchDatabase, workload: Workload, duration: Duration, unusable: string | undefined,
): Promise<ScaleSample> {
  if (unusable !== undefined) throw new NotStarted(unusable);
  const keys = database.keys.map((key) => ({ key, ...unlimited }));
  return database.with('empty', async (url) => {
    const process = await startPeer(
      peerCommand('fastify-postgres.mjs'), temporaryFolder(thisProcess), animals, keys, url);
    return measureServers([targetOf(process, process.address, database)], workload, duration, () => database.cpu());
  });
}

function targetOf(process: ServerProcess, baseUrl: string, { keys }: BenchDatabase): RunningTarget {
  return { process, baseUrl, key: keys[0]!, keys, spentKey: '' };
}
