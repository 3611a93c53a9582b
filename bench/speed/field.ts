/** Contestants and rows -> entries of the contest: every server started, and its answers checked. */
import { NotStarted } from '../measure/program.ts';
import type { Entry, Outcome, Server } from './contest.ts';
import { floor, type Contestant } from './contestants.ts';
import { startFloor } from './floor.ts';
import type { Row } from './rows.ts';
import { checkedServer } from './server.ts';
import type { Site } from './site.ts';

/** Entries that can be measured, and outcomes of those that cannot. */
export interface Field {
  readonly entries: readonly Entry[];
  readonly absent: readonly Outcome[];
  readonly notes: ReadonlyMap<Entry, string>;
  /** What contestants cannot do, by their names. */
  readonly lacks: Readonly<Record<string, string>>;
  /** The names of all, as they are to be listed. */
  readonly order: readonly string[];
}

/**
 * Starts and checks everyone: so many servers for the rows that only read, as many others for creates, so that what is listed stays
 * what it was. The first contestant is our own server: its answers are the floor's, in the rows in `floorRows`.
 *
 * @throws NotStarted if the first contestant cannot be started
 */
export async function openField(
  pairs: readonly (readonly [contestant: Contestant, rows: readonly Row[]])[],
  floorRows: readonly Row[],
  servers: number,
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
    const sitesFor = sitesOf(contestant, servers);
    for (const row of rows) {
      try {
        const cannot = contestant.cannot?.(row);
        if (cannot !== undefined) throw new Error(cannot);
        const sites = await sitesFor(row);
        const checked: Server[] = [];
        for (const site of sites) checked.push(await checkedServer(site, row, contestant.demand));
        if (contestant === own) models.set(row, sites[0]!);
        add({ row: row.id, contestant: contestant.name, servers: checked }, contestant.note?.(row));
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
      const floors: Server[] = [];
      for (let server = 0; server < servers; server++) floors.push(await startFloor(model, row));
      add({ row: row.id, contestant: floor, servers: floors });
    } catch (error) {
      absent.push({ row: row.id, contestant: floor, rounds: [], problem: (error as Error).message });
    }
  }
  const order = [floor, ...pairs.map(([{ name }]) => name)];
  const rowOrder = pairs.flatMap(([, rows]) => rows.map(({ id }) => id));
  // Who is to be compared is measured one right after the other.
  entries.sort((a, b) => rowOrder.indexOf(a.row) - rowOrder.indexOf(b.row) || order.indexOf(a.contestant) - order.indexOf(b.contestant));
  const lacks = Object.fromEntries(pairs.flatMap(([{ name, lacks: lack }]) => (lack === undefined ? [] : [[name, lack]])));
  return { entries, absent, notes, lacks, order };
}

/** Starts a contestant's servers, for reads and for creates, when they are first needed. */
function sitesOf({ start }: Contestant, servers: number): (row: Row) => Promise<readonly Site[]> {
  const started = new Map<string, Promise<readonly Site[]>>();
  return ({ method }) => {
    const sites = started.get(method) ?? Promise.all(Array.from({ length: servers }, start));
    started.set(method, sites);
    return sites;
  };
}
