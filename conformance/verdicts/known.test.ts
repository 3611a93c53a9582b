/** The file of known deviations: what is valid, what it changes in a run, and when it is out of date. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { systemClock } from '../client/clock.ts';
import { annotations } from '../report/github.ts';
import { buildReport } from '../report/build.ts';
import type { SessionOptions } from '../session/session.ts';
import { smallServer } from '../testing/servers.ts';
import { run, session } from '../testing/sessions.ts';
import { isExpired, readKnown } from './known.ts';

test('a file has comments, empty lines, and lines with id, date and reason', () => {
  const lines = ['\ufeff# Agreed', '', '  create.null\t2027-03-31   PET-112: null  is dropped ', 'list.limit 2028-02-29 x'];
  assert.deepEqual(readKnown(lines.join('\r\n'), 'k.txt'), [
    { id: 'create.null', expires: '2027-03-31', reason: 'PET-112: null  is dropped', file: 'k.txt', line: 3 },
    { id: 'list.limit', expires: '2028-02-29', reason: 'x', file: 'k.txt', line: 4 },
  ]);
  assert.deepEqual(readKnown('', 'k.txt'), []);
});

test('an invalid line is named with its field and the rule, in one line', () => {
  const cases: readonly (readonly [line: string, message: string])[] = [
    ['create.nul 2027-03-31 x', 'the requirement must be an id that --list shows, not "create.nul"'],
    ['create. 2027-03-31 x', 'the requirement must be an id that --list shows, not "create."'],
    ['\u001b[2J 2027-03-31 x', 'the requirement must be an id that --list shows, not "\\u001b[2J"'],
    ['limits.ban 2027-03-31 x', 'the requirement must be one that the kit can judge, not limits.ban'],
    ['list.status 2027-03-31 x', 'the requirement must be listed once, but list.status is also in line 1'],
    ['create.null', 'the expiry must be a date such as 2027-03-31, not ""'],
    ['create.null PET-112', 'the expiry must be a date such as 2027-03-31, not "PET-112"'],
    ['create.null 2027-3-31 x', 'the expiry must be a date such as 2027-03-31, not "2027-3-31"'],
    ['create.null 2027-02-29 x', 'the expiry must be a date such as 2027-03-31, not "2027-02-29"'],
    ['create.null 2027-13-01 x', 'the expiry must be a date such as 2027-03-31, not "2027-13-01"'],
    ['create.null 2027-03-31 ', 'the reason must not be empty'],
    ['create.null 2027-03-31 \ufffd', 'the line must be UTF-8'],
  ];
  for (const [line, message] of cases)
    assert.throws(() => readKnown(`list.status 2027-03-31 x\n\n${line}`, 'k.txt'), { message: `line 3: ${message}` });
});

test('the expiry is the last day, in UTC', () => {
  const [known] = readKnown('create.null 2027-03-31 x', 'k.txt');
  assert.equal(isExpired(known!, Date.UTC(2027, 3, 1) - 1), false);
  assert.equal(isExpired(known!, Date.UTC(2027, 3, 1)), true);
});

describe('a run', { concurrency: 2 }, () => {
  /** The report of a run of a few checks, at a time, against a server on which GET /pets returns 201. */
  async function reportOf(t: TestContext, file: string, options: Partial<SessionOptions> = {}, date = '2026-11-26') {
    const shift = Date.parse(date) - systemClock.now();
    const clock = { ...systemClock, now: () => systemClock.now() + shift };
    const server = await smallServer(t, { mutant: 'list-201', clock });
    const only = ['list.answers', 'get.not-found'];
    const opened = session(server, { only, known: readKnown(file, 'k.txt'), ...options }, clock);
    await run(opened);
    return buildReport(opened);
  }
  const verdictOf = ({ requirements }: Awaited<ReturnType<typeof reportOf>>, id: string) =>
    requirements.find((result) => result.id === id)?.verdict;

  test('a known deviation is reported apart, and does not fail the run', async (t) => {
    const report = await reportOf(t, 'list.answers 2026-11-26 PET-1');
    assert.deepEqual([report.conforms, verdictOf(report, 'list.answers')], [true, 'known']);
    assert.deepEqual(report.totals, { passed: 1, failed: 0, known: 1, inconclusive: 0, skipped: 0 });
    assert.deepEqual(report.known.map(({ state }) => state), ['occurs']);
    assert.deepEqual(annotations(report), []);
    assert.ok(report.mode.includes('known k.txt'));
    const { reason, failures } = report.requirements.find(({ id }) => id === 'list.answers')!;
    assert.equal(reason, 'PET-1 (until 2026-11-26)');
    assert.equal(failures[0]!.received, '201');
  });

  test('another deviation still fails it', async (t) => {
    const report = await reportOf(t, 'create.null 2027-03-31 PET-1');
    assert.deepEqual([report.conforms, verdictOf(report, 'list.answers')], [false, 'failed']);
    assert.deepEqual(report.known.map(({ state }) => state), ['not judged']);
  });

  test('one that no longer occurs fails it', async (t) => {
    const report = await reportOf(t, 'list.answers 2027-03-31 PET-1\nget.not-found 2027-03-31 PET-2');
    assert.deepEqual([report.conforms, report.totals.failed], [false, 0]);
    assert.deepEqual(report.known.map(({ state }) => state), ['occurs', 'gone']);
  });

  test('one that has expired fails it, whether or not it occurs', async (t) => {
    const file = 'list.answers 2026-11-26 PET-1\ncreate.null 2026-11-26 PET-2\nget.not-found 2026-11-26 PET-3';
    const report = await reportOf(t, file, {}, '2026-11-27');
    assert.deepEqual([report.conforms, verdictOf(report, 'list.answers')], [false, 'failed']);
    assert.deepEqual(report.known.map(({ state }) => state), ['expired', 'expired', 'gone']);
  });

  test('one that was not judged does not', async (t) => {
    const file = 'list.answers 2027-03-31 PET-1\nget.not-found 2027-03-31 PET-2\ncreate.null 2027-03-31 PET-3';
    const only = ['list.answers', 'get.', 'create.null'];
    const report = await reportOf(t, file, { only, exclude: ['get.not-found'], write: false });
    assert.equal(report.conforms, true);
    assert.deepEqual(report.known.map(({ state }) => state), ['occurs', 'not judged', 'not judged']);
  });
});
