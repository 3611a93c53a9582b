/** The usage of a key as a row of the table `usage` (schema.ts). */
import { KeyUsage } from '../limits/key-usage.ts';
import { LimitClock, type Window } from '../limits/windows.ts';
import type { Execute } from './connection.ts';
import { textArray, wordArray } from './literals.ts';

/** After this many updates, a new row replaces the old one (schema.ts, `usage`). */
const maxUpdates = 200;

type WindowState = readonly [start: number, used: number, firstRefusedAt: number | null];

interface State {
  /** The latest time at which the limits of this key were checked; it never decreases (decisions.md, "The clock"). */
  readonly time: number;
  readonly minute: WindowState;
  readonly day: WindowState;
  readonly refusals: number;
  readonly ban: KeyUsage['ban'];
}

/** The usage of a key whose row is locked. */
export class LockedUsage {
  readonly usage = new KeyUsage();
  /** The time by which the limits of this key are checked; it never decreases. */
  readonly time: number;
  isChanged = false;
  readonly #number: string;
  readonly #seq: number;
  readonly #updates: number;

  /** `seq`, `updates` and `state` are those of the newest row; null if there is none. `now` is the database's clock. */
  constructor(number: string, seq: string | null, updates: number | null, state: string | null, now: number) {
    this.#number = number;
    this.#seq = Number(seq);
    this.#updates = updates ?? maxUpdates; // without a row, the first one begins
    const known = state === null ? null : (JSON.parse(state) as State);
    const clock = new LimitClock();
    if (known !== null) {
      clock.timeAt(known.time);
      setWindow(this.usage.minute, known.minute);
      setWindow(this.usage.day, known.day);
      this.usage.refusals = known.refusals;
      this.usage.ban = known.ban;
    }
    this.time = clock.timeAt(now);
    this.usage.roll(this.time);
  }

  /** Returns the usage of a key that has no row yet, copied from another store. */
  static of(number: string, { minute, day, refusals, ban }: KeyUsage): LockedUsage {
    const locked = new LockedUsage(number, null, null, null, 0); // the clock of the other store is not known
    Object.assign(locked.usage.minute, minute);
    Object.assign(locked.usage.day, day);
    locked.usage.refusals = refusals;
    locked.usage.ban = ban;
    locked.isChanged = true;
    return locked;
  }

  /** The row to be stored, in the order of the parameters of `save_usage`. */
  get row(): readonly [number: string, seq: number, fresh: boolean, state: string, ban: number | null] {
    const { minute, day, refusals, ban } = this.usage;
    const state: State = { time: this.time, minute: windowState(minute), day: windowState(day), refusals, ban };
    const isFresh = this.#updates >= maxUpdates;
    return [this.#number, isFresh ? this.#seq + 1 : this.#seq, isFresh, JSON.stringify(state), ban?.end ?? null];
  }
}

/** Stores the usages that have changed. Rejects as `execute` does. */
export async function saveUsages(execute: Execute, usages: Iterable<LockedUsage>): Promise<void> {
  const rows = [...usages].filter(({ isChanged }) => isChanged).map(({ row }) => row);
  if (rows.length === 0) return;
  const [numbers, seqs, fresh, bans] = ([0, 1, 2, 4] as const).map((column) =>
    wordArray(rows.map((row) => row[column])));
  const states = textArray(rows.map(([, , , state]) => state));
  await execute(`select petstore.save_usage(${numbers}, ${seqs}, ${fresh}, ${states}, ${bans})`);
}

function windowState({ start, used, firstRefusedAt }: Window): WindowState {
  return [start, used, firstRefusedAt];
}

function setWindow(window: Window, [start, used, firstRefusedAt]: WindowState): void {
  window.start = start;
  window.used = used;
  window.firstRefusedAt = firstRefusedAt;
}
