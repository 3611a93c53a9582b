/** The small server conforms, and the tables of mutants are complete. */
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { after, describe, test } from 'node:test';
import type { Clock } from '../client/clock.ts';
import { requirements } from '../requirements/requirements.ts';
import { mutants, subjects } from './mutants.ts';
import { base } from './server/hooks.ts';
import { startSmallServer } from './server/small-server.ts';
import { variants } from './variants.ts';

const secrets = { business: 'bk_Q7rT2mXv9LdK4nWs8ZbC3hYf', free: 'fk_u5JgE8tRw1PzN6cVq3XaM9Hk' } as const;
const bearer = `Bearer ${secrets.business}`;
const agent = new Agent({ keepAlive: true });
after(() => agent.destroy());

interface TestResponse {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
}

/** A clock that a test moves. */
function heldClock(): Clock & { move(ms: number): void } {
  let now = Date.UTC(2026, 10, 21, 12, 0, 5);
  return {
    now: () => now,
    sleep: async (ms) => void (now += ms),
    move: (ms) => void (now += ms),
  };
}

async function start(given: { animals?: number } = {}) {
  const clock = heldClock();
  const keys = [
    { secret: secrets.business, plan: 'business' as const },
    { secret: secrets.free, plan: 'free' as const },
  ];
  const server = await startSmallServer({ clock, keys, ...given });
  const ask = (
    method: string,
    path: string,
    authorization: string | undefined = bearer,
    body?: string | Uint8Array | undefined,
  ): Promise<TestResponse> =>
    new Promise((resolve, reject) => {
      const headers = {
        ...(authorization !== '' && { authorization }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      };
      request(`${server.baseUrl}${path}`, { method, agent, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => void chunks.push(chunk));
        response.on('end', () => {
          // Latin-1 keeps every byte.
          const body = Buffer.concat(chunks).toString('latin1');
          resolve({ status: response.statusCode ?? 0, headers: response.rawHeaders, body });
        });
      })
        .on('error', reject)
        .end(body);
    });
  return { ...server, clock, ask };
}

const valueOf = (response: TestResponse, name: string): string =>
  response.headers[response.headers.indexOf(name) + 1] ?? '';
const utf8Of = (response: TestResponse): string => Buffer.from(response.body, 'latin1').toString();

describe('the small server', () => {
  test('lists 20 animals without a limit, otherwise as many as asked for, and applies the filter', async () => {
    const { ask, close } = await start({ animals: 120 });
    assert.equal(JSON.parse((await ask('GET', '/pets')).body).length, 20);
    assert.equal(JSON.parse((await ask('GET', '/pets?limit=1')).body).length, 1);
    assert.equal(JSON.parse((await ask('GET', '/pets?limit=100')).body).length, 100);
    const sold: { status: string }[] = JSON.parse((await ask('GET', '/pets?status=sold&limit=7')).body);
    assert.deepEqual(
      sold.map((pet) => pet.status),
      Array(7).fill('sold'),
    );
    assert.equal((await ask('GET', '/pets?limit=0')).status, 400);
    await close();
  });

  test('keeps names and categories exactly', async () => {
    const { ask, close } = await start();
    for (const [name, category] of [
      ['"  \\u0000 \\ud800 \\\\ \u2028 e\u0301 \u{1f436} </b> "', '9223372036854775807'],
      ['"__proto__"', '-9223372036854775808'],
      ['"n1"', '9007199254740993'],
    ]) {
      const created = await ask(
        'POST',
        '/pets',
        bearer,
        `{"name":${name},"categoryId":${category},"status":"pending"}`,
      );
      assert.equal(created.status, 201);
      const body = utf8Of(created);
      assert.equal(JSON.parse(body).name, JSON.parse(name ?? ''));
      assert.match(body, new RegExp(`"categoryId":${category},"status":"pending"}$`));
      assert.equal(utf8Of(await ask('GET', `/pets/${JSON.parse(body).id}`)), body);
    }
    await close();
  });

  test('rejects bodies that are not a NewPet', async () => {
    const { ask, close } = await start();
    for (const body of [
      '',
      '[]',
      'null',
      '{}',
      '{"name":"a"}',
      '{"categoryId":1}',
      '{"name":"a","categoryId":1,}',
      '{"name":"a","categoryId":01}',
      '{"name":1,"categoryId":1}',
      '{"name":"a","categoryId":"1"}',
      '{"name":"a","categoryId":1.5}',
      '{"name":"a","categoryId":9223372036854775808}',
      '{"name":"a","categoryId":1e19}',
      '{"name":"a","categoryId":1,"status":"Sold"}',
      '{"name":"a","categoryId":1,"status":null}',
      '{"name":"a\nb","categoryId":1}',
    ]) {
      const refused = await ask('POST', '/pets', bearer, body);
      assert.equal(refused.status, 400, body);
      assert.deepEqual(Object.keys(JSON.parse(refused.body)), ['code', 'message', 'status']);
    }
    assert.equal(
      (await ask('POST', '/pets', bearer, Buffer.from('{"name":"\xff","categoryId":1}', 'latin1'))).status,
      400,
    );
    await close();
  });

  test('returns 404, 401 and orders with JSON and each of the three headers once', async () => {
    const { ask, close } = await start();
    const wanted: [Promise<TestResponse>, number][] = [
      [ask('GET', '/store/orders'), 200],
      [ask('GET', '/pets/999999'), 404],
      [ask('GET', '/pets/0'), 404],
      [ask('GET', '/nothing'), 404],
      [ask('DELETE', '/pets/1'), 405],
      ...['/pets', '/pets/1', '/store/orders'].flatMap((path): [Promise<TestResponse>, number][] =>
        ['', 'Bearer', secrets.business, `Basic ${secrets.business}`, `Bearer ${secrets.business}x`].map((key) => [
          ask('GET', path, key),
          401,
        ]),
      ),
    ];
    for (const [asked, status] of wanted) {
      const response = await asked;
      assert.equal(response.status, status);
      assert.equal(valueOf(response, 'Content-Type'), 'application/json');
      if (status >= 400) assert.equal(JSON.parse(response.body).status, status);
      for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Date']) {
        assert.equal(response.headers.filter((other) => other === name).length, 1);
      }
    }
    await close();
  });

  test('admits the requests of the plan, refuses the rest, and recovers at Retry-After', async () => {
    const { ask, clock, close } = await start();
    for (let left = 59; left >= 0; left -= 1) {
      const response = await ask('GET', '/pets', `Bearer ${secrets.free}`);
      assert.deepEqual([response.status, valueOf(response, 'X-RateLimit-Remaining')], [200, String(left)]);
    }
    const refused = await ask('GET', '/pets', `Bearer ${secrets.free}`);
    assert.deepEqual(
      [refused.status, valueOf(refused, 'Retry-After'), valueOf(refused, 'X-RateLimit-Remaining')],
      [429, '55', '0'],
    );
    assert.equal(Number(valueOf(refused, 'X-RateLimit-Reset')), Math.floor(clock.now() / 1000) + 55);
    clock.move(54_999);
    assert.equal((await ask('GET', '/pets', `Bearer ${secrets.free}`)).status, 429);
    clock.move(1);
    const admitted = await ask('GET', '/pets', `Bearer ${secrets.free}`);
    assert.deepEqual([admitted.status, valueOf(admitted, 'X-RateLimit-Remaining')], [200, '59']);
    await close();
  });

  test('refuses requests beyond the limit of the day until the next day', async () => {
    const { ask, clock, close } = await start();
    const statuses = new Map<number, number>();
    for (let i = 0; i < 1_001; i += 1) {
      if (i % 60 === 0) clock.move(60_000);
      const { status } = await ask('GET', '/pets?limit=1', `Bearer ${secrets.free}`);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    assert.deepEqual(
      [...statuses],
      [
        [200, 1_000],
        [429, 1],
      ],
    );
    const refused = await ask('GET', '/pets', `Bearer ${secrets.free}`);
    assert.equal(valueOf(refused, 'X-RateLimit-Limit'), '1000');
    assert.ok(Number(valueOf(refused, 'Retry-After')) > 3_600);
    await close();
  });
});

describe('the tables of mutants', () => {
  test('ids are unique', () => {
    const ids = mutants.map(({ id }) => id);
    assert.deepEqual(
      ids.filter((id, i) => ids.indexOf(id) !== i),
      [],
    );
  });

  test('each row is a sentence', () => {
    for (const { id, text } of mutants) assert.match(text, /^\S.*\.$/, id);
  });

  test('there are at least 100 mutants, 20 of limits and 20 of exactness', () => {
    const exactness = subjects.find(([subject]) => subject === 'exactness')?.[1] ?? [];
    assert.ok(mutants.length >= 100);
    assert.ok(mutants.filter(({ requirement }) => requirement.startsWith('limits.')).length >= 20);
    assert.ok(exactness.length >= 20);
  });

  test('each violates a testable requirement, and every testable requirement has a mutant', () => {
    const testable = requirements.filter(({ untested }) => untested === undefined).map(({ id }) => id);
    const violated = new Set(mutants.map(({ requirement }) => requirement));
    assert.deepEqual(
      [...violated].filter((id) => !testable.includes(id)),
      [],
    );
    assert.deepEqual(
      testable.filter((id) => !violated.has(id)),
      [],
    );
  });

  test('each mutant and each variant replaces hooks of the small server', () => {
    for (const { id, hooks } of [...mutants, ...variants]) {
      assert.ok(Object.keys(hooks).length > 0, id);
      for (const [name, hook] of Object.entries(hooks)) {
        assert.ok(name in base, `${id}: ${name}`);
        assert.equal(typeof hook, 'function', `${id}: ${name}`);
      }
    }
  });
});
