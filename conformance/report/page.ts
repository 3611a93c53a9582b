/** The frame of an HTML report: one file without network access, which its policy enforces. */
import { createHash } from 'node:crypto';
import type { Verdict } from '../verdicts/results.ts';
import { attribute, html, Markup } from './markup.ts';
import { styleSheet } from './style.ts';
import type { RunReport } from './report.ts';
import { countedVerdicts, dateText, grouped, signs } from './words.ts';

export interface Page {
  readonly title: string;
  /** Added to the style sheet of all reports. */
  readonly style?: string;
  /** The only script that may run. Nothing may depend on it, because many CI systems show reports without scripts. */
  readonly script?: string;
  readonly header: Markup;
  readonly main: Markup;
  readonly footer: Markup;
}

/** A complete HTML document. */
export function pageHtml({ title, style = '', script, header, main, footer }: Page): string {
  const hash = script === undefined ? "'none'" : `'sha256-${createHash('sha256').update(script).digest('base64')}'`;
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src ${hash}`;
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Markup(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${attribute(title)}</title>
<style>${new Markup(styleSheet + style)}</style>
</head>
<body>
<header>
${header}
</header>
<main id="all">
${main}
</main>
<footer>
${footer}
</footer>
${script !== undefined && html`<script>${new Markup(script)}</script>`}
</body>
</html>
`;
  return page.text;
}

export interface Summary {
  readonly eyebrow: string;
  readonly verdict: Verdict;
  readonly conclusion: string;
  /** Shown after the counts. */
  readonly notes?: Markup | undefined;
  /** Shown after the start of the run. */
  readonly facts: Readonly<Record<string, string>>;
}

/** The head of a report: its conclusion, the number of results by verdict, and facts about the run. */
export function summaryHtml({ target, totals, startedAt }: RunReport, summary: Summary): Markup {
  const { eyebrow, verdict, conclusion, notes, facts } = summary;
  const counts = countedVerdicts(totals).map((one) =>
    html`<li class="${totals[one] > 0 && one}"><strong>${grouped(totals[one])}</strong> ${signOf(one)}${one}</li>`);
  const fact = ([name, value]: [string, string]): Markup => html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
  return html`<p class="soft">Pet Store Service: ${eyebrow}</p>
<h1><span class="${verdict}" aria-hidden="true">${signs[verdict]}</span> ${conclusion}</h1>
<p><code>${target}</code></p>
<ul class="counts">${counts}</ul>
${notes}
<dl class="facts">${Object.entries({ Started: dateText(startedAt), ...facts }).map(fact)}</dl>`;
}

/** The sign of a verdict, for use beside its name. */
export function signOf(verdict: Verdict): Markup {
  return html`<span aria-hidden="true">${signs[verdict]}</span> `;
}
