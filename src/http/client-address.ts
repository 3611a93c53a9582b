import { isIP } from 'node:net';
import type { Sender } from './request.ts';

/**
 * Returns the client's IP address. Each trusted proxy appends the address of its peer to `X-Forwarded-For`: the entries
 * are read from the end, one for each proxy, up to a missing or invalid one.
 */
export function clientAddress(sender: Pick<Sender, 'address' | 'headers'>, trustedProxies: number): string {
  let { address } = sender;
  const forwarded = sender.headers['x-forwarded-for'];
  if (trustedProxies === 0 || forwarded === undefined) return address;
  const hops = String(forwarded).split(',').slice(-trustedProxies);
  for (const hop of hops.reverse().map((text) => text.trim())) {
    // Some proxies add a port: `203.0.113.7:4711`, `[2001:db8::7]:4711`.
    const [, ipv6, ipv4] = /^(?:\[(.*)\]|([0-9.]+))(?::[0-9]+)?$/.exec(hop) ?? [];
    const hopAddress = ipv6 ?? ipv4 ?? hop;
    if (isIP(hopAddress) === 0) break;
    address = hopAddress;
  }
  return address;
}
