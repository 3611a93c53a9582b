/**
 * An error that a client has caused. It has no stack trace: nobody reads it, and making one takes as long as a whole
 * request.
 */
export class ClientError extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}
