/** Measures targets. Every response must be right: otherwise the figures would be worthless. */
import { measureBursts, type Bursts, type BurstSample } from '../measure/bursts.ts';
import { LoadClient } from '../measure/client.ts';
import { measureLoad, warmUp, type Duration, type Sample } from '../measure/load.ts';
import { requestsOf, responsesTo, type Created, type RunningTarget } from './running-target.ts';
import type { Workload } from './workloads.ts';

/** How many of the animals that a target has created are read back. */
const samples = 50;

/**
 * Measures a running target under a workload, after it was warmed up, and stops it.
 *
 * @throws Error that states which response was wrong, or how the target ended
 */
export async function measureTarget(target: RunningTarget, workload: Workload, duration: Duration): Promise<Sample> {
  try {
    return await target.process.during(withClients([target], workload, async ([client]) => {
      const perSecond = await warmUp(client!, duration);
      // The first tenth of the latencies is excluded, so each connection sends several requests.
      const amount = Math.max(3 * workload.connections, Math.round(perSecond * duration.seconds));
      return measureLoad(target.process, client!, amount);
    }));
  } finally {
    await target.process.stop();
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
