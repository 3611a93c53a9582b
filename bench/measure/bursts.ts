/**
 * Bursts: a few hundred requests to one server, then as many to the next one, again and again. All servers run at the
 * same time, so what else the machine does affects each of them, and the bursts that it disturbed least are compared.
 */
import type { LoadClient } from './client.ts';
import { quantile, type Sample } from './load.ts';
import type { ServerProcess } from './server-process.ts';

/** How many bursts each server receives, and of how many requests. */
export interface Bursts {
  readonly requests: number;
  /** Bursts that are not counted, because the server is not warm yet. */
  readonly warmUp: number;
  readonly counted: number;
}

export const thoroughBursts: Bursts = { requests: 400, warmUp: 60, counted: 100 };
export const quickBursts: Bursts = { requests: 20, warmUp: 1, counted: 5 };

/** The sentence below a table of bursts. */
export function burstsNote({ counted, requests }: Bursts, processes: number): string {
  return `The 10th percentile of ${counted} bursts of ${requests} requests, per request. Median (minimum–maximum) of ` +
    `fresh processes of each server: ${processes}.`;
}

/** The figures of one process of a server: those of its start, and its memory after the start. */
export interface BurstSample extends Pick<Sample, 'startMs' | 'startCpuMs' | 'resident'> {
  /**
   * CPU time per request, user and system, in microseconds: the 10th percentile of all bursts. Linux measures the sum,
   * but divides it into user and system by samples: too few for a burst.
   */
  readonly cpu: number;
}

const percentile = 0.1;

/**
 * Measures servers by bursts of the same requests. Every second round is in reverse order from the second server on:
 * each server follows several others, and never itself, because its code would still be in the processor's caches.
 *
 * @throws Error that states which response was wrong
 */
export async function measureBursts(
  servers: readonly { readonly process: ServerProcess; readonly client: LoadClient }[], bursts: Bursts,
): Promise<readonly BurstSample[]> {
  const measured = await Promise.all(servers.map(async ({ process, client }) =>
    ({ process, client, resident: (await process.usage()).resident, costs: [] as number[] })));
  for (let round = 0; round < bursts.warmUp + bursts.counted; round++) {
    const order = round % 2 === 0 ? measured : [...measured.slice(0, 1), ...measured.slice(1).toReversed()];
    for (const { process, client, costs } of order) {
      const before = await process.usage();
      const { requests } = await process.during(client.send(bursts.requests));
      const after = await process.usage();
      costs.push((after.user + after.system - before.user - before.system) / requests);
    }
  }
  return measured.map(({ process: { startMs, startCpuMs }, resident, costs }) =>
    ({ cpu: quantile(costs.slice(bursts.warmUp), percentile), startMs, startCpuMs, resident }));
}
