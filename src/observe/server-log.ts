import { counted } from '../domain/counted.ts';
import type { Log } from './log.ts';
import { accessLine, eventLine, type Access, type LogFormat } from './line.ts';
import { LineBuffer, type Sink } from './line-buffer.ts';

/** About the memory of an access without its strings. */
const accessBytes = 200;

/** The log of the server: its events, and with the access log its requests, in one order. */
export class ServerLog {
  readonly #format: LogFormat;
  readonly #lines: LineBuffer<string | Access>;
  readonly #now: () => number;
  readonly #start: string;

  /** `start` is what each line begins with. */
  constructor(sink: Sink, format: LogFormat, start: string, now: () => number) {
    this.#format = format;
    this.#now = now;
    this.#start = start;
    this.#lines = new LineBuffer(sink, {
      lineOf: (item) => this.#start + (typeof item === 'string' ? item : accessLine(format, item)),
      droppedLine: (count) => {
        const lines = counted(count, 'line of this log is', 'lines of this log are');
        const message = `${lines} missing here, because its reader was too slow`;
        return this.#start + eventLine(format, now(), 'warn', message, { lines: count });
      },
    });
  }

  /** How many lines were dropped because the reader was too slow. */
  get dropped(): number {
    return this.#lines.dropped;
  }

  /** Logs an event. */
  readonly event: Log = (message, level = 'info', fields) => {
    const line = eventLine(this.#format, this.#now(), level, message, fields);
    this.#lines.add(line, line.length, true);
  };

  /** Logs a request whose head had this length. */
  readonly access = (access: Access, headBytes: number): void => {
    this.#lines.add(access, accessBytes + headBytes, false); // a part of a string keeps all of it in memory
  };

  /** Resolves when all lines are written, or after `timeoutMs`: to whether that keeps `process.exit` waiting. */
  flushed(timeoutMs: number): Promise<boolean> {
    return this.#lines.flushed(timeoutMs);
  }

  /** Logs an error because of which the process ends now, and writes what can be written at once. */
  readonly last = (message: string): void => {
    this.#lines.writeLast(eventLine(this.#format, this.#now(), 'error', message));
  };
}
