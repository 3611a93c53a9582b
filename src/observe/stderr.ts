import { write, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Sink } from './line-buffer.ts';

const stderrFd = 2;

/**
 * Returns stderr as a sink that never waits. Node writes to a pipe or a socket without waiting, but to a file and a
 * terminal it would wait: for a disk that hangs, or for a user who has stopped the output. `encoding` is that of what
 * is written: `latin1`, if it is ASCII, is faster.
 */
export function stderrSink(encoding: 'utf8' | 'latin1'): Sink {
  const { stderr } = process;
  const isStream = stderr instanceof Socket && !stderr.isTTY;
  return {
    blocksExit: !isStream,
    write(text, done) {
      if (isStream) writeToStream(text, encoding, done);
      else writeToFile(Buffer.from(text, encoding), done);
    },
    writeLast(text, isLate) {
      const start = isLate && isStream ? '\n' : ''; // the write under way may have ended within a line
      try {
        writeSync(stderrFd, Buffer.from(start + text, encoding));
      } catch {
        // The reader is slow or gone.
      }
    },
  };
}

function writeToStream(text: string, encoding: BufferEncoding, done: () => void): void {
  const { stderr } = process;
  let isDone = false;
  const doneOnce = (): void => {
    if (!isDone) done();
    isDone = true;
  };
  stderr.write(text, encoding, doneOnce); // is also called after an error, if the reader has closed it
  if (stderr.writableLength === 0) doneOnce(); // the kernel has taken all of it
}

function writeToFile(bytes: Buffer, done: () => void): void {
  const next = (start: number): void => {
    write(stderrFd, bytes, start, bytes.length - start, null, (error, written) => {
      if (error !== null || start + written === bytes.length) done();
      else next(start + written);
    });
  };
  next(0);
}
