/**
 * One connection to the database, which is opened when it is first used and again after it has broken.
 *
 * A connection that fails is closed, and everything that waits for it is refused, because it is not known whether a
 * statement that was sent was executed. While the database is known to be unreachable, statements that need a new
 * connection are refused at once.
 */
import { userInfo } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { UnavailableError } from '../engine.ts';
import type { DatabaseAddress } from './database-url.ts';
import type { Client, ClientClass, Row } from './driver.ts';
import { passwordInFile } from './password-file.ts';

/** How long to wait for a connection, and for the result of a statement. */
const connectMs = 2_000;
const statementMs = 2_000;
/** How long `close` waits for the end of a connection. */
const endMs = 1_000;
/** How often to try to connect again. */
const retryMs = 500;
const retryAfterSeconds = 5;

/** The SQLSTATE of a write to a read-only database. */
const readOnly = '25006';
/** After a failover, a connection may lead to a server that cannot write, until its address leads to the new one. */
const replica = 'it is read-only, for example a replica';

/** What all connections to a database share. */
export interface Database {
  readonly address: DatabaseAddress;
  readonly driver: ClientClass;
  /** Whether read-only connections are accepted. They are enough for commands that read, but not for a server. */
  readonly acceptsReplica: boolean;
  /**
   * The error of the last attempt to connect; null if it succeeded or there was none. While it is set, a statement that
   * would need a new connection is refused at once. When one connection succeeds, the others may connect again.
   */
  problem: Error | null;
  /** Called when `problem` changes from null to an error, or back. */
  readonly onChange: () => void;
  /** Called with the SQLSTATE when the database refuses a statement for a reason other than the statement itself. */
  readonly onRefusal: (state: string, error: Error) => void;
  /** Counted for the metrics. */
  readonly counts: { statements: number; connections: number };
}

/** Prevents functions, operators and tables of other users from being used instead of those that are meant. */
const safePath = 'set local search_path = pg_catalog, pg_temp';
/**
 * Each statement of a transaction sees what was committed before it. The database aborts a transaction that waits too
 * long for a lock, or whose process stops sending statements, so that no transaction keeps its locks for longer than
 * 5 s. The settings, in milliseconds, end with the transaction, as PgBouncer requires.
 */
const begin = `begin isolation level read committed; set local lock_timeout = 1000; set local statement_timeout = 1800;
  set local idle_in_transaction_session_timeout = 3000; ${safePath}`;
/** A role or a database may have turned this off. Another setting is kept: it may be stricter. */
const withDurableCommit =
  "; select set_config('synchronous_commit', 'on', true) where current_setting('synchronous_commit') = 'off'";
/** A crash of the database can lose such a transaction even though it was committed. */
const withAsyncCommit = '; set local synchronous_commit = off';

/** Executes a statement of a transaction. Rejects as `Connection.query` does. */
export type Execute = (text: string, values?: readonly unknown[]) => Promise<readonly Row[]>;

/**
 * Executes the statements of a transaction. `commit` executes the last statement and commits. A first or last statement
 * without values shares a message with `begin` or `commit`. A database that has received such a message executes all of
 * it, even if the connection breaks meanwhile.
 */
export type Work<T> = (execute: Execute, commit: Execute) => Promise<T>;

/**
 * Throws an UnavailableError if this is not the store that the server serves, or needs a newer program. `minVersion` is
 * the oldest version of the schema whose programs can use it.
 */
export type CheckStore = (id: string, minVersion: number) => void;

export class Connection {
  readonly #database: Database;
  readonly #maxStatementMs: number;
  #client: Client | null = null;
  /** Whether the database is PostgreSQL 17 or later. */
  #hasTransactionTimeout = false;
  #connecting: Promise<Client> | null = null;
  #retry: NodeJS.Timeout | undefined;
  /** Settled when the transaction under way has ended. */
  #transaction: Promise<unknown> | null = null;
  #isClosed = false;

  /** `maxStatementMs` is how long to wait for the result of a statement; 0: as long as it takes. */
  constructor(database: Database, maxStatementMs = statementMs) {
    this.#database = database;
    this.#maxStatementMs = maxStatementMs;
  }

  /**
   * Executes a statement. Rejects with the error of the database if the statement itself is wrong, otherwise with an
   * UnavailableError: if the database refused the statement, its `cause` is the error of the database.
   */
  async query(text: string, values: readonly unknown[] = []): Promise<readonly Row[]> {
    while (this.#transaction !== null) await this.#transaction;
    return this.#execute(await this.#ready(), text, values);
  }

  /**
   * Executes statements in one transaction, which is committed if `work` resolves. If `isDurable` is false, the commit
   * does not wait for the disk. Rejects as `query` does, or with the error of `work`.
   */
  async transaction<T>(work: Work<T>, isDurable = true): Promise<T> {
    while (this.#transaction !== null) await this.#transaction;
    const done = this.#run(work, () => {
      return `${begin}${this.#transactionTimeout('4s')}${isDurable ? withDurableCommit : withAsyncCommit}`;
    });
    const ended = done.then(() => {}, () => {}).then(() => {
      this.#transaction = null;
    });
    this.#transaction = ended;
    return done;
  }

  /**
   * Like `transaction`, but without time limits other than those in `mode`, which follows `begin`. The connection must
   * not be used by anything else at the same time.
   */
  longTransaction<T>(mode: string, work: Work<T>): Promise<T> {
    return this.#run(work, () => {
      return `begin ${mode}; ${safePath}; set local statement_timeout = 0${this.#transactionTimeout('0')}`;
    });
  }

  /** Connects, unless already connected. Rejects with the error of the driver or of the database. */
  async connect(): Promise<void> {
    await this.#connect();
  }

  /** Closes the connection, and opens no other one. Waits at most 1 s. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    const client = this.#client ?? (await this.#connecting?.catch(() => null)) ?? null;
    this.#client = null;
    await Promise.race([client?.end(), delay(endMs, undefined, { ref: false })]);
  }

  /** `beginning` returns the first statement. It is called once the version of the database is known. */
  async #run<T>(work: Work<T>, beginning: () => string): Promise<T> {
    const client = await this.#ready();
    let isBegun = false;
    const execute: Execute = async (text, values = []) => {
      if (isBegun) return this.#execute(client, text, values);
      isBegun = true;
      if (values.length === 0) return this.#execute(client, `${beginning()}; ${text}`, []);
      await this.#execute(client, beginning(), []);
      return this.#execute(client, text, values);
    };
    let isCommitted = false;
    const commit: Execute = async (text, values = []) => {
      isCommitted = true;
      if (values.length === 0) return execute(`${text}; commit`);
      const rows = await execute(text, values);
      await execute('commit');
      return rows;
    };
    try {
      const result = await work(execute, commit);
      if (isBegun && !isCommitted) await execute('commit');
      return result;
    } catch (error) {
      if (isBegun) await execute('rollback').catch(() => this.#drop(client));
      throw error;
    }
  }

  /**
   * Sets a timeout that PostgreSQL 15 and 16 do not have. The other timeouts do not end a transaction whose connection
   * breaks after a statement was executed but before the driver's Sync message arrived.
   */
  #transactionTimeout(duration: string): string {
    return this.#hasTransactionTimeout ? `; set local transaction_timeout = '${duration}'` : '';
  }

  async #ready(): Promise<Client> {
    if (this.#client !== null) return this.#client;
    if (this.#database.problem !== null) throw unavailable();
    return this.#connect().catch(() => {
      throw unavailable();
    });
  }

  async #execute(client: Client, text: string, values: readonly unknown[]): Promise<readonly Row[]> {
    this.#database.counts.statements++;
    try {
      return await rowsOf(client, text, values);
    } catch (error) {
      const state = stateOf(error);
      if (state === null || endsSession(state)) this.#drop(client);
      if (state === readOnly) {
        this.#drop(client);
        this.#note(new Error(replica));
        throw unavailable(error);
      }
      if (isOurFault(state)) throw error;
      if (state !== null && !endsSession(state)) this.#database.onRefusal(state, error as Error);
      throw unavailable(error);
    }
  }

  #connect(): Promise<Client> {
    if (this.#client !== null) return Promise.resolve(this.#client);
    this.#connecting ??= this.#open().then((client) => {
      this.#note(null);
      return client;
    }, (error: Error) => {
      if (!this.#isClosed) this.#note(error);
      throw error;
    }).finally(() => {
      this.#connecting = null;
    });
    return this.#connecting;
  }

  async #open(): Promise<Client> {
    const { address, driver, acceptsReplica, counts } = this.#database;
    const { host, port, user, password, database, tls } = address;
    const client = new driver({
      host, port, database,
      user: user ?? (process.env['PGUSER'] || userInfo().username),
      password: password ?? (process.env['PGPASSWORD'] || passwordInFile),
      ssl: tls ? { rejectUnauthorized: true } : false,
      application_name: 'petstore',
      connectionTimeoutMillis: connectMs,
      query_timeout: this.#maxStatementMs,
      keepAlive: true,
      pipeline: true,
    });
    client.on('error', () => this.#drop(client));
    try {
      await client.connect();
      const text = `select current_setting('server_version_num')::integer >= 170000,
        current_setting('transaction_read_only')`;
      const [[hasTransactionTimeout, isReadOnly] = []] = await rowsOf(client, text, []);
      if (isReadOnly === 'on' && !acceptsReplica) throw new Error(replica);
      this.#hasTransactionTimeout = hasTransactionTimeout === true;
    } catch (error) {
      client.end().catch(() => {}); // also if `connect` fails: the driver leaves the socket open if it has no password
      throw error;
    }
    counts.connections++;
    if (this.#isClosed) {
      await client.end();
      throw new Error('the server is stopping');
    }
    return (this.#client = client);
  }

  /** Closes a connection that has failed. The next statement opens another one. */
  #drop(client: Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    client.end().catch(() => {});
  }

  #note(problem: Error | null): void {
    const wasReachable = this.#database.problem === null;
    this.#database.problem = problem;
    if (wasReachable !== (problem === null)) this.#database.onChange();
    clearTimeout(this.#retry);
    if (problem === null || this.#isClosed) return;
    this.#retry = setTimeout(() => void this.#connect().catch(() => {}), retryMs).unref();
  }
}

/** Executes statements. Resolves to the rows of the last one that has columns. Rejects with the driver's error. */
async function rowsOf(client: Client, text: string, values: readonly unknown[]): Promise<readonly Row[]> {
  const results = [await client.query({ text, values, rowMode: 'array' })].flat();
  return results.findLast(({ fields }) => fields.length > 0)?.rows ?? [];
}

/** Returns the error for requests while the database cannot be used. `cause` is the error of the database, if any. */
export function unavailable(cause?: unknown): UnavailableError {
  const error = new UnavailableError('The storage is not available at the moment.', retryAfterSeconds);
  error.cause = cause;
  return error;
}

/** Returns the SQLSTATE of an error of the database; null for other errors. */
export function stateOf(error: unknown): string | null {
  const { code } = Object(error) as { code?: unknown };
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** Whether the database has closed the connection: it is shutting down, or the transaction took too long. */
export function endsSession(state: string): boolean {
  return /^(?:08|57P0|25P03|25P04)/.test(state);
}

/** Whether the statement itself is wrong: its syntax (42601), a type or name, its data (22), or a constraint (23). */
function isOurFault(state: string | null): boolean {
  return state !== null && /^(?:22|23|42601|42703|42804|42P02)/.test(state);
}
