/**
 * `petstore import` into a database: adds animals or orders, all or none of them, while servers may run.
 *
 * A reader that follows `after` must not miss an animal, so the new animals must become visible before any with a
 * larger id. Creates are blocked while a transaction holds the lock for ids, and adding a million rows takes longer
 * than they may be blocked. Therefore a large import reserves ids after a gap (schema.ts, `store`), and adds its rows
 * without the lock; they are not visible before the commit. In the meantime, creates use the ids in the gap. The lock
 * is taken only for the last row and the commit. Creates that have used up the gap continue after the reserved ids. The
 * rows of the import would then become visible too late, so it starts again with other ids.
 *
 * All lines first go to a temporary table, so nothing is added if one of them is wrong.
 */
import { OperatorError } from '../domain/operator-error.ts';
import { orderLine, type Order } from '../domain/order.ts';
import { idWarning, maxPetId, petText, type NewPet } from '../domain/pet.ts';
import type { Execute } from './connection.ts';
import type { DatabaseAddress } from './database-url.ts';
import type { PostgresEngine } from './postgres-engine.ts';
import { withDatabase } from './run-command.ts';
import { refuseWhileCopied } from './schema.ts';

/** The number of the advisory lock that an import or a copy to the database holds. */
export const importLock = 7_392_016_452;
/** Up to this many animals are added while creates wait, for about 0.1 s. */
const maxUnreserved = 10_000;
/** How long their lines may be in total, in UTF-16 units. */
const maxUnreservedLength = 4_000_000;
/** How many ids a large import leaves to creates. If a gap is too small, the import tries again with the next one. */
const gaps = [100_000, 10_000_000] as const;
const batchLength = 1000;

/** The place of a record in the files, for messages. */
interface Place {
  readonly path: string;
  readonly line: number;
}

/** Returns the error that names a line and what is wrong with it. */
type ErrorAt = (path: string, line: number, why: string) => OperatorError;

/** How many records were imported, and their smallest and largest id. */
export interface Imported {
  readonly count: number;
  readonly firstId: bigint | number;
  readonly lastId: bigint | number;
  /** Tells the operator that few ids are left; null if there are enough. */
  readonly warning: string | null;
  /** Always null: what is committed is on disk. */
  readonly unsynced: null;
}

/**
 * Adds animals. Those in `pets` are in ascending order of their ids, which are kept or, if `keepsIds` is false,
 * replaced by new ones. Rejects with OperatorError, and with what `pets` throws; nothing is added then.
 */
export function importPets(
  address: DatabaseAddress,
  pets: Iterable<Place & { readonly id: number; readonly pet: NewPet }>,
  keepsIds: boolean,
  errorAt: ErrorAt,
): Promise<Imported> {
  return importing(address, async (execute, engine) => {
    const stage = new Stage(execute);
    for (const { id, pet, ...place } of pets) {
      await stage.add(place, id, pet.status, petText(0, pet).slice('{"id":0'.length));
    }
    await stage.end();
    const { count } = stage;
    const isLarge = count > maxUnreserved || stage.length > maxUnreservedLength;
    if (!isLarge) await execute(lockIds);
    // Only one import runs at a time, so a reservation that exists was left by one that failed.
    if (!isLarge) await execute(`${setReservation} where import_first is not null`, [null, null]);
    for (const gap of isLarge && !keepsIds ? gaps : [0]) {
      const [taken, ordinal] = await lastRow(execute);
      if (count === 0) return { count, firstId: 0, lastId: 0, warning: idWarning(taken), unsynced: null };
      const shift = keepsIds ? 0 : taken + gap; // of the ids in the stage
      const [first, last] = [Number(stage.firstId) + shift, Number(stage.lastId) + shift];
      if (first <= taken) throw await takenError(first, taken);
      if (last > maxPetId) {
        throw await stage.error(`id + ${shift} > ${maxPetId}`, `all ids up to ${maxPetId} have been assigned`, errorAt);
      }
      const add = (filter: string, before: number) => execute(`
        insert into petstore.pets (id, ordinal, status, line)
        select id + $1, n + $2, status, '{"id":' || (id + $1) || text from stage where ${filter}`, [shift, before]);
      const imported = { count, firstId: first, lastId: last, warning: idWarning(last), unsynced: null };
      if (!isLarge) {
        await add('true', ordinal);
        return imported;
      }
      if (!(await reserve(engine, first, last))) continue;
      await execute('savepoint reserved');
      await add(`n < ${count}`, ordinal);
      await execute(lockIds);
      const [, created, reserved] = await lastRow(execute);
      if (reserved === first) {
        await add(`n = ${count}`, created);
        await execute(setReservation, [null, null]);
        return imported;
      }
      await execute('rollback to savepoint reserved');
    }
    const advice = keepsIds ? 'stop the servers, or import without --keep-ids' : 'try again, or stop the servers';
    const what = keepsIds ? 'animals' : 'too many animals';
    throw new OperatorError(`servers added ${what} during the import; nothing was imported; ${advice}`);

    async function takenError(first: number, taken: number): Promise<OperatorError> {
      const [row] = await execute('select 1 from petstore.pets where id = $1', [first]);
      const why = `the id ${first} is not greater than ${taken}, the largest in the database`;
      const known = `there is an animal with the id ${first}`;
      return stage.error('true', row === undefined ? `${why}, so readers could miss the animal` : known, errorAt);
    }
  });
}

/**
 * Adds orders. `ordersFrom` returns them; new ids begin with its argument. Rejects with OperatorError, and with what
 * `ordersFrom` throws; nothing is added then. `warningOf` returns the warning if this is the largest id.
 */
export function importOrders(
  address: DatabaseAddress,
  ordersFrom: (nextId: bigint) => Iterable<Place & { readonly order: Order }>,
  errorAt: ErrorAt,
  warningOf: (lastId: bigint) => string | null,
): Promise<Imported> {
  return importing(address, async (execute) => {
    await execute('lock table petstore.orders in share row exclusive mode'); // --demo may add orders, too
    const [[largest] = []] = await execute('select greatest(max(id), 0) from petstore.orders');
    const before = BigInt(largest as string);
    const stage = new Stage(execute);
    for (const { order, ...place } of ordersFrom(before + 1n)) {
      await stage.add(place, order.id, order.status, orderLine(order));
    }
    await stage.end();
    const [twice] = await execute(`
      select id, n from (select id, n, row_number() over (partition by id order by n) as nth from stage) s
      where nth > 1 or exists (select 1 from petstore.orders o where o.id = s.id) order by n limit 1`);
    if (twice !== undefined) {
      throw await stage.error(`n = ${String(twice[1])}`, `there is an order with the id ${String(twice[0])}`, errorAt);
    }
    await execute("insert into petstore.orders (id, ordinal, status, line) select id, 0, status, text from stage");
    await execute(`
      update petstore.orders set ordinal = (select count(*) from petstore.orders)
      where id = (select max(id) from petstore.orders)`);
    const [[first, last] = []] = await execute('select min(id), max(id) from stage');
    const [firstId, lastId] = [BigInt((first ?? 0) as string), BigInt((last ?? 0) as string)];
    if (stage.count > 0) await execute('update petstore.store set has_orders = true where not has_orders');
    const warning = warningOf(lastId > before ? lastId : before);
    return { count: stage.count, firstId, lastId, warning, unsynced: null };
  });
}

/** Executes `work` in a transaction while no other import runs. Rejects as `withDatabase` and `work` do. */
function importing(
  address: DatabaseAddress, work: (execute: Execute, engine: PostgresEngine) => Promise<Imported>,
): Promise<Imported> {
  let mayBeDone = false;
  return withDatabase(address, (engine) => engine.longTransaction(mode, async (execute) => {
    const [[isAlone] = []] = await execute('select pg_try_advisory_xact_lock($1)', [importLock]);
    if (isAlone !== true) {
      throw new OperatorError(`another import into ${address.text} is under way; try again when it has ended`);
    }
    await execute(refuseWhileCopied);
    await execute(createStage);
    const imported = await work(execute, engine);
    mayBeDone = true;
    return imported;
  }), (problem) => {
    const effect = mayBeDone ? 'check with "petstore status" whether it was done' : 'nothing was imported';
    return new OperatorError(`${problem}; ${effect}`);
  });
}

/** The settings end with the transaction. JIT compilation would only cost time. */
const mode = `isolation level read committed; set local synchronous_commit = on; set local jit = off;
  set local idle_in_transaction_session_timeout = 60000`;

/** `file` is the index of the path. `text` is the line of an order, or that of an animal without the id. */
const createStage = `
  create temporary table stage (n bigint, file integer, line bigint, id bigint, status text, text text) on commit drop`;

/** The records to be imported, in a temporary table. Methods reject as `execute` does. */
class Stage {
  readonly #execute: Execute;
  readonly #paths: string[] = [];
  #batch: (readonly (string | number | bigint)[])[] = [];
  #sent: Promise<unknown> = Promise.resolve();
  count = 0;
  /** The length of all texts, in UTF-16 units. */
  length = 0;
  firstId: number | bigint = 0;
  lastId: number | bigint = 0;

  constructor(execute: Execute) {
    this.#execute = execute;
  }

  /** Adds a record. */
  async add({ path, line }: Place, id: number | bigint, status: string, text: string): Promise<void> {
    if (this.#paths.at(-1) !== path) this.#paths.push(path);
    if (this.count++ === 0) this.firstId = id;
    this.lastId = id;
    this.length += text.length;
    this.#batch.push([this.count, this.#paths.length - 1, line, id, status, text]);
    if (this.#batch.length === batchLength) await this.#send();
  }

  /** Resolves when all records are in the table. */
  async end(): Promise<void> {
    if (this.#batch.length > 0) await this.#send();
    await this.#sent;
  }

  /** Resolves to the error for the first record that satisfies an SQL condition. */
  async error(condition: string, why: string, errorAt: ErrorAt): Promise<OperatorError> {
    const first = `select file, line from stage where ${condition} order by n limit 1`;
    const [[file, line] = []] = await this.#execute(first);
    return errorAt(this.#paths[file as number]!, Number(line), why);
  }

  /** Sends a batch once the previous one has been executed. Values are joined by line feeds, which no line contains. */
  async #send(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    await this.#sent;
    const columns = [0, 1, 2, 3, 4, 5].map((column) => batch.map((row) => row[column]!).join('\n'));
    this.#sent = this.#execute(`
      insert into stage select n::bigint, file::integer, line::bigint, id::bigint, status, text
      from unnest(${columns.map((_, index) => `string_to_array($${index + 1}, e'\\n')`).join()})
      as t (n, file, line, id, status, text)`, columns);
    this.#sent.catch(() => {}); // the next `add` or `end` rejects
  }
}

/** Makes creates wait until the transaction ends. */
const lockIds = 'select 1 from petstore.store where one for no key update';
const setReservation = 'update petstore.store set import_first = $1, import_last = $2';

/**
 * Resolves to the largest id that was assigned, the number of animals, and the first id that an import has reserved,
 * without the rows of that import. Rejects as `execute` does.
 */
export async function lastRow(execute: Execute): Promise<[lastId: number, count: number, reserved: number | null]> {
  const [[id, ordinal, reserved] = []] = await execute(`
    select greatest(id_floor, p.id), coalesce(ordinal, 0), import_first
    from petstore.store left join lateral (
      select id, ordinal from petstore.pets
      where id < coalesce(import_first, 9223372036854775807) order by id desc limit 1
    ) p on true`);
  return [Number(id), Number(ordinal), reserved === null ? null : Number(reserved)];
}

/**
 * Reserves the ids from `first` to `last` for an import, and commits that. Resolves to false if creates have already
 * used one of them. Rejects as `Connection.longTransaction` does.
 */
function reserve(engine: PostgresEngine, first: number, last: number): Promise<boolean> {
  return engine.longTransaction('isolation level read committed', async (execute) => {
    await execute(lockIds);
    const [taken] = await lastRow(execute);
    if (taken >= first) return false;
    await execute(setReservation, [first, last]);
    return true;
  });
}
