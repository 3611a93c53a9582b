/**
 * Signals that arrive while the modules of the server are loaded, which takes about half a second on a slow machine.
 * Without a handler, SIGHUP would end a server with TLS, and the first process of a container would ignore SIGTERM.
 */
let hasHungUp = false;
const handlers = {
  // Nothing has been opened yet.
  SIGTERM: (): void => process.exit(0),
  SIGINT: (): void => process.exit(0),
  // Only the configuration says what it means.
  SIGHUP: (): void => {
    hasHungUp = true;
  },
};
type Early = keyof typeof handlers;
const names = Object.keys(handlers) as Early[];

/** To be called before the modules of the server are loaded. */
export function catchEarlySignals(): void {
  for (const name of names) process.on(name, handlers[name]);
}

/** To be called when the server handles the signals itself: it then receives a SIGHUP that has arrived before. */
export function handOverSignals(): void {
  for (const name of names) process.off(name, handlers[name]);
  if (hasHungUp) process.emit('SIGHUP', 'SIGHUP');
}
