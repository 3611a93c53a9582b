// Loaded into a measured server by --import. For each line on stdin it prints the resources that the process has used.
// The line `watch` also restarts the measurement of the longest event loop delay. When stdin closes, the process
// exits, because the bench has ended.
import { monitorEventLoopDelay } from 'node:perf_hooks';

const delay = monitorEventLoopDelay({ resolution: 1 });

process.stdin.setEncoding('utf8').on('data', (line) => {
  if (line === 'watch\n') {
    delay.reset();
    delay.enable();
  }
  const { user, system } = process.cpuUsage();
  const usage = { user, system, resident: process.memoryUsage.rss(), stallMs: delay.max / 1e6 };
  process.stdout.write(`usage ${JSON.stringify(usage)}\n`);
});
process.stdin.once('end', () => process.exit());
process.stdin.unref();
