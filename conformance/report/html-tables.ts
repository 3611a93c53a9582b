/**
 * The tables of report.html. On narrow screens, each row is a stack of blocks. Browsers then no longer treat it as a
 * table, so the roles are explicit.
 */
import type { RequirementResult, Verdict } from '../verdicts/results.ts';
import { attribute, html, type Markup } from './markup.ts';
import type { Report } from './report.ts';
import { signOf } from './page.ts';
import { bySection, combinedLines, count, countedVerdicts, sectionTitle, signs, verdicts } from './words.ts';

type Text = string | Markup;

/** The anchor of a requirement in the page. */
export function rowAnchor(kind: 'failure' | 'requirement' | 'title', id: string): Markup {
  return attribute(`${kind}-${id.replace(/[^\w.-]/g, '_')}`);
}

/** Every requirement, by section. */
export function requirementsSection({ requirements, totals, ...report }: Report): Markup {
  const combined = (report.combined ?? []).flatMap(combinedLines).map((line) => html`<li>${line}</li>`);
  return html`<section aria-labelledby="requirements">
<h2 id="requirements">Requirements</h2>
<p class="lead">A requirement passes only if at least one response could have violated it.
Each row ends with their number.</p>
<fieldset class="filter"><legend class="hidden">Requirements to show</legend>
${filter('all', requirements.length, true)}
${countedVerdicts(totals).filter((verdict) => totals[verdict] > 0).map((verdict) => filter(verdict, totals[verdict]))}
</fieldset>
${bySection(requirements).map(([section, results], index) => sectionTable(section, results, `section-${index}`))}
${combined.length > 0 && html`<details><summary>What was combined</summary><ul>${combined}</ul></details>`}
</section>`;
}

function filter(verdict: Verdict | 'all', number: number, isChecked = false): Markup {
  const checked = isChecked ? html` checked="checked"` : undefined;
  const sign = verdict === 'all' ? undefined : signOf(verdict);
  return html`<label class="${verdict}"><input type="radio" name="show" value="${verdict}"${checked}>
<span>${sign}${verdict}</span> <span class="soft">${number}</span></label>`;
}

// The head is only for screen readers, because the cells are self-explanatory.
function sectionTable(section: string, results: readonly RequirementResult[], anchor: string): Markup {
  return html`<div class="group">
<div class="section"><h3 id="${anchor}">${sectionTitle(section)}</h3><p>${tally(results)}</p></div>
<table role="table" class="results" aria-labelledby="${anchor}">
${tableHead(['Verdict', 'Requirement', 'What is required', 'Responses judged'], 'hidden')}
<tbody role="rowgroup">${results.map(resultRow)}</tbody>
</table></div>`;
}

function tally(results: readonly RequirementResult[]): string {
  return verdicts
    .map((verdict) => [results.filter((result) => result.verdict === verdict).length, verdict] as const)
    .filter(([number]) => number > 0)
    .map(([number, verdict]) => `${number} ${verdict}`)
    .join(', ');
}

function resultRow({ id, text, verdict, reason, judged, evidence }: RequirementResult): Markup {
  const link = html`<p class="reason"><a href="#${rowAnchor('failure', id)}">Failures</a></p>`;
  const why = reason === undefined ? undefined : html`<p class="reason">${reason}</p>`;
  return html`
<tr role="row" id="${rowAnchor('requirement', id)}">
<td role="cell" class="verdict ${verdict}">${verdictText(verdict)}</td>
<th role="rowheader" scope="row" class="id">${id}</th>
<td role="cell" class="what">${text}${verdict === 'failed' ? link : undefined}${why}${evidenceList(evidence)}</td>
<td role="cell" class="judged">${judged > 0 ? count(judged, 'response') : undefined}</td>
</tr>`;
}

function evidenceList(evidence: readonly string[]): Markup | undefined {
  if (evidence.length === 0) return undefined;
  const items = evidence.map((line) => html`<li><code>${line}</code></li>`);
  return html`<details><summary>Evidence</summary><ul>${items}</ul></details>`;
}

function verdictText(verdict: Verdict): Markup {
  return html`<span class="sign" aria-hidden="true">${signs[verdict]}</span>${verdict}`;
}

/** What the specification leaves open, and how the server fills it. */
export function gapsSection({ gaps }: Report): Markup {
  const observed = bySection(gaps.filter(({ behaviour }) => behaviour !== undefined));
  const others = bySection(gaps.filter(({ behaviour }) => behaviour === undefined)).flatMap(([, group]) => group);
  const tables = observed.map(([section, group]) => {
    const rows = group.map(({ question, behaviour = '', example }) => {
      return [question, behaviour, example === undefined ? '' : html`<code>${example}</code>`];
    });
    return pairs(sectionTitle(section), ['This server', 'Example'], rows);
  });
  const reasons = others.map(({ question, reason }) => [question, reason ?? 'No reason.']);
  return html`<section aria-labelledby="gaps">
<h2 id="gaps">Gaps</h2>
<p class="lead">What the specification leaves open, and how this server fills it. The kit does not judge it.</p>
${tables}
${pairs('Not observed', ['Reason'], reasons)}
</section>`;
}

/** A table whose first column contains the row headers, under the title. Nothing if there are no rows. */
function pairs(title: string, columns: readonly string[], rows: readonly (readonly Text[])[]): Markup | undefined {
  if (rows.length === 0) return undefined;
  const cell = (value: Text, index: number): Markup => {
    if (value === '') return html`<td role="cell"></td>`;
    return html`<td role="cell"><span class="label" aria-hidden="true">${columns[index] ?? ''} </span>${value}</td>`;
  };
  const row = ([first = '', ...rest]: readonly Text[]): Markup =>
    html`<tr role="row"><th role="rowheader" scope="row">${first}</th>${rest.map(cell)}</tr>`;
  const kind = columns.length === 1 ? ' two' : '';
  return html`<table role="table" class="pairs${kind}" aria-label="${attribute(title)}">
${tableHead([title, ...columns])}
<tbody role="rowgroup">${rows.map(row)}</tbody>
</table>`;
}

function tableHead(columns: readonly string[], kind = ''): Markup {
  const heads = columns.map((name) => html`<th role="columnheader" scope="col">${name}</th>`);
  return html`<thead role="rowgroup" class="${kind}"><tr role="row">${heads}</tr></thead>`;
}
