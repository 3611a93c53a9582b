/**
 * Whether a host, with or without a port, is this machine: `localhost` and the names below it (RFC 6761 section 6.3),
 * also with the dot of the root at their ends, and the loopback addresses of IPv4 and IPv6, which `URL` writes in one
 * way.
 */
export function isLoopback(host: string): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  return /^(127\.\d+\.\d+\.\d+|\[::ffff:7f[0-9a-f]{2}:[0-9a-f]+\]|\[::1\]|(.+\.)?localhost\.?)$/.test(hostname);
}
