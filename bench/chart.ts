/**
 * The benches' one chart: bars of ratios, on a logarithmic scale. There a half is as far from 1 as a double, so each bar begins
 * at the line at 1, and 1.15 can be read beside 12. It brings its own ground, so it reads on a light page and on a dark one.
 */
import { escaped } from '../conformance/report/markup.ts';
import { palettes } from '../conformance/report/style.ts';
import { ratioText } from './table.ts';

export interface Bar {
  readonly label: string;
  readonly ratio: number;
  /** The ratio's spread. */
  readonly low: number;
  readonly high: number;
}

export interface BarGroup {
  readonly title: string;
  readonly bars: readonly Bar[];
}

const colours = { ...palettes.light, bar: '#4a7fb5' };

const width = 860;
const left = 232;
/** Beyond the plot there must be room for the longest number. */
const right = 118;
const plotWidth = width - left - right;
const lineHeight = 19;
const barHeight = 22;
const barThickness = 12;
/** Above each group: its title. */
const groupHead = 34;
/** Below the plot: the marks, and what they are. */
const foot = 54;
/** Between two marks of the axis, in pixels. */
const leastGap = 38;
/** About as many characters of the two sizes fit into a line. */
const charactersOfTitle = 80;
const charactersOfText = 128;

/** A standalone SVG. Bars whose ratio is no number above 0 are left out. */
export function barChart(title: string, subtitle: string, groups: readonly BarGroup[]): string {
  const shown = groups
    .map((group) => ({ ...group, bars: group.bars.filter(({ ratio }) => ratio > 0 && Number.isFinite(ratio)).map(withSpread) }))
    .filter(({ bars }) => bars.length > 0);
  const all = shown.flatMap(({ bars }) => bars);
  const x = logScale(Math.min(1, ...all.map(({ low }) => low)), Math.max(1, ...all.map(({ high }) => high)));

  const titleLines = wrapped(title, charactersOfTitle);
  const subtitleLines = wrapped(subtitle, charactersOfText);
  const top = 30 + titleLines.length * 22 + subtitleLines.length * lineHeight;
  const bottom = shown.reduce((y, { bars }) => y + groupHead + bars.length * barHeight, top) + 8;
  const height = bottom + foot;

  const parts: string[] = [];
  titleLines.forEach((line, i) => parts.push(text(24, 34 + i * 22, line, `font-size="17" font-weight="650"`)));
  const underTitle = 34 + titleLines.length * 22;
  subtitleLines.forEach((line, i) => parts.push(text(24, underTitle + i * lineHeight, line, `fill="${colours.soft}" font-size="12"`)));
  for (const mark of x.marks) {
    const at = px(x.of(mark));
    parts.push(`<line x1="${at}" y1="${top + groupHead}" x2="${at}" y2="${bottom}" stroke="${mark === 1 ? colours.ink : colours.line}"/>`);
    parts.push(text(at, bottom + 17, String(mark), `text-anchor="middle" fill="${colours.soft}" font-size="12"`));
  }
  parts.push(text(left + plotWidth / 2, bottom + 37, 'ratio, on a logarithmic scale: the line at 1 is equal', `text-anchor="middle" fill="${colours.soft}" font-size="12"`));
  let y = top;
  for (const group of shown) {
    // The lines of the scale are not to cross it.
    parts.push(`<rect x="16" y="${y + 8}" width="${width - 32}" height="22" fill="${colours.sheet}"/>`);
    parts.push(text(24, y + 24, group.title, 'font-size="13" font-weight="650"'));
    y += groupHead;
    for (const bar of group.bars) {
      parts.push(drawn(bar, y, x.of));
      y += barHeight;
    }
  }

  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="chart-title chart-desc" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif" font-size="13" fill="${colours.ink}">
<title id="chart-title">${escaped(title)}</title>
<desc id="chart-desc">${escaped(inWords(shown))}</desc>
<rect x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="6" fill="${colours.sheet}" stroke="${colours.line}"/>
${parts.join('\n')}
</svg>
`;
}

/** A bar from 1 to its ratio, the spread as a whisker, the number beyond both. */
function drawn({ label, ratio, low, high }: Bar, y: number, x: (ratio: number) => number): string {
  const middle = y + barHeight / 2;
  const [from, to] = [x(Math.min(1, ratio)), x(Math.max(1, ratio))];
  const [lowX, highX] = [x(low), x(high)];
  const whisker = `M${px(lowX)} ${middle - 4}v8M${px(lowX)} ${middle}H${px(highX)}M${px(highX)} ${middle - 4}v8`;
  const end = Math.max(to, highX);
  return [
    text(left - 12, middle + 4.5, label, 'text-anchor="end"'),
    `<rect x="${px(from)}" y="${middle - barThickness / 2}" width="${px(Math.max(1, to - from))}" height="${barThickness}" fill="${colours.bar}"/>`,
    `<path d="${whisker}" fill="none" stroke="${colours.ink}"/>`,
    `<text x="${px(end + 8)}" y="${middle + 4.5}"><tspan font-weight="650">${ratioText(ratio)}</tspan><tspan fill="${colours.soft}" font-size="11" dx="5">${ratioText(low)}–${ratioText(high)}</tspan></text>`,
  ].join('\n');
}

/** The scale from `low` to `high` (low ≤ 1 ≤ high), and its marks: the roundest numbers first, as many as have room. */
function logScale(low: number, high: number): { readonly of: (ratio: number) => number; readonly marks: readonly number[] } {
  // A scale of a few per cent would make a mountain of noise.
  const [from, to] = [Math.log(Math.min(low, 0.8) / 1.03), Math.log(Math.max(high, 1.6) * 1.03)];
  const of = (ratio: number) => left + ((Math.log(ratio) - from) / (to - from)) * plotWidth;
  const tiers = [[10], [2, 5], [1.5, 3, 7], [1.2, 1.3, 4, 6, 8, 9], [1.1, 1.4, 1.6, 1.8]];
  const marks = [1];
  for (const tier of tiers) {
    for (let power = -3; power <= 4; power++) {
      for (const digits of tier) {
        const mark = Number((digits * 10 ** power).toPrecision(2));
        const at = of(mark);
        const fits = at >= left && at <= left + plotWidth && marks.every((other) => Math.abs(of(other) - at) >= leastGap);
        if (fits) marks.push(mark);
      }
    }
  }
  return { of, marks: marks.sort((a, b) => a - b) };
}

/** A spread that is none is the ratio itself. */
function withSpread({ label, ratio, low, high }: Bar): Bar {
  return { label, ratio, low: low > 0 ? low : ratio, high: Number.isFinite(high) ? high : ratio };
}

/** For who does not see it. */
function inWords(groups: readonly BarGroup[]): string {
  return groups.map(({ title, bars }) => `${title}: ${bars.map(({ label, ratio }) => `${label} ${ratioText(ratio)}`).join(', ')}.`).join(' ');
}

/** Lines of at most so many characters, broken between words. */
function wrapped(sentence: string, most: number): readonly string[] {
  const lines: string[] = [];
  for (const word of sentence.split(' ').filter((part) => part !== '')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function text(x: number | string, y: number, content: string, attributes: string): string {
  return `<text x="${x}" y="${y}" ${attributes}>${escaped(content)}</text>`;
}

function px(length: number): string {
  return String(Math.round(length * 10) / 10);
}
