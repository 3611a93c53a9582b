/**
 * Plots as inline SVG. Horizontal positions are percentages of the width; vertical positions and text use the units of
 * the page. So a plot fits any screen without distortion. The text of each row has the same figures as its plot.
 */
import { html, type Markup } from '../../conformance/report/markup.ts';
import { grouped } from '../../conformance/report/words.ts';
import type { Latency } from './responses.ts';

/** The scale that all plots of one kind in a report share, so that they can be compared. */
export interface Scale {
  readonly ticks: readonly number[];
  /** The position of a value in percent of the width. */
  readonly at: (value: number) => number;
}

/** A linear scale from 0 to the greatest of these numbers. */
export function linearScale(values: readonly number[]): Scale {
  const max = Math.max(1, ...values);
  return { ticks: [0, max], at: (value) => rounded((100 * value) / max) };
}

/** A logarithmic scale for these numbers, with a tick at each power of ten. */
export function logScale(values: readonly number[]): Scale {
  const powers = values.filter((value) => value > 0).map(Math.log10);
  const first = Math.floor(Math.min(0, ...powers));
  const last = Math.max(first + 1, Math.ceil(Math.max(0, ...powers)));
  return {
    ticks: Array.from({ length: last - first + 1 }, (_, i) => Number(`1e${first + i}`)),
    at: (value) => rounded((100 * (Math.log10(Math.max(value, 10 ** first)) - first)) / (last - first)),
  };
}

function rounded(percent: number): number {
  return Math.round(percent * 100) / 100;
}

/** The labels of a scale, above its plots. */
function axis(scale: Scale): Markup {
  const labels = scale.ticks.map((tick) => {
    const x = scale.at(tick);
    const anchor = x < 3 ? 'start' : x > 97 ? 'end' : 'middle';
    return html`<text x="${x}%" y="1em" text-anchor="${anchor}">${grouped(tick)}</text>`;
  });
  return html`<svg class="plot axis" aria-hidden="true">${labels}</svg>`;
}

/** A bar with a part for each number, in the colour of a class. Parts that are not 0 are wide enough to see. */
export function bar(scale: Scale, parts: readonly (readonly [colour: string, value: number])[]): Markup {
  let sum = 0;
  const rects = parts.filter(([, value]) => value > 0).map(([colour, value]) => {
    const x = scale.at(sum);
    sum += value;
    const width = Math.max(0.5, rounded(scale.at(sum) - x));
    return html`<rect class="${colour}" x="${x}%" width="${width}%" y="20%" height="60%"/>`;
  });
  return plot(scale, rects);
}

/** A line from p50 (a dot) through p90 (a stroke) to p99 (a circle). */
export function range(scale: Scale, colour: string, { p50, p90, p99 }: Latency): Markup {
  const [from, middle, to] = [scale.at(p50), scale.at(p90), scale.at(p99)];
  return plot(scale, html`<g class="${colour}"><line x1="${from}%" x2="${to}%" y1="50%" y2="50%"/>
<line x1="${middle}%" x2="${middle}%" y1="15%" y2="85%"/>
<circle cx="${to}%" cy="50%" r="4" fill="var(--sheet)"/><circle cx="${from}%" cy="50%" r="4.5"/></g>`);
}

function plot({ ticks, at }: Scale, marks: Markup | readonly Markup[]): Markup {
  const grid = ticks.map((tick) => html`<line class="grid" x1="${at(tick)}%" x2="${at(tick)}%" y2="100%"/>`);
  return html`<svg class="plot" aria-hidden="true">${grid}${marks}</svg>`;
}

/** A row of a table: its cells and its plot, or a remark. */
export type Row = { readonly cells: readonly (string | Markup)[]; readonly plot: Markup } | { readonly remark: string };

/**
 * A table whose rows have plots. The first cell of each row is its header. `widths` are the widths of the other cells
 * on wide screens.
 */
export function plottedTable(
  name: string, widths: string, columns: readonly string[], scale: Scale, rows: readonly Row[],
): Markup {
  const heads = columns.map((column) => html`<th role="columnheader" scope="col">${column}</th>`);
  const body = rows.map((row) => {
    if ('remark' in row) return html`<tr role="row" class="remark"><td role="cell">${row.remark}</td></tr>\n`;
    const [first, ...others] = row.cells;
    return html`<tr role="row"><th role="rowheader" scope="row">${first}</th>
${others.map((cell) => html`<td role="cell">${cell}</td>`)}<td role="cell" class="wide">${row.plot}</td></tr>\n`;
  });
  return html`<h4>${name}</h4>
<table role="table" class="plotted" style="--columns:${columns.length - 1};--widths:${widths}">
<thead role="rowgroup"><tr role="row">${heads}<td role="cell" class="wide">${axis(scale)}</td></tr></thead>
<tbody role="rowgroup">${body}</tbody>
</table>`;
}

/** The style of the tables of a scenario. Plots are below the cells on narrow screens, after the first on wide ones. */
export const plotStyle = `
.plot{display:block;width:100%;height:1.25rem;overflow:visible;fill:currentColor;stroke:currentColor;stroke-width:0}
.plot line,.plot circle{stroke-width:2}.plot .grid{stroke:var(--line);stroke-width:1}
.axis{font-size:.75rem;color:var(--soft)}
.plotted{font-size:.875rem;border:0}
.plotted tr{display:grid;grid-template-columns:3.5rem repeat(var(--columns),minmax(0,1fr));gap:0 .5rem;
  align-items:center;padding:.125rem 0;border:0}
.plotted thead,.plotted th,.remark{color:var(--soft)}
.plotted :is(th,td):not(:first-child,.wide){text-align:right}
.plotted .wide{grid-column:1/-1;min-width:0}
.plotted .remark{display:block;padding:.375rem 0}
.figures{border:0;font-size:.875rem;display:table}
.figures tbody{display:table-row-group}.figures tr{display:table-row}
.figures :is(th,td){display:table-cell;padding:.125rem 1.5rem 0 0}.figures td{text-align:right}
@media (min-width:44rem){
  .plotted tr{grid-template-columns:3.5rem minmax(0,1fr) var(--widths)}
  .plotted .wide{grid-column:2;grid-row:1}
}`;
