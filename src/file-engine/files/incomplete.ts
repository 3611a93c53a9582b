/**
 * `copy.json` marks a data folder into which `petstore copy` has not written everything yet. It remains if the command
 * is killed, so that nobody takes a part of a store for the whole.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../domain/operator-error.ts';
import { diskError } from '../../files/errors.ts';
import { replaceFile, rm, syncFolder } from './replace.ts';

const markName = 'copy.json';

/** Marks a folder. Rejects with OperatorError. */
export function markIncomplete(folder: string): Promise<void> {
  return replaceFile(join(folder, markName), ['{"format":"petstore-copy"}\n']);
}

/** Removes the mark. Rejects with OperatorError. */
export async function markComplete(folder: string): Promise<void> {
  try {
    await rm(join(folder, markName));
    await syncFolder(folder);
  } catch (error) {
    throw diskError('write', folder, error);
  }
}

/** Throws an OperatorError if a folder is marked. */
export function refuseIncomplete(folder: string): void {
  if (!existsSync(join(folder, markName))) return;
  const advice = 'if it is not running, remove the folder, and copy again';
  throw new OperatorError(`a copy to ${folder} was interrupted or is still running; ${advice}`);
}
