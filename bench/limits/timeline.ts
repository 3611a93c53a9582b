/**
 * The time line of a run as one SVG: what was admitted and refused in each second, what Remaining said, window borders and bans.
 *
 * Most of a run is waiting. So each scenario is a block of its own, and within it a span in which nothing came for more than a few
 * seconds is cut down to a narrow strip that says how long it was. All looks stand in attributes, and the ground is its own: the
 * element reads wherever it is pasted. limits.html gives its classes the colours of the page.
 */
import { html, type Markup } from '../../conformance/report/markup.ts';
import { palettes } from '../../conformance/report/style.ts';
import { grouped, signs } from '../../conformance/report/words.ts';
import type { Border, LimitsReport, Second } from './report.ts';
import { barsHeight, between, bottom, layout, left, nice, remainingHeight, right, top, type Block } from './timeline-layout.ts';

/** The colours of the drawing, on its own ground; `timelineStyle` has those of a dark page. */
const colours = {
  ground: palettes.light.sheet,
  block: '#f6f4ef',
  rule: palettes.light.line,
  ink: palettes.light.ink,
  soft: palettes.light.soft,
  admitted: '#2a6fb0',
  refused: '#c6372c',
  other: '#e09a1a',
  stranger: '#a9a294',
  remaining: '#17663c',
  border: '#6b5aa0',
} as const;

const dark: Readonly<Record<keyof typeof colours, string>> = {
  ground: palettes.dark.sheet,
  block: '#24272b',
  rule: palettes.dark.line,
  ink: palettes.dark.ink,
  soft: palettes.dark.soft,
  admitted: '#6aa9e6',
  refused: '#f0776b',
  other: '#e3b45c',
  stranger: '#7d7a73',
  remaining: '#6cc795',
  border: '#b3a3ea',
};

/** What limits.html adds, so that the drawing follows the page into the dark. */
export const timelineStyle = `@media screen and (prefers-color-scheme:dark){${Object.entries(dark)
  .map(([name, colour]) => `.t-${name}{fill:${colour}}.t-${name}-line{stroke:${colour}}`)
  .join('')}}`;

/** What a bar is made of, from its foot up, and in which colour. */
const barKinds = [
  ['admitted', 'admitted'],
  ['refused', 'refused'],
  ['other', 'other'],
  ['withoutKey', 'stranger'],
] as const;

/** The drawing, or undefined where nothing came at all. */
export function timelineSvg(report: LimitsReport): Markup | undefined {
  if (report.timeline.seconds.length === 0) return undefined;
  const { blocks, seconds, step, width, perSecond } = layout(report);
  const most = nice(Math.max(1, ...seconds.map((s) => s.admitted + s.refused + s.other + s.withoutKey)));
  const full = nice(Math.max(1, ...seconds.flatMap(({ remaining }) => (remaining ? [remaining.first, remaining.last] : []))));
  const [barsFoot, lineTop] = [top + barsHeight, top + barsHeight + between];
  const lineFoot = lineTop + remainingHeight;
  // By its square root, so that a quiet client's few requests are seen beside a burst of thousands.
  const barY = (requests: number) => barsFoot - Math.sqrt(requests / most) * barsHeight;
  const lineY = (remaining: number) => lineFoot - (remaining / full) * remainingHeight;
  const height = lineFoot + bottom;
  return html`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="timeline-title timeline-desc" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif" font-size="11">
<title id="timeline-title">Rate limits of ${report.target}, second by second</title>
<desc id="timeline-desc">${description(report)}</desc>
<rect class="t-ground" width="${width}" height="${height}" rx="4" fill="${colours.ground}"/>
${legend(report, width)}
${blocks.map((block) => blockGround(block, lineFoot))}
${[0, most / 4, most].map((value) => axisLine(width, barY(value), grouped(value)))}
${[0, full].map((value) => axisLine(width, lineY(value), grouped(value)))}
${axisTitle(top + barsHeight / 2, 'requests a second (square root)')}
${axisTitle(lineTop + remainingHeight / 2, 'Remaining')}
${blocks.map((block) => html`${bans(block, report, lineFoot)}${block.seconds.map((second) => bars(block, second, step, perSecond, barY))}${remainingLine(block, step, report.timeline.borders, lineY)}`)}
${borders(blocks, lineFoot, report)}
${blocks.map((block) => ticks(block, lineFoot, perSecond))}
<text class="t-soft" x="${left + (width - left - right) / 2}" y="${height - 8}" text-anchor="middle" fill="${colours.soft}">time since the run began (min:s); waits are cut short, and say how long they were</text>
</svg>`;
}

function blockGround({ result, x, width }: Block, foot: number): Markup {
  const sign = `${signs[result.verdict]} ${result.name}`;
  return html`<rect class="t-block" x="${px(x)}" y="${top - 22}" width="${px(width)}" height="${foot - top + 22}" fill="${colours.block}"/>
<text class="t-ink" x="${px(x + width / 2)}" y="${top - 8}" text-anchor="middle" font-weight="600" fill="${colours.ink}">${sign}</text>
`;
}

/** One second: from the foot up, what was admitted, refused, otherwise answered, and answered without a key. */
function bars(block: Block, second: Second, step: number, perSecond: number, y: (requests: number) => number): Markup {
  const x = block.at(second.at);
  const width = Math.max(2, perSecond * step - (perSecond * step > 5 ? 1.5 : 0.5));
  let under = 0;
  const parts = barKinds.map(([kind, name]) => {
    const amount = second[kind];
    if (amount === 0) return undefined;
    const [from, to] = [y(under), y(under + amount)];
    under += amount;
    // A handful beside a thousand must be seen, too.
    const tall = Math.max(2, from - to);
    return html`<rect class="t-${name}" x="${px(x)}" y="${px(from - tall)}" width="${px(width)}" height="${px(tall)}" fill="${colours[name]}"><title>${secondInWords(second)}</title></rect>`;
  });
  return html`${parts}
`;
}

function secondInWords({ at, admitted, refused, other, withoutKey }: Second): string {
  const parts = [
    `${grouped(admitted)} admitted`,
    `${grouped(refused)} refused`,
    ...(other > 0 ? [`${grouped(other)} answered otherwise`] : []),
    ...(withoutKey > 0 ? [`${grouped(withoutKey)} without a key`] : []),
  ];
  return `${clock(at)}: ${parts.join(', ')}`;
}

/** What Remaining said, from the first to the last time in each second, and on until a border or until it said something else. */
function remainingLine({ seconds, at, spans }: Block, step: number, borders: readonly Border[], y: (remaining: number) => number): Markup {
  const lines = new Map<string, string[]>();
  const last = new Map<string, { readonly second: number; readonly remaining: number }>();
  for (const { at: second, remaining } of seconds) {
    if (remaining === undefined) continue;
    const name = `${spans.findIndex(({ to }) => second < to)} ${remaining.key}`;
    const [points, before] = [lines.get(name) ?? [], last.get(name)];
    if (before !== undefined) {
      const turn = borders.find((border) => border.at > before.second && border.at <= second)?.at ?? second;
      points.push(`${px(at(turn))},${px(y(before.remaining))}`, `${px(at(turn))},${px(y(remaining.first))}`);
    }
    points.push(`${px(at(second))},${px(y(remaining.first))}`, `${px(at(second + step))},${px(y(remaining.last))}`);
    last.set(name, { second, remaining: remaining.last });
    lines.set(name, points);
  }
  const line = (points: readonly string[]) =>
    html`<polyline class="t-remaining-line" points="${points.join(' ')}" fill="none" stroke="${colours.remaining}" stroke-width="2" stroke-linejoin="round" stroke-linecap="round"/>
`;
  return html`${[...lines.values()].map(line)}`;
}

/** The borders within each block, the block's own edges included. */
function borders(blocks: readonly Block[], foot: number, report: LimitsReport): Markup {
  const line = (x: string, reset: number) =>
    html`<line class="t-border-line" x1="${x}" x2="${x}" y1="${top}" y2="${foot}" stroke="${colours.border}" stroke-width="1.5" stroke-dasharray="2 3"><title>X-RateLimit-Reset ${String(reset)}: ${new Date(reset * 1_000).toISOString()}</title></line>
`;
  const within = ({ spans, at: x }: Block) =>
    report.timeline.borders
      .filter(({ at }) => at >= spans[0]!.from && at <= spans.at(-1)!.to)
      .map(({ at, reset }) => line(px(x(at)), reset));
  return html`${blocks.map(within)}`;
}

function bans({ result, spans, at }: Block, report: LimitsReport, foot: number): Markup {
  const own = report.timeline.bans.filter(({ from }) => from >= result.at && from <= result.at + result.seconds);
  return html`${own.map(({ from, to }) => {
    const [x0, x1] = [at(from), at(Math.min(to, spans.at(-1)!.to))];
    return html`<rect class="t-refused" x="${px(x0)}" y="${top}" width="${px(Math.max(3, x1 - x0))}" height="${foot - top}" fill="${colours.refused}" fill-opacity="0.2"><title>banned for ${short(to - from)}</title></rect>
<text class="t-refused" x="${px((x0 + x1) / 2)}" y="${top + 12}" text-anchor="middle" font-weight="600" fill="${colours.refused}">ban</text>
`;
  })}`;
}

/** The times at the foot of a block, and how long each wait was that is cut short. */
function ticks({ spans, at }: Block, foot: number, perSecond: number): Markup {
  const every = [1, 2, 5, 10, 15, 20, 30, 60, 120, 300].find((seconds) => seconds * perSecond >= 36) ?? 600;
  let last = -Infinity;
  const marks: Markup[] = [];
  spans.forEach(({ from, to }, i) => {
    for (let second = from; second < to; second = (Math.floor(second / every) + 1) * every) {
      const x = at(second);
      if (x - last < 32) continue;
      last = x;
      marks.push(html`<line class="t-soft-line" x1="${px(x)}" x2="${px(x)}" y1="${foot}" y2="${foot + 4}" stroke="${colours.soft}"/><text class="t-soft" x="${px(x)}" y="${foot + 16}" text-anchor="middle" fill="${colours.soft}" font-size="10">${clock(second)}</text>
`);
    }
    const next = spans[i + 1];
    if (next === undefined) return;
    const middle = (at(to) + at(next.from)) / 2;
    marks.push(html`<path class="t-soft-line" d="M${px(middle - 5)} ${foot + 5}l4 -10M${px(middle + 1)} ${foot + 5}l4 -10" stroke="${colours.soft}" fill="none"/><text class="t-soft" x="${px(middle)}" y="${foot - 9}" text-anchor="middle" fill="${colours.soft}" font-size="9.5">${short(next.from - to)}</text>
`);
  });
  return html`${marks}`;
}

function axisLine(width: number, y: number, label: string): Markup {
  return html`<line class="t-rule-line" x1="${left}" x2="${width - right}" y1="${px(y)}" y2="${px(y)}" stroke="${colours.rule}"/><text class="t-soft" x="${left - 6}" y="${px(y + 4)}" text-anchor="end" fill="${colours.soft}">${label}</text>
`;
}

function axisTitle(y: number, text: string): Markup {
  return html`<text class="t-soft" x="11" y="${y}" transform="rotate(-90 11 ${y})" text-anchor="middle" fill="${colours.soft}" font-size="10">${text}</text>
`;
}

/** What the colours mean, of those that occur. */
function legend({ timeline }: LimitsReport, width: number): Markup {
  const sum = (kind: 'other' | 'withoutKey') => timeline.seconds.reduce((all, second) => all + second[kind], 0);
  const items: (readonly [name: keyof typeof colours, text: string, line?: 'line' | 'dashes'])[] = [
    ['admitted', 'admitted (2xx)'],
    ['refused', 'refused (429)'],
    ...(sum('other') > 0 ? [['other', 'other status'] as const] : []),
    ...(sum('withoutKey') > 0 ? [['stranger', 'without a key'] as const] : []),
    ['remaining', 'X-RateLimit-Remaining', 'line'],
    ...(timeline.borders.length > 0 ? [['border', 'window border (Reset)', 'dashes'] as const] : []),
  ];
  let [x, y] = [left, 20];
  return html`${items.map(([name, text, line]) => {
    const room = 26 + text.length * 6.2;
    if (x + room > width - right) [x, y] = [left, y + 16];
    const at = x;
    x += room;
    const mark =
      line === undefined
        ? html`<rect class="t-${name}" x="${px(at)}" y="${y - 9}" width="10" height="10" fill="${colours[name]}"/>`
        : html`<line class="t-${name}-line" x1="${px(at - 2)}" x2="${px(at + 12)}" y1="${y - 4}" y2="${y - 4}" stroke="${colours[name]}" stroke-width="2"${line === 'dashes' ? html` stroke-dasharray="2 3"` : undefined}/>`;
    return html`${mark}<text class="t-ink" x="${px(at + 16)}" y="${y}" fill="${colours.ink}">${text}</text>
`;
  })}`;
}

/** The drawing in words, for who cannot see it. */
function description({ scenarios, timeline }: LimitsReport): string {
  const ran = scenarios.filter(({ admitted, refused, withoutKey }) => admitted + refused + withoutKey > 0);
  const parts = ran.map(
    ({ name, verdict, at, admitted, refused }) =>
      `${name} from ${clock(at)}, ${verdict}: ${grouped(admitted)} admitted, ${grouped(refused)} refused`,
  );
  const bans = timeline.bans.map(({ from, to }) => `a ban from ${clock(from)} for ${short(to - from)}`);
  return `${[...parts, ...bans].join('; ')}.`;
}

/** `1:05`. */
function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;
}

/** `48 s`, `5 min`. */
function short(seconds: number): string {
  return seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
}

function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}
