import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, OperatorError } from '../domain/operator-error.ts';
import { orderLine, type Order } from '../domain/order.ts';
import { UnavailableError, type Engine, type Figures, type Metric } from '../engine.ts';
import type { Log } from '../observe/log.ts';
import { Admissions } from './admissions.ts';
import { Connection, unavailable, type CheckStore, type Database, type Work } from './connection.ts';
import type { DatabaseAddress } from './database-url.ts';
import { loadDriver } from './driver.ts';
import { DatabaseKeys } from './key-admin.ts';
import { DatabasePets, DatabaseRecords } from './records.ts';
import { ensureSchema, refuseWhileCopied, requireRights, schemaVersion } from './schema.ts';

const retryMs = 500;
const refusalLogMs = 60_000;
/** How long a command waits for the result of a statement. */
const commandMs = 60_000;

export interface PostgresEngineOptions {
  readonly log: Log;
  /** For a command: it may read a database that cannot be written, and with fewer rights than a server needs. */
  readonly forCommand?: boolean;
  /** Whether a database is accepted even if a copy to it was interrupted. */
  readonly mayBeIncomplete?: boolean;
  /** For tests: replaces the clock of the database. */
  readonly now?: () => number;
}

/**
 * The storage engine on PostgreSQL (docs/scale.md). Several servers can use one database. Each has four connections:
 * one for admissions, one for creates, one for reads, and one for changes of keys and admissions with keys that stay
 * locked.
 */
export class PostgresEngine implements Engine {
  readonly accounts: Admissions;
  readonly pets: DatabasePets;
  readonly orders: DatabaseRecords;
  readonly keys: DatabaseKeys;
  readonly #address: DatabaseAddress;
  readonly #log: Log;
  readonly #database: Database;
  readonly #connections: readonly Connection[];
  readonly #admin: Connection;
  readonly #now: (() => number) | null;
  readonly #mayBeIncomplete: boolean;
  #store = '';
  #progress = 0;
  #isReplaced = false;
  /** When each SQLSTATE may be logged again, in milliseconds of the monotonic clock. */
  readonly #refusals = new Map<string, number>();
  /** When the database last became reachable or unreachable. */
  #since = Date.now();
  #figures = { animals: 0, orders: 0, bannedKeys: 0 };

  /** Why the database cannot be reached; null if it can. */
  get problem(): string | null {
    return this.#database.problem?.message ?? null;
  }

  /** Loads the driver, but does not connect. Rejects with OperatorError if the driver is not installed. */
  static async open(address: DatabaseAddress, options: PostgresEngineOptions): Promise<PostgresEngine> {
    return new PostgresEngine(address, await loadDriver(), options);
  }

  private constructor(address: DatabaseAddress, driver: Database['driver'], options: PostgresEngineOptions) {
    const { log, forCommand = false, mayBeIncomplete = false, now } = options;
    this.#address = address;
    this.#mayBeIncomplete = mayBeIncomplete;
    this.#log = log;
    this.#now = now ?? null;
    const onChange = (): void => this.#noteReachability();
    const onRefusal = (state: string, error: Error): void => this.#noteRefusal(state, error);
    const counts = { statements: 0, connections: 0 };
    this.#database = { address, driver, acceptsReplica: forCommand, problem: null, onChange, onRefusal, counts };
    const [admitting, creating, reading, admin] = [0, 1, 2, 3].map(() => {
      return forCommand ? new Connection(this.#database, commandMs) : new Connection(this.#database);
    });
    this.#connections = [admitting!, creating!, reading!, admin!];
    this.#admin = admin!;
    const checkStore: CheckStore = (id, minVersion) => this.#checkStore(id, minVersion);
    this.accounts = new Admissions(admitting!, admin!, checkStore, this.#now);
    const msLeft = (): number => this.accounts.msLeft;
    this.pets = new DatabasePets(reading!, creating!, checkStore, msLeft);
    this.orders = new DatabaseRecords(reading!, 'orders', msLeft);
    this.keys = new DatabaseKeys(admin!, this.#now);
  }

  get progress(): number {
    return this.#progress;
  }

  /**
   * Connects, and creates or migrates the schema. Also resolves if the database cannot be reached: `load` then tries
   * again. Rejects with an OperatorError if the database refuses this user or cannot be used.
   */
  async prepare(): Promise<void> {
    try {
      await this.#connect();
    } catch (error) {
      if (error instanceof OperatorError) throw error;
      if (this.problem !== null || isTemporary(error)) return;
      throw new OperatorError(`cannot use the database ${this.#address.text}: ${messageOf(causeOf(error))}`);
    }
  }

  /** Resolves when the database has been reached. Rejects as `prepare` does, or with the reason of `signal`. */
  async load(signal?: AbortSignal): Promise<void> {
    while (this.progress < 100) {
      signal?.throwIfAborted();
      await delay(retryMs, undefined, signal === undefined ? {} : { signal });
      await this.prepare();
    }
  }

  async figures(): Promise<Figures> {
    try {
      const now = this.#now?.() ?? null;
      const [animals, orders, [[bannedKeys] = []]] = await Promise.all([
        this.pets.count(),
        this.orders.count(),
        this.#admin.query(bannedKeysQuery, [now]),
      ]);
      this.#figures = { animals, orders, bannedKeys: Number(bannedKeys) };
    } catch {} // the previous figures remain; `problem` has the reason
    const { statements, connections } = this.#database.counts;
    const metric = (type: Metric['type'], name: string, help: string, value: number): Metric =>
      ({ type, name: `petstore_database_${name}`, help, value });
    const admissions = this.accounts.counts;
    const { group: creates } = this.pets;
    return {
      ...this.#figures,
      creates: this.progress < 100 ? null : { refusal: this.problem ?? this.pets.problem, since: this.#since },
      metrics: [
        metric('counter', 'statements_total', 'Statements sent to the database.', statements),
        metric('counter', 'connections_total', 'Connections opened to the database.', connections),
        metric('counter', 'admission_groups_total', 'Transactions that decided about requests.', admissions.groups),
        metric('counter', 'admissions_total', 'Requests in these transactions.', admissions.items),
        metric('gauge', 'admissions_waiting', 'Requests that wait for such a transaction.', admissions.waiting),
        metric('counter', 'create_groups_total', 'Transactions that add animals.', creates.groups),
        metric('counter', 'creates_total', 'Animals in these transactions.', creates.items),
        metric('gauge', 'creates_waiting', 'Creates that wait for such a transaction.', creates.waiting),
      ],
      details: { database: this.#address.text },
    };
  }

  async addOrders(orders: readonly Order[]): Promise<void> {
    const sorted = orders.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    await this.#admin.transaction(async (execute) => {
      await execute(refuseWhileCopied);
      const [[hasOrders] = []] = await execute('select has_orders from petstore.store for update');
      if (hasOrders === true) return;
      await execute('update petstore.store set has_orders = true');
      await execute(`
        insert into petstore.orders (id, ordinal, status, line)
        select id, n, status, line
        from unnest($1::bigint[], $2::text[], $3::text[]) with ordinality as t(id, status, line, n)`, [
        sorted.map(({ id }) => String(id)), sorted.map(({ status }) => status), sorted.map(orderLine),
      ]);
    });
  }

  /** The clock of the database. Rejects with UnavailableError. */
  async time(): Promise<number> {
    const [[time] = []] = await this.#admin.query('select petstore.now_ms()');
    return Number(time);
  }

  /** Executes a transaction that may take long, on a connection of its own (see `Connection.longTransaction`). */
  async longTransaction<T>(mode: string, work: Work<T>): Promise<T> {
    const connection = new Connection(this.#database, 0);
    try {
      return await connection.longTransaction(mode, work);
    } finally {
      await connection.close();
    }
  }

  /** Nothing to do: commands connect to the database directly. */
  serveCommands(): void {}

  async close(): Promise<void> {}

  async release(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  abandon(): Promise<void> {
    return this.release();
  }

  async #connect(): Promise<void> {
    try {
      await this.#admin.connect();
    } catch (error) {
      throw refusalOf(error, this.#address) ?? error;
    }
    const ensure: Work<string> = async (execute) => {
      const store = await ensureSchema(execute, this.#address.text, this.#mayBeIncomplete);
      if (!this.#database.acceptsReplica) await requireRights(execute, this.#address.text);
      return store;
    };
    this.#store = await this.#admin.transaction(ensure).catch((error: unknown) => {
      throw refusalOf(causeOf(error), this.#address) ?? error;
    });
    this.#progress = 100;
    this.#since = Date.now();
  }

  #checkStore(id: string, minVersion: number): void {
    if (id === this.#store && minVersion <= schemaVersion) {
      this.#isReplaced = false;
      return;
    }
    if (this.#store === '') throw unavailable(); // the start has not ended
    const problem = `the store in ${this.#address.text} was replaced or migrated while the server was running`;
    if (!this.#isReplaced) this.#log(`${problem}; requests receive 503 until you restart the server`, 'error');
    this.#isReplaced = true;
    throw unavailable();
  }

  /** Logs why the database refuses statements: each reason at most once a minute. */
  #noteRefusal(state: string, error: Error): void {
    const now = performance.now();
    if (this.#progress < 100 || now < (this.#refusals.get(state) ?? 0)) return;
    this.#refusals.set(state, now + refusalLogMs);
    const database = this.#address.text;
    const problem = `the database ${database} refused a statement: ${error.message} (SQLSTATE ${state})`;
    this.#log(problem, 'error', { database });
  }

  #noteReachability(): void {
    this.pets.forgetTest();
    const { address, problem: error } = this.#database;
    if (error !== null && this.#progress < 100 && refusalOf(error, address) !== null) return; // the start fails
    this.#since = Date.now();
    const { problem } = this;
    const database = address.text;
    if (problem === null) this.#log(`the database ${database} can be reached again`, 'info', { database });
    else this.#log(`the database ${database} cannot be reached: ${problem}`, 'error', { database });
  }
}

const bannedKeysQuery = `
  select pg_catalog.count(distinct number) from petstore.usage
  where banned_until > coalesce($1::bigint, petstore.now_ms())`;

/** Returns the error of the database that caused an UnavailableError; for other errors, the error itself. */
function causeOf(error: unknown): unknown {
  return error instanceof UnavailableError ? (error.cause ?? error) : error;
}

/**
 * Whether a start may succeed later: the connection failed, resources are missing (53), a lock was not available (55),
 * an operator intervened (57), or another server has created the schema at the same time (40).
 */
function isTemporary(error: unknown): boolean {
  const { code } = causeOf(error) as { code?: unknown };
  return error instanceof UnavailableError && (typeof code !== 'string' || /^(?:40|53|55|57|08|E)/.test(code));
}

/** Returns the error for the operator if the database refuses this user or its connection; null for other errors. */
function refusalOf(error: unknown, { text, tls }: DatabaseAddress): OperatorError | null {
  if (error instanceof OperatorError) return error;
  const { code = '' } = error as { code?: string };
  const reason = messageOf(error);
  if (/client password must be/.test(reason)) { // the driver's words
    return new OperatorError(`the database ${text} requires a password: set PGPASSWORD, or add it to ~/.pgpass`);
  }
  if (code.startsWith('28')) return new OperatorError(`the database ${text} refuses this user: ${reason}`);
  if (code === '3D000') return new OperatorError(`the database ${text} does not exist; create it, with encoding UTF8`);
  if (code === '42501') {
    const advice = 'make it the owner of the schema, or, if there is none, grant it CREATE on the database';
    return new OperatorError(`this user lacks privileges in ${text}: ${reason}; ${advice}`);
  }
  if (tls && /does not support SSL/.test(reason)) {
    return new OperatorError(`the database ${text} does not offer TLS; turn on ssl in its postgresql.conf`);
  }
  if (!tls || !/certificate|altnames/i.test(reason)) return null;
  const advice = 'if a private authority issued it, set NODE_EXTRA_CA_CERTS to the file with its CA certificate';
  return new OperatorError(`the database ${text} has no valid TLS certificate: ${reason}; ${advice}`);
}
