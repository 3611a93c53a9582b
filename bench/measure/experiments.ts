/** The runner of the speed and growth benches, and the table that they print. */
import { NotStarted } from '../../harness/program.ts';
import { ratioText, table } from '../table.ts';
import { quantile, type Sample } from './load.ts';
import { progress } from './progress.ts';

/** Targets under one workload that are measured together, or one alone. `F`: the names of its figures. */
export interface Experiment<F extends string = keyof Sample> {
  readonly workload: string;
  readonly targets: readonly string[];
  /** Starts a fresh process of each target, measures them, and stops them. Rejects if a response is wrong. */
  readonly measure: () => Promise<readonly Figures<F>[]>;
}

type Figures<F extends string> = Readonly<Record<F, number>>;

/** The figures of one target under one workload. */
export interface Result<F extends string = keyof Sample> {
  readonly workload: string;
  readonly target: string;
  /** One for each process; none if there was a problem. */
  readonly samples: readonly Figures<F>[];
  readonly problem?: string;
}

/** An experiment, the figures of its targets in each process so far, and why there are no more. */
interface Run<F extends string> extends Experiment<F> {
  readonly samples: (readonly Figures<F>[])[];
  problem?: string;
}

/**
 * Measures each experiment in `processes` fresh processes, one after the other. Two processes of one program can differ
 * in speed by more than 10 % throughout their lives, so one process is not enough. Experiments that are adjacent in the
 * list are measured one after the other. Every second pass is in reverse order, so that no target always follows the
 * same other one.
 *
 * @throws NotStarted if nothing could be measured
 */
export async function runExperiments<F extends string>(
  all: readonly Experiment<F>[], processes: number,
): Promise<readonly Result<F>[]> {
  const runs = all.map((experiment): Run<F> => ({ ...experiment, samples: [] }));
  for (let pass = 1; pass <= processes; pass++) {
    for (const run of pass % 2 === 1 ? runs : runs.toReversed()) {
      if (run.problem !== undefined) continue;
      progress(`process ${pass} of ${processes} of each target`, [run.workload, ...run.targets].join(', '));
      try {
        run.samples.push(await run.measure());
      } catch (error) {
        run.problem = (error as Error).message.split('\n')[0]!;
      }
    }
  }
  if (runs.every(({ problem }) => problem !== undefined)) {
    throw new NotStarted(`nothing was measured: ${runs[0]!.problem}`);
  }
  return runs.flatMap(({ workload, targets, samples, problem }) => targets.map((target, i): Result<F> => {
    if (problem !== undefined) return { workload, target, samples: [], problem };
    return { workload, target, samples: samples.map((of) => of[i]!) };
  }));
}

/**
 * The results, if there is no problem: a build of this project's server must not fail in a bench.
 *
 * @throws NotStarted that names the first problem
 */
export function withoutProblems<F extends string>(results: readonly Result<F>[]): readonly Result<F>[] {
  const failed = results.find(({ problem }) => problem !== undefined);
  if (failed !== undefined) throw new NotStarted(`${failed.workload}, ${failed.target}: ${failed.problem}`);
  return results;
}

/** The minimum, median and maximum of the figures of several processes. */
export function spread(values: readonly number[]) {
  return { min: Math.min(...values), median: quantile(values, 0.5), max: Math.max(...values) };
}

/** `0.93 (0.91–0.97)`: the median, and in brackets the minimum and the maximum. */
export function spreadText({ min, median, max }: ReturnType<typeof spread>, text = ratioText): string {
  return Number.isFinite(median) ? `${text(median)} (${text(min)}–${text(max)})` : '–';
}

/** A figure of one target divided by that of another, process by process in the order of the run. */
export function ratios<F extends string>(one: Result<F> | undefined, other: Result<F> | undefined, figure: F) {
  return spread((one?.samples ?? []).map((sample, i) => sample[figure] / (other?.samples[i]?.[figure] ?? NaN)));
}

/** These ratios as text: `0.93 (0.91–0.97)`. */
export function ratioOf<F extends string>(
  one: Result<F> | undefined, other: Result<F> | undefined, figure: F,
): string {
  if (one === undefined || other === undefined || one === other) return '–';
  return spreadText(ratios(one, other, figure));
}

/** A column of the table: a figure, possibly divided by that of another target under the same workload. */
export interface Column<F extends string> {
  readonly title: string;
  readonly cell: (result: Result<F>, of: (target: string) => Result<F> | undefined) => string;
}

/** A column with a figure in a unit. */
export function figureColumn<F extends string>(title: string, figure: F, digits: number, unit = 1): Column<F> {
  const text = (value: number) => value.toFixed(digits);
  return { title, cell: ({ samples }) => spreadText(spread(samples.map((sample) => sample[figure] / unit)), text) };
}

/** The columns with the figures of a load. */
export const figures: readonly Column<keyof Sample>[] = [
  figureColumn('user CPU, µs', 'userCpu', 1),
  figureColumn('system CPU, µs', 'systemCpu', 1),
  figureColumn('requests/s', 'perSecond', 0),
  figureColumn('p50, ms', 'p50', 2),
  figureColumn('p99, ms', 'p99', 1),
  figureColumn('memory, MB', 'resident', 0, 1e6),
  figureColumn('start, ms', 'startMs', 0),
  figureColumn('start, CPU ms', 'startCpuMs', 0),
];

/** A column with a ratio: each target against `baseline`, or, with `inverse`, `baseline` against each target. */
export function ratioColumn<F extends string>(
  title: string, figure: F, baseline: string, inverse = false,
): Column<F> {
  const cell: Column<F>['cell'] = (result, of) =>
    inverse ? ratioOf(of(baseline), result, figure) : ratioOf(result, of(baseline), figure);
  return { title, cell };
}

/** Finds the result of a target under a workload. */
export function find<F extends string>(
  results: readonly Result<F>[], workload: string, target: string,
): Result<F> | undefined {
  return results.find((result) => result.workload === workload && result.target === target);
}

/** The table of all figures, and below it why some are missing. */
export function resultTable<F extends string>(results: readonly Result<F>[], columns: readonly Column<F>[]): string {
  const reasons = [...new Set(results.flatMap(({ problem }) => problem ?? []))];
  const rows = results.map((result) => {
    const { workload, target, problem } = result;
    if (problem !== undefined) {
      return [`${workload}: ${target}: not measured [${reasons.indexOf(problem) + 1}]`, ...columns.map(() => '–')];
    }
    const of = (name: string) => find(results, workload, name);
    return [`${workload}: ${target}`, ...columns.map(({ cell }) => cell(result, of))];
  });
  const head = ['workload: target', ...columns.map(({ title }) => title)];
  return [table(head, rows), ...reasons.map((reason, i) => `[${i + 1}] ${reason}`)].join('\n');
}
