/** `petstore export`. */
import { unsyncedReason } from '../../files/errors.ts';
import { UsageFile } from '../accounts/usage-file.ts';
import { ByteBuffer, OutputFile } from '../files/output.ts';
import { requireFolder } from '../lock/use-folder.ts';
import { orderLines, readAnimals, type PetSink } from './contents.ts';
import type { Progress } from '../../program/progress.ts';

/** What to export, and how. */
export interface ExportOptions {
  readonly folder: string;
  readonly what: 'animals' | 'orders';
  /** One value on each line, or a JSON array. */
  readonly format: 'ndjson' | 'json';
  /** The file to write; null for stdout. */
  readonly path: string | null;
  /** Whether the file is replaced if it exists. */
  readonly force: boolean;
  readonly log: (line: string) => void;
  readonly progress: Progress;
}

/** How many records were exported. */
export interface Exported {
  readonly count: number;
  /** Why a power cut may undo the replacement of the file; null if it is on disk, and for stdout. */
  readonly unsynced: string | null;
}

/** Exports in ascending order of the ids. Rejects with OperatorError. A file is complete or unchanged. */
export async function exportRecords(options: ExportOptions): Promise<Exported> {
  const { folder, what, format, path, force, log, progress } = options;
  requireFolder(folder);
  const file = path === null ? null : new OutputFile(path, force);
  // Writes to stdout are synchronous (Node's documentation of process I/O), so nothing piles up in memory.
  const buffer = new ByteBuffer((bytes) => {
    if (file === null) process.stdout.write(Buffer.from(bytes));
    else file.write(bytes);
  });
  const [begin, between, end] = format === 'json' ? ['[\n', ',\n', '\n]\n'] : ['', '\n', '\n'];
  const separator = Buffer.from(between);
  let count = 0;
  const add: PetSink['append'] = (bytes, _status, start, end) => {
    buffer.append(count++ === 0 ? Buffer.from(begin) : separator);
    buffer.append(bytes, start, end);
  };
  try {
    if (what === 'orders') for (const line of orderLines(folder)) add(Buffer.from(line), '');
    else {
      const { durable } = new UsageFile(folder, Date.now, log).recorded;
      await readAnimals(folder, durable, { append: add }, log, progress);
    }
    if (count > 0) buffer.append(Buffer.from(end));
    else if (format === 'json') buffer.append(Buffer.from('[]\n'));
    buffer.flush();
    return { count, unsynced: file === null ? null : await unsyncedReason(file.commit()) };
  } catch (error) {
    file?.discard();
    throw error;
  }
}
