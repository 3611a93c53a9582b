/**
 * The names that a data folder reserves for its own files (docs/files.md, "Overview"). Nothing else may create or
 * replace such a file: an export would destroy the keys, and a folder or a socket would be in the way of the program.
 */
import { lstatSync, readdirSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { OperatorError } from '../../domain/operator-error.ts';
import { diskError } from '../../files/errors.ts';
import { hasHead } from './store-id.ts';
import { readWhole } from './whole.ts';

// Upper and lower case, as Unicode folds it, are the same for some file systems.
const reserved =
  /^((keys|orders|pets|usage|backup|copy)\.json(\..*)?|pets\.[0-9]+\.journal(\..*)?|lock\..*|.*\.tmp)$/iu;
const withHead = /^(keys|orders|pets|usage|backup)\.json$/iu;
/** People may edit these files, so the head can be anywhere in them. */
const editable = /^(keys|usage)\.json$/iu;
const maxEditableBytes = 256 * 1024 * 1024;
const segment = /^pets\.[1-9][0-9]{0,14}\.journal$/iu;
const lock = /^lock\.[1-9][0-9]{0,14}$/iu;

/** Throws OperatorError if a path is a name that its folder reserves, because that is a data folder or a backup. */
export function refuseReserved(path: string): void {
  const folder = dirname(path);
  if (!reserved.test(basename(path)) || !isDataFolder(folder)) return;
  throw new OperatorError(`cannot write ${path}: the data folder ${folder} reserves this name; choose another path`);
}

/** Whether a folder has files of a data folder or a backup. Their content decides: other programs use the names too. */
function isDataFolder(folder: string): boolean {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw diskError('read', folder, error);
  }
  return names.some((name) => {
    const path = join(folder, name);
    if (lock.test(name)) return lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true;
    // A segment counts even if its head is damaged.
    return segment.test(name) || (withHead.test(name) && hasHead(path)) || (editable.test(name) && namesFormat(path));
  });
}

/** Whether a file contains the name of a format of this program. */
function namesFormat(path: string): boolean {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return false;
  const bytes = readWhole(path, maxEditableBytes);
  return bytes !== undefined && ['"petstore-keys"', '"petstore-usage"'].some((format) => bytes.includes(format));
}
