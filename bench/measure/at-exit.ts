/** Clean-up of child processes and temporary folders, however this process ends. */
const tasks = new Set<() => void>();

process.once('exit', () => {
  // In reverse order: a server is killed before the folder that it writes to is removed.
  for (const task of [...tasks].reverse()) task();
});

/**
 * Runs `task` when this process exits.
 *
 * @returns a function that cancels it
 */
export function atExit(task: () => void): () => void {
  tasks.add(task);
  return () => tasks.delete(task);
}

/**
 * Makes SIGINT, SIGTERM and SIGHUP exit with 128 and the signal's number, so that the tasks of `atExit` run. A Ctrl-C
 * can arrive twice, from the terminal and from npm: the handlers stay installed, so that the second one does not
 * interrupt the tasks.
 */
export function exitOnSignals(): void {
  for (const [signal, number] of [['SIGINT', 2], ['SIGTERM', 15], ['SIGHUP', 1]] as const) {
    process.on(signal, () => process.exit(128 + number));
  }
}
