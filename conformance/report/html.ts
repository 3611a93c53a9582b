/** report.html, for readers who did not run the kit: all failures, then everything that was checked. */
import { knownText, verdictOn } from '../verdicts/known.ts';
import type { Failure, RequirementResult, Verdict } from '../verdicts/results.ts';
import { examplesOf, failedGroups, haveOneCause } from './groups.ts';
import { gapsSection, requirementsSection, rowAnchor } from './html-tables.ts';
import { attribute, html, lines, type Markup } from './markup.ts';
import { pageHtml, signOf, summaryHtml } from './page.ts';
import type { Report } from './report.ts';
import {
  conclusion, count, dateText, duration, grouped, headline, isStrict, notJudged, requestsSent, sectionTitle,
  unavailableText,
} from './words.ts';

/** How many lines of a block are visible at first, and the least number of columns on narrow and on wide screens. */
const shownRows = 6;
const columnsOf = { narrow: 38, wide: 100 } as const;

/** Adds a copy button to each block. */
const copyScript = `
if (navigator.clipboard) for (const text of document.querySelectorAll('.copy')) {
  const button = document.createElement('button');
  button.type = 'button';
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
  return pageHtml({
    title: `${headline(report)}: ${report.target}`,
    script: copyScript,
    header: html`${summary(report)}
${navigation(report)}`,
    main: html`${failuresSection(report)}
${knownSection(report)}
${inconclusiveSection(report)}
${requirementsSection(report)}
${gapsSection(report)}`,
    footer: html`<p>Written by ${kit.name} ${kit.version} on Node ${kit.node}.
report.json has the same content for programs.
Invisible characters are shown as escapes, such as <span class="unseen">\\u202e</span>.</p>`,
  });
}

function summary(report: Report): Markup {
  const { sent, totals } = report;
  const failed = report.requirements.filter(({ verdict }) => verdict === 'failed');
  const links = failed.map(({ id }) => html`<a class="id" href="#${rowAnchor('failure', id)}">${id}</a> `);
  const open = notJudged(report);
  const reasons = open.map(([reason, number]) => html`<li><strong>${number}</strong> ${reason}</li>`);
  const waited = sent.secondsWaited > 0 ? `, including ${duration(sent.secondsWaited)} of waiting` : '';
  return summaryHtml({
    eyebrow: 'conformance report',
    verdict: report.conforms ? 'passed' : 'failed',
    conclusion: conclusion(report),
    target: report.target,
    totals,
    notes: html`${links.length > 0 && html`<p class="failing"><span class="hidden">Failed: </span>${links}</p>`}
${open.length > 0 && html`<h2>Not judged</h2><ul class="unjudged">${reasons}</ul>`}`,
    facts: {
      Started: dateText(report.startedAt),
      Duration: duration(report.seconds) + waited,
      Mode: report.mode.length > 0 ? report.mode.join(', ') : 'default',
      'Requests sent': `${grouped(requestsSent(report))}, including ${grouped(sent.withoutKey)} without a valid key`,
      'Animals created': sent.created > 0 ? `${grouped(sent.created)}, which remain` : 'none',
      Seed: `${report.seed}, ${count(report.runs, 'generated case')} for each property`,
      'Unwanted 429': sent.unwanted429 > 0 ? grouped(sent.unwanted429) : 'none',
      'Recovered 503': unavailableText(report) ?? 'none',
    },
  });
}

function navigation({ totals, known, requirements, gaps }: Report): Markup {
  const item = (anchor: string, title: string, note: string | number): Markup =>
    html`<li><a href="#${attribute(anchor)}">${title}</a> <span class="soft">${note}</span></li>`;
  return html`<nav aria-label="Contents"><ul>
${item('failures', 'Failures', totals.failed)}
${known.length > 0 ? item('known', 'Known deviations', known.length) : undefined}
${totals.inconclusive > 0 ? item('inconclusive', 'Inconclusive', totals.inconclusive) : undefined}
${item('requirements', 'Requirements', requirements.length)}
${item('gaps', 'Gaps', gaps.length)}
</ul></nav>`;
}

function failuresSection({ requirements }: Report): Markup {
  const groups = failedGroups(requirements);
  const lead =
    groups.length === 0
      ? 'No requirement failed.'
      : 'Each command under “Reproduce” sends the request again, with the key from $API_KEY.';
  return html`<section aria-labelledby="failures">
<h2 id="failures">Failures</h2>
<p class="lead">${lead}</p>
${groups.map(failedGroup)}
</section>`;
}

/** Requirements that failed for the same cause. Only the first has an example. */
function failedGroup(group: readonly RequirementResult[]): Markup {
  const [{ id }] = group as [RequirementResult];
  return html`<article class="card failed" aria-labelledby="${rowAnchor('title', id)}">
${group.map((result) => failedRequirement(result, group[0]!))}
</article>`;
}

function failedRequirement(result: RequirementResult, first: RequirementResult): Markup {
  const { id, section, text, failed } = result;
  const cases = examplesOf(result).map((failure) =>
    result !== first && haveOneCause(first.failures[0]!, failure)
      ? html`<dl class="case">
<dt>Required</dt><dd>${failure.required}</dd>
<dt>Received</dt><dd>${failure.received}</dd>
<dt>Cause</dt><dd>The same as of <a class="id" href="#${rowAnchor('failure', first.id)}">${first.id}</a></dd>
</dl>`
      : failureCase(failure),
  );
  return html`<p class="meta" id="${rowAnchor('failure', id)}">
<span class="failed verdict">${signOf('failed')}failed</span>
<a class="id" href="#${rowAnchor('requirement', id)}">${id}</a>
<span class="soft">${sectionTitle(section)}; ${count(failed, 'failure')}</span></p>
<h3 id="${rowAnchor('title', id)}">${text}</h3>
${cases}
`;
}

function failureCase({ required, received, smallestCase, curl, response, replay }: Failure): Markup {
  return html`<dl class="case">
<dt>Required</dt><dd>${required}</dd>
<dt>Received</dt><dd>${received}</dd>
<dt>Smallest case</dt><dd>${block(smallestCase)}</dd>
<dt>Reproduce</dt><dd>${block(curl)}</dd>
<dt>Response</dt><dd>${whole(response)}</dd>
${replay === undefined ? undefined : html`<dt>Replay</dt><dd><code>${replay}</code></dd>`}
</dl>`;
}

/** A block of text of which only the first lines are visible until the reader unfolds it. */
function block(text: string): Markup {
  const rows = (columns: number): number =>
    text.split('\n').reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / columns)), 0);
  const cut = rows(columnsOf.wide) > shownRows ? 'cut' : rows(columnsOf.narrow) > shownRows ? 'cut narrow' : undefined;
  const toggle = cut && html`<details class="${cut}"><summary>Show all</summary></details>`;
  return html`${toggle}${whole(text)}`;
}

/** A block of text, uncut: the end of a response, its body, is the evidence. */
function whole(text: string): Markup {
  return html`<pre class="copy">${lines(text)}</pre>`;
}

function knownSection({ known, requirements }: Report): Markup | undefined {
  const items = known.map((deviation) => {
    const { id } = deviation;
    const result = requirements.find((requirement) => requirement.id === id);
    // If the line has expired, the failures show the cases.
    const cases = result?.verdict === 'known' ? examplesOf(result).map(failureCase) : [];
    return listItem(id, verdictOn(deviation), result?.text, knownText(deviation), cases);
  });
  const lead = `They are listed in ${known[0]?.file}. They fail the run only if a line of this file is out of date.`;
  return listSection('known', 'Known deviations', lead, items);
}

function inconclusiveSection(report: Report): Markup | undefined {
  const inconclusive = report.requirements.filter(({ verdict }) => verdict === 'inconclusive');
  const strict = isStrict(report) ? ' The run was --strict, so they count as failures.' : '';
  const lead = `No response could have violated these requirements.${strict}`;
  const items = inconclusive.map(({ id, verdict, text, reason = 'No reason.' }) => listItem(id, verdict, text, reason));
  return listSection('inconclusive', 'Inconclusive', lead, items);
}

/** `text` is that of the requirement; absent if it was not selected, so that it has no row to link to. */
function listItem(
  id: string, verdict: Verdict, text: string | undefined, reason: string, cases: readonly Markup[] = [],
): Markup {
  const name = text === undefined ? id : html`<a class="id" href="#${rowAnchor('requirement', id)}">${id}</a>`;
  return html`<li><span class="verdict ${verdict}">${signOf(verdict)}</span>${name}<br>${text}
<p class="reason">${reason}</p>${cases}</li>`;
}

function listSection(anchor: string, title: string, lead: string, items: readonly Markup[]): Markup | undefined {
  if (items.length === 0) return undefined;
  return html`<section aria-labelledby="${anchor}">
<h2 id="${anchor}">${title}</h2>
<p class="lead">${lead}</p>
<ul class="list">${items}</ul>
</section>`;
}
