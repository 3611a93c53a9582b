/** Output streams that fail before a run has ended. */

/**
 * Lets this process continue if its stdout or stderr is closed, as by `| head`, or is full, so that a run still writes
 * its reports and determines its exit code. If stdout is full, `process.exitCode` is set to 2, for a program that only
 * prints a text and does not call `process.exit`.
 *
 * @param name the name of the program, for the line on stderr
 */
export function surviveLostOutput(name: string): void {
  let isReported = false;
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (isReported || code === 'EPIPE') return;
    isReported = true;
    process.exitCode = 2;
    process.stderr.write(`${name}: stdout: ${message}\n`);
  });
  process.stderr.on('error', () => {});
}
