import { write, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Sink } from './line-buffer.ts';

const stderrFd = 2;

/**
 * Returns stderr as a sink that never waits. Node writes to a pipe or a socket without waiting, but to a file and a
 * terminal it would wait: for a disk that hangs, or for a user who has stopped the output.
 */
export function stderrSink(): Sink {
  const { stderr } = process;
  const isStream = stderr instanceof Socket && !stderr.isTTY;
  return { write: isStream ? writeToStream : writeToFile, writeLast };
}

function writeToStream(text: string, done: () => void): void {
  const { stderr } = process;
  let isDone = false;
  const doneOnce = (): void => {
    if (!isDone) done();
    isDone = true;
  };
  stderr.write(text, doneOnce); // an error, for example because the reader has closed it, is reported to the callback
  if (stderr.writableLength === 0) doneOnce(); // the kernel has taken all of it
}

function writeToFile(text: string, done: () => void): void {
  const bytes = Buffer.from(text);
  const next = (start: number): void => {
    write(stderrFd, bytes, start, bytes.length - start, null, (error, written) => {
      if (error !== null || start + written === bytes.length) done();
      else next(start + written);
    });
  };
  next(0);
}

function writeLast(text: string): void {
  try {
    writeSync(stderrFd, text);
  } catch {
    // The reader is slow or gone.
  }
}
