/** Measures targets. Every response must be right: otherwise the figures would be worthless. */
import { measureBursts, type Bursts, type BurstSample } from '../measure/bursts.ts';
import { LoadClient } from '../measure/client.ts';
import { measureLoad, warmUp, type Duration, type Sample } from '../measure/load.ts';
import type { ServerProcess } from '../measure/server-process.ts';
import { requestsOf, responsesTo, type Created, type RunningTarget } from './running-target.ts';
import type { Workload } from './workloads.ts';

/** How many of the animals that a target has created are read back. */
const samples = 50;

export interface ScaleSample extends Sample {
  /** CPU time of the database per request, user and system, in microseconds; NaN without a database. */
  readonly databaseCpu: number;
}

/**
 * Measures servers that share a workload, after they were warmed up, and stops them. Of several servers, the numbers of
 * requests are added, and the other figures are means.
 *
 * @param databaseCpu returns the CPU time that the database has used so far
 * @throws Error that states which response was wrong, or how a server ended
 */
export async function measureServers(
  servers: readonly RunningTarget[], workload: Workload, duration: Duration, databaseCpu = (): number => NaN,
): Promise<ScaleSample> {
  const share = { ...workload, connections: workload.connections / servers.length };
  try {
    return await withClients(servers, share, async (clients) => {
      const all = <T>(task: (server: ServerProcess, client: (typeof clients)[number]) => Promise<T>): Promise<T[]> =>
        Promise.all(servers.map(({ process }, i) => process.during(task(process, clients[i]!))));
      const perSecond = Math.min(...(await all((_, client) => warmUp(client, duration))));
      const amount = Math.max(3 * share.connections, Math.round(perSecond * duration.seconds));
      const before = databaseCpu();
      const samples = await all((process, client) => measureLoad(process, client, amount));
      const sum = (figure: keyof Sample): number => samples.reduce((total, sample) => total + sample[figure], 0);
      const mean = (figure: keyof Sample): number => sum(figure) / samples.length;
      return {
        ...{ requests: sum('requests'), perSecond: sum('perSecond'), resident: mean('resident') },
        ...{ userCpu: mean('userCpu'), systemCpu: mean('systemCpu'), p50: mean('p50'), p99: mean('p99') },
        ...{ startMs: mean('startMs'), startCpuMs: mean('startCpuMs') },
        databaseCpu: (databaseCpu() - before) / sum('requests'),
      };
    });
  } finally {
    for (const { process } of servers) await process.stop();
  }
}

/**
 * Measures running targets by bursts under a workload, and stops them.
 *
 * @throws Error that states which response was wrong, or how a target ended
 */
export async function measureTargets(
  targets: readonly RunningTarget[], workload: Workload, bursts: Bursts,
): Promise<readonly BurstSample[]> {
  try {
    return await withClients(targets, workload, (clients) =>
      measureBursts(targets.map(({ process }, i) => ({ process, client: clients[i]! })), bursts));
  } finally {
    for (const { process } of targets) await process.stop();
  }
}

/**
 * The result of `task`, which sends a workload with a client for each target. Afterwards, some of the animals that were
 * created are read back.
 *
 * @throws Error that states which response was wrong
 */
export async function withClients<T>(
  targets: readonly RunningTarget[], workload: Workload, task: (clients: readonly LoadClient[]) => Promise<T>,
): Promise<T> {
  const opened = targets.map((target) => {
    const created: Created = new Map();
    const requests = requestsOf(target, workload, created);
    return { target, created, client: new LoadClient(target.baseUrl, requests, workload.connections) };
  });
  try {
    for (const target of targets) if (workload.key === 'spent') await responsesTo(target, workload, 1); // its day
    const result = await task(opened.map(({ client }) => client));
    for (const { target, created } of opened) await checkKept(target, created);
    return result;
  } finally {
    for (const { client } of opened) client.close();
  }
}

/** Reads some of the animals back that a target has created. */
async function checkKept(target: RunningTarget, created: Created): Promise<void> {
  if (created.size === 0) return;
  const all = [...created];
  const some = Array.from({ length: samples }, (_, i) => all[Math.floor((i * all.length) / samples)]!);
  const exchanges = some.map(([id, animal]) => ({ path: `/pets/${id}`, status: 200, expected: { id, ...animal } }));
  const read: Workload = { id: 'read', title: 'read', method: 'GET', connections: 1, key: 'full', exchanges };
  await withClients([target], read, ([client]) => client!.send(samples));
}
