import { counted } from '../domain/counted.ts';
import type { Level, Log, LogFields } from './log.ts';

const minuteMs = 60_000;
const maxPerMinute = 10;

/** Logs the first ten events of a kind in a minute, and then how many more there were: clients can cause any number. */
export class EventQuota {
  readonly #log: Log;
  readonly #later: (ms: number, task: () => void) => void;
  /** How many events of each kind there were since its minute began. */
  readonly #counts = new Map<string, number>();

  /** `later` calls a function after a time. */
  constructor(log: Log, later = (ms: number, task: () => void): void => void setTimeout(task, ms).unref()) {
    this.#log = log;
    this.#later = later;
  }

  /** Logs an event, or counts it. There must be few kinds. */
  note(kind: string, level: Level, message: string, fields: LogFields): void {
    const count = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, count);
    if (count === 1) this.#later(minuteMs, () => this.#endMinute(kind));
    if (count <= maxPerMinute) this.#log(message, level, fields);
  }

  /** Logs how many more there were so far, because the process ends. */
  end(): void {
    for (const kind of this.#counts.keys()) this.#endMinute(kind);
  }

  #endMinute(kind: string): void {
    const more = (this.#counts.get(kind) ?? 0) - maxPerMinute;
    this.#counts.delete(kind);
    const responses = counted(more, 'more response');
    if (more > 0) this.#log(`${responses} with ${kind} within a minute`, 'warn', { code: kind, more });
  }
}
