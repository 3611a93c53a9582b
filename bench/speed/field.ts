/** Contestants and rows -> entries of the contest: every server started, and its answers checked. */
import { load } from '../measure/load.ts';
import { NotStarted } from '../measure/program.ts';
import { quantile } from '../measure/statistics.ts';
import { check } from './check.ts';
import type { Entry, Outcome, Round } from './contest.ts';
import { floor, type Contestant } from './contestants.ts';
import { startFloor } from './floor.ts';
import type { Row } from './rows.ts';
import { loadOn, spend, type Site } from './site.ts';

/** Entries that can be measured, and outcomes of those that cannot. */
export interface Field {
  readonly entries: readonly Entry[];
  readonly absent: readonly Outcome[];
  readonly notes: ReadonlyMap<Entry, string>;
  /** The names of all, as they are to be listed. */
  readonly order: readonly string[];
}

/**
 * Starts and checks everyone: a server for the rows that only read, another for creates, so that what is listed stays what it was.
 * The first contestant is our own server: its answers are the floor's, in the rows in `floorRows`.
 *
 * @throws NotStarted if the first contestant cannot be started
 */
export async function openField(
  pairs: readonly (readonly [contestant: Contestant, rows: readonly Row[]])[],
  floorRows: readonly Row[],
  watch: (text: string) => void,
): Promise<Field> {
  const entries: Entry[] = [];
  const absent: Outcome[] = [];
  const notes = new Map<Entry, string>();
  const add = (entry: Entry, note?: string) => {
    entries.push(entry);
    if (note !== undefined) notes.set(entry, note);
  };
  const models = new Map<Row, Site>();
  const own = pairs[0]?.[0];
  for (const [contestant, rows] of pairs) {
    watch(`starting and checking ${contestant.name}`);
    const siteOf = sitesOf(contestant);
    for (const row of rows) {
      try {
        const cannot = contestant.cannot?.(row);
        if (cannot !== undefined) throw new Error(cannot);
        const site = await siteOf(row);
        if (row.key === 'spent') await spend(site, row);
        await check(site, row, contestant.demand);
        if (contestant === own) models.set(row, site);
        add(entryOf(contestant.name, site, row), contestant.note?.(row));
      } catch (error) {
        if (error instanceof NotStarted && contestant === own) throw error;
        absent.push({ row: row.id, contestant: contestant.name, rounds: [], problem: (error as Error).message });
      }
    }
  }
  watch(`starting and checking ${floor}`);
  for (const row of floorRows) {
    const model = models.get(row);
    try {
      if (model === undefined) throw new Error(`${own?.name} gave no right answer to repeat`);
      add(entryOf(floor, await startFloor(model, row), row));
    } catch (error) {
      absent.push({ row: row.id, contestant: floor, rounds: [], problem: (error as Error).message });
    }
  }
  const order = [floor, ...pairs.map(([{ name }]) => name)];
  const rowOrder = pairs.flatMap(([, rows]) => rows.map(({ id }) => id));
  // Who is to be compared is measured one right after the other.
  entries.sort((a, b) => rowOrder.indexOf(a.row) - rowOrder.indexOf(b.row) || order.indexOf(a.contestant) - order.indexOf(b.contestant));
  return { entries, absent, notes, order };
}

/** Starts a contestant's two servers, each when it is first needed. */
function sitesOf({ start }: Contestant): (row: Row) => Promise<Site> {
  const started = new Map<string, Promise<Site>>();
  return ({ method }) => {
    const site = started.get(method) ?? start();
    started.set(method, site);
    return site;
  };
}

function entryOf(contestant: string, site: Site, row: Row): Entry {
  const options = loadOn(site, row);
  return {
    row: row.id,
    contestant,
    measure: async (seconds): Promise<Round> => {
      const before = await site.program.usage();
      const { requests, seconds: taken, latencies } = await load({ ...options, seconds });
      const after = await site.program.usage();
      return {
        requests,
        seconds: taken,
        p50: quantile(latencies, 0.5),
        p99: quantile(latencies, 0.99),
        user: after.user - before.user,
        system: after.system - before.system,
        resident: after.resident,
      };
    },
    // Strangers have windows too, which need nothing but another try.
    ...(row.key === 'spent' && { prime: () => spend(site, row) }),
    ...(row.key === 'none' && { prime: () => Promise.resolve() }),
  };
}
