import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { fixture } from '../testing/report.ts';
import { malformed, rawCharacters } from '../testing/wellformed.ts';
import { reportHtml } from './html.ts';
import { escaped } from './markup.ts';
import type { Report } from './report.ts';
import { palettes } from './style.ts';
import { visible, visibleLines } from './visible.ts';
import { verdicts } from './words.ts';

const emptyTags = ['meta'];
/** The page without its style sheet and its own script, which is the last element of the body. */
const markupOf = (page: string): string =>
  page.replace(/<style>[^<]*<\/style>/, '').replace(/<script>[^]*?<\/script>\n(?=<\/body>)/, '');

const kept: Report = {
  ...fixture,
  requirements: fixture.requirements.map((result) => ({ ...result, verdict: 'passed', failures: [], failed: 0 })),
  totals: { passed: fixture.requirements.length, failed: 0, known: 0, inconclusive: 0, skipped: 0 },
  conforms: true,
  known: [],
};
const page = reportHtml(fixture);
const body = page.slice(page.indexOf('<body>'));

test('the page is well-formed, whatever the server sends', () => {
  for (const one of [page, reportHtml(kept)]) {
    assert.equal(malformed(markupOf(one), emptyTags), undefined);
    assert.deepEqual(rawCharacters(one), []);
  }
});

test('503 responses that were repeated are shown with their rate', () => {
  const sent = { ...fixture.sent, withKey: 618, withoutKey: 22, recovered503: 16 };
  assert.match(reportHtml({ ...fixture, sent }), /<dt>Recovered 503<\/dt><dd>16 of 640 requests \(1 in 40\) got 503/);
  assert.match(page, /<dt>Recovered 503<\/dt><dd>none<\/dd>/);
});

test('known deviations are a section of their own, with what must be changed', () => {
  const section = /<section aria-labelledby="known">([^]*?)<\/section>/.exec(page)![1]!;
  assert.match(section, /create\.null<[^]*null value of any field gets 400[^]*\(until 2027-03-31\)<\/dd><dt>required<\/dt>/);
  assert.match(section, /create\.fraction<[^]*it no longer occurs: remove line 3 of known\.txt<\/dd><\/dl><\/li>/);
  assert.match(section, /list\.limit<[^]*it expired on 2026-10-31: /);
  assert.match(section, /limits\.refuses<[^]*not judged in this run: PET-115/);
  assert.match(page, /<a href="#known">Known deviations<\/a>/);
});

test('tags from a server are shown as text', () => {
  assert.doesNotMatch(markupOf(page), /<script/i);
  assert.ok(body.includes('&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;amp;'));
  assert.ok(body.includes('<span class="unseen">\\u202e</span>evil'));
});

test('every string of a report is escaped', () => {
  const evil = '"><img src=x onerror=alert(1)>\u202e';
  const poisoned = (value: unknown, key = ''): unknown => {
    if (typeof value === 'string') return ['verdict', 'section'].includes(key) ? value : `${value}${evil}`;
    if (Array.isArray(value)) return value.map((one) => poisoned(one, key));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poisoned(one, name)]));
    return value;
  };
  const report = poisoned(fixture) as Report;
  const html = reportHtml(report);
  assert.equal(malformed(markupOf(html), emptyTags), undefined);
  assert.doesNotMatch(html, /<img/);
});

test('the page loads nothing and runs only its own script, and its policy forbids more', () => {
  const [, script = ''] = /<script>([^]*?)<\/script>/.exec(page)!;
  const hash = createHash('sha256').update(script).digest('base64');
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'`;
  assert.ok(page.includes(`"Content-Security-Policy" content="${policy}">`));
  assert.doesNotMatch(page, / (src|srcset|action|data|on[a-z]+)="/);
  assert.doesNotMatch(markupOf(page), /<(link|script|iframe|img|object|form)\b|@import|url\(/);
});

test('every link has one target in the page', () => {
  const ids = [...body.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
  assert.equal(new Set(ids).size, ids.length);
  const links = [...body.matchAll(/ (?:href="#|aria-labelledby=")([^"]*)"/g)].map(([, id]) => id);
  assert.ok(links.length > 10, `${links.length}`);
  assert.deepEqual(
    links.filter((id) => !ids.includes(id)),
    [],
  );
  assert.doesNotMatch(body, / href="[^#]/);
});

test('failures come first, gaps after all requirements, and each failure is complete', () => {
  const at = (id: string): number => body.indexOf(`<h2 id="${id}"`);
  assert.ok(at('failed') < at('passed') && at('passed') < at('skipped') && at('skipped') < at('gaps'));
  const shown = body.slice(at('failed'), at('known')).replace(/<span class="unseen">([^<]*)<\/span>/g, '$1');
  for (const result of fixture.requirements.filter(({ verdict }) => verdict === 'failed')) {
    assert.ok(shown.includes(`<strong>${result.id}</strong>`));
    for (const { required, received, smallestCase, curl, response, replay } of result.failures) {
      for (const text of [required, received]) assert.ok(shown.includes(`<dd>${visible(escaped(text))}</dd>`), text);
      for (const text of [smallestCase, response])
        assert.ok(shown.includes(`<pre>${visibleLines(escaped(text))}</pre>`), text);
      assert.ok(shown.includes(`<pre>${escaped(curl)}</pre>`), curl);
      if (replay !== undefined) assert.ok(shown.includes(escaped(replay)));
    }
  }
  assert.match(shown, /4\.1 List animals; 7 failures/);
});

test('every requirement is an item of the section of its verdict, with the verdict in words', () => {
  for (const verdict of verdicts) {
    const [, section = ''] = new RegExp(`<h2 id="${verdict}">([^]*?)</section>`).exec(body)!;
    for (const { id } of fixture.requirements.filter((result) => result.verdict === verdict)) {
      const [, before = ''] = new RegExp(`(.*) <strong>${id.replace('.', '\\.')}</strong>`).exec(section) ?? [];
      assert.match(before, new RegExp(`<span class="verdict ${verdict}">.*</span> ${verdict}</span>$`), id);
    }
  }
  assert.match(body, /<strong>3<\/strong> <span aria-hidden="true">✗<\/span> failed/);
});

test('every gap is shown, with the behaviour or a reason', () => {
  for (const { question } of fixture.gaps) assert.ok(body.includes(`<strong>${question}</strong>`), question);
  assert.ok(body.includes('<dt>not observed</dt><dd>no 429 was seen; only with --exhaust</dd>'));
});

test('the page is accessible to screen readers: language, order of headings', () => {
  assert.match(page, /<html lang="en">/);
  const levels = [...body.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level));
  assert.equal(levels.filter((level) => level === 1).length, 1);
  assert.ok(levels.every((level, index) => level <= (levels[index - 1] ?? 0) + 1));
});

test('the summary counts what was not judged by reason, with the option that would judge it', () => {
  const [, reasons = ''] = /<h2>Not judged<\/h2><ul>(.*)<\/ul>/.exec(page)!;
  assert.equal(reasons, '<li><strong>2</strong> inconclusive</li><li><strong>2</strong> only with --exhaust</li>');
  const selected = { ...fixture, requirements: fixture.requirements.slice(0, 10) };
  assert.match(reportHtml(selected), /<li><strong>\d+<\/strong> not selected: run without --only<\/li>/);
});

test('each requirement that was skipped has its reason, which names the option that would judge it', () => {
  const [, skipped = ''] = /<h2 id="skipped">([^]*?)<\/section>/.exec(body)!;
  assert.match(skipped, /limits\.refuses<[^]*<dt>reason<\/dt><dd>only with --exhaust<\/dd>/);
});

test('the conclusion of a conforming server, also under --strict', () => {
  assert.match(reportHtml(kept), /<h1>.*Conforms: nothing failed, (\d+) of \1 requirements judged\.<\/h1>\n/);
  assert.doesNotMatch(reportHtml(kept), /id="(failed|known|inconclusive)/);
  const totals = { ...fixture.totals, failed: 0, known: 0 };
  const strict: Report = { ...fixture, mode: ['strict'], totals, known: [] };
  assert.match(
    reportHtml(strict),
    /<h1>.*Not shown to conform: nothing failed, \d+ of \d+ requirements judged, fewer than --strict requires\./,
  );
});

test('every text colour is readable on every background (WCAG AA), light and dark', () => {
  for (const palette of Object.values(palettes)) {
    for (const ink of ['ink', 'soft', 'link', 'passed', 'failed', 'known', 'inconclusive', 'skipped'] as const) {
      for (const ground of ['paper', 'sheet', 'code'] as const) {
        const [darker = 0, lighter = 0] = [luminance(palette[ink]), luminance(palette[ground])].sort((a, b) => a - b);
        const contrast = (lighter + 0.05) / (darker + 0.05);
        assert.ok(contrast >= 4.5, `${ink} ${palette[ink]} on ${ground} ${palette[ground]}: ${contrast.toFixed(2)}`);
      }
    }
  }
});

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
