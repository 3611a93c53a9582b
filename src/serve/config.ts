import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { TlsFiles } from './certificate.ts';
import { maxSocketPathBytes } from '../files/stale-socket.ts';
import { defaultFolder, invalidValue, parseFlags, placeOf, usageError, variable, wholeNumber } from '../program/flags.ts';
import { calledAs } from '../program/program.ts';
import { readDatabaseUrl } from '../postgres-engine/database-url.ts';
import { socketPathIn } from '../http/listener.ts';
import type { LogFormat } from '../observe/line.ts';

/** The configuration of the server. */
export type Config = Exclude<ReturnType<typeof readConfig>, string>;

/** Returns what --help of the server prints. */
export function serverHelp(): string {
  return `Usage: ${calledAs()} serve [options]
       node dist/server.js [options]

Runs the pet store server. Flags take precedence over environment variables.

  flag                   meaning                     variable          default
  --host HOST            address to listen on, or
                         unix:PATH, a Unix socket    HOST              127.0.0.1
  --port PORT            port; 0 chooses a free one  PORT              8080
  --data DIR             data folder                 DATA_DIR          ${defaultFolder}
  --database URL         PostgreSQL instead of a
                         data folder                 DATABASE_URL      none
  --tls-cert FILE        serve HTTPS with this
                         certificate (PEM)           TLS_CERT          none
  --tls-key FILE         its private key (PEM)       TLS_KEY           none
  --base-path PATH       path of the operations;
                         must end in /v1             BASE_PATH         /v1
  --max-connections N    maximum number of
                         connections                 MAX_CONNECTIONS   10000 if the memory permits
  --trust-proxy N        number of trusted proxies
                         in front of the server      TRUST_PROXY       0
  --log-format FORMAT    text or json, on stderr     LOG_FORMAT        json; text on a terminal
  --access-log           log each request; with the
                         variable: on or off         ACCESS_LOG        off; on with --demo
  --cors-origin ORIGIN   origin whose pages may use
                         the API; repeatable; in
                         the variable: a list
                         separated by commas         CORS_ORIGIN       none
  --no-docs              no reference page; with the
                         variable: on or off         DOCS              on
  --metrics HOST:PORT    address of GET /metrics,
                         for Prometheus              METRICS           none
  --demo                 fill an empty store with sample data and create a key
  --help, --version

${calledAs()} --help describes the commands for keys and backups.

Example:

  ${calledAs()} serve --port 8081 --data /var/lib/petstore/store
`;
}

const options = {
  host: { type: 'string' },
  port: { type: 'string' },
  data: { type: 'string' },
  database: { type: 'string' },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'base-path': { type: 'string' },
  'max-connections': { type: 'string' },
  'trust-proxy': { type: 'string' },
  'log-format': { type: 'string' },
  'access-log': { type: 'boolean' },
  'cors-origin': { type: 'string', multiple: true },
  'no-docs': { type: 'boolean' },
  metrics: { type: 'string' },
  demo: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const;

/**
 * Returns the configuration from flags and environment variables, or the text that a flag requests instead.
 * Throws an OperatorError (exit code 2) for an unknown flag or an invalid value.
 */
export function readConfig(args: readonly string[], environment: NodeJS.ProcessEnv) {
  const flags = parseFlags({ args: [...args], options }).values;
  if (flags.help) return 'help';
  if (flags.version) return 'version';
  type Other = 'data' | 'database' | 'access-log' | 'cors-origin' | 'no-docs' | 'demo' | 'help' | 'version';
  type Flag = Exclude<keyof typeof options, Other>;
  const inVariable = (name: string, fallback: string): string => variable(environment, name) || fallback;
  /** The variable is checked even if a flag overrides it. */
  const setting = (flag: Flag, name: string, fallback: string): [name: string, value: string] => {
    const [given, inEnvironment] = [flags[flag], inVariable(name, fallback)]
    return given === undefined ? [name, inEnvironment] : [`--${flag}`, given];
  };
  const host = listenHostOf(...setting('host', 'HOST', '127.0.0.1'));
  const tls = tlsOf(setting('tls-cert', 'TLS_CERT', ''), setting('tls-key', 'TLS_KEY', ''));
  if (socketPathIn(host) !== null) {
    if (flags.port !== undefined) throw usageError('--port cannot be used with a Unix socket');
    if (tls !== null) throw usageError('TLS cannot be used with a Unix socket');
  }
  const place = placeOf(flags, environment);
  const [accessLog, docs] = [inVariable('ACCESS_LOG', flags.demo ? 'on' : 'off'), inVariable('DOCS', 'on')];
  return Object.freeze({
    /** A host, or `unix:` and the absolute path of a Unix socket. */
    host,
    /** 0 chooses a free port. Not used for a Unix socket. */
    port: wholeNumber(...setting('port', 'PORT', '8080'), 0, 65_535),
    /** The absolute path of the data folder, or the address of the database. */
    place: 'folder' in place ? place : { database: readDatabaseUrl(place.name, place.url) },
    /** The files of the certificate; null: plain HTTP. */
    tls,
    basePath: basePathOf(...setting('base-path', 'BASE_PATH', '/v1')),
    /** null: as many as the memory permits, but at most 10,000. */
    maxConnections: optional(setting('max-connections', 'MAX_CONNECTIONS', ''), 1, 1_000_000),
    /** The number of trusted proxies in front of the server. */
    trustedProxies: wholeNumber(...setting('trust-proxy', 'TRUST_PROXY', '0'), 0, 100),
    /** null: text on a terminal, otherwise JSON. */
    logFormat: logFormatOf(...setting('log-format', 'LOG_FORMAT', '')),
    accessLog: flags['access-log'] ?? isOn('ACCESS_LOG', accessLog),
    /** The origins whose pages may use the API, written as browsers send them. */
    origins: originsOf(flags['cors-origin'], inVariable('CORS_ORIGIN', '')),
    /** Whether the server has the reference page. */
    docs: !flags['no-docs'] && isOn('DOCS', docs),
    /** Where the metrics are to be read; null: nowhere. */
    metrics: addressOf(...setting('metrics', 'METRICS', '')),
    demo: flags.demo ?? false,
  });
}

/** Returns the format that the flags and variables ask for, even if the others are wrong; null if they ask for none. */
export function requestedLogFormat(args: readonly string[], environment: NodeJS.ProcessEnv): LogFormat | null {
  const flag = parseArgs({ args: [...args], options, strict: false }).values['log-format'];
  const value = typeof flag === 'string' ? flag : environment['LOG_FORMAT'];
  return value === 'text' || value === 'json' ? value : null;
}

function optional([name, value]: Setting, min: number, max: number): number | null {
  return value === '' && name === 'MAX_CONNECTIONS' ? null : wholeNumber(name, value, min, max);
}

function logFormatOf(name: string, value: string): LogFormat | null {
  if (value === 'text' || value === 'json') return value;
  if (value === '' && name === 'LOG_FORMAT') return null;
  throw invalidValue(name, value, 'text or json');
}

function isOn(name: string, value: string): boolean {
  if (value === 'on' || value === 'off') return value === 'on';
  throw invalidValue(name, value, 'on or off');
}

function addressOf(name: string, value: string): { readonly host: string; readonly port: number } | null {
  if (value === '' && name === 'METRICS') return null;
  const [, host, port] = /^(.+):([0-9]{1,5})$/.exec(value) ?? [];
  if (host === undefined || port === undefined || (host.includes(':') && !host.startsWith('['))) {
    throw invalidValue(name, value, 'a host and a port, like 127.0.0.1:9100 or [::1]:9100');
  }
  return { host: hostOf(name, host), port: wholeNumber(`the port of ${name}`, port, 0, 65_535) };
}

function listenHostOf(name: string, value: string): string {
  const path = socketPathIn(value);
  if (path === null) return hostOf(name, value);
  const absolute = resolve(path);
  if (path !== '' && Buffer.byteLength(absolute) <= maxSocketPathBytes) return `unix:${absolute}`;
  const rule = `unix: and a path, which has at most ${maxSocketPathBytes} bytes when it is absolute`;
  throw invalidValue(name, value, rule);
}

type Setting = readonly [name: string, value: string];

/** An empty flag is an error, so that a mistake in a script does not turn TLS off. */
function tlsOf(cert: Setting, key: Setting): TlsFiles | null {
  const missing = [cert, key].filter(([, value]) => value === '').map(([name]) => name);
  if (missing.join() === 'TLS_CERT,TLS_KEY') return null;
  if (missing.length > 0) throw usageError(`${missing[0]} is missing: TLS needs both --tls-cert and --tls-key`);
  return { cert: resolve(cert[1]), key: resolve(key[1]) };
}

function hostOf(name: string, value: string): string {
  const host = value.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) !== 0 || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(host)) return host;
  throw invalidValue(name, value, 'an IP address or a host name');
}

/** The origins of the flags. Without flags, those of the variable, separated by commas. */
function originsOf(flags: readonly string[] | undefined, inVariable: string): readonly string[] {
  if (flags !== undefined) return flags.map((value) => originOf('--cors-origin', value));
  return inVariable === '' ? [] : inVariable.split(',').map((value) => originOf('CORS_ORIGIN', value));
}

/** An origin. It is compared with what browsers send, so it must be written in the same way. */
function originOf(name: string, value: string): string {
  const parsed = URL.canParse(value) ? new URL(value).origin : '';
  // URL permits `*` in a host.
  const meant = /^https?:\/\/[a-z0-9._:[\]-]+$/.test(parsed) ? parsed : 'https://shop.example';
  if (value === meant) return value;
  const rule = 'one origin as browsers send it: http or https, a host in lower case, and a port unless it is the';
  throw invalidValue(name, value, `${rule} default, like ${meant}`);
}

/** Only unreserved characters (RFC 3986) are allowed, so that the path is the same encoded and decoded. */
function basePathOf(name: string, value: string): string {
  if (/^(\/[\w.~-]+)*\/v1$/.test(value) && !/\/\.{1,2}\//.test(value)) return value;
  throw invalidValue(name, value, 'a path that starts with /, ends in /v1 and consists of letters, digits and . _ ~ -');
}
