// Loaded into a measured process by --import: tells whoever started it, over Node's own channel, what the process has used.
import { openSync, readSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const delay = monitorEventLoopDelay({ resolution: 1 });

/** The main thread's account of Linux: nanoseconds on a core, and waiting for one that another thread has. */
let account;
try {
  account = openSync('/proc/self/schedstat');
} catch {
  // another system
}
const text = Buffer.alloc(100);
/** How long this thread has waited for a core since it began, in milliseconds; NaN where that is not known. */
const waited = () => (account === undefined ? NaN : Number(text.latin1Slice(0, readSync(account, text, 0, text.length, 0)).split(' ')[1]) / 1e6);

let ownStall = NaN;
let ticking;
/** As `delay`, but without the time in which this thread wanted to run, and another had the core. */
function watchOwnStall() {
  clearInterval(ticking);
  ownStall = waited() * 0;
  let last = performance.now();
  let waitedBefore = waited();
  ticking = setInterval(() => {
    const now = performance.now();
    const waitedNow = waited();
    ownStall = Math.max(ownStall, now - last - (waitedNow - waitedBefore));
    last = now;
    waitedBefore = waitedNow;
  }, 1).unref();
}

process.on('message', (question) => {
  if (question === 'watch') {
    delay.reset();
    delay.enable();
    watchOwnStall();
  }
  const { user, system } = process.cpuUsage();
  process.send({ user, system, resident: process.memoryUsage.rss(), stall: delay.max / 1e6, ownStall });
});
process.once('disconnect', () => process.exit()); // nobody is left to stop it
process.channel.unref();
