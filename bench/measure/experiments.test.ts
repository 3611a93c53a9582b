import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  figures,
  ratioOf,
  ratioColumn,
  resultTable,
  runExperiments,
  withoutProblems,
  type Experiment,
  type Result,
} from './experiments.ts';
import type { Sample } from './load.ts';

const sample = (figures: Partial<Sample> = {}): Sample => ({
  requests: 1_000,
  perSecond: 1_000,
  userCpu: 50,
  systemCpu: 10,
  p50: 1,
  p99: 2,
  resident: 60e6,
  startMs: 100,
  startCpuMs: 90,
  ...figures,
});

const result = (target: string, samples: readonly Sample[], more: Partial<Result> = {}): Result => ({
  workload: 'list',
  target,
  samples,
  ...more,
});

const cells = (text: string) =>
  text.split('\n').map((line) =>
    line
      .split('|')
      .map((cell) => cell.trim())
      .slice(1, -1),
  );

describe('the runner', () => {
  it('measures each target once per pass, every second pass in reverse order', async () => {
    const order: string[] = [];
    const experiments = ['a', 'b', 'c'].map((target): Experiment => ({
      workload: 'list',
      targets: [target],
      measure: async () => [sample({ requests: order.push(target) })],
    }));
    const results = await runExperiments(experiments, 3);
    assert.equal(order.join(''), 'abccbaabc');
    assert.deepEqual(
      results.map(({ samples }) => samples.map(({ requests }) => requests)),
      [
        [1, 6, 7],
        [2, 5, 8],
        [3, 4, 9],
      ],
    );
  });

  it('has no figures of a target that failed once, and continues with the others', async () => {
    let runs = 0;
    const failing = async (): Promise<Sample[]> => {
      if (++runs === 2) throw new Error('200 expected, 500 received\nmore');
      return [sample()];
    };
    const failingOnly = { workload: 'list', targets: ['a'], measure: failing };
    const [a, b] = await runExperiments(
      [failingOnly, { workload: 'list', targets: ['b'], measure: async () => [sample()] }], 3);
    assert.deepEqual(a, { workload: 'list', target: 'a', samples: [], problem: '200 expected, 500 received' });
    assert.deepEqual([b!.samples.length, runs], [3, 2]);
    const problem = { name: 'NotStarted', message: 'list, a: 200 expected, 500 received' };
    assert.throws(() => withoutProblems([b!, a!]), problem);
    assert.deepEqual(withoutProblems([b!]), [b]);
    runs = 1;
    const nothing = { name: 'NotStarted', message: 'nothing was measured: 200 expected, 500 received' };
    await assert.rejects(runExperiments([failingOnly], 3), nothing);
  });

  it('has a result for each target of those that are measured together', async () => {
    let runs = 0;
    const measure = async () => [sample({ requests: ++runs }), sample({ requests: ++runs })];
    const results = await runExperiments([{ workload: 'list', targets: ['a', 'b'], measure }], 2);
    assert.deepEqual(
      results.map(({ target, samples }) => [target, ...samples.map(({ requests }) => requests)]),
      [['a', 1, 3], ['b', 2, 4]],
    );
  });
});

describe('the table', () => {
  const columns = [
    figures[0]!,
    ratioColumn('÷ base', 'userCpu', 'base'),
    ratioColumn('base ÷ it', 'userCpu', 'base', true),
  ];

  it('has the median, minimum and maximum of the processes, and of their ratios in pairs', () => {
    const results = [
      result(
        'base',
        [10, 20, 10].map((userCpu) => sample({ userCpu })),
      ),
      result(
        'x',
        [20, 20, 40].map((userCpu) => sample({ userCpu })),
      ),
    ];
    const [, , base, x] = cells(resultTable(results, columns));
    assert.deepEqual(base, ['list: base', '10.0 (10.0–20.0)', '–', '–']);
    assert.deepEqual(x, ['list: x', '20.0 (20.0–40.0)', '2.00 (1.00–4.00)', '0.50 (0.25–1.00)']);
  });

  it('states below the rows why there are no figures, each reason once', () => {
    const results = [
      result('base', [sample()]),
      ...['x', 'y'].map((target) => result(target, [], { problem: 'no toolchain' })),
    ];
    const text = resultTable(results, columns);
    assert.deepEqual(cells(text)[3], ['list: x: not measured [1]', '–', '–', '–']);
    assert.deepEqual(cells(text)[4]![0], 'list: y: not measured [1]');
    assert.equal(text.split('\n').slice(5).join(), '[1] no toolchain');
  });

  it('has a dash where there is no number', () => {
    const results = [result('base', [sample({ userCpu: 0, p99: NaN })]), result('x', [sample({ p99: NaN })])];
    const text = resultTable(results, [...columns, figures[4]!]);
    assert.deepEqual(cells(text)[3], ['list: x', '50.0 (50.0–50.0)', '–', '0.000 (0.000–0.000)', '–']);
    assert.equal(ratioOf(results[0], undefined, 'p99'), '–');
  });
});
