/**
 * limits.html, for readers who did not run the bench: first the verdict, then each scenario with its latencies, figures
 * and timeline.
 */
import { attribute, html, type Markup } from '../../conformance/report/markup.ts';
import { pageHtml, signOf, summaryHtml } from '../../conformance/report/page.ts';
import { dateText, duration, grouped } from '../../conformance/report/words.ts';
import { logScale, plottedTable, plotStyle, range, type Scale } from './plot.ts';
import type { LimitsReport, ScenarioResult } from './report.ts';
import { milliseconds, percentiles, type Latency } from './responses.ts';
import { fieldsOf, headlines, loadText, promisedText } from './terminal.ts';
import { barScale, countsText, timelineOf } from './timeline.ts';

/** The report as one HTML file. */
export function limitsHtml(report: LimitsReport): string {
  const { name, version, node } = report.bench;
  const shown = report.scenarios.flatMap(latenciesOf).flatMap(({ latency: { p50, p99 } }) => [p50, p99]);
  const scales = { bars: barScale(report), latencies: logScale(shown) };
  return pageHtml({
    title: `Rate limits of ${report.target}`,
    style: plotStyle,
    header: summary(report),
    main: html`<section aria-labelledby="scenarios">
<h2 id="scenarios">Scenarios</h2>
<p class="lead">Each latency line runs from p50 (dot) through p90 (stroke) to p99 (circle), on one logarithmic scale for
all scenarios. All bars share one scale, too. Their colours: <span class="passed">admitted</span>,
<span class="failed">refused</span>, <span class="inconclusive">another status</span>,
<span class="skipped">without a key</span>.</p>
${report.scenarios.map((result) => scenarioArticle(result, report, scales))}
</section>`,
    footer: html`<p>Written by ${name} ${version} on Node ${node}. limits.json has the same for programs.
Latencies are those of the bench’s own client; the first response on each connection is left out.</p>`,
  });
}

function summary(report: LimitsReport): Markup {
  const { settings, sent, totals } = report;
  const requests = `${grouped(sent.withKey)} with a key and ${grouped(sent.withoutKey)} without`;
  return summaryHtml({
    eyebrow: 'rate limits under load',
    verdict: report.exitCode === 0 ? 'passed' : report.exitCode === 1 ? 'failed' : 'inconclusive',
    conclusion: headlines[report.exitCode],
    target: report.target,
    totals,
    notes: report.aborted === undefined ? undefined : html`<p>${report.aborted}</p>`,
    facts: {
      Started: dateText(report.startedAt),
      Took: duration(report.seconds),
      'The key': promisedText(settings),
      Server: report.ownServer ? 'this project’s own, with keys of its own' : 'as given, with the key as given',
      'Requests sent': `${requests}, of at most ${grouped(sent.most)}`,
      Load: `${loadText(settings)}${settings.untilBan ? '; until banned' : ''}`,
    },
  });
}

interface Scales {
  readonly bars: Scale;
  readonly latencies: Scale;
}

function scenarioArticle(result: ScenarioResult, report: LimitsReport, scales: Scales): Markup {
  const { name, text, verdict, seconds } = result;
  const counts = countsText(result);
  const fields = [...fieldsOf(result), ...(counts === '' ? [] : [['responses', `${counts} in ${duration(seconds)}`]])];
  return html`<article class="card ${verdict}" id="${attribute(name)}">
<h3>${name} <span class="verdict ${verdict}">${signOf(verdict)}${verdict}</span></h3>
<p class="soft">${text}</p>
<dl class="case">${fields.map(([label, value]) => html`<dt>${label}</dt><dd>${value}</dd>`)}</dl>
${latencyTable(result, scales.latencies)}
${figureTable(result)}
${timelineOf(result, report, scales.bars)}
</article>
`;
}

interface LatencyRow {
  readonly label: string;
  readonly colour: string;
  readonly latency: Latency;
}

/** The latencies of a scenario: those of the quiet client alone and beside the flood, or those of each status. */
function latenciesOf({ figures, latency200, latency429 }: ScenarioResult): readonly LatencyRow[] {
  const ofClient = (side: 'alone' | 'beside'): Latency => {
    const of = (name: string): number => Number(figures[name] ?? 0);
    const ofAll = Object.fromEntries(percentiles.map((percentile) => [percentile, of(`${percentile}_${side}_ms`)]));
    return { n: of(`${side}_latencies`), ...(ofAll as Omit<Latency, 'n'>) };
  };
  const rows = 'alone_latencies' in figures
    ? [['alone', 'skipped', ofClient('alone')], ['beside', 'known', ofClient('beside')]] as const
    : [['200', 'passed', latency200], ['429', 'failed', latency429]] as const;
  return rows.flatMap(([label, colour, latency]) => (latency?.n ? [{ label, colour, latency }] : []));
}

function latencyTable(result: ScenarioResult, scale: Scale): Markup | undefined {
  const rows = latenciesOf(result).map(({ label, colour, latency }) => ({
    cells: [label, ...percentiles.map((of) => digits(latency[of])), grouped(latency.n)],
    plot: range(scale, colour, latency),
  }));
  const columns = ['ms', ...percentiles.map((of) => (of === 'p999' ? 'p99.9' : of)), 'n'];
  return rows.length === 0 ? undefined : plottedTable('Latencies', 'repeat(5,3.5rem)', columns, scale, rows);
}

/** The figures that are not in the table of latencies. */
function figureTable({ figures }: ScenarioResult): Markup | undefined {
  const drawn = /(_(alone|beside)_ms|^(alone|beside)_latencies)$/;
  const others = Object.entries(figures).filter(([name]) => !drawn.test(name));
  const row = ([name, value]: [string, number | string]): Markup => html`<tr><th scope="row" class="id">${name}</th>
<td>${typeof value === 'number' ? grouped(value) : value}</td></tr>`;
  return others.length === 0 ? undefined : html`<h4>Figures</h4>
<table class="figures">${others.map(row)}</table>`;
}

/** `0.41`, `12.3`, `1,204`. */
function digits(ms: number): string {
  return milliseconds(ms).replace(' ms', '');
}
