/** The figures as tables and as a chart. */
import { barChart } from '../chart.ts';
import type { Ratio } from '../measure/figures.ts';
import { median } from '../measure/statistics.ts';
import { machineLine, type Machine } from '../results.ts';
import { ratioText, table } from '../table.ts';
import type { Growth, Memory } from './measure.ts';
import type { Stretch } from './stall.ts';
import type { StartRatios } from './start-up.ts';

export interface GrowthResults extends Growth {
  readonly format: 1;
  readonly bench: 'growth';
  readonly machine: Machine;
}

/** What the terminal shows. */
export function textOf(results: GrowthResults): string {
  const { machine, animalsAfter, pinned, quick } = results;
  const cores = pinned ? 'servers and load on cores of their own' : 'servers and load share the cores';
  return [
    `${machineLine(machine)}; ${cores}`,
    ...(quick ? ['--quick: these figures only show that the bench runs.'] : []),
    '',
    figuresOf(results),
    '',
    'The ratio is that of all rounds together (quartiles of single rounds). For a start it is what the animals add, the start with many less',
    'that with few, ÷ reading and parsing the same bytes by JSON.parse; and the whole start with many ÷ the same.',
    `Creates leave ${count(animalsAfter.small)} and ${count(animalsAfter.large)} animals behind; rounds in which a snapshot was written are not counted, but repeated.`,
    'Memory is read half a second after each start (the median), and once after the pages; no garbage collection is forced.',
    'A stall is how long the event loop stood still at most, as a timer of 1 ms sees it, which is part of it: the median of all',
    'snapshots (least–most). Other work on the machine makes it longer: so it is told again less the time in which the event loop',
    'waited for a core that another thread had, be it of another program or one of its own that writes the file.',
    '',
    requestsOf(results),
    '',
    snapshotsOf(results),
    '',
    'Requests a second depend on the machine and its day: the ratios count.',
  ].join('\n');
}

function figuresOf({ animals, requests, starts, start, memory, folds }: GrowthResults): string {
  const medians = (figure: 'ms' | 'cpuMs') => [starts.small, starts.large, starts.parse].map((all) => median(all.map((took) => took[figure])));
  const startRow = (label: string, figure: 'ms' | 'cpuMs', { added, whole }: StartRatios) => {
    const [small, large, parse] = medians(figure).map((ms) => `${ms.toFixed(0)} ms`);
    return [`${label} (JSON.parse: ${parse})`, small!, large!, `${withSpread(added)}, whole ${ratioText(whole.ratio)}`];
  };
  const memoryRow = (label: string, { small, large, anAnimal }: Memory) => {
    return [label, megabytes(small), megabytes(large), `${anAnimal.toFixed(0)} B an animal`];
  };
  return table(
    ['', `${count(animals.small)} animals`, `${count(animals.large)} animals`, 'ratio'],
    [
      ...requests.map(({ name, small, large, ...ratio }) => [`${name}, user CPU`, micro(small.user), micro(large.user), withSpread(ratio)]),
      startRow('start, time', 'ms', start.time),
      startRow('start, CPU', 'cpuMs', start.cpu),
      memoryRow('resident after the start', memory.started),
      memoryRow('resident after the load', memory.loaded),
      ['longest stall in a snapshot', '', typical(folds.map(({ writing }) => writing.stall)), ''],
      ['longest stall in the same time without', '', typical(folds.map(({ quiet }) => quiet.stall)), ''],
      ['in a snapshot, less waits for the core', '', typical(folds.map(({ writing }) => writing.ownStall)), ''],
      ['without, less waits for the core', '', typical(folds.map(({ quiet }) => quiet.ownStall)), ''],
    ],
  );
}

function requestsOf({ animals, requests }: GrowthResults): string {
  const rows = requests.flatMap(({ name, small, large }) =>
    [small, large].map((cost, i) => [
      `${name}, ${count(i === 0 ? animals.small : animals.large)}`,
      count(Math.round(cost.perSecond)),
      micro(cost.user),
      micro(cost.system),
      milli(cost.p50),
      milli(cost.p99),
    ]),
  );
  return table(['16 connections', 'requests/s', 'user CPU', 'system CPU', 'p50', 'p99'], rows);
}

function snapshotsOf({ folds }: GrowthResults): string {
  const row = (label: string, { ms, requests, stall, ownStall, p99, max }: Stretch) => {
    const own = ownStall === null ? 'not known' : milli(ownStall);
    return [label, `${(ms / 1000).toFixed(1)} s`, count(requests), milli(stall), own, milli(p99), milli(max)];
  };
  const rows = folds.flatMap(({ animals, ms, writing, quiet }) => [
    row(`${count(animals)} animals written in ${ms.toFixed(0)} ms`, writing),
    row('the same time without', quiet),
  ]);
  return table(['1,000 requests/s, 50 of them creates', 'seen for', 'requests', 'stall', 'less waits', 'p99', 'max'], rows);
}

/** Bars for what is a ratio: a standalone SVG. */
export function chartOf({ machine, animals, requests, start }: Pick<GrowthResults, 'machine' | 'animals' | 'requests' | 'start'>): string {
  return barChart(`${count(animals.large)} animals against ${count(animals.small)}`, machineLine(machine), [
    { title: 'User CPU a request', bars: requests.map(({ name, ratio, low, high }) => ({ label: name, ratio, low, high })) },
    {
      title: `(Start with ${count(animals.large)} animals − start with ${count(animals.small)}) ÷ reading and JSON.parse of the same bytes`,
      bars: [
        { label: 'time', ...start.time.added },
        { label: 'CPU', ...start.cpu.added },
      ],
    },
  ]);
}

/** The median, the least and the most. */
function typical(stalls: readonly (number | null)[]): string {
  const known = stalls.filter((stall) => stall !== null);
  if (known.length === 0) return 'not known';
  return `${milli(median(known))} (${Math.min(...known).toFixed(1)}–${Math.max(...known).toFixed(1)})`;
}

function withSpread({ ratio, low, high }: Ratio): string {
  return `${ratioText(ratio)} (${ratioText(low)}–${ratioText(high)})`;
}

function count(number: number): string {
  return number.toLocaleString('en');
}

function micro(us: number): string {
  return `${us.toFixed(1)} µs`;
}

function milli(ms: number): string {
  return `${ms.toFixed(1)} ms`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
