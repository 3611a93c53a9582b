import { isIP } from 'node:net';
import type { Sender } from './request.ts';

/**
 * The IP address a message comes from, `trustedProxies` proxies deep: each of those has put the address of who it was
 * sent the message by at the end of `X-Forwarded-For`. Where that has fewer entries, or an entry is no address, it is
 * the last one known.
 */
export function clientAddress(sender: Sender, trustedProxies: number): string {
  if (trustedProxies === 0) return sender.address;
  const hops = sender.headerLines('x-forwarded-for').join(',').split(',').reverse();
  let address = sender.address;
  for (const hop of hops.slice(0, trustedProxies)) {
    const given = withoutPort(hop.trim());
    if (isIP(given) === 0) break;
    address = given;
  }
  return address;
}

/** `203.0.113.7:4711` and `[2001:db8::7]:4711`, as some proxies write it, without the port. */
function withoutPort(text: string): string {
  return /^\[(.*)\](?::[0-9]+)?$/.exec(text)?.[1] ?? /^([0-9.]+):[0-9]+$/.exec(text)?.[1] ?? text;
}
