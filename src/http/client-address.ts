import { isIP } from 'node:net';
import type { Sender } from './request.ts';

/**
 * The client's IP address. Each trusted proxy appends the address of its peer to `X-Forwarded-For`, so the entries are read from
 * the end, one for each proxy. A missing or invalid entry ends the reading.
 */
export function clientAddress(sender: Sender, trustedProxies: number): string {
  let { address } = sender;
  if (trustedProxies === 0) return address;
  const hops = String(sender.headers['x-forwarded-for'] ?? '').split(',').slice(-trustedProxies);
  for (const hop of hops.reverse().map((text) => text.trim())) {
    const given = isIP(hop) === 0 ? withoutPort(hop) : hop;
    if (isIP(given) === 0) break;
    address = given;
  }
  return address;
}

/** `203.0.113.7:4711` and `[2001:db8::7]:4711`, as some proxies write it, without the port. */
function withoutPort(text: string): string {
  return /^\[(.*)\](?::[0-9]+)?$/.exec(text)?.[1] ?? /^([0-9.]+):[0-9]+$/.exec(text)?.[1] ?? text;
}
