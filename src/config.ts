import { isIP } from 'node:net';
import { parseArgs } from 'node:util';
import { dataFolder, defaultFolder, invalidValue, orUsageError, wholeNumber } from './flags.ts';

/** What the server is told by its operator. */
export interface Config {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** The data folder, absolute. */
  readonly folder: string;
  readonly basePath: string;
  readonly maxConnections: number;
  /** How many proxies before the server are trusted to tell the client's address. */
  readonly trustedProxies: number;
  readonly demo: boolean;
}

export const serverHelp = `Usage: node dist/server.js [options]

Runs the pet store server. Flags win over environment variables.

  --host HOST            address to listen on       HOST              127.0.0.1
  --port PORT            port, 0 for a free one     PORT              8080
  --data DIR             data folder                DATA_DIR          ${defaultFolder}
  --base-path PATH       where the interface stands,
                         must end in /v1            BASE_PATH         /v1
  --max-connections N    connections at a time      MAX_CONNECTIONS   10000
  --trust-proxy N        proxies in front; the client's address
                         is then N deep in X-Forwarded-For
                                                   TRUST_PROXY       0
  --demo                 fill an empty data folder with sample data and make a key
  --help, --version

Keys are made with the petstore command: node dist/cli.js --help
`;

const options = {
  host: { type: 'string' },
  port: { type: 'string' },
  data: { type: 'string' },
  'base-path': { type: 'string' },
  'max-connections': { type: 'string' },
  'trust-proxy': { type: 'string' },
  demo: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

/**
 * The configuration that flags and environment give, or which text was asked for instead.
 * Throws OperatorError (exit code 2) for an unknown flag or a bad value.
 */
export function readConfig(args: readonly string[], environment: NodeJS.ProcessEnv): Config | 'help' | 'version' {
  const flags = orUsageError(() => parseArgs({ args: [...args], options }).values);
  if (flags.help) return 'help';
  if (flags.version) return 'version';
  type Flag = 'host' | 'port' | 'base-path' | 'max-connections' | 'trust-proxy';
  const setting = (flag: Flag, variable: string, fallback: string): [name: string, value: string] => {
    const given = flags[flag];
    return given === undefined ? [variable, environment[variable] || fallback] : [`--${flag}`, given];
  };
  return Object.freeze({
    host: hostOf(...setting('host', 'HOST', '127.0.0.1')),
    port: wholeNumber(...setting('port', 'PORT', '8080'), 0, 65_535),
    folder: dataFolder(flags.data, environment),
    basePath: basePathOf(...setting('base-path', 'BASE_PATH', '/v1')),
    maxConnections: wholeNumber(...setting('max-connections', 'MAX_CONNECTIONS', '10000'), 1, 1_000_000),
    trustedProxies: wholeNumber(...setting('trust-proxy', 'TRUST_PROXY', '0'), 0, 100),
    demo: flags.demo ?? false,
  });
}

function hostOf(name: string, value: string): string {
  const host = value.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(host)) return host;
  throw invalidValue(name, value, 'an IP address or a host name');
}

/** Unreserved characters only (RFC 3986), so that the path reads the same encoded and decoded. */
function basePathOf(name: string, value: string): string {
  if (/^(\/[\w.~-]+)*\/v1$/.test(value) && !/\/\.{1,2}\//.test(value)) return value;
  throw invalidValue(name, value, 'a path that begins with / and ends in /v1, of letters, digits and . _ ~ -');
}
