/** `npm run conformance`: the checks of suite.ts with a face, reports, and an exit code. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSession, type OpenSession } from './open-session.ts';
import { systemClock } from './client/clock.ts';
import { help, readOptions, UsageError, type Options } from './options.ts';
import { buildReport } from './report/build.ts';
import { compare, comparisonText, readReport } from './report/compare.ts';
import { makeFolder } from './report/folder.ts';
import { reportHtml } from './report/html.ts';
import { reportJunit } from './report/junit.ts';
import type { Report } from './report/report.ts';
import { resultLine, sectionLine, summaryText } from './report/terminal.ts';
import { count, duration } from './report/words.ts';
import { requirements } from './requirements/requirements.ts';
import { Untestable, type Session } from './session/session.ts';
import { estimateOf, runChecks } from './suite.ts';

const colour = process.stdout.isTTY === true && process.env['NO_COLOR'] === undefined;
const columns = process.stdout.columns ?? 120;

/** Waits are told, second by second where somebody watches. */
async function wait(ms: number, why: string): Promise<void> {
  const until = systemClock.now() + ms;
  const live = process.stderr.isTTY === true;
  if (!live && ms > 2_000) process.stderr.write(`  waiting ${Math.ceil(ms / 1000)} s: ${why}\n`);
  for (let left; (left = until - systemClock.now()) > 0;) {
    if (live && ms > 1_000) process.stderr.write(`\r\u001b[K  waiting ${Math.ceil(left / 1000)} s: ${why}`);
    await systemClock.sleep(Math.min(left, 1_000));
  }
  if (live && ms > 1_000) process.stderr.write('\r\u001b[K');
}

/** The requirements as a list that one can read. */
function listText(): string {
  const widest = Math.max(...requirements.map(({ id }) => id.length));
  const lines = requirements.map(({ id, section, profile, text, untested }) => {
    const where = (profile === 'spec' ? `§${section}` : section).padEnd(16);
    return `${id.padEnd(widest)}  ${profile.padEnd(9)}  ${where}  ${text}${untested === undefined ? '' : ` (Not tested: ${untested}.)`}`;
  });
  return `${lines.join('\n')}\n`;
}

/** What is going to happen. */
function prefaceText(session: Session): string {
  const { options } = session;
  const plan = estimateOf(session);
  const animals = session.mayWrite
    ? `It creates about ${count(plan.creates, 'animal')}, which stay: nothing deletes them.`
    : 'Nothing is created.';
  const day = session.client.pacer('main').longWindow(session.clock.now());
  const short = day !== undefined && day.remaining < plan.withKey;
  return [
    `${options.baseUrl}, profile ${options.profile}, seed ${options.seed}`,
    `At most ${count(plan.withKey, 'request')} with the key and ${plan.withoutKey} without a valid one, in about ${duration(plan.seconds)}. ${animals}`,
    ...(short
      ? [
          `The key has only ${count(day.remaining, 'request')} left for the next ${count(day.minutes, 'minute')}: what they do not reach is skipped.`,
        ]
      : []),
    '',
  ].join('\n');
}

function writeReports(folder: string, report: Report, earlier: Report | undefined): void {
  try {
    writeFileSync(join(folder, 'report.html'), reportHtml(report, earlier && compare(earlier, report)));
    writeFileSync(join(folder, 'report.json'), `${JSON.stringify(report, null, 2)}\n`);
    writeFileSync(join(folder, 'junit.xml'), reportJunit(report));
  } catch (error) {
    throw new UsageError(`--report ${folder}: ${(error as Error).message}`);
  }
}

function readEarlier(file: string): Report {
  try {
    return readReport(readFileSync(file, 'utf8'), file);
  } catch (error) {
    throw new UsageError(`--compare ${(error as Error).message}`);
  }
}

async function main(options: Options): Promise<number> {
  const earlier = options.compare === undefined ? undefined : readEarlier(options.compare);
  if (options.report !== undefined) makeFolder(options.report);
  const begun: OpenSession = await openSession(options, systemClock, wait);
  const { session } = begun;
  try {
    console.log(prefaceText(session));
    await runChecks(session, {
      group: (title) => console.log(sectionLine(title, { colour })),
      result: (result) => console.log(resultLine(result, { colour })),
    });
  } finally {
    await begun.end();
  }
  const report = buildReport(session);
  console.log(`\n${summaryText(report, { colour, columns })}`);
  if (earlier !== undefined) console.log(`\n${comparisonText(compare(earlier, report))}`);
  if (options.report !== undefined) {
    writeReports(options.report, report, earlier);
    console.log(`\nReports: ${join(options.report, 'report.html')}, report.json, junit.xml`);
  }
  if (session.lost !== undefined) throw session.lost;
  if (report.aborted !== undefined && report.totals.failed === 0)
    throw new Untestable(`not tested to the end: ${report.aborted}`);
  return report.conforms ? 0 : 1;
}

// Through `exit`, where this project's own server and its folder go. One Ctrl-C may come twice, from the terminal and from npm:
// the handler stays, or the second would kill this process meanwhile.
for (const [signal, number] of [
  ['SIGINT', 2],
  ['SIGTERM', 15],
  ['SIGHUP', 1],
] as const)
  process.on(signal, () => process.exit(128 + number));
try {
  const options = readOptions(process.argv.slice(2), process.env);
  if (options === 'help') process.stdout.write(help);
  else if (options === 'list') process.stdout.write(listText());
  else process.exit(await main(options));
} catch (error) {
  const expected = error instanceof UsageError || error instanceof Untestable;
  process.stderr.write(`conformance: ${expected ? error.message : `the kit itself failed: ${(error as Error).stack}`}\n`);
  process.exit(2);
}
