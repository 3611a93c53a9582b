/**
 * Bursts: a few hundred requests to one server, then as many to the next one, again and again. All servers run at the
 * same time, so what else the machine does affects each of them, and the bursts that it disturbed least are compared.
 */
import type { LoadClient } from './client.ts';
import { quantile } from './load.ts';
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

/** CPU time per request of one process of a server, in microseconds. */
export interface BurstSample {
  /** The 10th percentile of all bursts, user and system. */
  readonly cpu: number;
  /**
   * Its two parts, by their shares in the CPU time of all bursts. Linux measures their sum, and divides it by samples,
   * often only 250 a second: too few for a single burst.
   */
  readonly userCpu: number;
  readonly systemCpu: number;
}

const percentile = 0.1;

/**
 * Measures servers by bursts of the same requests. Every second round is in reverse order from the second server on:
 * each server follows several others, and never itself, because its code would still be in the processor's caches.
 *
 * @throws WrongResponse
 */
export async function measureBursts(
  servers: readonly { readonly process: ServerProcess; readonly client: LoadClient }[], bursts: Bursts,
): Promise<readonly BurstSample[]> {
  const measured = servers.map((server) => ({ ...server, costs: [] as Cost[] }));
  for (let round = 0; round < bursts.warmUp + bursts.counted; round++) {
    const order = round % 2 === 0 ? measured : [...measured.slice(0, 1), ...measured.slice(1).toReversed()];
    for (const { process, client, costs } of order) {
      const before = await process.usage();
      const { requests } = await process.during(client.send(bursts.requests));
      const { user, system } = await process.usage();
      costs.push({ user: (user - before.user) / requests, system: (system - before.system) / requests });
    }
  }
  return measured.map(({ costs }) => sampleOf(costs.slice(bursts.warmUp)));
}

/** The CPU time of a request in one burst. */
interface Cost {
  readonly user: number;
  readonly system: number;
}

function sampleOf(costs: readonly Cost[]): BurstSample {
  const [user, system] = [meanOf(costs.map((cost) => cost.user)), meanOf(costs.map((cost) => cost.system))];
  const cpu = quantile(costs.map((cost) => cost.user + cost.system), percentile);
  return { cpu, userCpu: (cpu * user) / (user + system), systemCpu: (cpu * system) / (user + system) };
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
