/** The ledger keeps failures, reports duplicates once, and never contains a key. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bearer, redactor } from '../client/credentials.ts';
import { createPetOf, listPets } from '../client/requests.ts';
import { requirements } from '../requirements/requirements.ts';
import { assertNoKey } from '../testing/kit.ts';
import { response } from '../testing/responses.ts';
import { apiKey } from '../testing/servers.ts';
import { Ledger } from './ledger.ts';
import type { Failure } from './results.ts';

const id = 'list.limit';
const key = bearer(apiKey);
const smallest: Failure = { required: 'the least', received: 'less', smallestCase: 'a', curl: 'curl', response: 'HTTP 200' };

const newLedger = () => new Ledger('http://127.0.0.1:1/v1', redactor([apiKey]));

/** Records violations, each with what was received and with the limit of its request. */
function violate(ledger: Ledger, ...times: readonly (readonly [received: string, limit: number])[]): void {
  for (const [received, limit] of times) {
    const request = listPets(key, { limit });
    ledger.violated(id, { required: 'few animals', received }, request, response({ request }));
  }
}

/** What was received, according to each recorded failure. */
const received = (ledger: Ledger) => ledger.result(id).failures.map(({ received }) => received);

describe('verdicts', () => {
  test('a requirement without responses is inconclusive; one judged response is enough to pass', () => {
    const ledger = newLedger();
    const { verdict, reason, judged, evidence } = ledger.result(id);
    assert.deepEqual([verdict, judged, evidence], ['inconclusive', 0, []]);
    assert.equal(reason, 'no response could have violated it');
    ledger.met(id, response({ request: listPets(key, { limit: 1 }) }));
    const after = ledger.result(id);
    assert.deepEqual(
      [after.verdict, after.judged, after.evidence],
      ['passed', 1, ['GET /pets?limit=1 → 200, 0 animals']],
    );
    assert.ok(!('reason' in after));
    assert.equal(ledger.result('list.answers').verdict, 'inconclusive', 'another requirement');
  });

  for (const verdict of ['inconclusive', 'skipped'] as const) {
    test(`${verdict} with its reason, even after responses that meet the requirement`, () => {
      const ledger = newLedger();
      ledger.met(id, response({}));
      ledger.leave(id, verdict, 'only 12 animals are known');
      const result = ledger.result(id);
      assert.deepEqual([result.verdict, result.reason, result.judged], [verdict, 'only 12 animals are known', 1]);
    });

    test(`a failure remains a failure, whether ${verdict} was recorded before or after it`, () => {
      const [before, after] = [newLedger(), newLedger()];
      before.leave(id, verdict, 'too few');
      violate(before, ['2', 1]);
      violate(after, ['2', 1]);
      after.leave(id, verdict, 'too few');
      for (const ledger of [before, after]) {
        ledger.met(id, response({}));
        const result = ledger.result(id);
        assert.deepEqual([result.verdict, result.failed, result.judged], ['failed', 1, 2]);
        assert.ok(!('reason' in result));
      }
    });
  }

  test('a requirement that cannot be tested is skipped for that reason, whatever the responses', () => {
    const ledger = newLedger();
    for (const { id, untested } of requirements.filter((r): r is typeof r & { untested: string } => 'untested' in r)) {
      ledger.met(id, response({}));
      const { verdict, reason } = ledger.result(id);
      assert.deepEqual([verdict, reason], ['skipped', `cannot be tested: ${untested}`]);
    }
  });

  test('at most a dozen different pieces of evidence are recorded, and all responses are counted', () => {
    const ledger = newLedger();
    for (let i = 0; i < 40; i++) ledger.met(id, response({ request: listPets(key, { limit: 1 + (i >> 1) }) }));
    const { judged, evidence } = ledger.result(id);
    assert.equal(judged, 40);
    assert.deepEqual(
      evidence,
      Array.from({ length: 12 }, (_, i) => `GET /pets?limit=${i + 1} → 200, 0 animals`),
    );
  });
});

describe('failures', () => {
  test('at most three kinds of failures are recorded, and all are counted', () => {
    const ledger = newLedger();
    violate(ledger, ['two', 1], ['two', 1], ['two', 5]);
    assert.deepEqual(received(ledger), ['two']);
    violate(ledger, ['three', 1], ['two', 1], ['four', 1], ['three', 1], ['five', 1]);
    assert.deepEqual(received(ledger), ['two', 'three', 'four']);
    assert.equal(ledger.result(id).failed, 8);
    assert.equal(ledger.result(id).judged, 8);
  });

  test('failures with different requirements are different', () => {
    const ledger = newLedger();
    for (const required of ['an array', 'an object'])
      ledger.violated(id, { required, received: 'a string' }, listPets(key), response({ request: listPets(key) }));
    assert.deepEqual(
      ledger.result(id).failures.map(({ required }) => required),
      ['an array', 'an object'],
    );
  });

  test('the first failure of a kind is recorded with its case, curl line and response', () => {
    const ledger = newLedger();
    violate(ledger, ['two', 1], ['two', 7]);
    ledger.violated('list.answers', { required: 'a response', received: 'none' }, listPets(key), undefined);
    assert.deepEqual(ledger.result(id).failures, [
      {
        required: 'few animals',
        received: 'two',
        smallestCase: 'GET /pets?limit=1',
        curl: `printf '%s\\n' "Authorization: Bearer $API_KEY" | curl -i -H @- 'http://127.0.0.1:1/v1/pets?limit=1'`,
        response: 'HTTP 200\nDate: Sat, 21 Nov 2026 12:00:05 GMT',
      },
    ]);
    assert.equal(ledger.result('list.answers').failures[0]!.response, 'no response');
  });

  test('keepOne replaces the failures since the mark by one', () => {
    const ledger = newLedger();
    violate(ledger, ['two', 1], ['two', 1]);
    const mark = ledger.mark(id);
    violate(ledger, ['three', 1], ['two', 1], ['four', 1], ['five', 1]);
    ledger.keepOne(id, mark, smallest);
    assert.deepEqual(received(ledger), ['two', 'less']);
    assert.equal(ledger.result(id).failed, 3);
    assert.equal(ledger.result(id).failures[1], smallest);
    violate(ledger, ['six', 1], ['seven', 1]);
    assert.deepEqual(received(ledger), ['two', 'less', 'six']);
    assert.equal(ledger.result(id).failed, 5);
  });

  test('keepOne without earlier failures leaves only that one', () => {
    const ledger = newLedger();
    const mark = ledger.mark(id);
    violate(ledger, ['three', 1], ['four', 1]);
    ledger.keepOne(id, mark, smallest);
    assert.deepEqual(ledger.result(id).failures, [smallest]);
    assert.deepEqual([ledger.result(id).failed, ledger.result(id).verdict], [1, 'failed']);
  });

  test('keepOne never exceeds three recorded failures', () => {
    const ledger = newLedger();
    violate(ledger, ['one', 1], ['two', 1], ['three', 1]);
    const mark = ledger.mark(id);
    violate(ledger, ['four', 1]);
    ledger.keepOne(id, mark, smallest);
    assert.deepEqual(received(ledger), ['one', 'two', 'three']);
    assert.equal(ledger.result(id).failed, 4);
  });

  for (const [one, other, count] of [
    [['at most 2 animals', '11 animals'], ['at most 1 animal', '1 animal'], 1],
    [['name "Aa", as it was sent', '"aa"'], ['name "\\"B", as it was sent', '"\\"b"'], 1],
    [['400, because it is null', '201'], ['400, because it is a list', '201'], 1],
    [['400, because it is null', '201'], ['400, because it is null', '500'], 2],
    [['400', '500'], ['401', '500'], 2],
    [['an array of objects', 'an object'], ['an array of objects', 'a string'], 2],
  ] as const)
    test(`${one.join()} and ${other.join()} are ${count === 1 ? 'of one kind' : 'of two kinds'}`, () => {
      const ledger = newLedger();
      for (const [required, received] of [one, other])
        ledger.violated(id, { required, received }, listPets(key), response({ request: listPets(key) }));
      assert.equal(ledger.result(id).failures.length, count);
    });

  test('keepOne replaces an earlier failure of the same kind', () => {
    const ledger = newLedger();
    ledger.violated(id, { ...smallest, required: 'the least' }, listPets(key), response({ request: listPets(key) }));
    ledger.keepOne(id, ledger.mark(id), smallest);
    assert.deepEqual(ledger.result(id).failures, [smallest]);
  });
});

test('no text contains a key', () => {
  const ledger = newLedger();
  const request = { ...createPetOf(key, `{"name":"${apiKey}"}`), target: `/pets?api_key=${apiKey}` };
  const echo = response({ status: 400, request, headers: [['X-Echo', apiKey]], body: `"${apiKey.toUpperCase()}"` });
  ledger.met(id, echo);
  ledger.violated(id, { required: `not ${apiKey}`, received: `but ${apiKey}` }, request, echo);
  ledger.leave('list.answers', 'skipped', `since ${apiKey}`);
  ledger.observe('list.order', `by ${apiKey}`, echo);
  ledger.notObserved('list.paging', `without ${apiKey}`);

  const { failures, evidence } = ledger.result(id);
  const seen = (wanted: string) => ledger.observations().find((o) => o.id === wanted)!;
  const { behaviour: filled, example } = seen('list.order');
  const texts = {
    ...failures[0],
    evidence: evidence[0],
    reason: ledger.result('list.answers').reason,
    filled,
    example,
    notObserved: seen('list.paging').reason,
  };
  assert.equal(Object.keys(texts).length, 10);
  for (const [name, text] of Object.entries(texts)) assert.match(text ?? '', /\[key\]/, name);
  assert.equal(texts.response?.match(/\[key\]/g)?.length, 2, 'header and body');
  assertNoKey(Object.values(texts).map(String));
});

describe('gaps', () => {
  const gap = 'list.order';
  const found = (ledger: Ledger) => {
    const { behaviour, example, reason } = ledger.observations().find((o) => o.id === gap)!;
    return { behaviour, example, reason };
  };

  test('a gap that no check observes has a reason', () => {
    assert.deepEqual(found(newLedger()), {
      behaviour: undefined,
      example: undefined,
      reason: 'no check of this run observes it',
    });
  });

  test('only the first observation counts', () => {
    const ledger = newLedger();
    ledger.observe(gap, 'ascending ids', response({ request: listPets(key, { limit: 9 }) }));
    ledger.observe(gap, 'descending ids', response({ request: listPets(key) }));
    ledger.notObserved(gap, 'the responses did not show it');
    assert.deepEqual(found(ledger), {
      behaviour: 'ascending ids',
      example: 'GET /pets?limit=9 → 200, 0 animals',
      reason: undefined,
    });
  });

  test('an observation replaces a reason; only the first reason counts', () => {
    const ledger = newLedger();
    ledger.notObserved(gap, 'first');
    ledger.notObserved(gap, 'second');
    assert.equal(found(ledger).reason, 'first');
    ledger.observe(gap, 'ascending ids');
    assert.deepEqual(found(ledger), { behaviour: 'ascending ids', example: undefined, reason: undefined });
  });
});
