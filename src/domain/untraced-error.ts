/**
 * An error without a stack trace. It suits errors that are no bugs and can be frequent: making a trace takes as long as
 * a whole request.
 */
export class UntracedError extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}
