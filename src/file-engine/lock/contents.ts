/** The contents of a data folder as lines, which a running server sends to `petstore`. */
import type { RecordHead } from '../files/record-file.ts';
import type { KeyRing } from '../accounts/key-ring.ts';
import type { UsageFile } from '../accounts/usage-file.ts';
import type { LineTable } from '../store/line-table.ts';
import type { PetStore } from '../store/pet-store.ts';
import { LineStream } from './channel.ts';

/** What a server holds in memory. */
export interface Stores {
  /** The id of the store. */
  readonly store: string;
  readonly ring: KeyRing;
  readonly usage: UsageFile;
  readonly orderTable: LineTable;
  readonly pets: PetStore;
}

/** What is sent first. The lines follow: those of the keys, the usages, the orders and the animals. */
export interface ContentsHead {
  readonly store: string;
  readonly keys: RecordHead;
  readonly usage: RecordHead;
  /** The number of the last journal record among the animals. */
  readonly sequence: number;
  /** The largest id of an animal that was ever assigned. */
  readonly lastId: number;
  /** How many lines of each kind follow. */
  readonly lines: readonly [keys: number, usages: number, orders: number, pets: number];
}

/** Sent instead of the contents until the animals have been read. */
export interface Unread {
  /** How much of the animals has been read. */
  readonly percent: number;
}

/** Other requests are handled between two pieces. */
const pieceBytes = 32 * 1024;

/**
 * Returns all that the server holds at this moment, whatever changes while it is sent: keys and usages are copied, and
 * rows of a table never change. An order or an animal is followed by a comma. Animals are only sent `withPets`.
 */
export function contentsOf({ store, ring, usage, orderTable, pets }: Stores, withPets: boolean): LineStream | Unread {
  if (pets.progress < 100) return { percent: pets.progress };
  const usageLines = [...usage.contents.lines];
  const head: ContentsHead = {
    store, keys: ring.contents.head, usage: usage.contents.head, sequence: pets.durable, lastId: pets.lastId,
    lines: [ring.keys.length, usageLines.length, orderTable.count, withPets ? pets.table.count : 0],
  };
  const accounts = [...ring.contents.lines, ...usageLines].map((line) => `${line}\n`).join('');
  const pieces = function* (): Generator<string | Buffer> {
    yield accounts;
    yield* orderTable.pieces(head.lines[2], pieceBytes);
    yield* pets.table.pieces(head.lines[3], pieceBytes);
  };
  return new LineStream({ result: head }, pieces());
}
