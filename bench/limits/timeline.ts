/**
 * The timeline of a scenario as a table. For each second with responses it has what was admitted and refused, and what
 * remained; between the seconds it has the waits, the ends of windows and the bans.
 */
import { attribute, html, type Markup } from '../../conformance/report/markup.ts';
import { duration, grouped } from '../../conformance/report/words.ts';
import type { Counts, LimitsReport, ScenarioResult, Second } from './report.ts';

/** The parts of a bar, each with the class of its colour. */
const kinds = [
  ['admitted', 'passed'], ['refused', 'failed'], ['other', 'inconclusive'], ['withoutKey', 'skipped'],
] as const;

/** The style of the table, which is added to that of the page. */
export const timelineStyle = `
.timeline{display:table;width:100%;font-size:.875rem}.timeline tr{display:table-row}
.timeline th,.timeline td{display:table-cell}
.timeline th{text-align:left;font-weight:400;color:var(--soft)}.timeline td{padding:0 .75rem 0 0;white-space:nowrap}
.timeline td:nth-child(2){width:50%}.timeline td[colspan]{color:var(--soft);padding:.25rem 0}
.timeline i{display:inline-block;height:.75em;background:currentColor;print-color-adjust:exact}`;

/** More seconds than this without a response are shown as a wait. */
const shortWaitS = 4;

/** The table of one scenario; undefined if it had no responses. */
export function timelineOf(result: ScenarioResult, { timeline }: LimitsReport): Markup | undefined {
  const { name, at, seconds: length } = result;
  const seconds = timeline.seconds.filter(({ scenario }) => scenario === name);
  if (seconds.length === 0) return undefined;
  const most = Math.max(...seconds.map((second) => kinds.reduce((sum, [kind]) => sum + second[kind], 0)));
  const waits = seconds.flatMap((second, i) => {
    const since = (seconds[i - 1]?.at ?? second.at) + 1;
    const wait = second.at - since;
    return wait > shortWaitS ? [{ at: since, row: remark(`${wait} s without a request`) }] : [];
  });
  const within = (time: number) => time >= at && time <= at + length;
  const borders = timeline.borders.filter((border) => within(border.at)).map(({ at: time, reset }) =>
    ({ at: time, row: remark(`${clock(time)}: end of a window (X-RateLimit-Reset ${reset})`) }));
  const bans = timeline.bans.filter(({ from }) => within(from)).map(({ from, to }) =>
    ({ at: from + 0.5, row: remark(`${clock(from)}: a ban of ${duration(to - from)}`) }));
  const rows = seconds.map((second) => ({ at: second.at, row: rowOf(second, most) }));
  const inOrder = [...waits, ...borders, ...rows, ...bans].sort((one, other) => one.at - other.at);
  return html`<table class="timeline">
<tr><th>min:s</th><th>requests</th><th></th><th>Remaining</th></tr>
${inOrder.map(({ row }) => row)}</table>`;
}

function rowOf(second: Second, most: number): Markup {
  const { at, remaining } = second;
  // The square root, so that a quiet client's few requests are visible beside a burst of thousands.
  const total = kinds.reduce((sum, [kind]) => sum + second[kind], 0);
  const width = (part: number) => ((100 * part) / total) * Math.sqrt(total / most);
  const bars = kinds.filter(([kind]) => second[kind] > 0).map(([kind, colour]) =>
    html`<i class="${colour}" style="width:${attribute(width(second[kind]).toFixed(1))}%"></i>`);
  const shown = remaining === undefined ? '' : `${grouped(remaining.first)} → ${grouped(remaining.last)}`;
  return html`<tr><td>${clock(at)}</td><td>${bars}</td><td>${countsText(second)}</td><td>${shown}</td></tr>
`;
}

function remark(text: string): Markup {
  return html`<tr><td colspan="4">${text}</td></tr>
`;
}

/** `12 admitted, 3 refused`. */
export function countsText({ admitted, refused, other, withoutKey }: Counts): string {
  return [
    `${grouped(admitted)} admitted`,
    `${grouped(refused)} refused`,
    ...(other > 0 ? [`${grouped(other)} with another status`] : []),
    ...(withoutKey > 0 ? [`${grouped(withoutKey)} without a key`] : []),
  ].join(', ');
}

/** `1:05`. */
function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;
}
