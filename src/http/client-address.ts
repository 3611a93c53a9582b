import { isIP } from 'node:net';
import type { Sender } from './request.ts';

/**
 * The client's IP address. Each trusted proxy appends the address of its peer to `X-Forwarded-For`, so the entries are read from
 * the end, one for each proxy. A missing or invalid entry ends the reading.
 */
export function clientAddress(sender: Sender, trustedProxies: number): string {
  let { address } = sender;
  if (trustedProxies === 0) return address;
  const hops = String(sender.headers['x-forwarded-for'] ?? '');
  for (let end = hops.length, proxies = 0; end > 0 && proxies < trustedProxies; proxies++) {
    const begin = hops.lastIndexOf(',', end - 1) + 1;
    let hop = hops.slice(begin, end).trim();
    if (isIP(hop) === 0) {
      hop = withoutPort(hop);
      if (isIP(hop) === 0) break;
    }
    address = hop;
    end = begin - 1;
  }
  return address;
}

/** `203.0.113.7:4711` and `[2001:db8::7]:4711`, as some proxies write it, without the port. */
function withoutPort(text: string): string {
  return /^\[(.*)\](?::[0-9]+)?$/.exec(text)?.[1] ?? /^([0-9.]+):[0-9]+$/.exec(text)?.[1] ?? text;
}
