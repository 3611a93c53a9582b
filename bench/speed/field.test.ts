import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Program } from '../measure/program.ts';
import { contest, type Outcome } from './contest.ts';
import type { Contestant } from './contestants.ts';
import type { Demand } from './check.ts';
import { openField } from './field.ts';
import { createRow, getRow, listRow, refusedRow, unauthorizedRow, type Row } from './rows.ts';
import { cold, right, serve, type Answerer, type Reply } from './testing.ts';

/** What comes of a contestant whose server answers as told. */
async function outcomeOf(t: TestContext, row: Row, demand: Demand, answer: Answerer): Promise<Outcome> {
  const contestant: Contestant = { name: 'x', demand, start: () => serve(t, answer) };
  const { entries, absent } = await openField([[contestant, [row]]], [], cold);
  assert.deepEqual(absent, []);
  const [outcome] = await contest(entries, { rounds: 2, seconds: 0.05 });
  return outcome!;
}

/** A right server whose answers are changed from the `nth` on, until `upTo`. */
function changed(change: (reply: Reply) => Reply, nth: number, upTo = Infinity): Answerer {
  const answer = right();
  let count = 0;
  return (request, body) => {
    const reply = answer(request, body);
    return ++count >= nth && count <= upTo ? change(reply) : reply;
  };
}

const emptied = (reply: Reply): Reply => ({ ...reply, body: [] });

describe('a field', () => {
  const warm = { requests: 100, seconds: 0.05 };

  it('loads each server as soon as it has been started and checked', async (t) => {
    const requests: number[] = [];
    const contestant: Contestant = {
      name: 'x',
      demand: 'service',
      start: () => {
        const nth = requests.push(0) - 1;
        // What came before belongs to a server that is warm by now.
        assert.ok(requests.slice(0, nth).every((count) => count > 100), `${requests}`);
        return serve(t, (request, body) => (requests[nth]!++, right()(request, body)));
      },
    };
    const { entries } = await openField([[contestant, [listRow]]], [], { ...cold, servers: 3, warm });
    assert.equal(entries[0]?.servers.length, 3);
    assert.ok(requests.every((count) => count > 100), `${requests}`);
  });

  it('says of a server that was wrong as it was warmed up why it is absent', async (t) => {
    const contestant: Contestant = { name: 'x', demand: 'service', start: () => serve(t, changed(emptied, 20)) };
    const { entries, absent } = await openField([[contestant, [listRow]]], [], { ...cold, warm });
    assert.deepEqual(entries, []);
    assert.match(absent[0]!.problem!, /^GET .* must be answered with 200, and came: .* with another body/);
  });
});

describe('a server that went wrong after the first check', () => {
  it('has no figures if its body was another under load', async (t) => {
    const { rounds, problem } = await outcomeOf(t, listRow, 'service', changed(emptied, 20, 20));
    assert.deepEqual(rounds, []);
    assert.match(problem!, /^GET .* must be answered with 200, and came: \d+ × 200, 1 of them with another body/);
  });

  it('has none if it answered creates and did not keep them', async (t) => {
    const answer = right();
    let count = 0;
    const { rounds, problem } = await outcomeOf(t, createRow, 'animals', (request, body) => {
      // This answer is that of another create.
      if (request.method === 'POST' && ++count === 50) return { status: 201, body: { id: 1_007, name: 'Rex' } };
      return answer(request, body);
    });
    assert.deepEqual(rounds, []);
    assert.match(problem!, /^(\d+) creates were answered 201, and \d+ animals were added$/);
  });

  it('has none if it is wrong at the end', async (t) => {
    let over = false;
    const contestant: Contestant = {
      name: 'x',
      demand: 'service',
      start: () => serve(t, (request, body) => (over ? emptied : (reply: Reply) => reply)(right()(request, body))),
    };
    const { entries } = await openField([[contestant, [getRow]]], [], cold);
    const watch = (round: number) => void (over = round === 2);
    const [outcome] = await contest(entries, { rounds: 1, seconds: 0.05, watch });
    assert.deepEqual(outcome?.rounds, []);
    assert.match(outcome!.problem!, /^GET \/pets\/500 must give .* and gave \[\]$/);
  });

  it('has one reason if it ended, whatever was asked of it', async () => {
    for (const row of [listRow, createRow, refusedRow, unauthorizedRow]) {
      const env = { FLOOR_ANSWER: JSON.stringify({ status: row.status, headers: [], body: '{}' }) };
      const program = await Program.start(new URL('floor.mjs', import.meta.url), { env });
      const contestant: Contestant = { name: 'x', demand: 'status', start: async () => ({ program, baseUrl: program.address, key: '', spentKey: '' }) };
      const { entries } = await openField([[contestant, [row]]], [], cold);
      const watch = (round: number) => void (round === 1 && process.kill(program.pid, 'SIGKILL'));
      const [outcome] = await contest(entries, { rounds: 1, seconds: 0.05, watch });
      assert.equal(outcome?.problem, 'the server ended while it was measured (SIGKILL)', row.id);
    }
  });

  it('is asked no more than was demanded of it', async (t) => {
    for (const row of [listRow, createRow]) {
      const { rounds, problem } = await outcomeOf(t, row, 'status', changed(emptied, 50));
      assert.equal(problem, undefined);
      assert.equal(rounds.length, 2);
    }
  });
});
