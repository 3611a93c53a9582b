/** The standard output of a run, which may end before the run does. */

/**
 * Lets this process continue if its stdout or stderr closes, as after `| head`, or is full: a run still has reports to
 * write and an exit code. If its text is all that it has to give, the exit code is 2 unless somebody has closed stdout.
 *
 * @param name the name of the program, for the line on stderr
 */
export function surviveLostOutput(name: string): void {
  let isTold = false;
  process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (isTold || code === 'EPIPE') return;
    isTold = true;
    process.exitCode = 2;
    process.stderr.write(`${name}: stdout: ${message}\n`);
  });
  process.stderr.on('error', () => {});
}
