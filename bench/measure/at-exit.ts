/** What must not outlive this process, however it ends: servers, temporary folders. */
const tasks = new Set<() => void>();

process.once('exit', () => {
  // The last made goes first: a server before the folder that it writes to.
  for (const task of [...tasks].reverse()) task();
});

/** Runs `task` when this process ends. Gives what takes that back. */
export function atExit(task: () => void): () => void {
  tasks.add(task);
  return () => tasks.delete(task);
}

/**
 * Ends this process on a signal as on any other exit, so that the tasks are run: with 128 and the signal's number. One Ctrl-C may
 * come twice, from the terminal and from npm: the handler stays, or the second would kill the process in the middle of its tasks.
 */
export function exitOnSignals(): void {
  for (const [signal, number] of [['SIGINT', 2], ['SIGTERM', 15], ['SIGHUP', 1]] as const) {
    process.on(signal, () => process.exit(128 + number));
  }
}
