import { realpathSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const [groupOrOthersWrite, sticky] = [0o022, 0o1000];

/**
 * Returns a warning if other users can write to a folder, or replace it because they can write to a folder above it
 * that is not sticky; null if not, and if the folder cannot be examined. Only the mode bits are examined.
 */
export function permissionWarning(folder: string): string | null {
  try {
    for (const path of new Set([resolve(folder), realpathSync(folder)])) {
      for (let [at, below] = [path, '']; at !== below; [at, below] = [dirname(at), at]) {
        const { mode } = statSync(at);
        // In a sticky folder, others cannot replace what belongs to this user, but they can add files.
        if ((mode & groupOrOthersWrite) === 0 || ((mode & sticky) !== 0 && at !== path)) continue;
        const effect = at === path ? 'put a socket there that receives new keys' : `replace ${below}`;
        return `other users can write to ${at}, so they can ${effect}: run chmod go-w on it`;
      }
    }
  } catch {} // what uses the folder says why it cannot
  return null;
}
