/** The targets of the scale bench that use a database: one or several servers of this project, and a peer. */
import { temporaryFolder, thisProcess } from '../../harness/owner.ts';
import { NotStarted } from '../../harness/program.ts';
import { distFolder } from '../../harness/server.ts';
import { unpinServer } from '../measure/cores.ts';
import { startBuild, unlimited } from '../measure/own-server.ts';
import type { ServerProcess } from '../measure/server-process.ts';
import type { LoadTarget } from '../speed/check.ts';
import type { RunningTarget } from '../speed/running-target.ts';
import { ours, peerCommand, startPeer } from '../speed/targets.ts';
import { animals } from '../speed/workloads.ts';
import type { BenchDatabase } from './database.ts';

export const onDatabase = `${ours} on PostgreSQL`;
export const peer = 'fastify + PostgreSQL';

/**
 * `count` servers of this project on a fresh database. One server has a core of its own, as other targets have; several
 * share all cores.
 */
export function serversOn(database: BenchDatabase, count: number): LoadTarget {
  const start = async (): Promise<readonly RunningTarget[]> => {
    const url = await database.fresh('filled');
    const servers: RunningTarget[] = [];
    while (servers.length < count) {
      const { process, baseUrl } = await startBuild(distFolder, url);
      if (count > 1) unpinServer(process.pid);
      servers.push(targetOf(process, baseUrl, database));
    }
    return servers;
  };
  return { name: count === 1 ? onDatabase : `${count} × ${onDatabase}`, start };
}

/** The peer on a fresh database. `unusable`: why it could not be installed. */
export function peerOn(database: BenchDatabase, unusable: string | undefined): LoadTarget {
  const keys = database.keys.map((key) => ({ key, ...unlimited }));
  const start = async (): Promise<RunningTarget> => {
    if (unusable !== undefined) throw new NotStarted(unusable);
    const [command, folder] = [peerCommand('fastify-postgres.mjs'), temporaryFolder(thisProcess)];
    const process = await startPeer(command, folder, animals, keys, await database.fresh('empty'));
    return targetOf(process, process.address, database);
  };
  return { name: peer, start };
}

function targetOf(process: ServerProcess, baseUrl: string, database: BenchDatabase): RunningTarget {
  const keys = { full: database.keys.slice(0, 1), each: database.keys };
  return { process, baseUrl, keys, databaseCpu: () => database.cpu() };
}
