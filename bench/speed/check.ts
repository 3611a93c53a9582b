/** Measures targets. Every response must be right: otherwise the figures would be worthless. */
import { measureBursts, type Bursts, type BurstSample } from '../measure/bursts.ts';
import { Client } from '../measure/client.ts';
import { measureLoad, warmUp, type Duration, type Sample } from '../measure/load.ts';
import { requestsOf, responsesTo, type Created, type Session } from './session.ts';
import type { Workload } from './workloads.ts';

/** How many of the animals that a target has created are read back. */
const samples = 50;

/**
 * Measures a running target under a workload, after it was warmed up, and stops it.
 *
 * @throws Error that states which response was wrong, or how the target ended
 */
export async function measureTarget(session: Session, workload: Workload, duration: Duration): Promise<Sample> {
  try {
    return await session.process.during(withClients([session], workload, async ([client]) => {
      const perSecond = await warmUp(client!, duration);
      // The first tenth of the latencies is excluded, so each connection sends several requests.
      const amount = Math.max(3 * workload.connections, Math.round(perSecond * duration.seconds));
      return measureLoad(session.process, client!, amount);
    }));
  } finally {
    await session.process.stop();
  }
}

/**
 * Measures running targets by bursts under a workload, and stops them.
 *
 * @throws Error that states which response was wrong, or how a target ended
 */
export async function measureTargets(
  sessions: readonly Session[], workload: Workload, bursts: Bursts,
): Promise<readonly BurstSample[]> {
  try {
    return await withClients(sessions, workload, (clients) =>
      measureBursts(sessions.map(({ process }, i) => ({ process, client: clients[i]! })), bursts));
  } finally {
    for (const { process } of sessions) await process.stop();
  }
}

/**
 * The result of `task`, which sends a workload with a client for each target. Afterwards, some of the animals that were
 * created are read back.
 *
 * @throws Error that states which response was wrong
 */
export async function withClients<T>(
  sessions: readonly Session[], workload: Workload, task: (clients: readonly Client[]) => Promise<T>,
): Promise<T> {
  const opened = sessions.map((session) => {
    const created: Created = new Map();
    const requests = requestsOf(session, workload, created);
    return { session, created, client: new Client(session.baseUrl, requests, workload.connections) };
  });
  try {
    for (const session of sessions) if (workload.key === 'spent') await responsesTo(session, workload, 1); // its day
    const result = await task(opened.map(({ client }) => client));
    for (const { session, created } of opened) await checkKept(session, created);
    return result;
  } finally {
    for (const { client } of opened) client.close();
  }
}

/** Reads some of the animals back that a target has created. */
async function checkKept(session: Session, created: Created): Promise<void> {
  if (created.size === 0) return;
  const all = [...created];
  const some = Array.from({ length: samples }, (_, i) => all[Math.floor((i * all.length) / samples)]!);
  const exchanges = some.map(([id, animal]) => ({ path: `/pets/${id}`, status: 200, expected: { id, ...animal } }));
  const read: Workload = { id: 'read', title: 'read', method: 'GET', connections: 1, key: 'full', exchanges };
  await withClients([session], read, ([client]) => client!.send(samples));
}
