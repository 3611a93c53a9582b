/** `petstore export` on a database. */
import type { Progress } from '../program/progress.ts';
import type { Execute } from './connection.ts';
import type { DatabaseAddress } from './database-url.ts';
import { withDatabase } from './run-command.ts';

const recordsPerPage = 1000;
/** Without index scans, a plan made for an empty table could scan and sort the whole table for each page. */
const mode = 'isolation level repeatable read, read only; set local enable_seqscan = off';

/**
 * Passes the lines of all animals or orders to `add`, in ascending order of the ids, as they were at one moment. Only
 * one page is in memory at a time. Rejects with OperatorError, and with what `add` throws.
 */
export function readRecords(
  address: DatabaseAddress, what: 'animals' | 'orders', add: (line: Uint8Array) => void, progress: Progress,
): Promise<void> {
  const table = what === 'orders' ? 'orders' : 'pets';
  return withDatabase(address, (engine) => engine.longTransaction(mode, async (execute) => {
    const [[count] = []] = await execute(`select ordinal from petstore.${table} order by id desc limit 1`);
    progress.expect(Number(count));
    for await (const lines of pagesOf(execute, table)) {
      for (const line of lines) add(Buffer.from(line));
      progress.add(lines.length);
    }
  }));
}

/** Yields pages of the lines of a table, in ascending order of the ids. Rejects as `execute` does. */
export async function* pagesOf(execute: Execute, table: 'pets' | 'orders'): AsyncGenerator<readonly string[], void> {
  for (let after: readonly unknown[] = []; ; ) {
    const filter = after.length === 0 ? '' : 'where id > $1::bigint';
    const page = `from petstore.${table} ${filter} order by id limit ${recordsPerPage}`;
    const rows = await execute(`select id, line ${page}`, after);
    if (rows.length === 0) return;
    yield rows.map(([, line]) => line as string);
    after = [rows.at(-1)![0]];
  }
}
