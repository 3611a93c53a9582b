/** What is being measured, told on stderr while it is: one line that changes where somebody watches, else only what is new. */

const live = process.stderr.isTTY === true;
let told = '';

/** Tells `what`; `detail` only to who watches. */
export function progress(what: string, detail = ''): void {
  if (live) process.stderr.write(`\r\u001b[K  ${what}${detail === '' ? '' : `: ${detail}`}`);
  else if (what !== told) process.stderr.write(`  ${what}\n`);
  told = what;
}

/** Before anything else is printed. */
export function endProgress(): void {
  if (live && told !== '') process.stderr.write('\r\u001b[K');
}
