/** limits.html, for somebody who did not run the bench: the verdict first, then the time line, then each scenario in full. */
import { attribute, html, Markup } from '../../conformance/report/markup.ts';
import { pageHtml } from '../../conformance/report/page.ts';
import { count, dateText, duration, grouped, signs, verdicts } from '../../conformance/report/words.ts';
import { milliseconds, type Latency } from './latency.ts';
import type { LimitsReport, ScenarioResult } from './report.ts';
import { conclusion, promisedInWords } from './terminal.ts';
import { timelineStyle, timelineSvg } from './timeline.ts';

/** What this page adds to the style of report.html. */
const ownStyle = `
figure{margin:.75rem 0 0}
.scroll{overflow-x:auto;border:1px solid var(--line);border-radius:4px;background:var(--sheet)}
.scroll svg{display:block;margin:0 auto;max-width:none}
figcaption{font-size:.875rem;color:var(--soft);margin-top:.5rem}
.scenario{background:var(--sheet);border:1px solid var(--line);border-left:4px solid currentColor;border-radius:4px;padding:1rem;margin-top:1rem}
.scenario>*{color:var(--ink)}
.scenario h3{display:flex;flex-wrap:wrap;gap:0 .75rem;align-items:baseline;margin-bottom:.5rem}
.scenario h3 .verdict{font-size:.875rem}
.scenario .verdict{color:inherit}
.scenario.passed .verdict{color:var(--passed)}.scenario.failed .verdict{color:var(--failed)}
.scenario.inconclusive .verdict{color:var(--inconclusive)}.scenario.skipped .verdict{color:var(--skipped)}
.scenario dd p+p{margin-top:.25rem}
.scenario .broken{color:var(--failed);font-weight:600}
.figures{display:flex;flex-wrap:wrap;gap:.125rem 1.25rem;list-style:none;font-size:.875rem}
.figures b{font-weight:600}
.figures span{color:var(--soft)}
@media print{.scroll{overflow:visible}.scroll svg{width:100%;height:auto}.save{display:none}.scenario{break-inside:avoid;-webkit-print-color-adjust:exact;print-color-adjust:exact}figure{break-inside:avoid}}
${timelineStyle}`;

/** The report as one HTML file. */
export function limitsHtml(report: LimitsReport): string {
  return pageHtml({
    title: `Rate limits of ${report.target}`,
    style: ownStyle,
    header: summary(report),
    main: html`${timelineSection(report)}
${scenariosSection(report)}`,
    footer: html`<p>Written by ${report.bench.name} ${report.bench.version} on Node ${report.bench.node}. The same, for programs, is in limits.json. Latencies are those of autocannon’s clients, in the bench’s own process; the first answer on each connection is left out of them.</p>`,
  });
}

function summary(report: LimitsReport): Markup {
  const { settings, sent, totals } = report;
  const verdict = report.exitCode === 0 ? 'passed' : report.exitCode === 1 ? 'failed' : 'inconclusive';
  const parts = verdicts.filter((one) => totals[one] > 0);
  const facts: readonly (readonly [name: string, value: string])[] = [
    ['Started', dateText(report.startedAt)],
    ['Took', duration(report.seconds)],
    ['The key', promisedInWords(settings)],
    [
      'Server',
      report.ownServer ? 'this project’s own, started for this run with keys of its own' : 'as given, with the key as given',
    ],
    [
      'Requests sent',
      `${grouped(sent.withKey)} with a key and ${grouped(sent.withoutKey)} without, of at most ${grouped(sent.most)}`,
    ],
    ['Connections', `${grouped(settings.connections)}`],
    ['Floods', `${count(settings.rate, 'request')} a second, for ${settings.duration} s at most`],
    ['Until banned', settings.untilBan ? 'yes (--until-ban)' : 'no'],
  ];
  return html`<p class="eyebrow">Pet Store Service: rate limits under load</p>
<h1><span class="${verdict}" aria-hidden="true">${signs[verdict]}</span> ${conclusion(report)}</h1>
<p class="target"><code>${report.target}</code></p>
<div class="bar" aria-hidden="true">${parts.map((one) => html`<span class="${one}" style="flex:${totals[one]}"></span>`)}</div>
<ul class="counts">${verdicts.map((one) => html`<li class="${totals[one] > 0 ? one : 'none'}"><strong>${grouped(totals[one])}</strong> <span aria-hidden="true">${signs[one]}</span> ${one}</li>`)}</ul>
<dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function timelineSection(report: LimitsReport): Markup {
  const drawing = timelineSvg(report);
  if (drawing === undefined)
    return html`<section aria-labelledby="timeline"><h2 id="timeline">Time line</h2><p class="lead">Nothing was answered.</p></section>`;
  const data = Buffer.from(drawing.text).toString('base64');
  return html`<section aria-labelledby="timeline">
<h2 id="timeline">Time line</h2>
<figure>
<div class="scroll" tabindex="0" role="region" aria-label="Time line">
${drawing}
</div>
<figcaption>What came in each second of the run, and what the key under load was told to have left. Each scenario is a block of its own. <a class="save" download="limits.svg" href="data:image/svg+xml;base64,${new Markup(data)}">Save the drawing</a></figcaption>
</figure>
</section>`;
}

function scenariosSection({ scenarios }: LimitsReport): Markup {
  return html`<section aria-labelledby="scenarios">
<h2 id="scenarios">Scenarios</h2>
${scenarios.map(scenarioArticle)}
</section>`;
}

function scenarioArticle(result: ScenarioResult): Markup {
  const { name, text, demanded, verdict, seen, reason, failures, figures, latency200, latency429 } = result;
  const numbers = Object.entries(figures);
  const rows: readonly (readonly [name: string, value: Markup | undefined])[] = [
    ['Demanded', html`${demanded}`],
    [
      'Seen',
      failures.length > 0 || seen !== undefined
        ? html`${failures.map((failure) => html`<p class="broken">${failure}</p>`)}${seen && html`<p>${seen}</p>`}`
        : undefined,
    ],
    ['Why', reason === undefined ? undefined : html`${reason}`],
    ['Latency of 200', latencyText(latency200)],
    ['Latency of 429', latencyText(latency429)],
    ['Answers', answersText(result)],
    [
      'Figures',
      numbers.length === 0
        ? undefined
        : html`<ul class="figures">${numbers.map(([label, value]) => html`<li><span>${label}</span> <b>${typeof value === 'number' ? value.toLocaleString('en-US') : value}</b></li>`)}</ul>`,
    ],
  ];
  return html`<article class="scenario ${verdict}" id="${attribute(name)}">
<h3>${name} <span class="verdict"><span class="sign" aria-hidden="true">${signs[verdict]}</span>${verdict}</span></h3>
<p class="soft">${text}</p>
<dl class="case">${rows.map(([label, value]) => value && html`<dt>${label}</dt><dd>${value}</dd>`)}</dl>
</article>
`;
}

function latencyText(latency: Latency | undefined): Markup | undefined {
  if (latency === undefined) return undefined;
  return html`p50 <b>${milliseconds(latency.p50)}</b>, p99 <b>${milliseconds(latency.p99)}</b> <span class="soft">(${count(latency.n, 'answer')})</span>`;
}

function answersText({ admitted, refused, other, withoutKey, seconds }: ScenarioResult): Markup | undefined {
  if (admitted + refused + other + withoutKey === 0) return undefined;
  const parts = [
    `${grouped(admitted)} admitted`,
    `${grouped(refused)} refused`,
    ...(other > 0 ? [`${grouped(other)} answered otherwise`] : []),
    ...(withoutKey > 0 ? [`${grouped(withoutKey)} without a key`] : []),
  ];
  return html`${parts.join(', ')} <span class="soft">in ${duration(seconds)}</span>`;
}
