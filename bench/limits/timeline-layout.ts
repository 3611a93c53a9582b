/** Where everything stands on the time line: how wide a second is, and which waits are cut short. */
import type { LimitsReport, ScenarioResult, Second } from './report.ts';

/** In pixels. */
export const left = 52;
export const right = 14;
export const top = 68;
export const barsHeight = 170;
export const between = 30;
export const remainingHeight = 84;
export const bottom = 46;
const blockGap = 6;
const blockPad = 8;
const minBlock = 84;
const breakWidth = 34;
const [minWidth, targetWidth] = [640, 1020];
const [minSecond, maxSecond] = [4, 22];

/** In seconds: so long nothing may come and the time is still drawn as it passed. */
const breakS = 4;

/** More seconds than these are drawn by twos, threes and so on. */
const maxBars = 420;

/** A span of time that is drawn as it passed, from one second to before another. */
interface Span {
  readonly from: number;
  to: number;
}

export interface Block {
  readonly result: ScenarioResult;
  readonly seconds: readonly Second[];
  readonly spans: readonly Span[];
  readonly x: number;
  readonly width: number;
  /** Where a moment of the run stands; moments outside are at the block's edges. */
  readonly at: (seconds: number) => number;
}

/** Where everything stands. */
export interface Layout {
  readonly blocks: readonly Block[];
  /** As they are drawn: in a long run several are joined, as means of one second. */
  readonly seconds: readonly Second[];
  /** How many are joined. */
  readonly step: number;
  readonly width: number;
  /** Pixels. */
  readonly perSecond: number;
}

/** Where everything stands from left to right: seconds as wide as they can be for the whole to fit, but not too narrow to be seen. */
export function layout({ scenarios, timeline }: LimitsReport): Layout {
  const step = Math.max(1, Math.ceil(timeline.seconds.length / maxBars));
  const seconds = step === 1 ? timeline.seconds : binned(timeline.seconds, step);
  const groups = scenarios
    .map((result) => ({ result, own: seconds.filter(({ scenario }) => scenario === result.name) }))
    .filter(({ own }) => own.length > 0)
    .map(({ result, own }) => ({ result, own, spans: spansOf(own, step) }));
  const place = (perSecond: number) => {
    const blocks: Block[] = [];
    let x = left;
    for (const { result, own, spans } of groups) {
      const inner = spans.reduce((sum, { from, to }) => sum + (to - from) * perSecond, (spans.length - 1) * breakWidth);
      const width = Math.max(minBlock, inner + 2 * blockPad);
      blocks.push({ result, seconds: own, spans, x, width, at: scale(spans, x + (width - inner) / 2, perSecond) });
      x += width + blockGap;
    }
    return { blocks, seconds, step, width: Math.max(minWidth, Math.round(x - blockGap + right)), perSecond };
  };
  const least = minSecond / step;
  let perSecond = maxSecond;
  while (perSecond > least && place(perSecond).width > targetWidth) perSecond -= 0.25;
  return place(Math.max(least, perSecond));
}

/** The spans with something in them; shorter pauses belong to them. */
function spansOf(seconds: readonly Second[], step: number): readonly Span[] {
  const spans: Span[] = [];
  for (const { at } of seconds) {
    const last = spans.at(-1);
    if (last !== undefined && at - last.to <= breakS) last.to = Math.max(last.to, at + step);
    else spans.push({ from: at, to: at + step });
  }
  return spans;
}

/** From seconds to pixels: even within a span, and even, but squeezed, between two. */
function scale(spans: readonly Span[], x: number, perSecond: number): (seconds: number) => number {
  const points: (readonly [seconds: number, x: number])[] = [];
  let end = x;
  spans.forEach(({ from, to }, i) => {
    const begin = i === 0 ? end : end + breakWidth;
    end = begin + (to - from) * perSecond;
    points.push([from, begin], [to, end]);
  });
  return (seconds) => {
    const next = points.findIndex(([at]) => at >= seconds);
    if (next <= 0) return next === 0 ? points[0]![1] : end;
    const [[from, x0], [to, x1]] = [points[next - 1]!, points[next]!];
    return x0 + ((seconds - from) / (to - from)) * (x1 - x0);
  };
}

/** Seconds joined by `step`, as means of one second. */
function binned(seconds: readonly Second[], step: number): readonly Second[] {
  const groups = new Map<string, Second[]>();
  for (const second of seconds) {
    const name = `${Math.floor(second.at / step)} ${second.scenario}`;
    groups.set(name, [...(groups.get(name) ?? []), second]);
  }
  return [...groups.values()].map((group) => {
    const mean = (kind: 'admitted' | 'refused' | 'other' | 'withoutKey') =>
      Math.round(group.reduce((sum, second) => sum + second[kind], 0) / step);
    const told = group.flatMap(({ remaining }) => remaining ?? []);
    return {
      at: Math.floor(group[0]!.at / step) * step,
      scenario: group[0]!.scenario,
      ...{ admitted: mean('admitted'), refused: mean('refused'), other: mean('other'), withoutKey: mean('withoutKey') },
      ...(told.length > 0 && { remaining: { key: told.at(-1)!.key, first: told[0]!.first, last: told.at(-1)!.last } }),
    };
  });
}

/** The next of 4, 8, 12, 20, 40, 80, …, so that its quarter is a round number, too. */
export function nice(value: number): number {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1);
  return [4, 8, 12, 20, 40, 60, 80, 100].map((factor) => factor * power).find((candidate) => candidate >= value)!;
}
