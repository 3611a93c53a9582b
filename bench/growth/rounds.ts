/** One kind of request to the small and the large shop in turn, round by round. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { overall, requestsPerSecond, systemCpu, userCpu, type Used } from '../measure/figures.ts';
import { measureLoad, type LoadOptions, type MeasuredLoad } from '../measure/load.ts';
import { quantile } from '../measure/statistics.ts';
import type { Shop } from './shop.ts';

export type Round = Used & Pick<MeasuredLoad, 'latencies'>;

/** The rounds of both shops, as many of one as of the other. */
export interface Pair {
  readonly small: readonly Round[];
  readonly large: readonly Round[];
}

export interface RoundsOptions {
  readonly rounds: number;
  /** The length of a round. */
  readonly seconds: number;
  /** What is sent to a shop. */
  readonly request: (shop: Shop) => Omit<LoadOptions, 'connections' | 'seconds'>;
}

/** Of either kind. */
const connections = 16;
/** A journal that was just folded has room for more rounds than that. */
const mostRepeats = 3;

/**
 * Sends rounds of requests to both, the small one first and the large one first in turn, after one that is not counted.
 * Nor is one counted in which a shop wrote its snapshot: that costs time once in many creates, and not by the request.
 */
export async function measureRounds(small: Shop, large: Shop, { rounds, seconds, request }: RoundsOptions): Promise<Pair> {
  const pair = { small: [] as Round[], large: [] as Round[] };
  const once = async (shop: Shop): Promise<MeasuredLoad> => {
    for (let repeat = 0; repeat <= mostRepeats; repeat++) {
      const before = snapshotOf(shop);
      const round = await measureLoad(shop.program, { ...request(shop), connections, seconds });
      if (before === snapshotOf(shop)) return round;
    }
    throw new Error('the server writes one snapshot after another');
  };
  for (let number = 0; number <= rounds; number++) {
    const inTurn = [{ shop: small, to: pair.small }, { shop: large, to: pair.large }];
    for (const { shop, to } of number % 2 === 0 ? inTurn : inTurn.reverse()) {
      const round = await once(shop);
      if (number > 0) to.push(round);
    }
  }
  return pair;
}

/** Which snapshot a shop has, and which one it is writing. */
function snapshotOf({ folder }: Shop): string {
  return ['pets.json', 'pets.json.tmp'].map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.ino).join();
}

/** What a shop's rounds come to. CPU time in microseconds a request, latencies in milliseconds. */
export interface Cost {
  readonly perSecond: number;
  readonly user: number;
  readonly system: number;
  readonly p50: number;
  readonly p99: number;
}

export function costOf(rounds: readonly Round[]): Cost {
  const latencies = rounds.flatMap((round) => round.latencies);
  return {
    perSecond: overall(rounds, requestsPerSecond),
    user: overall(rounds, userCpu),
    system: overall(rounds, systemCpu),
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  };
}
