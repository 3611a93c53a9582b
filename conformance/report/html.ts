/** report.html, for somebody who did not run the kit: what failed comes first, in full; then everything that was looked at. */
import { isUnchanged, type Comparison } from './compare.ts';
import { comparisonSection, gapsSection, requirementsSection, rowAnchor } from './html-tables.ts';
import { attribute, html, lines, Markup } from './markup.ts';
import { pageHtml } from './page.ts';
import type { Report } from './report.ts';
import type { Failure, RequirementResult, Verdict } from '../verdicts/results.ts';
import { conclusion, count, dateText, duration, grouped, isStrict, requestsSent, sectionTitle, signs, verdicts } from './words.ts';

/** The report, and if given the comparison with another, as one HTML file. */
export function reportHtml(report: Report, comparison?: Comparison): string {
  return pageHtml({
    title: `${report.conforms ? 'Conforms' : 'Does not conform'}: ${report.target}`,
    header: html`${summary(report)}
${navigation(report, comparison)}`,
    main: html`${failuresSection(report)}
${inconclusiveSection(report)}
${requirementsSection(report)}
${gapsSection(report)}
${comparison && comparisonSection(comparison)}`,
    footer: html`<p>Written by ${report.kit.name} ${report.kit.version} on Node ${report.kit.node}. The same, for programs, is in report.json. Characters that cannot be seen are written out and marked, <span class="unseen">\\u202e</span> for instance.</p>`,
  });
}

function summary(report: Report): Markup {
  const { sent } = report;
  const failing = report.requirements
    .filter((result) => result.verdict === 'failed')
    .map(({ id }) => html`<a class="id" href="#${rowAnchor('failure', id)}">${id}</a> `);
  const parts = verdicts.filter((one) => report.totals[one] > 0);
  const verdict: Verdict = report.conforms ? 'passed' : 'failed';
  const facts: readonly (readonly [name: string, value: string])[] = [
    ['Started', dateText(report.startedAt)],
    ['Took', sent.secondsWaited > 0 ? `${duration(report.seconds)}, ${duration(sent.secondsWaited)} of it waiting` : duration(report.seconds)],
    ['Mode', report.mode.length > 0 ? report.mode.join(', ') : 'as by default'],
    ['Requests sent', `${grouped(requestsSent(report))}, ${grouped(sent.withoutKey)} of them without a valid key`],
    ['Animals created', sent.created > 0 ? `${grouped(sent.created)}, which stay` : 'none'],
    ['Seed', `${report.seed}, ${count(report.runs, 'generated case')} a property`],
    ['Unwanted 429', sent.unwanted429 > 0 ? grouped(sent.unwanted429) : 'none'],
  ];
  return html`<p class="eyebrow">Pet Store Service: conformance report</p>
<h1><span class="${verdict}" aria-hidden="true">${signs[verdict]}</span> ${conclusion(report)}</h1>
<p class="target"><code>${report.target}</code></p>
<div class="bar" aria-hidden="true">${parts.map((one) => html`<span class="${one}" style="flex:${report.totals[one]}"></span>`)}</div>
<ul class="counts">${verdicts.map((one) => html`<li class="${report.totals[one] > 0 ? one : 'none'}"><strong>${grouped(report.totals[one])}</strong> ${signOf(one)}${one}</li>`)}</ul>
${failing.length > 0 ? html`<p class="failing"><span class="hidden">Failed: </span>${failing}</p>` : undefined}
<dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

function navigation(report: Report, comparison: Comparison | undefined): Markup {
  const { failed, inconclusive } = report.totals;
  return html`<nav aria-label="Contents"><ul>
<li><a href="#failures">Failures</a> <span class="soft">${failed}</span></li>
${inconclusive > 0 ? html`<li><a href="#inconclusive">Inconclusive</a> <span class="soft">${inconclusive}</span></li>` : undefined}
<li><a href="#requirements">Requirements</a> <span class="soft">${report.requirements.length}</span></li>
<li><a href="#gaps">Gaps</a> <span class="soft">${report.gaps.length}</span></li>
${comparison && html`<li><a href="#comparison">Comparison</a> <span class="soft">${isUnchanged(comparison) ? 'nothing changed' : 'changes'}</span></li>`}
</ul></nav>`;
}

function signOf(verdict: Verdict): Markup {
  return html`<span aria-hidden="true">${signs[verdict]}</span> `;
}

function failuresSection({ requirements }: Report): Markup {
  const failed = requirements.filter(({ verdict }) => verdict === 'failed');
  return html`<section aria-labelledby="failures">
<h2 id="failures">Failures</h2>
<p class="lead">${failed.length === 0 ? 'No requirement failed.' : 'Each curl line sends the request again; one click selects it. It takes the key from $API_KEY.'}</p>
${failed.map(failedRequirement)}
</section>`;
}

function failedRequirement(result: RequirementResult): Markup {
  const { id, section, text, failures, failed } = result;
  const left = failed - failures.length;
  return html`<article class="failure" id="${rowAnchor('failure', id)}" aria-labelledby="${rowAnchor('title', id)}">
<p class="meta"><span class="failed verdict">${signOf('failed')}failed</span> <a class="id" href="#${rowAnchor('requirement', id)}">${id}</a> <span class="soft">${sectionTitle(section)}</span></p>
<h3 id="${rowAnchor('title', id)}">${text}</h3>
${failures.map((failure, index) => html`${failed > 1 ? html`<h4>Failure ${index + 1} of ${failed}</h4>` : undefined}${failureCase(failure)}`)}
${left > 0 ? html`<p class="more soft">${count(left, 'more failure')} of this requirement ${left === 1 ? 'is' : 'are'} not shown.</p>` : undefined}
</article>`;
}

function failureCase({ required, came, smallestCase, curl, answer, replay }: Failure): Markup {
  return html`<dl class="case">
<dt>Required</dt><dd>${required}</dd>
<dt>Came</dt><dd>${came}</dd>
<dt>Smallest case</dt><dd>${block(smallestCase, 'Smallest case')}</dd>
<dt>Reproduce</dt><dd>${block(curl, 'curl line', 'curl')}</dd>
<dt>Answer</dt><dd>${block(answer, 'Answer')}</dd>
${replay === undefined ? undefined : html`<dt>Generate again</dt><dd><code>${replay}</code></dd>`}
</dl>`;
}

/** Long text scrolls in a box of its own, which the keyboard must be able to reach. */
function block(text: string, label: string, kind = ''): Markup {
  const isLong = text.length > 2500 || text.split('\n').length > 24;
  return isLong
    ? html`<pre class="${kind} long" tabindex="0" role="region" aria-label="${attribute(label)}">${lines(text)}</pre>`
    : html`<pre class="${kind}">${lines(text)}</pre>`;
}

function inconclusiveSection(report: Report): Markup | undefined {
  const open = report.requirements.filter(({ verdict }) => verdict === 'inconclusive');
  if (open.length === 0) return undefined;
  return html`<section aria-labelledby="inconclusive">
<h2 id="inconclusive">Inconclusive</h2>
<p class="lead">No answer was seen that could have failed these.${isStrict(report) ? ' The run was --strict, so they count as failures.' : undefined}</p>
<ul class="list">${open.map(
    ({ id, text, reason }) => html`<li><span class="verdict inconclusive">${signOf('inconclusive')}</span><a class="id" href="#${rowAnchor('requirement', id)}">${id}</a><br>${text}
<p class="reason">${reason ?? 'No reason given.'}</p></li>`,
  )}</ul>
</section>`;
}
