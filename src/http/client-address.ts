import { isIP } from 'node:net';
import type { Sender } from './request.ts';

/** Longer than an IPv6 address with a zone, brackets and a port. */
const maxHopLength = 100;

/**
 * Returns the client's IP address. Each trusted proxy appends the address of its peer to `X-Forwarded-For`: the entries
 * are read from the end, one for each proxy, up to a missing or invalid one. Whatever clients send is before them.
 */
export function clientAddress(sender: Pick<Sender, 'address' | 'headers'>, trustedProxies: number): string {
  let { address } = sender;
  const forwarded = sender.headers['x-forwarded-for'];
  if (trustedProxies === 0 || forwarded === undefined) return address;
  const list = String(forwarded);
  for (let end = list.length, proxy = 0; proxy < trustedProxies && end >= 0; proxy++) {
    const comma = end === 0 ? -1 : list.lastIndexOf(',', end - 1);
    const hop = list.slice(comma + 1, end).trim();
    // Some proxies add a port: `203.0.113.7:4711`, `[2001:db8::7]:4711`.
    const [, ipv6, ipv4] = /^(?:\[(.*)\]|([0-9.]+))(?::[0-9]+)?$/.exec(hop.slice(0, maxHopLength)) ?? [];
    const hopAddress = ipv6 ?? ipv4 ?? hop;
    if (hop.length > maxHopLength || isIP(hopAddress) === 0) break;
    address = hopAddress;
    end = comma;
  }
  return address;
}
