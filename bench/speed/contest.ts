/**
 * Who is compared is measured in turn, a second or less at a time, round after round: what disturbs the machine for a while disturbs
 * all of them. Odd rounds go backwards, so that nobody always comes after the same one.
 *
 * Two processes of one program differ by a tenth and more, for as long as they live: by how V8 happened to compile them, and where
 * they lie in memory. So a contestant has several servers, of which each pair of rounds takes the next: one round of the pair goes
 * backwards and one does not, so that each server is measured both ways.
 */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';
import { WrongAnswers, type MeasuredLoad } from '../measure/load.ts';
import { quantile } from '../measure/statistics.ts';

/** What one load has cost. */
export interface Round extends Omit<MeasuredLoad, 'latencies'> {
  /** From a request to its answer, in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** One contestant under one load. */
export interface Entry {
  /** The load's id. */
  readonly row: string;
  readonly contestant: string;
  /** At least one. */
  readonly servers: readonly Server[];
}

/** One of its processes. */
export interface Server {
  /** Sends the load for so many seconds. Rejects if an answer is not what the row names. */
  readonly measure: (seconds: number) => Promise<MeasuredLoad>;
  /**
   * Brings the server's limits to where the load wants them. Where there is such, other statuses may mean that a window turned
   * meanwhile: then it is measured again.
   */
  readonly prime?: () => Promise<void>;
  /** Whether it still answers rightly, after the last round. Rejects if not. */
  readonly check?: () => Promise<void>;
}

/** What came of it: a round for each that was counted, or why there is none. */
export interface Outcome {
  readonly row: string;
  readonly contestant: string;
  readonly rounds: readonly Round[];
  /** Of all that was counted together: from a request to its answer, in milliseconds. */
  readonly p50?: number;
  readonly p99?: number;
  readonly problem?: string;
  /** What one must know to read the figures. */
  readonly note?: string;
}

export interface ContestOptions {
  /** How many are counted. */
  readonly rounds: number;
  /** How long each entry is measured in a round. */
  readonly seconds: number;
  /** Hears what is about to be measured; the round after the last is the check. */
  readonly watch?: (round: number, entry: Entry) => void;
}

/** So often an entry is measured, if windows turn. */
const mostTries = 3;

/** Measures all entries in all rounds. An entry that fails once, or a check afterwards, has a problem and no figures. */
export async function contest(entries: readonly Entry[], { rounds, seconds, watch }: ContestOptions): Promise<readonly Outcome[]> {
  const counted = new Map(entries.map((entry) => [entry, new Tally()]));
  const problems = new Map<Entry, string>();
  for (let round = 1; round <= rounds + 1; round++) {
    for (const entry of round % 2 === 0 ? entries : entries.toReversed()) {
      if (problems.has(entry)) continue;
      watch?.(round, entry);
      try {
        const { servers } = entry;
        if (round <= rounds) counted.get(entry)!.add(await measured(servers[(round >> 1) % servers.length]!, seconds));
        else for (const server of servers) await server.check?.();
      } catch (error) {
        problems.set(entry, (error as Error).message);
      }
    }
  }
  return entries.map((entry) => {
    const { row, contestant } = entry;
    const problem = problems.get(entry);
    return { row, contestant, ...(problem === undefined ? counted.get(entry)!.figures() : { rounds: [], problem }) };
  });
}

/** What an entry's rounds come to. The latencies of a whole run would fill the load generator's heap: they are counted. */
class Tally {
  readonly #rounds: Round[] = [];
  /** In microseconds, to a thousandth. */
  readonly #latencies: RecordableHistogram = createHistogram({ figures: 3 });

  add({ latencies, ...used }: MeasuredLoad): void {
    this.#rounds.push({ ...used, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99) });
    for (const ms of latencies) this.#latencies.record(Math.max(1, Math.round(ms * 1000)));
  }

  figures(): Pick<Outcome, 'rounds' | 'p50' | 'p99'> {
    const percentile = (percent: number) => this.#latencies.percentile(percent) / 1000;
    return { rounds: this.#rounds, p50: percentile(50), p99: percentile(99) };
  }
}

/** So many requests, by loads of so many seconds each; or as many as eight loads bring, of a server that is too slow for that. */
export interface WarmUp {
  readonly requests: number;
  readonly seconds: number;
}

/**
 * Loads a server until it is warm.
 *
 * @throws WrongAnswers
 */
export async function warmUp(server: Server, { requests, seconds }: WarmUp): Promise<void> {
  for (let i = 0, sent = 0; i < mostWarmUps && sent < requests; i++) sent += (await measured(server, seconds)).requests;
}

const mostWarmUps = 8;

async function measured(server: Server, seconds: number): Promise<MeasuredLoad> {
  for (let tries = 1; ; tries++) {
    await server.prime?.();
    try {
      return await server.measure(seconds);
    } catch (error) {
      if (!(error instanceof WrongAnswers && error.byStatusOnly) || server.prime === undefined || tries === mostTries) throw error;
    }
  }
}
