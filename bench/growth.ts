/** `npm run bench:growth`: what it costs to hold many animals, with a face, a chart, and an exit code. */
import { help, readOptions } from './growth/options.ts';
import { measure } from './growth/measure.ts';
import { chartOf, textOf } from './growth/report.ts';
import { exitOnSignals } from './measure/at-exit.ts';
import { machine, resultsFolder, writeResults } from './results.ts';

exitOnSignals();
try {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(help);
  else {
    const folder = resultsFolder();
    const about = machine(); // before this process is kept to some of its cores
    const results = { machine: about, ...(await measure(options, (doing) => process.stderr.write(`  ${doing}\n`))) };
    console.log(textOf(results));
    console.log(`\nResults: ${writeResults(folder, 'growth', results, chartOf(results)).join(', ')}`);
  }
} catch (error) {
  process.stderr.write(`bench:growth: ${(error as Error).message}\n`);
  process.exit(2);
}
