import { accessSync, constants, mkdirSync } from 'node:fs';
import { UsageError } from '../options.ts';

/**
 * Makes the folder of `--report`: now rather than after a long run, there is one that can be written to.
 *
 * @throws UsageError if there is none
 */
export function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    throw new UsageError(`--report ${folder}: ${(error as Error).message}`);
  }
}
