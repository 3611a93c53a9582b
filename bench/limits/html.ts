/**
 * limits.html, for readers who did not run the bench: first the verdict, then each scenario in full, with its timeline.
 */
import { attribute, html, type Markup } from '../../conformance/report/markup.ts';
import { pageHtml } from '../../conformance/report/page.ts';
import { countedVerdicts, dateText, duration, grouped, signs } from '../../conformance/report/words.ts';
import type { Verdict } from '../../conformance/verdicts/results.ts';
import type { LimitsReport, ScenarioResult } from './report.ts';
import { fieldsOf, headlines, loadText, promisedText } from './terminal.ts';
import { countsText, timelineOf, timelineStyle } from './timeline.ts';

/** The style of this page, which is added to that of report.html. */
const ownStyle = `
.scenario{background:var(--sheet);border:1px solid var(--line);border-left:4px solid currentColor;border-radius:4px;
padding:1rem;margin-top:1rem}
.scenario>*{color:var(--ink)}
${timelineStyle}`;

/** The report as one HTML file. */
export function limitsHtml(report: LimitsReport): string {
  const { name, version, node } = report.bench;
  return pageHtml({
    title: `Rate limits of ${report.target}`,
    style: ownStyle,
    header: summary(report),
    main: html`<section aria-labelledby="scenarios">
<h2 id="scenarios">Scenarios</h2>
<p class="lead">Each with the responses in each second, and how many requests the key under load had left.</p>
${report.scenarios.map((result) => scenarioArticle(result, report))}
</section>`,
    footer: html`<p>Written by ${name} ${version} on Node ${node}. limits.json has the same for programs.
Latencies are those of the bench’s own client; the first response on each connection is left out.</p>`,
  });
}

function summary(report: LimitsReport): Markup {
  const { settings, sent, totals } = report;
  const verdict = report.exitCode === 0 ? 'passed' : report.exitCode === 1 ? 'failed' : 'inconclusive';
  const requests = `${grouped(sent.withKey)} with a key and ${grouped(sent.withoutKey)} without`;
  const facts = {
    Started: dateText(report.startedAt),
    Took: duration(report.seconds),
    'The key': promisedText(settings),
    Server: report.ownServer ? 'this project’s own, with keys of its own' : 'as given, with the key as given',
    'Requests sent': `${requests}, of at most ${grouped(sent.most)}`,
    Load: `${loadText(settings)}${settings.untilBan ? '; until banned' : ''}`,
  };
  const total = (one: Verdict) =>
    html`<li class="${totals[one] > 0 ? one : 'none'}"><strong>${totals[one]}</strong> ${signs[one]} ${one}</li>`;
  const fact = ([name, value]: [string, string]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  return html`<p class="eyebrow">Pet Store Service: rate limits under load</p>
<h1><span class="${verdict}" aria-hidden="true">${signs[verdict]}</span> ${headlines[report.exitCode]}</h1>
<p class="target"><code>${report.target}</code></p>
<p>${report.aborted}</p>
<ul class="counts">${countedVerdicts(totals).map(total)}</ul>
<dl class="facts">${Object.entries(facts).map(fact)}</dl>`;
}

function scenarioArticle(result: ScenarioResult, report: LimitsReport): Markup {
  const { name, text, verdict, figures, seconds } = result;
  const timeline = timelineOf(result, report);
  const figureText = ([label, value]: [string, number | string]) =>
    `${label} ${typeof value === 'number' ? grouped(value) : value}`;
  const fields = [
    ...fieldsOf(result),
    ['responses', `${countsText(result)} in ${duration(seconds)}`],
    ['figures', Object.entries(figures).map(figureText).join('; ')],
  ];
  return html`<article class="scenario ${verdict}" id="${attribute(name)}">
<h3>${name} <span class="verdict ${verdict}">${signs[verdict]} ${verdict}</span></h3>
<p class="soft">${text}</p>
<dl class="case">${fields.map(([label, value]) => html`<dt>${label}</dt><dd>${value}</dd>`)}</dl>
${timeline}
</article>
`;
}
