import { isIP } from 'node:net';
import type { Sender } from './request.ts';

/**
 * The IP address a message comes from, `trustedProxies` proxies deep: each of those has put the address of who it was
 * sent the message by at the end of `X-Forwarded-For`. Where that has fewer entries, or an entry is no address, it is
 * the last one known.
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
