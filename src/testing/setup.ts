/**
 * Loaded before each test file. Sets the seed of property-based tests: FC_SEED, or a fixed one. Unless TMPDIR says
 * otherwise, temporary folders are in memory, if it has room: many tests sync files, and none depends on the disk. The
 * slow tests use the disk, because they need more room, and execute files there.
 */
import { existsSync, statfsSync } from 'node:fs';

process.env['FC_SEED'] ??= '20261121';

const memory = '/dev/shm';
const neededBytes = 2 ** 30;
const isSlow = process.argv[1]?.endsWith('.slow.test.js') ?? false;
if (process.env['TMPDIR'] === undefined && !isSlow && existsSync(memory)) {
  const { bavail, bsize } = statfsSync(memory);
  if (bavail * bsize > neededBytes) process.env['TMPDIR'] = memory;
}
