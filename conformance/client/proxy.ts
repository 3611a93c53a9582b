/**
 * Requests through the proxy that the environment names. Some versions of Node that the kit supports do not obey these
 * environment variables.
 */
import { setMaxListeners } from 'node:events';
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest, type AgentOptions, type RequestOptions } from 'node:https';
import { BlockList, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect, type ConnectionOptions } from 'node:tls';
import { timeLimit } from './clock.ts';
import { NoExchange } from './network-errors.ts';

export interface Proxy {
  /** Without user and password. */
  readonly origin: string;
  /** The environment variable that names the proxy. */
  readonly variable: string;
  /** The value of Proxy-Authorization, if the variable contains a user name. */
  readonly authorization?: string;
  /** What reports must not contain: the user and the password, in each form in which a proxy may return them. */
  readonly secrets?: readonly string[];
}

/** Where requests are sent. */
export interface Target {
  /** Ends in /v1, without a trailing slash. */
  readonly baseUrl: string;
  /** The proxy through which the server is reached. */
  readonly proxy?: Proxy | undefined;
}

/** A shorter password also occurs in other texts, which would become unreadable. */
const minSecret = 6;

/** The time limit for a proxy to open a tunnel. */
const tunnelTimeoutMs = 10_000;

/**
 * The proxy for a URL according to HTTPS_PROXY or HTTP_PROXY, and NO_PROXY; undefined for none. Variables in lower case
 * take precedence.
 *
 * @throws Error that names the variable, without its value, which may contain a password
 */
export function proxyFor(url: string, environment: NodeJS.ProcessEnv): Proxy | undefined {
  const { protocol, hostname } = new URL(url);
  const { host: bare, port } = addressOf(url);
  const given = (name: string) => [name.toLowerCase(), name].find((one) => environment[one]) ?? name;
  const variable = given(protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY');
  const text = environment[variable];
  if (!text) return undefined;
  const names = (environment[given('NO_PROXY')] ?? '').toLowerCase().match(/[^\s,]+/g) ?? [];
  const hosts = [hostname, bare, `${hostname}:${port}`];
  const isIn = (domain: string) => hosts.some((host) => host === domain || host.endsWith(`.${domain}`));
  const isDirect = (name: string) => name === '*' || isIn(name.replace(/^\*?\./, '')) || isInSubnet(bare, name);
  if (names.some(isDirect)) return undefined;
  // The characters that end the host of a URL, or begin an escape.
  if (/[/?#].*@|%(?![\da-f]{2}).*@/i.test(text.replace(/^.*?:\/\//, '')))
    throw new Error(`${variable} has a /, ?, # or % in its user or password: write it as %2F, %3F, %23 or %25`);
  try {
    const { protocol: scheme, origin, username, password } = new URL(text.includes('://') ? text : `http://${text}`);
    if (scheme === 'http:' || scheme === 'https:') {
      if (username === '') return { origin, variable };
      const credentials = decodeURIComponent(`${username}:${password}`);
      const encoded = Buffer.from(credentials).toString('base64');
      const secrets = [encoded, credentials, decodeURIComponent(password)].filter(({ length }) => length >= minSecret);
      return { origin, variable, authorization: `Basic ${encoded}`, secrets };
    }
  } catch {
    // The error below is the same for every invalid value.
  }
  throw new Error(`${variable} must be the URL of an HTTP proxy, such as http://user:password@proxy.example:3128`);
}

/** The host and port of a URL, and the name for TLS unless the host is an IP address: the options of a connection. */
export function addressOf(url: string) {
  const { protocol, hostname, port } = new URL(url);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const name = isIP(host) === 0 && { servername: host };
  return { host, port: Number(port) || (protocol === 'https:' ? 443 : 80), ...name };
}

/** Whether a host is an address in a subnet such as `10.0.0.0/8`, or is this address in another spelling. */
function isInSubnet(host: string, subnet: string): boolean {
  const [, address = '', digits] = /^([^/]+)(?:\/(\d+))?$/.exec(subnet) ?? [];
  const [family, of] = [isIP(host), isIP(address)];
  const bits = of === 4 ? 32 : 128;
  const prefix = Number(digits ?? bits);
  if (family === 0 || of === 0 || prefix > bits) return false;
  const list = new BlockList();
  list.addSubnet(address, prefix, of === 4 ? 'ipv4' : 'ipv6');
  return list.check(host, family === 4 ? 'ipv4' : 'ipv6');
}

/** The agent for requests to a server. It reaches an https: server through a tunnel if there is a proxy. */
export function agentFor(url: string, proxy: Proxy | undefined, options: AgentOptions): HttpAgent | HttpsAgent {
  if (url.startsWith('https:')) return proxy === undefined ? new HttpsAgent(options) : new TunnelAgent(proxy, options);
  return proxy?.origin.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
}

class TunnelAgent extends HttpsAgent {
  readonly #proxy: Proxy;
  /** Ends the requests for tunnels: the agent itself knows a tunnel only once it is open. */
  readonly #closing = new AbortController();

  constructor(proxy: Proxy, options: AgentOptions) {
    super(options);
    this.#proxy = proxy;
    setMaxListeners(0, this.#closing.signal);
  }

  /** Connects to the server through the proxy (CONNECT). */
  override createConnection(
    options: RequestOptions,
    callback: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    const { origin, authorization, variable } = this.#proxy;
    const authority = `${options.host?.includes(':') ? `[${options.host}]` : options.host}:${options.port}`;
    const fail = (error: Error) => callback(error, undefined as never);
    const connecting = (origin.startsWith('https:') ? httpsRequest : httpRequest)(origin, {
      method: 'CONNECT',
      path: authority,
      agent: false,
      signal: this.#closing.signal,
      headers: { Host: authority, ...(authorization !== undefined && { 'Proxy-Authorization': authorization }) },
    });
    const cancel = timeLimit(tunnelTimeoutMs, () => connecting.destroy(new NoExchange('the proxy does not respond')));
    connecting.on('close', cancel);
    connecting.on('connect', ({ statusCode = 0, statusMessage }, socket) => {
      cancel(); // an open tunnel may be idle
      if (statusCode < 300) return callback(null, connect({ ...options, socket } as ConnectionOptions));
      socket.destroy();
      const advice = statusCode === 407 ? `; set ${variable} to http://user:password@…` : '';
      fail(new NoExchange(`the proxy refuses to connect to ${authority}: ${statusCode} ${statusMessage}${advice}`));
    });
    const isClosing = () => this.#closing.signal.aborted;
    connecting.on('error', (error) => fail(isClosing() ? new NoExchange('the agent was closed') : error));
    connecting.end();
  }

  /** Closes all connections, also those whose tunnel is not open yet. */
  override destroy(): void {
    this.#closing.abort();
    super.destroy();
  }
}
