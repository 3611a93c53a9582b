import type { IncomingHttpHeaders } from 'node:http';
import type { Reply } from '../http/reply.ts';

/** The parameters of a request, without the body. */
export interface Call {
  /** The decoded path parameter: the text in place of `{petId}`. */
  readonly parameter: string;
  /** The query as it was sent, without the `?`; its percent-escapes are valid. */
  readonly query: string;
  /** By their names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** When the request is handled, in milliseconds since the epoch. */
  readonly now: number;
}

/** Responds to a request with this body. May throw ApiError, or reject with it. */
export type Finish = (body: Buffer) => Reply | Promise<Reply>;

/** One operation of the API. */
export interface Operation {
  /** Its name in metrics: the `operationId` of openapi.json if it has one. */
  readonly name: string;
  /** Whether the operation takes a JSON body. If not, a body is discarded. */
  readonly takesJson: boolean;
  /** The headers of each of its responses, error responses included: names and values in turn. */
  responseHeaders?(now: number): readonly string[];
  /**
   * Checks the parameters. Returns a function that responds, to be called when the body has been read.
   * Throws ApiError.
   */
  begin(call: Call): Finish;
}
