/** Contestants and rows -> entries of the contest: every server started, its answers checked, and warm. */
import { NotStarted } from '../measure/program.ts';
import { warmUp, type Entry, type Outcome, type Server, type WarmUp } from './contest.ts';
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

export interface FieldOptions {
  /** How many servers of each contestant take turns. */
  readonly servers: number;
  readonly warm: WarmUp;
  /** Hears who is being made ready. */
  readonly watch: (text: string) => void;
}

/**
 * Starts, checks and warms up everyone: some servers for the rows that only read, as many others for creates, so that what is listed
 * stays what it was. The first contestant is our own server: its answers are the floor's, in the rows in `floorRows`.
 *
 * @throws NotStarted if the first contestant cannot be started
 */
export async function openField(
  pairs: readonly (readonly [contestant: Contestant, rows: readonly Row[]])[],
  floorRows: readonly Row[],
  { servers, warm, watch }: FieldOptions,
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
    const siteFor = sitesOf(contestant);
    for (const row of rows) {
      watch(`starting, checking and warming up ${contestant.name}: ${row.id}`);
      const note = contestant.note?.(row);
      try {
        const cannot = contestant.cannot?.(row);
        if (cannot !== undefined) throw new Error(cannot);
        const ready: Server[] = [];
        for (let i = 0; i < servers; i++) {
          const site = await siteFor(row, i);
          const server = await checkedServer(site, row, contestant.demand);
          if (contestant === own && i === 0) models.set(row, site);
          await warmUp(server, warm);
          ready.push(server);
        }
        add({ row: row.id, contestant: contestant.name, servers: ready }, note);
      } catch (error) {
        if (error instanceof NotStarted && contestant === own) throw error;
        absent.push({ row: row.id, contestant: contestant.name, rounds: [], problem: (error as Error).message, ...(note !== undefined && { note }) });
      }
    }
  }
  for (const row of floorRows) {
    watch(`starting, checking and warming up ${floor}: ${row.id}`);
    const model = models.get(row);
    try {
      if (model === undefined) throw new Error(`${own?.name} gave no right answer to repeat`);
      const floors: Server[] = [];
      for (let i = 0; i < servers; i++) {
        const server = await startFloor(model, row);
        await warmUp(server, warm);
        floors.push(server);
      }
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

/** Starts a contestant's servers, some for reads and some for creates, each when it is first needed. */
function sitesOf({ start }: Contestant): (row: Row, nth: number) => Promise<Site> {
  const started: Record<Row['method'], Promise<Site>[]> = { GET: [], POST: [] };
  return ({ method }, nth) => (started[method][nth] ??= start());
}
