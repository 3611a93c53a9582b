/** What `petstore copy` reads from one store and writes to another, whatever their engines. */
import type { Key } from '../keys/key.ts';
import type { KeyUsage } from '../limits/key-usage.ts';

/** The contents of a store that nobody changes, except that requests are counted. */
export interface StoreContents {
  /** The number of animals. */
  readonly animals: number;
  /** The largest id that was ever assigned to an animal. */
  readonly lastId: number;
  /** All keys, oldest first. */
  readonly keys: readonly Key[];
  /** The usage of each key that has any, by the id of the key. */
  readonly usages: ReadonlyMap<string, KeyUsage>;
  /** Yield the lines of all animals or orders, in ascending order of the ids. Rejects with OperatorError. */
  pets(): Lines;
  orders(): Lines;
  /** Rejects if the store may have been changed meanwhile. To be called when everything has been written. */
  check(): Promise<unknown>;
}

/** Lines, in groups that are small enough for the memory. */
export type Lines = AsyncIterable<readonly string[]> | Iterable<readonly string[]>;

/** What was copied. */
export interface Copied {
  readonly animals: number;
  readonly orders: number;
  readonly keys: number;
}
