/** Progress on stderr: one line that changes on a terminal; elsewhere a line for each new step. */

const live = process.stderr.isTTY === true;
let shown = '';

/** Shows `what` is being done; `detail` only on a terminal. */
export function progress(what: string, detail = ''): void {
  if (live) process.stderr.write(`\r\u001b[K  ${what}${detail === '' ? '' : `: ${detail}`}`);
  else if (what !== shown) process.stderr.write(`  ${what}\n`);
  shown = what;
}

/** Clears the line before something else is printed. */
export function endProgress(): void {
  if (live && shown !== '') process.stderr.write('\r\u001b[K');
}
