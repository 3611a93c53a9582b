/** A kind of requests, and what it is compared with (decisions.md, "The cost of a request"). */
import { quantile } from '../measure/load.ts';
import { cost, type Target } from './measure.ts';
import { usual, usualBody, usualClosed, usualCreate, type Kind } from './requests.ts';

/** What requests are compared with, and how many times as much they may cost. */
export const maxRatios = { 'a 401': 5, 'JSON.parse of 64 KiB': 4, 'bare node:http': 3 } as const;
export type Baseline = keyof typeof maxRatios;

/** The costs of a kind of requests. */
export interface Measured {
  readonly name: string;
  readonly baseline: Baseline;
  readonly status: number;
  /**
   * CPU time of a request, and what it is compared with, in microseconds: medians of all rounds. Of one that creates an
   * animal: what it costs more than a usual create, most of which is the work for the disk.
   */
  readonly cpu: number;
  readonly compared: number;
  /** The median of their ratios in each round: noise in one round affects both. */
  readonly ratio: number;
}

/** A kind of requests, measured in turn with what it is compared with. */
export class Experiment {
  readonly name: string;
  readonly #kind: Kind;
  readonly #target: Target;
  readonly #bare: Target;
  readonly #cpu: number[] = [];
  readonly #compared: number[] = [];
  #status = 0;

  constructor(name: string, kind: Kind, target: Target, bare: Target) {
    this.name = name;
    this.#kind = kind;
    this.#target = target;
    this.#bare = bare;
  }

  get #baseline(): Baseline {
    if (this.#kind.isParsing) return 'bare node:http';
    return this.#kind.withKey ? 'JSON.parse of 64 KiB' : 'a 401';
  }

  /** Sends `requests` requests, and then as many of what they are compared with. */
  async measure(requests: number): Promise<void> {
    const { cpu, status, closes } = await cost(this.#target, this.#kind, requests);
    this.#cpu.push(status === 201 ? cpu - (await cost(this.#target, usualCreate, requests)).cpu : cpu);
    this.#status = status;
    const baseline = this.#baseline;
    if (baseline === 'JSON.parse of 64 KiB') return void this.#compared.push(parseCost(requests));
    const isBare = baseline === 'bare node:http';
    const kind = isBare ? this.#kind : closes ? usualClosed : usual;
    this.#compared.push((await cost(isBare ? this.#bare : this.#target, kind, requests)).cpu);
  }

  get result(): Measured {
    const [cpu, compared] = [quantile(this.#cpu, 0.5), quantile(this.#compared, 0.5)];
    const ratio = quantile(this.#cpu.map((one, round) => one / this.#compared[round]!), 0.5);
    return { name: this.name, baseline: this.#baseline, status: this.#status, cpu, compared, ratio };
  }
}

/** The CPU time of `JSON.parse` of the usual body, in microseconds. This process has a core like that of the server. */
function parseCost(times: number): number {
  const before = process.cpuUsage();
  for (let i = 0; i < times; i++) JSON.parse(usualBody.toString());
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}
