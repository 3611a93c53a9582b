/**
 * limits.html, for readers who did not run the bench: first the verdict, then each scenario with its latencies, figures
 * and timeline.
 */
import { attribute, html, type Markup } from '../../conformance/report/markup.ts';
import { pageHtml, signOf, summaryHtml } from '../../conformance/report/page.ts';
import { duration, grouped } from '../../conformance/report/words.ts';
import { bar, linearScale, logScale, plottedTable, plotStyle, range, type Row, type Scale } from './plot.ts';
import type { Counts, LimitsReport, ScenarioResult } from './report.ts';
import { milliseconds, percentiles } from './responses.ts';
import { conclusions, fieldsOf, loadText, planText } from './terminal.ts';

/** The parts of a bar, each with the class of its colour and its text. */
const kinds = [
  ['admitted', 'passed', 'admitted'], ['refused', 'failed', 'refused'],
  ['other', 'inconclusive', 'with another status'], ['withoutKey', 'skipped', 'without a key'],
] as const;

/** The classes of the colours of latencies. */
const colours: Readonly<Record<string, string>> = { 200: 'passed', 429: 'failed', alone: 'skipped', beside: 'known' };

/** More seconds than this without a response are shown as a wait. */
const shortWaitS = 4;

/** The report as one HTML file. */
export function limitsHtml(report: LimitsReport): string {
  const { name, version, node } = report.bench;
  const latencies = report.scenarios.flatMap((result) => Object.values(result.latencies));
  const scales = {
    bars: linearScale(report.scenarios.flatMap(({ timeline }) => timeline.map(totalOf))),
    latencies: logScale(latencies.flatMap(({ p50, p99 }) => [p50, p99])),
  };
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
${report.scenarios.map((result) => scenarioArticle(result, scales))}
</section>`,
    footer: html`<p>Written by ${name} ${version} on Node ${node}. limits.json has the same for programs.
Latencies are those of the bench’s own client; the first response on each connection is left out.</p>`,
  });
}

function summary(report: LimitsReport): Markup {
  const { settings, sent } = report;
  const [verdict, conclusion] = conclusions[report.exitCode];
  const requests = `${grouped(sent.withKey)} with a key and ${grouped(sent.withoutKey)} without`;
  return summaryHtml(report, {
    eyebrow: 'rate limits under load',
    verdict,
    conclusion,
    notes: report.aborted === undefined ? undefined : html`<p>${report.aborted}</p>`,
    facts: {
      Took: duration(report.seconds),
      'The key': planText(settings),
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

function scenarioArticle(result: ScenarioResult, scales: Scales): Markup {
  const { name, text, verdict, seconds } = result;
  const counts = countsText(result);
  const fields = [...fieldsOf(result), ...(counts === '' ? [] : [['responses', `${counts} in ${duration(seconds)}`]])];
  return html`<article class="card ${verdict}" id="${attribute(name)}">
<h3>${name} <span class="verdict ${verdict}">${signOf(verdict)}${verdict}</span></h3>
<p class="soft">${text}</p>
<dl class="case">${fields.map(([label, value]) => html`<dt>${label}</dt><dd>${value}</dd>`)}</dl>
${latencyTable(result, scales.latencies)}
${figureTable(result)}
${timelineTable(result, scales.bars)}
</article>
`;
}

function latencyTable({ latencies }: ScenarioResult, scale: Scale): Markup | undefined {
  const rows = Object.entries(latencies).map(([label, latency]) => ({
    cells: [label, ...percentiles.map((of) => milliseconds(latency[of]).replace(' ms', '')), grouped(latency.n)],
    plot: range(scale, colours[label] ?? '', latency),
  }));
  const columns = ['ms', ...percentiles.map((of) => (of === 'p999' ? 'p99.9' : of)), 'n'];
  return rows.length === 0 ? undefined : plottedTable('Latencies', 'repeat(5,3.5rem)', columns, scale, rows);
}

function figureTable({ figures }: ScenarioResult): Markup | undefined {
  const row = ([name, value]: [string, number | string]): Markup => html`<tr><th scope="row" class="id">${name}</th>
<td>${typeof value === 'number' ? grouped(value) : value}</td></tr>`;
  const rows = Object.entries(figures).map(row);
  return rows.length === 0 ? undefined : html`<h4>Figures</h4>
<table class="figures">${rows}</table>`;
}

/** For each second with responses, what each client received, and how many requests remained. */
function timelineTable({ timeline }: ScenarioResult, scale: Scale): Markup | undefined {
  if (timeline.length === 0) return undefined;
  const rows = timeline.flatMap((second, i): readonly Row[] => {
    const { at, client, remaining } = second;
    const wait = at - (timeline[i - 1]?.at ?? at) - 1;
    const waited = wait > shortWaitS ? [{ remark: `${wait} s without a request` }] : [];
    const time = `${Math.floor(at / 60)}:${String(at % 60).padStart(2, '0')}`;
    const text = `${client === 'quiet' ? 'quiet key: ' : ''}${countsText(second)}`;
    const left = remaining === undefined ? '' : remaining.map(grouped).join(' → ');
    const parts = kinds.map(([kind, colour]) => [colour, second[kind]] as const);
    return [...waited, { cells: [time, text, left], plot: bar(scale, parts) }];
  });
  return plottedTable('Responses in each second', '15rem 6.5rem', ['min:s', 'Responses', 'Remaining'], scale, rows);
}

function totalOf(counts: Counts): number {
  return kinds.reduce((sum, [kind]) => sum + counts[kind], 0);
}

/** `12 admitted, 3 refused`; empty if there are none. */
function countsText(counts: Counts): string {
  const some = kinds.filter(([kind]) => counts[kind] > 0);
  return some.map(([kind, , text]) => `${grouped(counts[kind])} ${text}`).join(', ');
}
