import { limitsOf } from './plans.ts';
import type { LimitStatus } from './limit-status.ts';
import { minuteMs, Window } from './windows.ts';

/** Requests without a valid key that an address may send in a minute. */
const { perMinute } = limitsOf({ name: 'free' });
/** So many addresses are remembered; from then on, one is forgotten for each new one: who came first, and not again since then. */
const maxAddresses = 10_000;

/** How many requests without a valid key came from each address in this minute. */
export class AddressCounts {
  readonly #minute = new Window(minuteMs);
  /** By network, as they came; who comes again goes to the end, once there are as many as are remembered. */
  readonly #counts = new Map<string, { used: number }>();

  /** Counts a request from an IP address at `time`, or refuses it. */
  admit(address: string, time: number): LimitStatus {
    const network = networkOf(address);
    const known = this.#countOf(network, time);
    const count = known ?? { used: 0 };
    const isFull = this.#counts.size >= maxAddresses;
    if (isFull) this.#counts.delete(network); // to the end: as long as there is room, it is dear and of no use
    if (isFull || known === undefined) this.#counts.set(network, count);
    if (this.#counts.size > maxAddresses) this.#counts.delete(this.#counts.keys().next().value!);
    const refused = count.used === perMinute;
    if (!refused) count.used += 1;
    return this.#status(count.used, refused ? 'window' : null);
  }

  /** Where an IP address stands at `time`, without counting anything. */
  status(address: string, time: number): LimitStatus {
    return this.#status(this.#countOf(networkOf(address), time)?.used ?? 0, null);
  }

  #countOf(network: string, time: number): { used: number } | undefined {
    if (this.#minute.roll(time)) this.#counts.clear();
    return this.#counts.get(network);
  }

  #status(count: number, refusedBy: LimitStatus['refusedBy']): LimitStatus {
    const reset = this.#minute.end / 1000;
    return { window: 'minute', limit: perMinute, remaining: perMinute - count, reset, refusedBy };
  }
}

/**
 * What stands for a client whose IP address this is: an IPv4 address itself, also where it is written as IPv6
 * (RFC 4291 section 2.5.5.2); of an IPv6 address the first 64 bits, as one subscriber has all of the rest.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const groups = groupsOf(address);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return groups.slice(6).flatMap((group) => [group >> 8, group & 0xff]).join('.');
  }
  return groups.slice(0, 4).map((group) => group.toString(16)).join(':');
}

/** The eight groups of a valid IPv6 address (RFC 4291 section 2.2), without its zone (RFC 4007 section 11). */
function groupsOf(address: string): number[] {
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, '')}]`); // writes an IPv4 address within as groups
  const [head, tail] = hostname.slice(1, -1).split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = 8 - head!.length - (tail?.length ?? 0);
  return [...head!, ...Array<string>(zeros).fill('0'), ...(tail ?? [])].map((group) => parseInt(group, 16));
}
