/** A kind of requests, measured in turn with what it is compared with. */
import { quantile } from '../measure/load.ts';
import { cost, type Target } from './measure.ts';
import { usual, usualBody, usualClosed, usualCreate, type Baseline, type Kind } from './requests.ts';

export interface Experiment {
  readonly name: string;
  readonly kind: Kind;
  readonly target: Target;
  /** A server that does nothing but read requests. */
  readonly bare: Target;
  readonly rounds: Round[];
}

/** The costs of a kind of requests in one round. */
interface Round {
  readonly status: number;
  /**
   * CPU time of a request, and what it is compared with, in microseconds. Of one that creates an animal: what it costs
   * more than a usual create, most of which is the work for the disk.
   */
  readonly cpu: number;
  readonly compared: number;
}

/** The costs of a kind of requests: medians of all rounds. */
export interface Measured extends Round {
  readonly name: string;
  readonly baseline: Baseline;
  /** The median of the ratios in each round: noise in one round affects both. */
  readonly ratio: number;
}

/** Sends `requests` requests, and then as many of what they are compared with. */
export async function measure({ kind, target, bare, rounds }: Experiment, requests: number): Promise<void> {
  const { cpu, status, closes } = await cost(target, kind, requests);
  const usualCpu = status === 201 ? (await cost(target, usualCreate, requests)).cpu : 0;
  const compared = {
    'a 401': async () => (await cost(target, closes ? usualClosed : usual, requests)).cpu,
    'JSON.parse of 64 KiB': async () => parseCost(requests),
    'bare node:http': async () => (await cost(bare, kind, requests)).cpu,
  };
  rounds.push({ status, cpu: cpu - usualCpu, compared: await compared[kind.baseline]() });
}

/** The result of all rounds so far. */
export function resultOf({ name, kind: { baseline }, rounds }: Experiment): Measured {
  const median = (figure: (round: Round) => number): number => quantile(rounds.map(figure), 0.5);
  return {
    ...{ name, baseline, status: rounds.at(-1)!.status },
    cpu: median(({ cpu }) => cpu),
    compared: median(({ compared }) => compared),
    ratio: median(({ cpu, compared }) => cpu / compared),
  };
}

/** The CPU time of `JSON.parse` of the usual body, in microseconds. This process has a core like that of the server. */
function parseCost(times: number): number {
  const before = process.cpuUsage();
  for (let i = 0; i < times; i++) JSON.parse(usualBody.toString());
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}
