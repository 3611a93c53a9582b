import { limitsOf } from './plans.ts';
import type { LimitStatus } from './limit-status.ts';
import { minuteMs, Window } from './windows.ts';

/** The number of requests without a valid key that are admitted per address and minute. */
const { perMinute } = limitsOf({ name: 'free' });
/** The number of addresses that are remembered. Beyond it, each new address displaces the one unused for longest. */
const maxAddresses = 10_000;

/** Counts the requests without a valid key from each address in the current minute. */
export class AddressCounts {
  readonly #minute = new Window(minuteMs);
  /** By network. Once the map is full, it is in the order of last use. */
  readonly #counts = new Map<string, { used: number }>();

  /** Admits and counts a request from an IP address, or refuses it. */
  admit(address: string, time: number): LimitStatus {
    const network = networkOf(address);
    const known = this.#countOf(network, time);
    const count = known ?? { used: 0 };
    const isFull = this.#counts.size >= maxAddresses;
    if (isFull) this.#counts.delete(network); // it moves to the end; until the map is full, that would only cost time
    if (isFull || known === undefined) this.#counts.set(network, count);
    if (this.#counts.size > maxAddresses) this.#counts.delete(this.#counts.keys().next().value!);
    const refused = count.used === perMinute;
    if (!refused) count.used += 1;
    return this.#status(count.used, refused ? 'window' : null);
  }

  /** Returns the status of an IP address without counting a request. */
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
 * Returns what a client is counted by: for an IPv4 address the address itself, also if it is written as IPv6 (RFC 4291
 * section 2.5.5.2); for an IPv6 address its first 64 bits, because one subscriber has all addresses that share them.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const groups = groupsOf(address);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return groups.slice(6).flatMap((group) => [group >> 8, group & 0xff]).join('.');
  }
  return groups.slice(0, 4).map((group) => group.toString(16)).join(':');
}

/** Returns the eight groups of a valid IPv6 address (RFC 4291 section 2.2), without its zone (RFC 4007 section 11). */
function groupsOf(address: string): number[] {
  // URL also turns an embedded IPv4 address into two groups.
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, '')}]`);
  const [head, tail] = hostname.slice(1, -1).split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = 8 - head!.length - (tail?.length ?? 0);
  return [...head!, ...Array<string>(zeros).fill('0'), ...(tail ?? [])].map((group) => parseInt(group, 16));
}
