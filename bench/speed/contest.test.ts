import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WrongAnswers, type MeasuredLoad } from '../measure/load.ts';
import { contest, warmUp, type Entry, type Outcome, type Round } from './contest.ts';
import { group } from './groups.ts';
import { listRow, refusedRow } from './rows.ts';
import { costTable, durableTable, userRatio } from './view.ts';

const used = { requests: 1_000, seconds: 1, user: 50_000, system: 10_000, resident: 60e6 } as const;

const load = (figures: Partial<MeasuredLoad> = {}): MeasuredLoad => ({ ...used, latencies: [1, 2], ...figures });

const round = (figures: Partial<Round> = {}): Round => ({ ...used, p50: 1, p99: 2, ...figures });

const outcome = (contestant: string, rounds: readonly Round[], more: Partial<Outcome> = {}): Outcome => ({ row: 'list', contestant, rounds, ...more });

describe('a contest', () => {
  /** Entries that note when they are measured; `answers` may throw. */
  function fakes(names: readonly string[], answers: (name: string, nth: number) => MeasuredLoad = () => load(), prime?: () => Promise<void>) {
    const order: string[] = [];
    const entries = names.map((name): Entry => ({
      row: name,
      contestant: 'x',
      servers: [{
        measure: async () => {
          order.push(name);
          return answers(name, order.filter((other) => other === name).length);
        },
        ...(prime !== undefined && { prime }),
      }],
    }));
    return { order, entries };
  }

  it('measures everyone once a round, odd rounds backwards', async () => {
    const { order, entries } = fakes(['a', 'b', 'c'], (_name, nth) => load({ requests: nth }));
    const outcomes = await contest(entries, { rounds: 3, seconds: 1 });
    assert.equal(order.join(''), 'cbaabccba');
    assert.deepEqual(outcomes.map(({ rounds }) => rounds.map(({ requests }) => requests)), [[1, 2, 3], [1, 2, 3], [1, 2, 3]]);
  });

  it('has the latencies of all rounds together, and those of each', async () => {
    const [slow, fast] = [[0, 90, 91, 92, 93], Array.from({ length: 996 }, (_, i) => (i + 1) / 100)];
    const { entries } = fakes(['a'], (_name, nth) => load({ latencies: nth === 1 ? slow : fast }));
    const [only] = await contest(entries, { rounds: 2, seconds: 1 });
    assert.deepEqual(only?.rounds.map(({ p50 }) => p50), [91, 4.985]);
    // Of all 1,001 the 501st and the 991st, to a thousandth.
    assert.ok(Math.abs(only!.p50! / 5 - 1) < 0.0011 && Math.abs(only!.p99! / 9.9 - 1) < 0.0011, `${only?.p50}, ${only?.p99}`);
  });

  it('warms a server up until there were requests enough, eight times at most', async () => {
    for (const [requests, loads] of [[10, 8], [600, 2]] as const) {
      const seconds: number[] = [];
      await warmUp({ measure: async (time) => (seconds.push(time), load({ requests })) }, { requests: 1_000, seconds: 0.3 });
      assert.deepEqual(seconds, Array(loads).fill(0.3));
    }
  });

  it('takes the servers in turn', async () => {
    const order: number[] = [];
    const servers = [0, 1, 2].map((number) => ({ measure: async () => (order.push(number), load()) }));
    await contest([{ row: 'a', contestant: 'x', servers }], { rounds: 6, seconds: 1 });
    assert.deepEqual(order, [0, 1, 1, 2, 2, 0]);
  });

  it('measures every server forwards and backwards, whatever their number', async () => {
    for (const count of [1, 2, 3]) {
      const order: string[] = [];
      const servers = (name: string) => Array.from({ length: count }, (_, i) => ({ measure: async () => (order.push(`${name}${i}`), load()) }));
      const entries = ['a', 'b'].map((row) => ({ row, contestant: 'x', servers: servers(row) }));
      await contest(entries, { rounds: 2 * count, seconds: 1 });
      const first = (name: string, i: number) => order.filter((other, at) => at % 2 === 0 && other === `${name}${i}`).length;
      for (let i = 0; i < count; i++) assert.deepEqual([first('a', i), first('b', i)], [1, 1], order.join(' '));
    }
  });

  it('tells what it is about to measure', async () => {
    const { entries } = fakes(['a', 'b']);
    const told: string[] = [];
    await contest(entries, { rounds: 1, seconds: 1, watch: (number, { row }) => told.push(`${number}${row}`) });
    assert.deepEqual(told, ['1b', '1a', '2a', '2b']);
  });

  it('makes of a failure an outcome without figures, and goes on with the others', async () => {
    const { order, entries } = fakes(['a', 'b'], (name, nth) => {
      if (name === 'a' && nth === 2) throw new WrongAnswers('200 wanted, 500 came', true);
      return load();
    });
    const [a, b] = await contest(entries, { rounds: 3, seconds: 1 });
    assert.deepEqual(a, { row: 'a', contestant: 'x', rounds: [], problem: '200 wanted, 500 came' });
    assert.equal(b?.rounds.length, 3);
    assert.equal(order.filter((name) => name === 'a').length, 2);
  });

  it('checks every server again after the last round, and takes back the figures of one that is wrong', async () => {
    const checked: string[] = [];
    const server = (name: string, problem?: string) => ({
      measure: async () => load(),
      check: async () => {
        checked.push(name);
        if (problem !== undefined) throw new Error(problem);
      },
    });
    const outcomes = await contest([
      { row: 'a', contestant: 'x', servers: [server('a1'), server('a2', 'another animal')] },
      { row: 'b', contestant: 'x', servers: [server('b1')] },
    ], { rounds: 2, seconds: 1 });
    assert.deepEqual(checked.sort(), ['a1', 'a2', 'b1']);
    assert.deepEqual(outcomes.map(({ rounds, problem }) => [rounds.length, problem]), [[0, 'another animal'], [2, undefined]]);
  });

  it('primes and measures again where a window turned', async () => {
    let primed = 0;
    const { entries } = fakes(['429'], (_name, nth) => {
      if (nth < 3) throw new WrongAnswers('a 200 among them', true);
      return load();
    }, async () => void primed++);
    const [only] = await contest(entries, { rounds: 1, seconds: 1 });
    assert.equal(only?.rounds.length, 1);
    assert.equal(primed, 3);
  });

  it('does not measure again where more than a status was wrong', async () => {
    const { order, entries } = fakes(['429'], () => {
      throw new WrongAnswers('one was not answered', false);
    }, async () => {});
    const [only] = await contest(entries, { rounds: 5, seconds: 1 });
    assert.equal(only?.problem, 'one was not answered');
    assert.equal(order.length, 1);
  });

  it('gives that up after three times', async () => {
    const { order, entries } = fakes(['429'], () => {
      throw new WrongAnswers('a 200 among them', true);
    }, async () => {});
    const [only] = await contest(entries, { rounds: 5, seconds: 1 });
    assert.equal(only?.problem, 'a 200 among them');
    assert.equal(order.length, 3);
  });
});

describe('what is shown of it', () => {
  const outcomes = [
    outcome('node:http', [round({ user: 40_000 })], { p50: 0.5, p99: 1 }),
    outcome('petstore', [round({ p99: 2 })], { p50: 1, p99: 3 }),
    outcome('fastify', [round({ user: 100_000, p99: 20 })], { p50: 1, p99: 60, note: 'as recommended' }),
    outcome('express', [], { problem: 'it has no limits' }),
    outcome('prism', [], { problem: 'GET /pets must be answered 200, and was 500, which nobody expected' }),
    outcome('json-server', [], { problem: 'GET /pets must be answered 200, and was 500, which nobody expected' }),
  ];
  const cells = (text: string) => text.split('\n').map((line) => line.split('|').map((cell) => cell.trim()));

  it('has a line for each contestant, with its ratio to the floor and ours to it', () => {
    const [, , floor, own, fastify] = cells(costTable(outcomes, [listRow, refusedRow], 'petstore'));
    assert.deepEqual(floor?.slice(1, -1), ['list of 20: node:http', '1000', '0.50', '1.00', '40.0', '10.0', '60', '–', '', '1.25', '1.25–1.25']);
    assert.deepEqual(own?.slice(8, 12), ['1.25', '1.25–1.25', '–', '']);
    assert.deepEqual(fastify?.slice(1, 2), ['list of 20: fastify (as recommended)']);
    assert.deepEqual(fastify?.slice(8, 12), ['2.50', '2.50–2.50', '0.50', '0.50–0.50']);
  });

  it('says in a row why there are no figures, a long reason once below', () => {
    const lines = cells(costTable(outcomes, [listRow]));
    assert.equal(lines[5]?.[1], 'list of 20: express: it has no limits');
    assert.equal(lines[6]?.[1], 'list of 20: prism: not measured [1]');
    assert.equal(lines[7]?.[1], 'list of 20: json-server: not measured [1]');
    assert.deepEqual(lines.slice(8), [['[1] GET /pets must be answered 200, and was 500, which nobody expected']]);
  });

  it('compares rates and waits of durable creates', () => {
    const [, , , , fastify] = cells(durableTable(outcomes, [listRow], 'petstore'));
    assert.deepEqual(fastify?.slice(2, -1), ['1000', '1.00', '60.0', '1.00', '1.00–1.00', '0.050', '0.10–0.10']);
  });

  it('has a dash for what is no number', () => {
    const short = [outcome('node:http', [round({ user: 0 })]), outcome('petstore', [round()])];
    const [, , , own] = cells(costTable(short, [listRow]));
    assert.deepEqual(own?.slice(2, -1), ['1000', '–', '–', '50.0', '10.0', '60', '–', '']);
    assert.doesNotMatch(durableTable(short, [listRow], 'petstore'), /NaN|Infinity|–––/);
  });

  it('makes bars of the pairs that were both measured', () => {
    const pairs = ['petstore', 'express', 'nobody'].map((name) => ({ label: name, one: ['list', name], other: ['list', 'node:http'] }) as const);
    const { bars } = group('title', outcomes, pairs, userRatio);
    assert.deepEqual(bars, [{ label: 'petstore', ratio: 1.25, low: 1.25, high: 1.25 }]);
  });
});
