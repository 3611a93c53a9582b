/** What the model says holds for its requests, a run stays within its budget, and a failure names what matters. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { bearer } from '../client/credentials.ts';
import { JsonNumber, parseJson, type JsonObject } from '../client/json.ts';
import { gaps } from '../requirements/gaps.ts';
import { requirements } from '../requirements/requirements.ts';
import { apiKey, proxy, smallServer } from '../testing/servers.ts';
import { failuresText, run, session } from '../testing/sessions.ts';
import { isAlone, type Row, type World } from './model.ts';
import { caseSetsOf, casesOf, combinedBy, costOf } from './plan.ts';

const usual = { seed: 1, runs: 20, thoroughAuth: false, write: true };
const all = caseSetsOf({ ...usual, runs: 100, thoroughAuth: true });

const world: World = {
  key: bearer(apiKey),
  secret: apiKey,
  category: 7n,
  id: 3n,
  unknownId: 1_000n,
  cookies: ['session=7'],
  newPet: () => ({ name: 'Rex 1', categoryId: 7n }),
};

function isJson(bytes: Uint8Array): boolean {
  try {
    parseJson(bytes);
    return true;
  } catch {
    return false;
  }
}

describe('rows', () => {
  test('a row without an expectation is a type error', () => {
    // @ts-expect-error: what must the response be?
    const row: Row = { name: 'REX', change: (draft) => draft };
    assert.ok(row);
  });

  test('each that is not accepted names a requirement or a gap; names are unique; the plain row is the first', () => {
    for (const { model } of all) {
      for (const { name, rows } of model.dimensions) {
        const names = rows.map((row) => row.name);
        assert.deepEqual(names.filter((one, i) => names.indexOf(one) !== i), [], `${model.name} ${name}`);
        assert.ok(rows[0]!.expect === 'accepted' && rows[0]!.most === undefined, name);
        for (const row of rows.filter(isAlone))
          assert.ok([...requirements, ...gaps].some(({ id }) => id === row.of), `${name} ${row.name}`);
      }
    }
  });

  test('a body that is refused as no JSON is none, and any other is, in every combination', () => {
    const gaps = ['malformed', 'comments', 'nan', 'utf-16', 'invalid-utf-8', 'byte-order-mark'];
    const open = gaps.map((gap) => `create.${gap}`);
    for (const one of all.flatMap(({ cases }) => cases)) {
      const { operation, body, mustBe } = one.request(world);
      if (operation !== 'createPet' || body === undefined || one.model.name !== 'createPet') continue;
      const shown = `${one.of}: ${one.text}: ${Buffer.from(body)}`;
      if (['create.not-json', 'create.empty'].includes(one.of)) assert.ok(!isJson(body), shown);
      else if (!open.includes(one.of) && !/NaN|Infinity/.test(one.text)) assert.ok(isJson(body), shown);
      const isAccepted = ['create.answers', 'create.chunked', 'service.accept'].includes(one.of);
      assert.equal(mustBe, isAccepted ? 201 : undefined, shown);
    }
  });

  test('two invalid fields: each pair of requirements of different fields, none of which is satisfied', () => {
    const pairs = all.flatMap(({ cases }) => cases).filter(({ text }) => text.includes('two fields '));
    assert.ok(new Set(pairs.map(({ value }) => value)).size >= 39);
    for (const one of pairs) {
      const body = parseJson(one.request(world).body!) as JsonObject;
      const category = body.get('categoryId');
      const isValid = [
        typeof body.get('name') === 'string',
        category instanceof JsonNumber && category.int64() !== undefined,
        [undefined, 'available', 'pending', 'sold'].includes(body.get('status') as string),
      ];
      assert.equal(isValid.filter((valid) => valid).length, 1, `${one.text}: ${Buffer.from(one.request(world).body!)}`);
    }
  });

  test('another spelling of a field never has its value, and a create without the field is refused', () => {
    for (const one of all.flatMap(({ cases }) => cases).filter(({ value }) => value?.includes('other spellings'))) {
      const { sent, body } = one.request(world);
      const object = parseJson(body!) as JsonObject;
      const [field] = one.value!.split(' ') as ['name' | 'categoryId' | 'status'];
      if (one.of === 'create.required') continue;
      assert.equal(String(sent![field]), String(object.get(field) instanceof JsonNumber ? 7n : object.get(field)));
      assert.ok(object.members.length > 7, one.text);
    }
  });

  test('a request has the valid key unless the model says otherwise', () => {
    for (const { model, cases } of all) {
      for (const one of cases) {
        const { credential } = one.request(world);
        const isKeyless = one.cost.keyless > 0 && one.cost.requests === 0;
        if (model.isKeyless !== true) assert.equal(credential.key, 'main', one.text);
        else if (isKeyless) assert.equal(credential.key, 'none', one.text);
        if (credential.key === 'none') assert.notEqual(credential.header, `Bearer ${apiKey}`, one.text);
      }
    }
  });
});

describe('a plan', () => {
  test('of a default run is within its budget, and uses all that may be used with the key', () => {
    const caseSets = caseSetsOf(usual);
    const ids = new Set(caseSets.flatMap(({ cases }) => cases.map(({ of }) => of)));
    const { requests, keyless } = costOf(...ids)(usual);
    assert.ok(requests <= 550 && keyless <= 21, `${requests}, ${keyless}`);
    const combined = combinedBy(caseSets, new Set(caseSets.flatMap(({ cases }) => cases)));
    for (const { operation, unused, pairs, possible } of combined) {
      assert.ok(pairs <= possible && pairs > 0);
      if (operation !== 'keys') assert.ok(!unused.some(({ reason }) => reason.startsWith('more')), operation);
    }
  });

  test('of a run that sends nothing with POST has no create', () => {
    for (const { cases } of caseSetsOf({ ...usual, write: false }))
      for (const one of cases) assert.notEqual(one.request(world).method, 'POST');
  });

  test('depends only on the options', () => {
    const texts = (seed: number) => casesOf(caseSetsOf({ ...usual, seed }), 'create.answers').map(({ text }) => text);
    assert.deepEqual(texts(5), texts(5));
    assert.notDeepEqual(texts(5), texts(6));
  });

  test('without combinations has used nothing, and says so', () => {
    const [, create] = combinedBy(caseSetsOf(usual), new Set());
    assert.deepEqual([create!.pairs, create!.requests], [0, 0]);
    const left = create!.unused.find(({ reason }) => reason === 'its check did not send it');
    assert.ok(left!.values.length > 100);
  });
});

describe('a fault that needs two values together', () => {
  for (const [name, isFaulty, id, wanted] of [
    [
      'is caught and reduced to these two: an accepted combination is refused',
      (body: string, headers: Record<string, unknown>) =>
        body.startsWith('\r\n') && headers['content-type'] === 'Application/JSON',
      'create.answers',
      /\(form white space, Content-Type Application\/JSON\)$/,
    ],
    [
      'is caught and reduced to these two: an invalid one is accepted',
      (body: string) => /^\{("status":"[a-z]+",)?"categoryId":\d+,"name":\[\]\}$/.test(body),
      'create.wrong-type',
      /\(name \[\], form fields in another order\)$/,
    ],
  ] as const) {
    test(name, async (t) => {
      const server = await proxy(t, await smallServer(t), ({ method, headers, body }, response) => {
        if (method !== 'POST' || !isFaulty(body.toString(), headers)) return;
        response.status = id === 'create.answers' ? 400 : 201;
      });
      const results = await run(session(server, { only: [id], runs: 200, seed: 1 }));
      const [result] = results;
      assert.equal(result!.verdict, 'failed', failuresText(results));
      assert.match(result!.failures[0]!.smallestCase, wanted);
    });
  }

  test('the reduction takes at most eleven more requests', async (t) => {
    const server = await proxy(t, await smallServer(t), ({ method }, response) => {
      if (method === 'POST') response.status = 200;
    });
    const of = session(server, { only: ['create.null'], seed: 1 });
    await of.open();
    const planned = costOf('create.null')(of.options).requests;
    await run(of);
    assert.equal(of.ledger.result('create.null').verdict, 'failed');
    assert.ok(server.received.length <= planned + 2 * 5 + 11, `${server.received.length}`);
  });
});
