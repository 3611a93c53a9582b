/** `npm run bench:limits`: how a server behaves at its rate limits, with a face, a report, and an exit code. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../conformance/client/clock.ts';
import { redactor } from '../conformance/client/credentials.ts';
import { UsageError } from '../conformance/options.ts';
import { startOwnServer, type OwnServer } from '../conformance/own-server.ts';
import { NotStarted as ServerNotStarted } from '../harness/server.ts';
import { makeWritable } from '../conformance/report/folder.ts';
import { Interrupted } from './limits/bench.ts';
import { limitsHtml } from './limits/html.ts';
import { givenKeys, madeKeys, type Keys } from './limits/keys.ts';
import { help, readOptions, secretsIn, type Options } from './limits/options.ts';
import { Untestable } from './limits/plan.ts';
import { Progress } from './limits/progress.ts';
import type { LimitsReport } from './limits/report.ts';
import { Run } from './limits/run.ts';
import { prefaceText, resultLine, summaryText } from './limits/terminal.ts';
import { makeKey } from './measure/own-server.ts';
import { NotStarted } from './measure/program.ts';

const colour = process.stdout.isTTY === true && process.env['NO_COLOR'] === undefined;
const columns = process.stdout.columns ?? 120;

/** The first Ctrl-C ends the run and has its report written, the second ends everything at once. */
const interruption = new AbortController();
let interruptedAt = 0;
/** Within so much time it is the same one: the terminal sends it to all of its processes, and npm passes its own on. */
const sameMs = 1_000;

/** Takes the keys out of whatever is printed. */
let redact = (text: string): string => text;

const say = (text: string): void => console.log(redact(text));

function writeReports(folder: string, report: LimitsReport): void {
  try {
    writeFileSync(join(folder, 'limits.html'), limitsHtml(report));
    writeFileSync(join(folder, 'limits.json'), `${JSON.stringify(report, null, 2)}\n`);
  } catch (error) {
    throw new UsageError(`--report ${folder}: ${(error as Error).message}`);
  }
}

function makeReportFolder(folder: string): void {
  try {
    makeWritable(folder);
  } catch (error) {
    throw new UsageError(`--report ${folder}: ${(error as Error).message}`);
  }
}

function keysOf(options: Options, own: OwnServer | undefined): Keys | Promise<Keys> {
  return own === undefined
    ? givenKeys(options.apiKey!, options.neighbourKey)
    : madeKeys(() => makeKey(own.folder, options.promised!));
}

async function main(options: Options): Promise<number> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  if (options.report !== undefined) makeReportFolder(options.report);
  const own = options.baseUrl === undefined ? await startOwnServer() : undefined;
  const progress = new Progress(process.stderr);
  let run: Run | undefined;
  try {
    const keys = await keysOf(options, own);
    redact = (text) => keys.redact(text);
    const { promised, connections, duration, rate, untilBan, names } = options;
    const settings = { ...(promised !== undefined && { promised }), connections, duration, rate, untilBan };
    const target = own?.baseUrl ?? options.baseUrl!;
    const about = {
      bench: { name: 'petstore-bench-limits', version, node: process.version },
      ownServer: own !== undefined,
    } as const;
    run = new Run({ baseUrl: target, keys, settings, names, clock: systemClock, signal: interruption.signal, watcher: progress });
    say(`One request to ${target}, to see where the key stands.`);
    const plan = await run.open();
    say(prefaceText(plan, { target, ownServer: about.ownServer, settings }));
    await run.run((result) => {
      progress.clear();
      say(resultLine(result, { colour }));
    });
    progress.end();
    const report = run.report(about);
    say(`\n${summaryText(report, { colour, columns })}`);
    if (options.report !== undefined) {
      writeReports(options.report, report);
      say(`\nReports: ${join(options.report, 'limits.html')}, limits.json`);
    }
    return report.exitCode;
  } finally {
    progress.end();
    await run?.close();
    await own?.stop();
  }
}

// Where nobody reads any more, as behind `| head`, nothing can be told: the end is quiet, and our own server goes with it.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => process.exit(2));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (!interruption.signal.aborted) {
      interruptedAt = performance.now();
      interruption.abort(new Interrupted('it was interrupted'));
    } else if (performance.now() - interruptedAt >= sameMs) {
      process.exit(130); // through `exit`, where this project's own server and its folder go
    }
  });
}
try {
  // Also what is wrong with the flags is told without the keys among them.
  redact = redactor(secretsIn(process.argv.slice(2), process.env));
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === 'help') process.stdout.write(help);
  else process.exit(await main(options));
} catch (caught) {
  // Ctrl-C ends our own server and its command, too: what fails then is no news.
  const error: unknown = interruption.signal.aborted ? interruption.signal.reason : caught;
  const expected = [UsageError, Untestable, Interrupted, NotStarted, ServerNotStarted].some((kind) => error instanceof kind);
  process.stderr.write(
    redact(`bench:limits: ${expected ? (error as Error).message : `the bench itself failed: ${(error as Error).stack}`}\n`),
  );
  process.exit(2);
}
