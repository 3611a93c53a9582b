/** One kind of request to the small and the large shop in turn, round by round. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { load, type LoadOptions } from '../measure/load.ts';
import { quantile } from '../measure/statistics.ts';
import type { Shop } from './shop.ts';

/** What one shop used in one round. CPU time in microseconds. */
export interface Round {
  readonly requests: number;
  readonly seconds: number;
  readonly user: number;
  readonly system: number;
  /** In milliseconds. */
  readonly latencies: readonly number[];
}

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
  const once = async (shop: Shop): Promise<Round> => {
    for (let repeat = 0; repeat <= mostRepeats; repeat++) {
      const before = snapshotOf(shop);
      const round = await measureRound(shop, { ...request(shop), connections, seconds });
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

async function measureRound({ program }: Shop, options: LoadOptions): Promise<Round> {
  const before = await program.usage();
  const { requests, seconds, latencies } = await load(options);
  const after = await program.usage();
  return { requests, seconds, latencies, user: after.user - before.user, system: after.system - before.system };
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
  const requests = sum(rounds, (round) => round.requests);
  const latencies = rounds.flatMap((round) => round.latencies);
  return {
    perSecond: requests / sum(rounds, (round) => round.seconds),
    user: sum(rounds, (round) => round.user) / requests,
    system: sum(rounds, (round) => round.system) / requests,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  };
}

/** A ratio and its spread. */
export interface Ratio {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

/**
 * User CPU a request, large against small: of the sums, since the kernel tells user time from system time by samples, and one
 * round's is some per cent off. The spread is the quartiles of the rounds' own ratios.
 */
export function userRatio({ small, large }: Pair): Ratio {
  const single = large.map((round, i) => costOf([round]).user / costOf([small[i]!]).user);
  return { ratio: costOf(large).user / costOf(small).user, low: quantile(single, 0.25), high: quantile(single, 0.75) };
}

function sum(rounds: readonly Round[], figure: (round: Round) => number): number {
  return rounds.reduce((total, round) => total + figure(round), 0);
}
