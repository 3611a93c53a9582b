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

/** Answers, once the body has been read. May throw ApiError, or reject with it. */
export type Finish = (body: Buffer) => Reply | Promise<Reply>;

/** One operation of the interface. */
export interface Operation {
  /** Whether it takes a JSON body; the body of any other is thrown away as it is received. */
  readonly takesJson: boolean;
  /** The headers of each of its responses, errors too: names and values in turn. */
  responseHeaders?(now: number): readonly string[];
  /**
   * Checks the parameters, and gives what answers once the body has been read.
   * Throws ApiError.
   */
  begin(call: Call): Finish;
}
