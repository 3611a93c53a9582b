/** `petstore export`: writes the file for either engine, and reads the records of a data folder. */
import { unsyncedReason } from '../../files/errors.ts';
import { UsageFile } from '../accounts/usage-file.ts';
import { ByteBuffer, OutputFile } from '../files/output.ts';
import { refuseIncomplete } from '../files/incomplete.ts';
import { requireFolder } from '../lock/use-folder.ts';
import { orderLines, readAnimals } from './contents.ts';
import type { Progress } from '../../program/progress.ts';

/** What file an export writes. */
export interface OutputOptions {
  /** One value on each line, or a JSON array. */
  readonly format: 'ndjson' | 'json';
  /** The file to write; null for stdout. */
  readonly path: string | null;
  /** Whether the file is replaced if it exists. */
  readonly force: boolean;
}

/** What to export from a data folder, and how. */
export interface ExportOptions extends OutputOptions {
  readonly folder: string;
  readonly what: 'animals' | 'orders';
  readonly log: (line: string) => void;
  readonly progress: Progress;
}

/** Passes on the line of each record, from `start` to `end` of `bytes`, in ascending order of the ids. */
export type ReadRecords = (add: (bytes: Uint8Array, start?: number, end?: number) => void) => Promise<void>;

/** How many records were exported. */
export interface Exported {
  readonly count: number;
  /** Why a power cut may undo the replacement of the file; null if it is on disk, and for stdout. */
  readonly unsynced: string | null;
}

/** Exports the records of a data folder. Rejects with OperatorError. A file is complete or unchanged. */
export function exportRecords({ folder, what, log, progress, ...output }: ExportOptions): Promise<Exported> {
  return writeExport(output, async (add) => {
    requireFolder(folder);
    refuseIncomplete(folder);
    if (what === 'orders') {
      for (const line of orderLines(folder)) add(Buffer.from(line));
      return;
    }
    const { durable } = new UsageFile(folder, Date.now, log).recorded;
    const pets = { append: (bytes: Uint8Array, _: string, start?: number, end?: number) => add(bytes, start, end) };
    await readAnimals(folder, durable, pets, log, progress);
  });
}

/** Exports the records that `read` passes on. Rejects with OperatorError, or as `read` does. */
export async function writeExport({ format, path, force }: OutputOptions, read: ReadRecords): Promise<Exported> {
  const file = path === null ? null : new OutputFile(path, force);
  // Writes to stdout are synchronous (Node's documentation of process I/O), so nothing piles up in memory.
  const buffer = new ByteBuffer((bytes) => {
    if (file === null) process.stdout.write(Buffer.from(bytes));
    else file.write(bytes);
  });
  const [begin, between, end] = format === 'json' ? ['[\n', ',\n', '\n]\n'] : ['', '\n', '\n'];
  const separator = Buffer.from(between);
  let count = 0;
  try {
    await read((bytes, start, end) => {
      buffer.append(count++ === 0 ? Buffer.from(begin) : separator);
      buffer.append(bytes, start, end);
    });
    if (count > 0) buffer.append(Buffer.from(end));
    else if (format === 'json') buffer.append(Buffer.from('[]\n'));
    buffer.flush();
    return { count, unsynced: file === null ? null : await unsyncedReason(file.commit()) };
  } catch (error) {
    file?.discard();
    throw error;
  }
}
