/**
 * `petstore copy` from and to a database.
 *
 * While a database is copied, its servers refuse changes: the transaction of the copy holds an advisory lock, which
 * each change tries to share (schema.ts, `refuse_while_copied`). So the refusal ends with the transaction, however the
 * command ends.
 *
 * A copy to a database first marks it as incomplete, so that no server starts on it, and then adds everything and
 * removes the mark in one transaction. If the command is killed, the mark remains, and nothing else.
 */
import { randomUUID } from 'node:crypto';
import type { Copied, Lines, StoreContents } from '../control/contents.ts';
import { OperatorError } from '../domain/operator-error.ts';
import type { Progress } from '../program/progress.ts';
import { stateOf, type Execute } from './connection.ts';
import type { DatabaseAddress } from './database-url.ts';
import { pagesOf } from './export.ts';
import { importLock, lastRow } from './import.ts';
import { addSecrets, keyIn, newestUsage, numberOf } from './key-admin.ts';
import { withDatabase } from './run-command.ts';
import { copyLock, refuseWhileCopied } from './schema.ts';
import { LockedUsage, saveUsages } from './usage-row.ts';

/** How often to send a statement, so that the database ends the transaction only if this machine is lost. */
const heartbeatMs = 5_000;
/** `lock_timeout`: how long the copy waits for changes that began before it. */
const fromMode = `isolation level read committed; set local lock_timeout = 10000; set local enable_seqscan = off;
  set local idle_in_transaction_session_timeout = 30000`;
const toMode = `isolation level read committed; set local synchronous_commit = on; set local jit = off;
  set local idle_in_transaction_session_timeout = 60000`;

/**
 * Passes the contents of a database to `use`, and resolves to its result. Until then, the servers of the database
 * refuse creates and changes of keys. Rejects with OperatorError, and as `use` does.
 */
export function readDatabase<T>(address: DatabaseAddress, use: (contents: StoreContents) => Promise<T>): Promise<T> {
  return withDatabase(address, (engine) => engine.longTransaction(fromMode, async (execute) => {
    await execute('select pg_advisory_xact_lock($1)', [copyLock]).catch((error: Error) => {
      if (stateOf(error.cause) !== '55P03') throw error;
      throw new OperatorError(`an import or another copy of ${address.text} is under way; try again when it has ended`);
    });
    const beat = (): Promise<unknown> => execute('select 1');
    const heartbeat = setInterval(() => void beat().catch(() => {}), heartbeatMs);
    try {
      const [lastId, animals] = await lastRow(execute);
      const keys = (await execute('select record from petstore.keys order by number')).map(keyIn);
      const usages = (await execute(newestUsage, [null])).flatMap(([number, , seq, updates, state, now]) => {
        const { usage } = new LockedUsage(
          number as string, seq as string | null, updates as number | null, state as string | null, Number(now),
        );
        return usage.isBlank ? [] : [[`k${number as string}`, usage] as const];
      });
      return await use({
        animals, lastId, keys, usages: new Map(usages), check: beat,
        pets: () => pagesOf(execute, 'pets'),
        orders: () => pagesOf(execute, 'orders'),
      });
    } finally {
      clearInterval(heartbeat);
    }
  }));
}

/**
 * Copies `contents` to an empty database. Rejects with OperatorError; the database then cannot be used until another
 * copy to it has ended.
 */
export function writeDatabase(
  address: DatabaseAddress, contents: StoreContents, progress: Progress,
): Promise<Copied> {
  return withDatabase(address, (engine) => engine.longTransaction(toMode, async (execute) => {
    const [[isAlone] = []] = await execute('select pg_try_advisory_xact_lock($1)', [importLock]);
    if (isAlone !== true) {
      const other = `an import or another copy into ${address.text}`;
      throw new OperatorError(`${other} is under way; try again when it has ended`);
    }
    await execute(refuseWhileCopied); // FROM may be the same database under another name
    await engine.longTransaction('isolation level read committed', (mark) => markIncomplete(mark, address));
    progress.expect(contents.animals);
    const animals = await addLines(execute, 'pets', contents.pets(), progress);
    const orders = await addLines(execute, 'orders', contents.orders(), null);
    for (const key of contents.keys) {
      const number = numberOf(key.id);
      await execute('insert into petstore.keys (number, record) values ($1, $2)', [number, JSON.stringify(key)]);
      await addSecrets(execute, number, key);
    }
    const known = new Set(contents.keys.map(({ id }) => id));
    const usages = [...contents.usages].filter(([id]) => known.has(id));
    await saveUsages(execute, usages.map(([id, usage]) => LockedUsage.of(numberOf(id), usage)));
    await contents.check();
    const { lastId, keys } = contents;
    await execute('update petstore.store set incomplete = false, has_orders = true, id_floor = $1', [lastId]);
    return { animals, orders, keys: keys.length };
  }), undefined, true);
}

/** Marks an empty store as incomplete, and changes its id, so that servers that already use it refuse requests. */
async function markIncomplete(execute: Execute, address: DatabaseAddress): Promise<void> {
  const [[isEmpty] = []] = await execute(`
    select id_floor = 0 and not exists (select 1 from petstore.pets) and not exists (select 1 from petstore.orders)
      and not exists (select 1 from petstore.keys)
    from petstore.store where one for update`);
  if (isEmpty !== true) throw new OperatorError(`the database ${address.text} is not empty; name an empty one`);
  await execute('update petstore.store set incomplete = true, id = $1', [randomUUID()]);
}

/** Adds the records whose lines `pages` yields, in ascending order of the ids. Resolves to their number. */
async function addLines(
  execute: Execute, table: 'pets' | 'orders', pages: Lines, progress: Progress | null,
): Promise<number> {
  let count = 0;
  for await (const lines of pages) {
    const ids = lines.map((line) => /^\{"id":(-?\d+),/.exec(line)![1]);
    const statuses = lines.map((line) => /"status":"(\w+)"(?:,"complete":\w+)?\}$/.exec(line)![1]);
    if (lines.length > 0) {
      await execute(`
        insert into petstore.${table} (id, ordinal, status, line)
        select id::bigint, n + $4, status, line
        from unnest(string_to_array($1, e'\\n'), string_to_array($2, e'\\n'), string_to_array($3, e'\\n'))
          with ordinality as t (id, status, line, n)`,
      [...[ids, statuses, lines].map((column) => column.join('\n')), count]);
    }
    count += lines.length;
    progress?.add(lines.length);
  }
  return count;
}
