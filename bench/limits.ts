/** `npm run bench:limits`: how a server behaves at its rate limits. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../conformance/client/clock.ts';
import { redactor } from '../conformance/client/credentials.ts';
import { targetText } from '../conformance/client/obstacles.ts';
import { secretsIn, UsageError, withFlag } from '../conformance/options.ts';
import { makeWritable } from '../conformance/report/folder.ts';
import { paint } from '../conformance/report/terminal.ts';
import { Untestable } from '../conformance/session/session.ts';
import { isBundle, version } from '../harness/bundle.ts';
import { surviveLostOutput } from '../harness/output.ts';
import { abortOnSignals, temporaryFolder, thisProcess } from '../harness/owner.ts';
import { NotStarted } from '../harness/program.ts';
import { makeKey, startServer } from '../harness/server.ts';
import { comparisonText, readEarlier } from './limits/compare.ts';
import { limitsHtml } from './limits/html.ts';
import { limitsJunit } from './limits/junit.ts';
import { givenKeys, madeKeys } from './limits/keys.ts';
import { help, readOptions, type Options } from './limits/options.ts';
import { Interrupted, Run } from './limits/run-scenarios.ts';
import type { LimitsReport } from './limits/report.ts';
import { prefaceText, resultText, verdictText } from './limits/terminal.ts';
import { endProgress, progress } from './measure/progress.ts';

const programName = isBundle ? 'petstore-limits' : 'bench:limits';

/** The first Ctrl-C ends the run and writes its report, a second one exits at once. */
const interruption = abortOnSignals((_, exitCode) => new Interrupted('it was interrupted', exitCode));

/** Replaces the keys in everything that is printed. */
let redact = redactor(secretsIn(process.argv.slice(2), process.env));
const print = (text: string): void => console.log(redact(text));

async function main(options: Options): Promise<number> {
  const { baseUrl, proxy, apiKey, keySource, neighbourKey, names, report: folder, compare, ...settings } = options;
  const earlier = compare && withFlag(`--compare ${compare}:`, () => readEarlier(readFileSync(compare, 'utf8')));
  if (folder !== undefined) withFlag(`--report ${folder}:`, () => makeWritable(folder));
  const ownFolder = baseUrl === undefined ? temporaryFolder(thisProcess) : undefined;
  const own = ownFolder === undefined ? undefined : await startServer(thisProcess, ownFolder, ['--demo']);
  try {
    const keys = ownFolder === undefined
      ? givenKeys(apiKey!, neighbourKey)
      : await madeKeys(() => makeKey(thisProcess, ownFolder, settings.plan!));
    redact = (text) => keys.redact(text);
    const target = baseUrl ?? `${own!.address}/v1`;
    const about = { baseUrl: target, proxy, keys, keySource, settings, names, clock: systemClock };
    const run = new Run({ ...about, signal: interruption, show: progress });
    print(`One request to ${targetText(about)}, to see what remains of the key.`);
    const ownServer = own !== undefined;
    const estimate = await run.open();
    print(prefaceText(estimate, { target, ownServer, settings }));
    await run.run(estimate, (result) => {
      endProgress();
      print(resultText(result, paint));
    });
    const report = run.report({ bench: { name: 'petstore-bench-limits', version, node: process.version }, ownServer });
    if (earlier) print(`${comparisonText(earlier, report)}\n`);
    print(verdictText(report, paint));
    if (folder !== undefined) {
      const files = { 'limits.html': limitsHtml, 'limits.json': limitsJson, 'limits-junit.xml': limitsJunit };
      for (const [name, textOf] of Object.entries(files))
        withFlag(`--report ${folder}:`, () => writeFileSync(join(folder, name), textOf(report)));
      print(`\nReports: ${join(folder, 'limits.html')}, limits.json, limits-junit.xml`);
    }
    return interruption.aborted ? (interruption.reason as Interrupted).exitCode : report.exitCode;
  } finally {
    endProgress();
    await own?.stop();
  }
}

const limitsJson = (report: LimitsReport) => `${JSON.stringify(report, null, 2)}\n`;

surviveLostOutput(programName);
try {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === 'help') process.stdout.write(help);
  else process.exit(await main(options));
} catch (caught) {
  // Ctrl-C also stops our own server and its command, so an error after it is a consequence of it.
  const error: unknown = interruption.aborted ? interruption.reason : caught;
  const expected = [UsageError, Untestable, Interrupted, NotStarted].some((kind) => error instanceof kind);
  const message = expected ? (error as Error).message : `the bench failed: ${(error as Error).stack}`;
  process.stderr.write(redact(`${programName}: ${message}\n`));
  process.exit(error instanceof Interrupted ? error.exitCode : 2);
}
