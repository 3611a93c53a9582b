/**
 * The tables of report.html. On a phone each row is a stack of blocks; browsers then no longer take it for a table, so every
 * role is also given in words.
 */
import { changedTo, directionTitles, gapsByRuns, isUnchanged, type Comparison, type GapChange, type Side } from './compare.ts';
import { attribute, html, type Markup } from './markup.ts';
import type { Report } from './report.ts';
import type { RequirementResult, Verdict } from '../verdicts/results.ts';
import { bySection, count, dateText, sectionTitle, signs, verdicts } from './words.ts';

type Text = string | Markup;

/** The name of a place in the page, for a requirement's id. */
export function rowAnchor(kind: 'failure' | 'requirement' | 'title', id: string): Markup {
  return attribute(`${kind}-${id.replace(/[^\w.-]/g, '_')}`);
}

/** Every requirement, by section. */
export function requirementsSection({ requirements }: Report): Markup {
  return html`<section aria-labelledby="requirements">
<h2 id="requirements">Requirements</h2>
<p class="lead">A requirement passes only when at least one answer was seen that could have failed it; how many were is at the end of each line.</p>
${bySection(requirements).map(([section, results], index) => sectionTable(section, results, `section-${index}`))}
</section>`;
}

// The cells say what they are, so the head is only for those who hear the table.
function sectionTable(section: string, results: readonly RequirementResult[], anchor: string): Markup {
  return html`<div class="section"><h3 id="${anchor}">${sectionTitle(section)}</h3><p>${tally(results)}</p></div>
<table role="table" class="results" aria-labelledby="${anchor}">
${tableHead(['Verdict', 'Requirement', 'What is required', 'Answers judged'], 'hidden')}
<tbody role="rowgroup">${results.map(resultRow)}</tbody>
</table>`;
}

function tally(results: readonly RequirementResult[]): string {
  return verdicts
    .map((verdict) => [results.filter((result) => result.verdict === verdict).length, verdict] as const)
    .filter(([number]) => number > 0)
    .map(([number, verdict]) => `${number} ${verdict}`)
    .join(', ');
}

function resultRow({ id, text, verdict, reason, judged, evidence }: RequirementResult): Markup {
  const more = verdict === 'failed' ? html`<p class="reason"><a href="#${rowAnchor('failure', id)}">What failed</a></p>` : undefined;
  return html`
<tr role="row" id="${rowAnchor('requirement', id)}">
<td role="cell" class="verdict ${verdict}">${verdictText(verdict)}</td>
<th role="rowheader" scope="row" class="id">${id}</th>
<td role="cell" class="what">${text}${more}${reason === undefined ? undefined : html`<p class="reason">${reason}</p>`}${evidenceList(evidence)}</td>
<td role="cell" class="judged">${judged > 0 ? count(judged, 'answer') : undefined}</td>
</tr>`;
}

function evidenceList(evidence: readonly string[]): Markup | undefined {
  if (evidence.length === 0) return undefined;
  return html`<details><summary>Evidence</summary><ul>${evidence.map((line) => html`<li><code>${line}</code></li>`)}</ul></details>`;
}

function verdictText(verdict: Verdict): Markup {
  return html`<span class="sign" aria-hidden="true">${signs[verdict]}</span>${verdict}`;
}

/** What the specification leaves open, and how this server fills it. */
export function gapsSection({ gaps }: Report): Markup {
  const seen = gaps.filter(({ answer }) => answer !== undefined);
  const unseen = bySection(gaps.filter(({ answer }) => answer === undefined)).flatMap(([, group]) => group);
  return html`<section aria-labelledby="gaps">
<h2 id="gaps">Gaps</h2>
<p class="lead">What the specification leaves open, and how this server fills it. Any answer is allowed; none was judged.</p>
${bySection(seen).map(([section, group]) => {
  const rows = group.map(({ question, answer, example }) => [question, answer ?? '', example === undefined ? '' : html`<code>${example}</code>`]);
  return pairs(sectionTitle(section), ['This server', 'Example'], rows);
})}
${pairs('Not looked at', ['Why not'], unseen.map(({ question, reason }) => [question, reason ?? 'No reason given.']))}
</section>`;
}

/** What changed against another report. */
export function comparisonSection(comparison: Comparison): Markup {
  const { before, now, onlyBefore, onlyNow } = comparison;
  const gaps = gapsByRuns(comparison);
  const only = (result: RequirementResult): readonly Text[] => [requirementName(result), verdictMark(result.verdict)];
  const gap = (change: GapChange): readonly Text[] => [change.question, change.before ?? 'not looked at', change.now ?? 'not looked at'];
  return html`<section aria-labelledby="comparison">
<h2 id="comparison">Comparison</h2>
<p class="lead">${isUnchanged(comparison) ? 'Nothing changed: the same verdicts, and the gaps filled in the same way.' : 'What changed from the earlier report to this one.'}</p>
<dl class="sides">${sideOf('Before', before)}${sideOf('Now', now)}</dl>
${(['worse', 'better', 'other'] as const).map((wanted) => {
  const rows = changedTo(comparison, wanted).map((change) => [requirementName(change), verdictMark(change.before), verdictMark(change.now)]);
  return pairs(directionTitles[wanted], ['Before', 'Now'], rows);
})}
${pairs('Only in the earlier report', ['Verdict'], onlyBefore.map(only))}
${pairs('Only in this report', ['Verdict'], onlyNow.map(only))}
${pairs('Gaps filled in another way', ['Before', 'Now'], gaps.both.map(gap))}
${pairs('Gaps that one of the two runs did not look at', ['Before', 'Now'], gaps.one.map(gap))}
</section>`;
}

function sideOf(name: string, { target, startedAt, conforms }: Side): Markup {
  const verdict = conforms ? html`<span class="passed">conforms</span>` : html`<span class="failed">does not conform</span>`;
  return html`<div><dt>${name}</dt><dd><code>${target}</code><br>${dateText(startedAt)}, ${verdict}</dd></div>`;
}

function requirementName({ id, text }: { readonly id: string; readonly text: string }): Markup {
  return html`${text}<br><span class="id soft">${id}</span>`;
}

function verdictMark(verdict: Verdict): Markup {
  return html`<span class="verdict ${verdict}">${verdictText(verdict)}</span>`;
}

/** A table whose first column heads its rows, and is headed by the title; nothing when there are no rows. */
function pairs(title: string, columns: readonly string[], rows: readonly (readonly Text[])[]): Markup | undefined {
  if (rows.length === 0) return undefined;
  const cell = (value: Text, index: number): Markup | undefined => {
    const name = columns[index] ?? '';
    if (value === '') return html`<td role="cell"></td>`;
    return html`<td role="cell"><span class="label" aria-hidden="true">${name} </span>${value}</td>`;
  };
  return html`<table role="table" class="pairs${columns.length === 1 ? ' two' : ''}" aria-label="${attribute(title)}">
${tableHead([title, ...columns])}
<tbody role="rowgroup">${rows.map(([first = '', ...rest]) => html`<tr role="row"><th role="rowheader" scope="row">${first}</th>${rest.map(cell)}</tr>`)}</tbody>
</table>`;
}

function tableHead(columns: readonly string[], kind = ''): Markup {
  return html`<thead role="rowgroup" class="${kind}"><tr role="row">${columns.map((name) => html`<th role="columnheader" scope="col">${name}</th>`)}</tr></thead>`;
}
