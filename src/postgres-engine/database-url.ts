/** The address of a database: `postgres://user:password@host:port/name`. */
import { OperatorError } from '../domain/operator-error.ts';
import { isLoopback } from '../http/loopback.ts';

/** How to connect to a database. */
export interface DatabaseAddress {
  /** A host name, an IP address, or the absolute path of the folder with a Unix socket. */
  readonly host: string;
  readonly port: number;
  /** undefined: PGUSER, or the user of the process. */
  readonly user: string | undefined;
  /** undefined: PGPASSWORD, or a line of ~/.pgpass. */
  readonly password: string | undefined;
  readonly database: string;
  /** Whether the connection is encrypted, and the certificate verified: always, except on this machine. */
  readonly tls: boolean;
  /** The URL without the password, for messages. */
  readonly text: string;
}

const rule = 'a URL like postgres://user@host:5432/name; the password can be in PGPASSWORD or ~/.pgpass';

/**
 * Reads a URL, which the flag or variable `name` contains. Throws an OperatorError (exit code 2) whose message does not
 * contain the password.
 */
export function readDatabaseUrl(name: string, value: string): DatabaseAddress {
  const url = URL.canParse(value) ? new URL(value) : null;
  const isPostgres = url !== null && ['postgres:', 'postgresql:'].includes(url.protocol);
  if (!isPostgres) throw new OperatorError(`${name} must be ${rule}`, 2);
  if (url.search !== '' || url.hash !== '') {
    const advice = 'remove the parameters: TLS is always used, except on this machine';
    throw new OperatorError(`${name} must be ${rule}; ${advice}`, 2);
  }
  const parts = [url.hostname, url.username, url.password, url.pathname.slice(1)];
  const [host, user, password, database] = parts.map(decoded);
  if (!host || !database || database.includes('/')) throw new OperatorError(`${name} must be ${rule}`, 2);
  const isLocal = host.startsWith('/') || isLoopback(host);
  const port = url.port === '' ? 5432 : Number(url.port);
  url.password = '';
  return {
    host: host.replace(/^\[(.*)\]$/, '$1'),
    port,
    user: user || undefined,
    password: password || undefined,
    database,
    tls: !isLocal,
    text: url.href,
  };

  function decoded(part: string): string {
    try {
      return decodeURIComponent(part);
    } catch {
      throw new OperatorError(`${name} must be ${rule}; write a % as %25`, 2);
    }
  }
}
