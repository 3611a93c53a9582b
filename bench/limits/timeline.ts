/**
 * The timeline of a scenario as a table. For each second with responses, it shows how many requests of each key were
 * admitted and refused, and how many remained. Between the seconds, it shows waits, ends of windows and bans.
 */
import { html, type Markup } from '../../conformance/report/markup.ts';
import { duration, grouped } from '../../conformance/report/words.ts';
import { bar, linearScale, plottedTable, type Row, type Scale } from './plot.ts';
import type { Counts, LimitsReport, ScenarioResult, Second } from './report.ts';

/** The parts of a bar, each with the class of its colour and its text. */
const kinds = [
  ['admitted', 'passed', 'admitted'], ['refused', 'failed', 'refused'],
  ['other', 'inconclusive', 'with another status'], ['withoutKey', 'skipped', 'without a key'],
] as const;

/** More seconds than this without a response are shown as a wait. */
const shortWaitS = 4;

/** The scale of all bars of a report. */
export function barScale({ timeline }: LimitsReport): Scale {
  return linearScale(timeline.seconds.flatMap(lanesOf).map(({ counts }) => totalOf(counts)));
}

/** The table of one scenario; undefined if it had no responses. */
export function timelineOf(result: ScenarioResult, { timeline }: LimitsReport, scale: Scale): Markup | undefined {
  const { name, at, seconds: length } = result;
  const seconds = timeline.seconds.filter(({ scenario }) => scenario === name);
  if (seconds.length === 0) return undefined;
  const waits = seconds.flatMap((second, i) => {
    const since = (seconds[i - 1]?.at ?? second.at) + 1;
    const wait = second.at - since;
    return wait > shortWaitS ? [{ at: since, remark: `${wait} s without a request` }] : [];
  });
  const within = (time: number) => time >= at && time <= at + length;
  const borders = timeline.borders.filter((border) => within(border.at)).map(({ at: time, reset }) =>
    ({ at: time, remark: `${clock(time)}: end of a window (X-RateLimit-Reset ${reset})` }));
  const bans = timeline.bans.filter(({ from }) => within(from)).map(({ from, to }) =>
    ({ at: from + 0.5, remark: `${clock(from)}: a ban of ${duration(to - from)}` }));
  const rows = seconds.flatMap((second) => rowsOf(second, scale).map((row) => ({ at: second.at, ...row })));
  const inOrder = [...waits, ...borders, ...rows, ...bans].sort((one, other) => one.at - other.at);
  const columns = ['min:s', 'Responses', 'Remaining'];
  return plottedTable('Responses in each second', '15rem 6.5rem', columns, scale, inOrder);
}

/** The counts of a second, separately for each key. The key under load comes first. */
function lanesOf(second: Second): readonly { readonly label: string; readonly counts: Counts }[] {
  const { admitted, refused, other, withoutKey, quiet = noCounts } = second;
  const underLoad = {
    ...{ admitted: admitted - quiet.admitted, refused: refused - quiet.refused, other: other - quiet.other },
    withoutKey: 0,
  };
  return [
    { label: '', counts: underLoad },
    { label: 'quiet key: ', counts: quiet },
    { label: '', counts: { ...noCounts, withoutKey } },
  ].filter(({ counts }) => totalOf(counts) > 0);
}

const noCounts: Counts = { admitted: 0, refused: 0, other: 0, withoutKey: 0 };

function totalOf(counts: Counts): number {
  return kinds.reduce((sum, [kind]) => sum + counts[kind], 0);
}

function rowsOf(second: Second, scale: Scale): readonly Row[] {
  const { at, remaining } = second;
  return lanesOf(second).map(({ label, counts }, i) => {
    const time = i === 0 ? clock(at) : html`<span class="hidden">${clock(at)}</span>`;
    const left = i > 0 || remaining === undefined ? '' : `${grouped(remaining.first)} → ${grouped(remaining.last)}`;
    const parts = kinds.map(([kind, colour]) => [colour, counts[kind]] as const);
    return { cells: [time, label + countsText(counts), left], plot: bar(scale, parts) };
  });
}

/** `12 admitted, 3 refused`; empty if there are none. */
export function countsText(counts: Counts): string {
  const some = kinds.filter(([kind]) => counts[kind] > 0);
  return some.map(([kind, , text]) => `${grouped(counts[kind])} ${text}`).join(', ');
}

/** `1:05`. */
function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;
}
