/** report.html, for readers who did not run the kit: all failures, then everything that was checked. */
import { requirements as all } from '../requirements/requirements.ts';
import { attribute, html, lines, type Markup } from './markup.ts';
import { sectionsOf, type Field, type Item, type Section } from './outline.ts';
import { pageHtml, signOf, summaryHtml } from './page.ts';
import type { Report } from './report.ts';
import {
  conclusion, count, duration, grouped, headline, requestsSent, unavailableText,
} from './words.ts';

/** The fields whose text a server, a shell or the kit reads. */
const codeLabels = ['smallest case', 'reproduce', 'replay', 'response', 'evidence', 'example'];

/** The fields of which only the first lines are visible until the reader unfolds them. */
const cutLabels = ['smallest case', 'reproduce'];
const shownRows = 6;
const columns = 100;

/** Adds a copy button to each block. */
const copyScript = `
if (navigator.clipboard) for (const text of document.querySelectorAll('pre')) {
  const button = document.createElement('button');
  button.textContent = 'Copy';
  button.setAttribute('aria-live', 'polite');
  button.onclick = async () => {
    button.textContent = await navigator.clipboard.writeText(text.textContent).then(() => 'Copied', () => 'Not copied');
  };
  text.after(button);
}
`;

/** The report as one HTML file. */
export function reportHtml(report: Report): string {
  const { kit } = report;
  const sections = Object.entries<Section>(sectionsOf(report)).filter(([, { items }]) => items.length > 0);
  const links = sections.map(([anchor, { title, items }]) =>
    html`<li><a href="#${attribute(anchor)}">${title}</a> <span class="soft">${items.length}</span></li>`);
  return pageHtml({
    script: copyScript,
    title: `${headline(report)}: ${report.target}`,
    header: html`${summary(report)}
<nav aria-label="What to show"><ul><li><a href="#all">All</a></li>${links}</ul></nav>`,
    main: html`${sections.map(sectionHtml)}`,
    footer: html`<p>Written by ${kit.name} ${kit.version} on Node ${kit.node}.
report.json has the same content for programs.
Invisible characters are shown as escapes, such as <span class="unseen">\\u202e</span>.</p>`,
  });
}

function summary(report: Report): Markup {
  const { sent } = report;
  return summaryHtml(report, {
    eyebrow: 'conformance report',
    verdict: report.conforms ? 'passed' : 'failed',
    conclusion: conclusion(report),
    notes: notJudged(report),
    facts: {
      Duration: `${duration(report.seconds)}, including ${duration(sent.secondsWaited)} of waiting`,
      Mode: report.mode.join(', '),
      'Requests sent': `${grouped(requestsSent(report))}, including ${grouped(sent.withoutKey)} without a valid key`,
      'Animals created': `${grouped(sent.created)}, which remain`,
      Seed: `${report.seed}, ${count(report.runs, 'case')} for each check that generates cases`,
      '429 not provoked by the kit': grouped(sent.unwanted429),
      'Recovered 503': unavailableText(report) ?? 'none',
    },
  });
}

/** Why requirements were not judged, in most cases the option that would judge them, and how many. */
function notJudged({ requirements }: Report): Markup | undefined {
  const reasons = [
    ...requirements.filter(({ verdict, inapplicable }) => /inconclusive|skipped/.test(verdict) && inapplicable !== true)
      .map(({ verdict, reason }) => (verdict === 'inconclusive' ? verdict : reason)),
    ...all.slice(requirements.length).map(() => 'not selected: run without --only'),
  ];
  const items = [...new Set(reasons)].map((reason) =>
    html`<li><strong>${reasons.filter((one) => one === reason).length}</strong> ${reason}</li>`);
  return items.length === 0 ? undefined : html`<h2>Not judged</h2><ul>${items}</ul>`;
}

function sectionHtml([anchor, { title, lead, items }]: readonly [string, Section]): Markup {
  return html`<section aria-labelledby="${attribute(anchor)}">
<h2 id="${attribute(anchor)}">${title}</h2>
<p class="lead">${lead}</p>
<ul class="list">${items.map(itemHtml)}</ul>
</section>
`;
}

function itemHtml({ verdict, name, note, text, fields }: Item): Markup {
  const sign = verdict && html`<span class="verdict ${verdict}">${signOf(verdict)}${verdict}</span>`;
  return html`
<li class="${verdict === 'failed' && 'card failed'}"><p class="meta">${sign} <strong>${name}</strong>
<span class="soft">${note}</span></p>
${text !== undefined && html`<p>${text}</p>`}
${fields.length > 0 && html`<dl class="case">${fields.map(fieldHtml)}</dl>`}</li>`;
}

function fieldHtml([label, text]: Field): Markup {
  const isCut = cutLabels.includes(label) && rowsOf(text) > shownRows;
  const toggle = isCut && html`<details class="cut"><summary>Show all</summary></details>`;
  const content = codeLabels.includes(label) ? html`${toggle}<pre>${lines(text)}</pre>` : html`${text}`;
  const shown = label === 'evidence' ? html`<details><summary>Show</summary>${content}</details>` : content;
  return html`<dt>${label}</dt><dd>${shown}</dd>`;
}

function rowsOf(text: string): number {
  return text.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);
}
