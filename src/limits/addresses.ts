import { limitsOf } from './plans.ts';
import type { LimitStatus } from './limit-status.ts';
import { LimitClock, minuteMs, Window } from './windows.ts';

/** The number of requests without a valid key that are admitted per network and minute. */
const { perMinute } = limitsOf({ name: 'free' });
/** The number of networks that are remembered. Beyond it, each new one displaces the one unused for longest. */
const maxNetworks = 10_000;

/**
 * Decides which requests without a valid key are admitted (decisions.md, "Limits"): counts those from each network (see
 * `networkOf`) in the current minute. Each process has its own limiter; it is not part of the engine.
 */
export class AddressLimiter {
  readonly #clock = new LimitClock();
  readonly #minute = new Window(minuteMs);
  /** How many requests remain for each network. They are in the order of last use. */
  readonly #remaining = new Map<string, number>();
  /**
   * Yields the networks in that order. It is kept, because a new iterator would step over the places of all networks
   * that have been removed.
   */
  readonly #oldest = this.#remaining.keys();

  /** Returns the status of an IP address without counting a request. */
  status(address: string, now: number): LimitStatus {
    return this.#status(this.#remainingFor(networkOf(address), now), null);
  }

  /** Admits and counts a request from an IP address, or refuses it. */
  admit(address: string, now: number): LimitStatus {
    const network = networkOf(address);
    const before = this.#remainingFor(network, now);
    const remaining = Math.max(0, before - 1);
    this.#remaining.delete(network); // it moves to the end
    this.#remaining.set(network, remaining);
    if (this.#remaining.size > maxNetworks) this.#remaining.delete(this.#oldest.next().value!);
    return this.#status(remaining, before === 0 ? 'window' : null);
  }

  #remainingFor(network: string, now: number): number {
    if (this.#minute.roll(this.#clock.timeAt(now))) this.#remaining.clear();
    return this.#remaining.get(network) ?? perMinute;
  }

  #status(remaining: number, refusedBy: 'window' | null): LimitStatus {
    return { window: 'minute', limit: perMinute, remaining, reset: this.#minute.end / 1000, refusedBy };
  }
}

/**
 * Returns what a client is counted by: for an IPv4 address the address itself, also if it is written as IPv6 (RFC 4291
 * section 2.5.5.2); for an IPv6 address its first 64 bits, because one subscriber has all addresses that share them.
 * `address` must be valid. The zone of an IPv6 address (RFC 4007 section 11) is ignored.
 */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  // URL writes the groups in one way, in lower case and without leading zeros, an embedded IPv4 address as two groups.
  const { hostname } = new URL(`http://[${address.replace(/%.*$/, '')}]`);
  const [head, tail] = hostname.slice(1, -1).split('::').map((part) => (part === '' ? [] : part.split(':')));
  const zeros = 8 - head!.length - (tail?.length ?? 0);
  const groups = [...head!, ...Array<string>(zeros).fill('0'), ...(tail ?? [])];
  if (groups.slice(0, 6).join() !== '0,0,0,0,0,ffff') return groups.slice(0, 4).join(':');
  return groups.slice(6).map((group) => parseInt(group, 16)).flatMap((group) => [group >> 8, group & 0xff]).join('.');
}
