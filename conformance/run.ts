/** `npm run conformance`: runs the checks, prints progress and results, and writes reports. */
import { randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { surviveLostOutput } from '../harness/output.ts';
import { abortOnSignals } from '../harness/owner.ts';
import { NotStarted } from '../harness/program.ts';
import { estimateOf, runChecks } from './checks/suite.ts';
import { systemClock } from './client/clock.ts';
import { redactor } from './client/credentials.ts';
import { targetText } from './client/obstacles.ts';
import { openSession } from './open-session.ts';
import { caseSetsOf, combinedBy } from './model/plan.ts';
import { help, readOptions, secretsIn, UsageError, withFlag, type Options } from './options.ts';
import { buildReport } from './report/build.ts';
import { comparisonText, readReport } from './report/compare.ts';
import { makeWritable } from './report/folder.ts';
import { annotation, annotations, jobSummary, untestedSummary } from './report/github.ts';
import { reportHtml } from './report/html.ts';
import { reportJunit } from './report/junit.ts';
import type { Report } from './report/report.ts';
import { paint, resultLine, summaryText } from './report/terminal.ts';
import { combinedLines, count, duration } from './report/words.ts';
import { requirements, type RequirementId } from './requirements/requirements.ts';
import type { CostOptions } from './session/cost.ts';
import { Untestable, type Session } from './session/session.ts';

/** A signal has ended the run. */
class Interrupted extends Untestable {
  readonly exitCode: number;

  constructor(signal: NodeJS.Signals, exitCode: number) {
    super(`interrupted by ${signal}`);
    this.exitCode = exitCode;
  }
}

const interruption = abortOnSignals((...args) => new Interrupted(...args));

/**
 * Waits, and prints the reason.
 *
 * @throws Interrupted
 */
async function wait(ms: number, reason = ''): Promise<void> {
  if (ms > 2_000) process.stderr.write(`  waiting ${Math.ceil(ms / 1000)} s: ${reason}\n`);
  await setTimeout(ms, undefined, { signal: interruption }).catch(() => interruption.throwIfAborted());
}

/** The text of --list. */
function listText({ list, ...options }: CostOptions & { readonly list: readonly RequirementId[] }): string {
  const width = Math.max(...list.map((id) => id.length));
  const listed = requirements.filter(({ id }) => list.includes(id));
  const lines = listed.map(({ id, section, text, untested }) => {
    const note = untested === undefined ? '' : ` (Not tested: ${untested}.)`;
    return `${id.padEnd(width)}  ${`§${section}`.padEnd(4)}  ${text}${note}`;
  });
  if (list.length < requirements.length) return `${lines.join('\n')}\n`;
  const caseSets = caseSetsOf(options);
  const combined = combinedBy(caseSets, new Set(caseSets.flatMap(({ cases }) => cases)));
  return [...lines, '', 'What a run combines:', ...combined.flatMap(combinedLines), ''].join('\n');
}

/** What the run will do. */
function prefaceText(session: Session): string {
  const { options, client, clock } = session;
  const target = `${targetText(options)}, seed ${options.seed}`;
  const { withKey, withoutKey, all, creates, seconds } = estimateOf(session);
  const requests = `At most ${count(all, 'request')}, of which at most ${withoutKey} without a valid key`;
  const animals = session.mayWrite
    ? `It creates at most ${count(creates, 'animal')}, which remain: there is no operation to delete them.`
    : 'It creates nothing.';
  const day = client.pacers.main.longWindow(clock.now());
  const lines = [target, `${requests}, in about ${duration(seconds)}. ${animals}`];
  if (day !== undefined && day.remaining < withKey)
    lines.push(
      `The key has only ${count(day.remaining, 'request')} left for the next ${count(day.minutes, 'minute')}.`,
      'Checks beyond them are skipped.',
    );
  return `${lines.join('\n')}\n`;
}

function writeReports(folder: string, report: Report): void {
  writeFileSync(join(folder, 'report.html'), reportHtml(report));
  writeFileSync(join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(join(folder, 'junit.xml'), reportJunit(report));
}

let isOnGithub = (process.env['GITHUB_ACTIONS'] ?? '') !== '';
/** The line that makes the runner of GitHub Actions execute workflow commands on stdout again. */
let resume: string | undefined;

/** Makes the runner ignore workflow commands in the output, because it contains text from the server. */
function stopGithubCommands(): void {
  if (!isOnGithub) return;
  const token = randomUUID();
  console.log(`::stop-commands::${token}`);
  resume = `::${token}::`;
}

/** On GitHub Actions: shows annotations and a job summary, once. */
function tellGithub(lines: readonly string[], summary: string): void {
  if (!isOnGithub) return;
  isOnGithub = false;
  console.log([resume ?? [], ...lines].flat().join('\n'));
  const file = process.env['GITHUB_STEP_SUMMARY'] ?? '';
  try {
    if (file !== '') appendFileSync(file, summary);
  } catch (error) {
    process.stderr.write(`conformance: GITHUB_STEP_SUMMARY: ${(error as Error).message}\n`);
  }
}

/** @returns the exit code */
async function main(options: Options): Promise<number> {
  stopGithubCommands();
  const { report: folder, compare: earlierFile } = options;
  const earlier =
    earlierFile && withFlag(`--compare ${earlierFile}:`, () => readReport(readFileSync(earlierFile, 'utf8')));
  if (folder !== undefined) withFlag(`--report ${folder}:`, () => makeWritable(folder));
  const { session, close } = await openSession(options, { ...systemClock, sleep: wait });
  interrupt = (reason) => session.interrupt(reason);
  try {
    console.log(prefaceText(session));
    await runChecks(session, {
      group: (title) => console.log(paint('bold', title)),
      result: (result) => console.log(resultLine(result, paint)),
    });
  } finally {
    interrupt = () => {}; // the checks have ended, and the report follows
    await close();
  }
  const report = buildReport(session);
  console.log(`\n${summaryText(report, paint)}`);
  if (earlier) console.log(`\n${comparisonText(earlier, report)}`);
  tellGithub(annotations(report), jobSummary(report));
  if (folder !== undefined) {
    withFlag(`--report ${folder}:`, () => writeReports(folder, report));
    console.log(`\nReports: ${join(folder, 'report.html')}, report.json, junit.xml`);
  }
  if (session.lost !== undefined) throw session.lost;
  if (report.aborted !== undefined && report.totals.failed === 0)
    throw new Untestable(`not tested to the end: ${report.aborted}`);
  return report.conforms ? 0 : 1;
}

/** Ends the run with one line, or with the stack of an error in the kit. */
function fail(error: unknown): never {
  const expected = error instanceof UsageError || error instanceof Untestable || error instanceof NotStarted;
  const text = expected ? error.message : `error in the kit: ${(error as Error).stack}`;
  // A key may be given where something else belongs.
  const message = redactor(secretsIn(process.argv.slice(2), process.env))(text);
  process.stderr.write(`conformance: ${message}\n`);
  tellGithub([annotation('error', { title: 'Conformance' }, message)], untestedSummary(message));
  process.exit(error instanceof Interrupted ? error.exitCode : 2);
}

/** Ends the run after a signal. Until there is a session, it exits, which also stops this project's own server. */
let interrupt: (reason: Interrupted) => void = fail;
interruption.addEventListener('abort', () => interrupt(interruption.reason as Interrupted));
surviveLostOutput('conformance');
process.on('uncaughtException', fail); // Node would exit with 1, the code for a failed requirement
try {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === 'help') process.stdout.write(help);
  else if ('list' in options) process.stdout.write(listText(options));
  else process.exit(await main(options));
} catch (error) {
  fail(error);
}
