import { stat, type BigIntStats } from 'node:fs';
import { promisify } from 'node:util';

const statAsync = promisify(stat);

/** What distinguishes a file from all others. BigInt, because some file systems have inode numbers beyond 2^53. */
export type Identity = Pick<BigIntStats, 'dev' | 'ino'>;

/** Resolves to the state of the file with this name; undefined if there is none. Rejects with any other error. */
export async function statOf(path: string): Promise<BigIntStats | undefined> {
  try {
    return await statAsync(path, { bigint: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Whether both are the same file, as long as it is open or has a name. */
export function isSame(one: Identity | undefined, other: Identity): boolean {
  return one !== undefined && one.ino === other.ino && one.dev === other.dev;
}
