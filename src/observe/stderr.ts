import { write, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Sink } from './line-buffer.ts';

const stderrFd = 2;
const lineFeed = 0x0a;

/**
 * Returns stderr as a sink that never waits. Node writes to a pipe or a socket without waiting, but to a file and a
 * terminal it would wait: for a disk that hangs, or for a user who has stopped the output. `encoding` is that of what
 * is written: `latin1`, if it is ASCII, is faster.
 */
export function stderrSink(encoding: 'utf8' | 'latin1'): Sink {
  const { stderr } = process;
  const isStream = stderr instanceof Socket && !stderr.isTTY;
  let isTorn = false; // whether the last write has ended within a line, on a full disk
  return {
    blocksExit: !isStream,
    write(text, done) {
      if (isStream) return writeToStream(text, encoding, done);
      const start = isTorn ? 1 : 0;
      const bytes = Buffer.from(isTorn ? `\n${text}` : text, encoding);
      writeToFile(bytes, (written) => {
        if (written > 0) isTorn = bytes[written - 1] !== lineFeed;
        done(linesIn(bytes.subarray(Math.max(start, written))));
      });
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

function writeToStream(text: string, encoding: BufferEncoding, done: (lostLines: number) => void): void {
  const { stderr } = process;
  let isDone = false;
  const doneOnce = (lostLines: number): void => {
    if (!isDone) done(lostLines);
    isDone = true;
  };
  // There is an error if the reader has closed it.
  stderr.write(text, encoding, (error) => doneOnce(error == null ? 0 : linesIn(Buffer.from(text, encoding))));
  if (stderr.writableLength === 0 && stderr.errored === null) doneOnce(0); // the kernel has taken all of it
}

/** Calls `done` with how many bytes were written: all, or those before an error. */
function writeToFile(bytes: Buffer, done: (written: number) => void): void {
  const next = (start: number): void => {
    write(stderrFd, bytes, start, bytes.length - start, null, (error, written) => {
      if (error !== null || start + written === bytes.length) done(error === null ? bytes.length : start);
      else next(start + written);
    });
  };
  next(0);
}

function linesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(lineFeed); at >= 0; at = bytes.indexOf(lineFeed, at + 1)) count++;
  return count;
}
