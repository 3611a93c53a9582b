/** Measures targets. Every response must be right: otherwise the figures would be worthless. */
import { rmSync } from 'node:fs';
import { measureBursts, type Bursts, type BurstSample } from '../measure/bursts.ts';
import { LoadClient } from '../measure/client.ts';
import type { Experiment } from '../measure/experiments.ts';
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

/** A target that is compared by loads. */
export interface LoadTarget {
  readonly name: string;
  /** Starts a fresh process, or several that share the workload. Rejects with the reason if that fails. */
  readonly start: (workload: Workload) => Promise<RunningTarget | readonly RunningTarget[]>;
}

/** Measures a target under a workload. */
export function loadOf(
  { name, start }: LoadTarget, workload: Workload, duration: Duration,
): Experiment<keyof ScaleSample> {
  const measure = async () => [await measureServers([await start(workload)].flat(), workload, duration)];
  return { workload: workload.title, targets: [name], measure };
}

/**
 * Measures servers that share a workload, after they were warmed up, and stops them. Of several servers, the numbers of
 * requests are added, and the other figures are means.
 *
 * @throws Error that states which response was wrong, or how a server ended
 */
export async function measureServers(
  servers: readonly RunningTarget[], workload: Workload, duration: Duration,
): Promise<ScaleSample> {
  const { databaseCpu = () => NaN } = servers[0]!;
  const share = { ...workload, connections: workload.connections / servers.length };
  try {
    return await withClients(servers.map((target) => ({ target, workload: share })), async (clients) => {
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
    await stopTargets(servers);
  }
}

/** A server that is compared by bursts, and what it receives. */
export interface BurstTarget {
  readonly name: string;
  readonly workload: Workload;
  readonly start: () => Promise<RunningTarget>;
}

/** Compares servers that run at the same time by bursts. */
export function burstsOf(group: readonly BurstTarget[], bursts: Bursts): Experiment<keyof BurstSample> {
  const measure = () => measureGroup(group, bursts);
  return { workload: group[0]!.workload.title, targets: group.map(({ name }) => name), measure };
}

async function measureGroup(group: readonly BurstTarget[], bursts: Bursts): Promise<readonly BurstSample[]> {
  const running: RunningTarget[] = [];
  try {
    for (const { start } of group) running.push(await start());
    const loads = running.map((target, i) => ({ target, workload: group[i]!.workload }));
    return await withClients(loads, (clients) =>
      measureBursts(running.map(({ process }, i) => ({ process, client: clients[i]! })), bursts));
  } finally {
    await stopTargets(running);
  }
}

/** Stops targets, and removes their folders, which may be large. */
export async function stopTargets(targets: readonly RunningTarget[]): Promise<void> {
  for (const { process, folder } of targets) {
    await process.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** A target, and the workload that it receives. */
interface Load {
  readonly target: RunningTarget;
  readonly workload: Workload;
}

/**
 * The result of `task`, which sends workloads with a client for each target. Afterwards, some of the animals that were
 * created are read back.
 *
 * @throws Error that states which response was wrong
 */
export async function withClients<T>(
  loads: readonly Load[], task: (clients: readonly LoadClient[]) => Promise<T>,
): Promise<T> {
  const opened = loads.map(({ target, workload }) => {
    const created: Created = new Map();
    const requests = requestsOf(target, workload, created);
    return { target, created, client: new LoadClient(target.baseUrl, requests, workload.connections) };
  });
  try {
    for (const { target, workload } of loads) {
      if (workload.key === 'spent') await responsesTo(target, workload, 1); // its day
    }
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
  const workload: Workload = { id: 'read', title: 'read', method: 'GET', connections: 1, key: 'full', exchanges };
  await withClients([{ target, workload }], ([client]) => client!.send(samples));
}
