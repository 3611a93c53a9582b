import { statSync, type BigIntStats } from 'node:fs';

/** What distinguishes a file from all others. BigInt, because some file systems have inode numbers beyond 2^53. */
export type Identity = Pick<BigIntStats, 'dev' | 'ino'>;

/** Returns the state of the file with this name; undefined if there is none. Throws any other error. */
export function statOf(path: string): BigIntStats | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false });
}

/** Whether both are the same file, as long as it is open or has a name. */
export function isSame(one: Identity | undefined, other: Identity): boolean {
  return one !== undefined && one.ino === other.ino && one.dev === other.dev;
}
