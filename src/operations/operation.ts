import type { Reply } from '../http/reply.ts';

/** What an operation is called with: everything but the body. */
export interface Call {
  /** The path's parameter, percent-decoded: the text in place of `{petId}`. */
  readonly parameter: string;
  /** The query as it was sent, without the `?`; its percent-escapes are sound. */
  readonly query: string;
  /** When its turn came, in milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Goes on with a value that is there, or with what a promise brings. Most answers are at hand, and to wait for a
 * promise costs as much as to make them.
 */
export function whenThere<T, R>(value: T | Promise<T>, next: (value: T) => R): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** Answers, once the body has been read. May throw ApiError, or reject with it. */
export type Finish = (body: Buffer) => Reply | Promise<Reply>;

/** One operation of the interface. */
export interface Operation {
  /** Whether it takes a JSON body; the body of any other is read and thrown away. */
  readonly takesJson: boolean;
  /** The header lines of each of its answers, errors too, each with its CRLF. */
  answerHeaders?(now: number): string;
  /**
   * Checks the parameters, and gives what answers once the body has been read.
   * Throws ApiError.
   */
  begin(call: Call): Finish;
}
