/** The report in its forms. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fakeClock } from '../../conformance/testing/responses.ts';
import { malformed, rawCharacters } from '../../conformance/testing/wellformed.ts';
import { Interrupted } from './bench.ts';
import { limitsHtml } from './html.ts';
import { givenKeys } from './keys.ts';
import { bordersOf, secondsOf } from './log.ts';
import type { LimitsReport, ScenarioResult, Second } from './report.ts';
import { ServerClock } from './server-clock.ts';
import { prefaceText, resultLine, summaryText } from './terminal.ts';
import { about, answer, mainSecret, quietSecret, reportOf, runAgainst, silent } from './testing.ts';
import { timelineSvg } from './timeline.ts';

const emptyTags = ['meta', 'br'];
const hostile = `<script>alert("x")</script>&amp;'\u001b[2J\u0000\u202eevil\ud800`;

let report: LimitsReport;
before(async () => {
  report = await reportOf({ after }, { fault: 'limits-one-more' });
});

/** The report of a true run, with a ban, and with texts that would harm a reader. */
function harmful(): LimitsReport {
  const [first, ...rest] = report.scenarios;
  return {
    ...report,
    target: `http://127.0.0.1/${hostile}/v1`,
    scenarios: [{ ...first!, seen: hostile, reason: hostile, failures: [hostile], figures: { [hostile]: hostile } }, ...rest],
    timeline: { ...report.timeline, bans: [{ from: rest.at(-2)!.at, to: rest.at(-2)!.at + 300 }] },
  };
}

test('limits.html: well-formed, nothing from outside, no script, and harmless whatever it holds', () => {
  const page = limitsHtml(harmful());
  assert.equal(malformed(page, emptyTags), undefined);
  assert.deepEqual(rawCharacters(page), []);
  assert.match(page, /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'/);
  assert.doesNotMatch(page, /<script|<link|<img|<iframe|url\(|@import|\son[a-z]+=/);
  assert.deepEqual(
    [...page.matchAll(/(?:href|src)="([^#"]{1,26})/g)].map(([, to]) => to),
    ['data:image/svg+xml;base64,'],
  );
});

test('the time line: one SVG that stands for itself', () => {
  const svg = timelineSvg(report)!.text;
  assert.equal(malformed(svg), undefined);
  assert.match(svg, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" viewBox="0 0 \d+ \d+"/);
  assert.match(svg, /<title id="timeline-title">[\s\S]*<desc id="timeline-desc">exact from 0:00, failed: \d+ admitted/);
  assert.match(svg, /<rect class="t-ground" [^>]*fill="#ffffff"/);
  for (const name of ['exact', 'recovery', 'neighbour', 'refusal', 'strangers', 'boundary'])
    assert.match(svg, new RegExp(`[✓✗] ${name}<`));
  for (const text of ['admitted (2xx)', 'refused (429)', 'X-RateLimit-Remaining', 'window border (Reset)', 'requests a second'])
    assert.ok(svg.includes(text), text);
  assert.match(svg, /X-RateLimit-Reset \d+: 2026-11-21T12:01:00/);
  assert.doesNotMatch(svg, /style=|var\(|NaN|undefined|Infinity/);
  assert.match(timelineSvg(harmful())!.text, />ban</);
});

test('in a terminal: why there are answers without a latency', () => {
  const result = report.scenarios.find(({ name }) => name === 'exact')!;
  const { latency200, ...without } = result;
  const textOf = (scenario: ScenarioResult) => summaryText({ ...report, scenarios: [scenario] }, { colour: false, columns: 120 });
  assert.ok(latency200 !== undefined && result.latency429 !== undefined);
  assert.doesNotMatch(textOf(result), /first on its connection/);
  assert.match(textOf(without), /\n\n–: each of these answers was the first on its connection, [^\n]*\n\n/);
  assert.doesNotMatch(textOf({ ...without, admitted: 0 }), /first on its connection/);
});

test('the time line of a long run stays as wide as one can look at; of an empty one there is none', () => {
  const seconds = Array.from({ length: 3_000 }, (_, at): Second => ({
    at,
    scenario: 'exact',
    admitted: 5,
    refused: 0,
    other: 0,
    withoutKey: 0,
  }));
  const long = timelineSvg({ ...report, timeline: { ...report.timeline, seconds } })!.text;
  assert.ok(Number(/viewBox="0 0 (\d+)/.exec(long)![1]) < 2_200, /viewBox="[^"]*"/.exec(long)![0]);
  assert.equal(malformed(long), undefined);
  const empty = { ...report, timeline: { seconds: [], borders: [], bans: [] } };
  assert.equal(timelineSvg(empty), undefined);
  assert.match(limitsHtml(empty), /Nothing was answered\./);
});

test('in a terminal: a table where there is room, else one block a scenario; no escape of a server', () => {
  const report = harmful();
  for (const columns of [60, 120, 200]) {
    const text = summaryText(report, { colour: false, columns });
    assert.deepEqual(rawCharacters(text), []);
    for (const { name, verdict } of report.scenarios)
      assert.match(text, new RegExp(`${name}[\\s\\S]*${verdict}|${verdict} ${name}`));
    assert.ok(
      text
        .split('\n')
        .slice(0, -1)
        .every((line) => line.length <= columns || line.includes('<script>')),
      `at most ${columns} wide`,
    );
    assert.match(text, /\nNOT ALL DEMANDS MET: \d passed, \d failed, \d inconclusive, 1 skipped \(\d+ of at most \d+ requests, /);
  }
  assert.deepEqual(rawCharacters(resultLine(report.scenarios[0]!, { colour: false })), []);
});

test('what is said beforehand covers what is sent, scenario by scenario', async (t) => {
  const run = await runAgainst(t, { settings: { untilBan: true } });
  const plan = await run.open();
  const text = prefaceText(plan, {
    ...about,
    target: 'http://127.0.0.1/v1',
    settings: { promised: { plan: 'free', perMinute: 60, perDay: 1_000 }, connections: 1, duration: 1, rate: 1, untilBan: true },
  });
  assert.match(text, /plan free: 60 requests a minute, 1,000 a day/);
  assert.match(text, /At most [\d,]+ requests in all, .* Of its day \(1,000\) they take \d+ at most\.\n/);
  assert.match(
    prefaceText(
      { ...plan, dayLeft: 99 },
      { ...about, target: '', settings: { connections: 1, duration: 1, rate: 1, untilBan: false } },
    ),
    /nothing is promised.* they take \d+ at most, and only 99 are left: what does not fit is left out, and not tested/s,
  );
  await run.run();
  const report = run.report(about);
  for (const { scenario, cost } of plan.scenarios) {
    const result = report.scenarios.find(({ name }) => name === scenario.name)!;
    const sent = result.admitted + result.refused + result.other;
    assert.ok(sent <= cost.withKey + (cost.quiet ?? 0), `${scenario.name}: ${sent}`);
    assert.ok(result.withoutKey <= (cost.withoutKey ?? 0), scenario.name);
  }
});

test('the time line: a window ends where a second does, and what comes late belongs to it', () => {
  const clock = new ServerClock();
  const reset = 1_795_262_460;
  const entry = (ms: number, remaining: number, of: number) => {
    const at = { receivedAt: reset * 1_000 + ms, sentAt: reset * 1_000 + ms - 5 };
    const told = answer({ ...at, standing: { limit: 60, remaining, reset: of }, date: Math.floor(at.receivedAt / 1_000) * 1_000 });
    clock.answered(told);
    return { scenario: 'boundary', role: 'driven', key: 1, answer: told } as const;
  };
  const late = entry(15, 0, reset);
  const log = [entry(-1_400, 9, reset), entry(-40, 1, reset), entry(10, 59, reset + 60), late, entry(700, 40, reset + 60)];
  const origin = (reset - 10) * 1_000;
  assert.deepEqual(
    secondsOf(log, clock, origin).map(({ at, admitted, remaining }) => [at, admitted, remaining]),
    [
      [8, 1, { key: 1, first: 9, last: 9 }],
      [9, 2, { key: 1, first: 1, last: 0 }],
      [10, 2, { key: 1, first: 59, last: 40 }],
    ],
  );
  assert.deepEqual(bordersOf(log, clock, origin, origin + 20_000), [{ at: 10, reset }]);
  assert.ok(report.timeline.borders.length > 0 && report.timeline.borders.every(({ at }) => Number.isInteger(at)));
});

test('the time line: what remains rises at the border, not before', () => {
  const second = (at: number, first: number, last: number): Second => ({
    ...{ at, scenario: 'exact', admitted: first - last + 1, refused: 0, other: 0, withoutKey: 0 },
    remaining: { key: 1, first, last },
  });
  const seconds = [second(90, 58, 3), second(91, 2, 0), second(94, 59, 20)];
  const svg = timelineSvg({ ...report, timeline: { seconds, borders: [{ at: 93, reset: 1_795_262_460 }], bans: [] } })!.text;
  assert.match(svg, /viewBox="0 0 640 /, 'wide enough for its legend');
  const points = /<polyline[^>]* points="([^"]*)"/.exec(svg)![1]!.split(' ').map((point) => point.split(',').map(Number));
  const [, border] = /<line class="t-border-line" x1="([\d.]+)"[^>]*><title>/.exec(svg)!;
  const rises = points.flatMap(([x, y], i) => (i > 0 && y! < points[i - 1]![1]! ? [[points[i - 1]![0], x]] : []));
  assert.deepEqual(rises, [[Number(border), Number(border)]], JSON.stringify(points));
});

test('an interruption: what was seen so far is told, and the rest skipped', async (t) => {
  const abort = new AbortController();
  const clock = fakeClock();
  const watcher = {
    ...silent,
    waiting: (why: string) => void (/early retry/.test(why) && abort.abort(new Interrupted('it was interrupted'))),
  };
  const report = await reportOf(t, { clock, watcher, signal: abort.signal });
  assert.deepEqual(
    report.scenarios.map(({ verdict }) => verdict),
    ['passed', 'inconclusive', ...Array.from({ length: 5 }, () => 'skipped')],
  );
  assert.deepEqual([report.aborted, report.exitCode], ['it was interrupted', 2]);
  assert.ok(report.timeline.seconds.length > 0, 'seconds are told');
});

test('no key in a report, also where the address holds it', async (t) => {
  const run = await runAgainst(t, { names: ['refusal', 'neighbour'] });
  await run.run();
  const report = run.report(about);
  const text = JSON.stringify(report) + limitsHtml(report) + summaryText(report, { colour: false, columns: 120 });
  for (const secret of [mainSecret, quietSecret]) assert.ok(!text.includes(secret.slice(0, 10)), 'no key');
  assert.equal(
    givenKeys(mainSecret, quietSecret).redact(`http://127.0.0.1/${mainSecret.toUpperCase()}/v1`),
    'http://127.0.0.1/[key]/v1',
  );
});
