/** `npm run bench:growth`: what it costs to hold many animals, with a face, a chart, and an exit code. */
import { runCommand } from './command.ts';
import { help, readOptions } from './growth/options.ts';
import { measure } from './growth/measure.ts';
import { chartOf, textOf, type GrowthResults } from './growth/report.ts';
import { endProgress, progress } from './measure/progress.ts';
import { machine, resultsFolder, writeResults } from './results.ts';

await runCommand('bench:growth', async () => {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') return void process.stdout.write(help);
  const folder = resultsFolder();
  const about = machine(); // before this process is kept to some of its cores
  const results: GrowthResults = { format: 1, bench: 'growth', machine: about, ...(await measure(options, progress)) };
  endProgress();
  console.log(textOf(results));
  console.log(`\nResults: ${writeResults(folder, 'growth', results, chartOf(results)).join(', ')}`);
});
