/** The report in its forms. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { painter } from '../../conformance/report/terminal.ts';
import { fakeClock } from '../../conformance/testing/responses.ts';
import { malformed, rawCharacters } from '../../conformance/testing/wellformed.ts';
import { limitsHtml } from './html.ts';
import { linearScale, logScale } from './plot.ts';
import { limitsJunit } from './junit.ts';
import { givenKeys } from './keys.ts';
import { secondsOf } from './log.ts';
import type { LimitsReport } from './report.ts';
import { Interrupted } from './run-scenarios.ts';
import { prefaceText, resultText, verdictText } from './terminal.ts';
import {
  about, mainSecret, quietSecret, reportOf, response, runAgainst, usualSettings,
} from './testing/runs.ts';

const emptyTags = ['meta', 'br'];
const hostile = `<script>alert("x")</script>&amp;'\u001b[2J\u0000\u202eevil\ud800`;

let report: LimitsReport;
before(async () => {
  report = await reportOf({ after }, { fault: 'limits-one-more' });
});

/** The report of a real run, with texts that would harm a reader. */
function harmful(): LimitsReport {
  const [first, ...rest] = report.scenarios;
  return {
    ...report,
    target: `http://127.0.0.1/${hostile}/v1`,
    scenarios: [
      { ...first!, seen: hostile, reason: hostile, failures: [hostile], figures: { [hostile]: hostile } },
      ...rest,
    ],
  };
}

test('limits.html: well-formed, without external resources and scripts, and harmless whatever it contains', () => {
  const page = limitsHtml(harmful());
  assert.equal(malformed(page, emptyTags), undefined);
  assert.deepEqual(rawCharacters(page), []);
  assert.match(
    page,
    /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'/,
  );
  assert.doesNotMatch(page, /<script|<link|<img|<iframe|url\(|@import|\son[a-z]+=/);
  assert.doesNotMatch(page, /(?:href|src)="[^#"]/);
});

/** What limits.html has of a scenario. */
const article = (of: LimitsReport, name: string): string => {
  const page = limitsHtml(of);
  return page.slice(page.indexOf(`id="${name}"`)).split('</article>')[0]!;
};

test('the timeline of each scenario: its seconds and waits', () => {
  for (const { name } of report.scenarios.filter(({ admitted }) => admitted > 0)) {
    const text = article(report, name);
    assert.match(
      text,
      /scope="row">\d:\d\d<\/th>\n<td role="cell">(quiet key: )?\d+ (admitted|refused).*<rect class="(passed|failed)" /,
    );
    assert.doesNotMatch(text, /NaN|undefined|Infinity/);
  }
  assert.match(article(report, 'boundary'), /\d+ s without a request/);
});

test('the text and the bars of each scenario count the same requests, those of the quiet key separately', async (t) => {
  const run = await reportOf(t, { names: ['neighbour', 'strangers'] });
  for (const { name, timeline, ...result } of [...report.scenarios, ...run.scenarios]) {
    for (const kind of ['admitted', 'refused', 'other', 'withoutKey'] as const) {
      assert.equal(timeline.reduce((sum, second) => sum + second[kind], 0), result[kind], `${name}: ${kind}`);
    }
  }
  const neighbour = run.scenarios[0]!;
  const ofQuiet = neighbour.timeline.filter(({ client }) => client === 'quiet');
  const quiet = ofQuiet.reduce((sum, { admitted }) => sum + admitted, 0);
  assert.equal(quiet, neighbour.admitted - Number(neighbour.figures['flood_requests']));
  assert.match(article(run, 'neighbour'), /<td role="cell">quiet key: \d+ admitted<[^\n]*<rect class="passed"/);
  assert.match(article(run, 'strangers'), /<td role="cell">\d+ without a key<[^\n]*<rect class="skipped"/);
});

test('all bars of a report share one scale, and so do all latencies', () => {
  const page = limitsHtml(report);
  const scales = (head: string) => new Set([...page.matchAll(/<thead.*<\/thead>/g)].map(([text]) => text)
    .filter((text) => text.includes(`>${head}</th>`)).map((text) => text.match(/<text .*<\/text>/)![0]));
  assert.deepEqual([scales('min:s').size, scales('ms').size], [1, 1]);
  const ends = [...page.matchAll(/<rect [^>]*x="([\d.]+)%" width="([\d.]+)%"/g)]
    .map(([, x, width]) => Number(x) + Number(width));
  assert.ok(Math.abs(Math.max(...ends) - 100) <= 0.5, 'the longest bar has the whole width');
});

test('scales: round ticks within the width', () => {
  for (const max of [0, 1, 3, 60, 315, 999, 1_000, 123_456]) {
    const { ticks, at } = linearScale([max]);
    assert.ok(ticks.length >= 2 && ticks.length <= 7, `${max}: ${ticks}`);
    assert.ok(ticks.every((tick) => at(tick) >= 0 && at(tick) <= 100), `${max}: ${ticks}`);
  }
  for (const values of [[], [0], [0.02, 0.03], [1], [0.4, 16.3], [0.05, 12_000]]) {
    const { ticks, at } = logScale(values);
    assert.ok(ticks.length >= 2 && ticks.length <= 8, `${values}: ${ticks}`);
    assert.ok([...ticks, ...values].every((one) => at(one) >= 0 && at(one) <= 100), `${values}: ${ticks}`);
  }
});

test('latencies are in plots and text: of the quiet client alone and beside a flood, and of each status', () => {
  const rows = /<th role="rowheader" scope="row">(\w+)<\/th>\n.*?<line x1=/g;
  const labels = (name: string) => [...article(report, name).matchAll(rows)].map(([, label]) => label);
  assert.deepEqual(labels('strangers'), ['200', 'alone', 'beside']);
  assert.deepEqual(labels('boundary').slice(0, 1), ['200']);
  assert.match(article(report, 'strangers'), /<th scope="row" class="id">flood_requests<\/th>\n<td>[\d,]+<\/td>/);
});

test('metrics: every number of every scenario, by a name that ends in its unit', () => {
  const { metrics, scenarios } = report;
  assert.equal(metrics['boundary.before_requests'], 61);
  for (const { name, figures, latencies, seconds } of scenarios) {
    assert.equal(metrics[`${name}.duration_s`], seconds);
    for (const [figure, value] of Object.entries(figures))
      assert.equal(metrics[`${name}.${figure}`], typeof value === 'number' ? value : undefined);
    for (const [of, { n, ...percentiles }] of Object.entries(latencies)) {
      assert.equal(metrics[`${name}.latency_${of}_responses`], n);
      for (const [percentile, ms] of Object.entries(percentiles))
        assert.equal(metrics[`${name}.latency_${of}_${percentile}_ms`], ms);
    }
  }
  for (const name of ['latency.latency_200_p50_ms', 'strangers.latency_beside_p999_ms']) assert.ok(metrics[name]! > 0);
  for (const name of Object.keys(metrics)) assert.match(name, /^[a-z]+\.[a-z0-9_]+_(requests|responses|ratio|ms|s)$/);
});

test('JUnit: well-formed, a case for each scenario, the counts of its verdicts', () => {
  const xml = limitsJunit(harmful());
  assert.equal(malformed(xml), undefined);
  assert.deepEqual(rawCharacters(xml), []);
  const { totals, scenarios: results } = report;
  const occurrences = (part: string) => xml.split(part).length - 1;
  assert.deepEqual(
    [occurrences('<testcase '), occurrences('<failure '), occurrences('<skipped ')],
    [results.length, totals.failed, totals.inconclusive + totals.skipped],
  );
  assert.ok(totals.failed > 0 && totals.skipped > 0);
  assert.ok(xml.includes(`tests="${results.length}" failures="${totals.failed}" errors="0"`));
  assert.match(xml, / classname="8 Limits" name="boundary: [^"]+" time="\d+\.\d{3}">\n<failure message="12[12] req/);
});

test('the timeline of a run without responses is empty', () => {
  const scenarios = report.scenarios.map((result) => ({ ...result, timeline: [] }));
  assert.doesNotMatch(limitsHtml({ ...report, scenarios }), /Responses in each second/);
});

test('in a terminal: one block per scenario, and no escape sequence of a server', () => {
  const report = harmful();
  const plain = painter(false);
  const results = report.scenarios.map((result) => resultText(result, plain));
  const text = [...results, verdictText(report, plain)].join('\n');
  assert.deepEqual(rawCharacters(text), []);
  for (const { name, verdict } of report.scenarios)
    assert.match(text, new RegExp(`${name}[\\s\\S]*${verdict}|${verdict} ${name}`));
  assert.match(
    text,
    /\nNOT ALL DEMANDS MET: \d passed, \d failed, \d inconclusive, 1 skipped \([\d,]+ of at most [\d,]+ requests, /,
  );
});

test('the estimate covers what is sent, scenario by scenario', async (t) => {
  const run = await runAgainst(t, { settings: { untilBan: true } });
  const estimate = await run.open();
  const text = prefaceText(estimate, {
    ...about,
    target: 'http://127.0.0.1/v1',
    settings: { ...usualSettings, plan: 'free', untilBan: true },
  });
  assert.match(text, /plan free: 60 requests a minute, 1,000 a day/);
  assert.match(text, /At most [\d,]+ requests in all, [^]* Of its day they take [\d,]+ at most\./);
  await run.run(estimate);
  const report = run.report(about);
  for (const { scenario, cost } of estimate.scenarios) {
    const result = report.scenarios.find(({ name }) => name === scenario.name)!;
    const sent = result.admitted + result.refused + result.other;
    assert.ok(sent <= cost.withKey + (cost.quiet ?? 0), `${scenario.name}: ${sent}`);
    assert.ok(result.withoutKey <= (cost.withoutKey ?? 0), scenario.name);
  }
});

test('the timeline: what each client received in each second, and what remained', () => {
  const origin = 1_795_262_460_000;
  const entry = (client: 'load' | 'quiet', ms: number, remaining: number) => {
    const key = { secret: client, own: false, quiet: client === 'quiet' };
    return response({ key, at: origin + ms, limit: 60, remaining, reset: 1_795_262_520 });
  };
  const log = [entry('load', 1_900, 9), entry('quiet', 1_950, 50), entry('load', 1_990, 7), entry('load', 2_010, 6)];
  assert.deepEqual(
    secondsOf(log, origin).map(({ at, client, admitted, remaining }) => [at, client, admitted, remaining]),
    [[1, 'load', 2, [9, 7]], [1, 'quiet', 1, [50, 50]], [2, 'load', 1, [6, 6]]],
  );
});

test('an interruption: everything measured so far is reported, and the rest skipped', async (t) => {
  const abort = new AbortController();
  const clock = fakeClock();
  const show = (what: string): void => {
    if (/waiting .* fresh window/.test(what)) abort.abort(new Interrupted('it was interrupted', 130));
  };
  const report = await reportOf(t, { clock, show, signal: abort.signal });
  assert.deepEqual(
    report.scenarios.map(({ verdict }) => verdict),
    ['passed', 'inconclusive', ...Array.from({ length: 3 }, () => 'skipped')],
  );
  assert.deepEqual([report.aborted, report.exitCode], ['it was interrupted', 2]);
  assert.ok(report.scenarios[0]!.timeline.length > 0, 'seconds are reported');
});

test('no key in a report, even if the base URL contains it', async (t) => {
  const run = await runAgainst(t, { names: ['latency', 'neighbour'] });
  await run.run(await run.open());
  const report = run.report(about);
  const printed = report.scenarios.map((result) => resultText(result, painter(false))).join();
  const text = JSON.stringify(report) + limitsHtml(report) + printed;
  for (const secret of [mainSecret, quietSecret]) assert.ok(!text.includes(secret.slice(0, 10)), 'no key');
  assert.equal(
    givenKeys(mainSecret, quietSecret).redact(`http://127.0.0.1/${mainSecret.toUpperCase()}/v1`),
    'http://127.0.0.1/[key]/v1',
  );
});
