/** report.html, for readers who did not run the kit: all failures, then everything that was checked. */
import { knownText, verdictOn } from '../verdicts/known.ts';
import type { Failure, RequirementResult, Verdict } from '../verdicts/results.ts';
import { examplesOf, failedGroups, haveOneCause } from './groups.ts';
import { attribute, html, lines, type Markup } from './markup.ts';
import { pageHtml, signOf, summaryHtml } from './page.ts';
import type { Report } from './report.ts';
import {
  bySection, combinedLines, conclusion, count, dateText, duration, grouped, headline, isStrict, notJudged, requestsSent,
  sectionTitle, unavailableText,
} from './words.ts';

/** A section of the page. It is left out if it has no items. */
interface Section {
  readonly anchor: string;
  readonly title: string;
  readonly number: number;
  readonly lead: string;
  readonly content: Markup | readonly Markup[];
}

/** The report as one HTML file. */
export function reportHtml(report: Report): string {
  const { kit } = report;
  const all = [failures, known, inconclusive, requirements, gaps, combinations].map((section) => section(report));
  const sections = all.filter(({ number }) => number > 0);
  const links = sections.map(({ anchor, title, number }) =>
    html`<li><a href="#${attribute(anchor)}">${title}</a> <span class="soft">${number}</span></li>`);
  return pageHtml({
    title: `${headline(report)}: ${report.target}`,
    header: html`${summary(report)}
<nav aria-label="Contents"><ul>${links}</ul></nav>`,
    main: html`${sections.map(sectionHtml)}`,
    footer: html`<p>Written by ${kit.name} ${kit.version} on Node ${kit.node}.
report.json has the same content for programs.
Invisible characters are shown as escapes, such as <span class="unseen">\\u202e</span>.</p>`,
  });
}

function summary(report: Report): Markup {
  const { sent } = report;
  const reasons = notJudged(report).map(([reason, number]) => html`<li><strong>${number}</strong> ${reason}</li>`);
  return summaryHtml({
    eyebrow: 'conformance report',
    verdict: report.conforms ? 'passed' : 'failed',
    conclusion: conclusion(report),
    target: report.target,
    totals: report.totals,
    notes: reasons.length === 0 ? undefined : html`<h2>Not judged</h2><ul>${reasons}</ul>`,
    facts: {
      Started: dateText(report.startedAt),
      Duration: `${duration(report.seconds)}, including ${duration(sent.secondsWaited)} of waiting`,
      Mode: report.mode.join(', '),
      'Requests sent': `${grouped(requestsSent(report))}, including ${grouped(sent.withoutKey)} without a valid key`,
      'Animals created': `${grouped(sent.created)}, which remain`,
      Seed: `${report.seed}, ${count(report.runs, 'generated case')} for each property`,
      'Unwanted 429': grouped(sent.unwanted429),
      'Recovered 503': unavailableText(report) ?? 'none',
    },
  });
}

function sectionHtml({ anchor, title, lead, content }: Section): Markup {
  return html`<section aria-labelledby="${attribute(anchor)}">
<h2 id="${attribute(anchor)}">${title}</h2>
<p class="lead">${lead}</p>
${content}
</section>
`;
}

function failures({ totals, requirements }: Report): Section {
  const lead = 'Each command under “Reproduce” sends the request again, with the key from $API_KEY.';
  const content = failedGroups(requirements).map(failedGroup);
  return { anchor: 'failures', title: 'Failures', number: totals.failed, lead, content };
}

/** Requirements that failed for the same cause. Only the first has an example. */
function failedGroup(group: readonly RequirementResult[]): Markup {
  return html`<article class="card failed">
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
<dt>Cause</dt><dd>The same as of ${link('failure', first.id)}</dd>
</dl>`
      : failureCase(failure),
  );
  return html`<p class="meta" id="${attribute(`failure-${id}`)}">${verdictHtml('failed')} ${link('requirement', id)}
<span class="soft">${sectionTitle(section)}; ${count(failed, 'failure')}</span></p>
<h3>${text}</h3>
${cases}
`;
}

function failureCase({ required, received, smallestCase, curl, response, replay }: Failure): Markup {
  return html`<dl class="case">
<dt>Required</dt><dd>${required}</dd>
<dt>Received</dt><dd>${received}</dd>
<dt>Smallest case</dt><dd>${block(smallestCase)}</dd>
<dt>Reproduce</dt><dd>${block(curl)}</dd>
<dt>Response</dt><dd>${block(response)}</dd>
${replay === undefined ? undefined : html`<dt>Replay</dt><dd><code>${replay}</code></dd>`}
</dl>`;
}

function block(text: string): Markup {
  return html`<pre>${lines(text)}</pre>`;
}

function known({ known, requirements }: Report): Section {
  const items = known.map((deviation) => {
    const { id } = deviation;
    const result = requirements.find((requirement) => requirement.id === id);
    // If the line has expired, the failures show the cases.
    const cases = result?.verdict === 'known' ? examplesOf(result).map(failureCase) : [];
    // A requirement that was not selected has no item to link to.
    const name = result === undefined ? html`<span class="id">${id}</span>` : link('requirement', id);
    return html`<li><p class="meta">${verdictHtml(verdictOn(deviation))} ${name}</p>${result?.text}
<p class="reason">${knownText(deviation)}</p>${cases}</li>`;
  });
  const lead = `They are listed in ${known[0]?.file}. They fail the run only if a line of this file is out of date.`;
  return { anchor: 'known', title: 'Known deviations', number: known.length, lead, content: list(items) };
}

function inconclusive(report: Report): Section {
  const results = report.requirements.filter(({ verdict }) => verdict === 'inconclusive');
  const items = results.map(({ id, text, reason }) =>
    html`<li><p class="meta">${verdictHtml('inconclusive')} ${link('requirement', id)}</p>${text}
<p class="reason">${reason}</p></li>`);
  const strict = isStrict(report) ? ' The run was --strict, so they count as failures.' : '';
  const lead = `No response could have violated these requirements.${strict}`;
  return { anchor: 'inconclusive', title: 'Inconclusive', number: results.length, lead, content: list(items) };
}

function requirements({ requirements }: Report): Section {
  const lead = 'A requirement passes only if at least one response could have violated it.';
  const content = bySection(requirements).map(([section, results]) => html`
<h3>${sectionTitle(section)}</h3>
${list(results.map(requirementItem))}`);
  return { anchor: 'requirements', title: 'Requirements', number: requirements.length, lead, content };
}

function requirementItem({ id, text, verdict, reason, judged, evidence }: RequirementResult): Markup {
  const name = verdict === 'failed' ? link('failure', id) : html`<span class="id">${id}</span>`;
  const responses = judged > 0 && html`<span class="soft">${count(judged, 'response')} judged</span>`;
  const shown = evidence.map((line) => html`<li><code>${line}</code></li>`);
  return html`
<li id="${attribute(`requirement-${id}`)}"><p class="meta">${verdictHtml(verdict)} ${name} ${responses}</p>${text}
${reason !== undefined && html`<p class="reason">${reason}</p>`}
${shown.length > 0 && html`<details><summary>Evidence</summary><ul>${shown}</ul></details>`}</li>`;
}

/** What the specification leaves open, and how the server fills it. */
function gaps({ gaps }: Report): Section {
  const lead = 'What the specification leaves open, and how this server fills it. The kit does not judge it.';
  const content = bySection(gaps).map(([section, group]) => {
    const items = group.map(({ question, behaviour, example, reason }) => html`<li><strong>${question}</strong>
<p>${behaviour ?? html`<span class="soft">Not observed: ${reason}</span>`}</p>
${example !== undefined && html`<code>${example}</code>`}</li>`);
    return html`<h3>${sectionTitle(section)}</h3>
${list(items)}`;
  });
  return { anchor: 'gaps', title: 'Gaps', number: gaps.length, lead, content };
}

function combinations({ combined = [] }: Report): Section {
  const lead = 'The values of requests that this run combined, and those that it never used.';
  const items = combined.flatMap(combinedLines).map((line) => html`<li>${line}</li>`);
  return { anchor: 'combinations', title: 'Combinations', number: combined.length, lead, content: list(items) };
}

function list(items: readonly Markup[]): Markup {
  return html`<ul class="list">${items}</ul>`;
}

function link(kind: 'failure' | 'requirement', id: string): Markup {
  return html`<a class="id" href="#${attribute(`${kind}-${id}`)}">${id}</a>`;
}

function verdictHtml(verdict: Verdict): Markup {
  return html`<span class="verdict ${verdict}">${signOf(verdict)}${verdict}</span>`;
}
