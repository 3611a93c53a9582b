/** Requirements, checks and their costs are consistent, and this project's own server conforms. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { systemClock } from '../client/clock.ts';
import { createPet, getPet, listPets } from '../client/requests.ts';
import { startSmallServer } from '../mutants/server/small-server.ts';
import { readOptions } from '../options.ts';
import { gaps, type GapId } from '../requirements/gaps.ts';
import { requirements, sections, type RequirementId } from '../requirements/requirements.ts';
import { check, type Check } from '../session/check.ts';
import { totalCost } from '../session/cost.ts';
import { Fixtures } from '../session/fixtures.ts';
import type { Session, SessionOptions } from '../session/session.ts';
import { fakeClock } from '../testing/responses.ts';
import { apiKey, ownServer, proxy, smallServer } from '../testing/servers.ts';
import { failuresText, run, session, verdicts } from '../testing/sessions.ts';
import { Inconclusive } from '../verdicts/outcome.ts';
import type { RequirementResult } from '../verdicts/results.ts';
import { groups, estimateOf, runChecks, type Estimate } from './suite.ts';

const checks = groups.flatMap(([, ofGroup]) => ofGroup);

describe('requirements and checks', () => {
  test('every requirement has one check, or a reason why it cannot be checked', () => {
    for (const { id, untested } of requirements) {
      const count = checks.filter(({ requirement }) => requirement === id).length;
      assert.equal(
        count,
        untested === undefined ? 1 : 0,
        `${id} has ${count} checks${untested === undefined ? '' : ', and a reason why there is none'}`,
      );
      assert.notEqual(untested, '');
    }
  });

  test('every check names a requirement or observes gaps; each gap is observed by one check', () => {
    for (const { requirement, gaps: observed } of checks) {
      if (requirement === undefined) assert.notEqual(observed.length, 0);
      else
        assert.ok(
          requirements.some(({ id }) => id === requirement),
          requirement,
        );
    }
    const observed = checks.flatMap((check) => check.gaps);
    assert.deepEqual(
      observed.filter((id, i) => observed.indexOf(id) !== i),
      [],
      'observed twice',
    );
    assert.deepEqual(
      observed.filter((id) => !gaps.some((gap) => gap.id === id)),
      [],
      'no gap',
    );
  });

  test('ids are unique words of a topic, sections exist, and texts are sentences', () => {
    for (const list of [requirements, gaps]) {
      const ids: readonly string[] = list.map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length);
      for (const id of ids) assert.match(id, /^[a-z]+(\.[a-z]+)?\.[a-z0-9]+([-.][a-z0-9]+)*$/);
    }
    const numbers = sections.map(([number]) => number);
    for (const { id, section, text } of requirements) {
      assert.ok(numbers.includes(section), `${id}: ${section}`);
      assert.match(text, /^[^\s][^\n]*\.$/, id);
    }
    for (const { section, question } of gaps) {
      assert.ok(numbers.includes(section), question);
      assert.match(question, /^[A-Z][^\n]*\?$/);
    }
  });

  test('the replay options of every generated case are valid', () => {
    for (const { requirement, cost } of checks) {
      if (cost.perCase === undefined || requirement === undefined) continue;
      assert.notEqual(
        typeof readOptions(['--only', requirement, '--seed', '1', '--path', '3:0'], {}),
        'string',
        requirement,
      );
    }
  });
});

/** What one check sent, not counting fixtures. */
interface Spent {
  readonly check: Check;
  readonly requests: number;
  readonly keyless: number;
  readonly created: number;
}

/** A whole run that attributes every request to its check, or to the fixtures. */
async function counted(of: Session) {
  const spent: Spent[] = [];
  const shared = { requests: 0, keyless: 0, created: 0 };
  const now = () => ({
    requests: of.client.sent.withKey,
    keyless: of.client.sent.withoutKey,
    created: of.client.sent.created,
  });
  let depth = 0;
  let plan: Estimate | undefined;
  const { fixtures } = of;
  const plain = fixtures.once.bind(fixtures);
  fixtures.once = async <T>(name: string, make: () => Promise<T>): Promise<T> => {
    const start = now();
    depth++;
    try {
      return await plain(name, make);
    } finally {
      depth--;
      const end = now();
      if (depth === 0)
        for (const what of ['requests', 'keyless', 'created'] as const) shared[what] += end[what] - start[what];
    }
  };
  const suite = groups.map(
    ([title, ofGroup]) =>
      [
        title,
        ofGroup.map((check): Check => ({
          ...check,
          run: async (t) => {
            plan ??= estimateOf(of);
            const [start, sharedBefore] = [now(), { ...shared }];
            await check.run(t);
            const end = now();
            const own = (what: 'requests' | 'keyless' | 'created') =>
              end[what] - start[what] - (shared[what] - sharedBefore[what]);
            spent.push({ check, requests: own('requests'), keyless: own('keyless'), created: own('created') });
          },
        })),
      ] as const,
  );
  const results = await run(of, suite);
  return { results, spent, shared, plan: plan! };
}

describe("runs against this project's own server", () => {
  let whole: Awaited<ReturnType<typeof counted>> & { session: Session };
  let server: Awaited<ReturnType<typeof ownServer>>;

  const ends: (() => unknown)[] = [];
  after(async () => {
    for (const end of ends) await end();
  });
  before(async () => {
    server = await ownServer({ after: (end) => ends.push(end) });
    const started = session(server);
    whole = { ...(await counted(started)), session: started };
  });

  test('it conforms, and nothing is inconclusive', () => {
    const open = whole.results.filter(({ verdict }) => verdict === 'failed' || verdict === 'inconclusive');
    assert.deepEqual(
      open.map(({ id, verdict, reason }) => `${id} ${verdict} ${reason}`),
      [],
      failuresText(whole.results),
    );
    for (const { id, verdict, judged, evidence } of whole.results) {
      if (verdict === 'passed') assert.ok(judged > 0 && evidence.length > 0, id);
    }
    assert.equal(whole.session.lost, undefined);
  });

  test('no check sends more than its cost', () => {
    for (const { check, ...sent } of whole.spent) {
      const { requests, keyless, creates } = totalCost(check.cost, whole.session.options);
      const name = check.requirement ?? check.gaps.join(', ');
      assert.ok(sent.requests <= requests, `${name}: ${sent.requests} requests, not ${requests}`);
      assert.ok(sent.keyless <= keyless, `${name}: ${sent.keyless} without a key, not ${keyless}`);
      assert.ok(sent.created <= creates, `${name}: ${sent.created} creates, not ${creates}`);
    }
    const { shared } = whole;
    assert.ok(
      shared.requests - shared.created <= Fixtures.cost.requests,
      `fixtures: ${shared.requests} requests, ${shared.created} of them creates`,
    );
    assert.equal(shared.keyless, 0);
  });

  test('a check that creates animals declares it', () => {
    for (const { check, created } of whole.spent) {
      if (created > 0) assert.ok(totalCost(check.cost, whole.session.options).creates > 0, check.requirement);
    }
  });

  test('the run sends no more than its estimate', () => {
    const { plan } = whole;
    const { withKey, withoutKey, created } = whole.session.client.sent;
    assert.ok(withKey <= plan.withKey, `${withKey} of ${plan.withKey}`);
    assert.ok(withoutKey <= plan.withoutKey && plan.withoutKey <= 25, `${withoutKey} without a key`);
    assert.equal(whole.session.client.sent.secondsWaited, 0);
    assert.ok(created <= plan.creates, `${created} of ${plan.creates}`);
  });

  test('a run sends at most 800 requests in all, with any seed and any number of animals in the store', async (t) => {
    for (const [animals, seed] of [[undefined, 1], [undefined, 2], [0, 1], [0, 3], [1, 8], [40, 16], [200, 1_000]]) {
      const server = await smallServer(t, { plan: 'business', ...(animals !== undefined && { animals }) });
      const of = session(server, { only: [], seed: seed! });
      await run(of);
      const { withKey, withoutKey } = of.client.sent;
      const sent = `${withKey} and ${withoutKey} without a key`;
      assert.ok(withKey + withoutKey <= 800, `seed ${seed}, ${animals ?? 'some'} animals: ${sent}`);
    }
  });

  test('a second run in the same minute does not wait: the server admits 60 requests without a key', async () => {
    const second = session(server, { only: ['auth.'] });
    assert.ok((await run(second)).some(({ verdict }) => verdict === 'passed'));
    assert.equal(second.client.sent.secondsWaited, 0);
  });

  test('every gap is observed, except for those at the limit', () => {
    const atLimit = checks.filter(({ cost }) => cost.exhausts === true).flatMap((check) => check.gaps);
    for (const { id, behaviour, reason } of whole.session.ledger.observations()) {
      if (atLimit.includes(id)) assert.match(reason ?? '', /--exhaust/);
      else assert.notEqual(behaviour, undefined, `${id}: ${reason}`);
    }
  });

  test('--read-only creates nothing, and checks that create animals are skipped with a reason', async () => {
    const only = session(server, {
      write: false,
      readOnly: true,
      only: ['list.', 'get.', 'create.', 'pet.', 'limits.', 'error.'],
    });
    const results = await run(only);
    assert.equal(only.client.sent.created, 0);
    for (const { id, verdict, reason } of results) {
      assert.notEqual(verdict, 'failed', id);
      if (id.startsWith('create.')) assert.match(`${verdict} ${reason}`, /^skipped not with --read-only$/);
    }
  });
});

test('an error in the kit is not a verdict', async (t) => {
  const broken: Check = {
    requirement: 'list.answers',
    gaps: [],
    cost: {},
    run: async ({ key: { header } }) => {
      throw new TypeError(`it knows ${header}`);
    },
  };
  const failing = session(await smallServer(t));
  const results = await run(failing, [['one', [broken]]]);
  const result: RequirementResult = results.find(({ id }) => id === 'list.answers')!;
  assert.equal(result.verdict, 'inconclusive');
  assert.equal(result.reason, 'error in the kit: it knows Bearer [key]');
  assert.equal(failing.lost?.message, 'error in the kit, in list.answers: it knows Bearer [key]');
});

test('an error in the kit outside of a check ends the run', async (t) => {
  const server = await smallServer(t);
  const wrong = check('list.answer' as RequirementId, {}, async () => {});
  await assert.rejects(run(session(server), [['one', [wrong]]]), /^Error: there is no requirement list\.answer$/);
  const of = session(server);
  t.after(() => of.client.close());
  const result = () => {
    throw new TypeError('cannot print');
  };
  const fine = check('list.answers', {}, async () => {});
  await assert.rejects(runChecks(of, { group: () => {}, result }, [['one', [fine]]]), /^TypeError: cannot print$/);
});

test('a wrong id in a check is an error in the kit, and ends the run', async (t) => {
  const of = session(await smallServer(t));
  const wrong = check('list.answers', {}, async (t) => t.observe('list.orders' as GapId, 'none'));
  await run(of, [['one', [wrong]]]);
  assert.equal(of.lost?.message, 'error in the kit, in list.answers: there is no gap list.orders');
  assert.throws(() => of.ledger.took('list.answer' as RequirementId, 1), /^Error: there is no requirement list\./);
});

describe('a run announces what it will send', () => {
  const announced = async (t: Parameters<typeof smallServer>[0], only: string, options: Partial<SessionOptions>) => {
    const clock = fakeClock();
    const of = session(await smallServer(t, { clock }), { only: [only], ...options }, clock);
    try {
      await of.open();
      const [plan, before] = [estimateOf(of), of.client.sent.withKey];
      await runChecks(of);
      return { plan, sent: of.client.sent.withKey - before, created: of.client.sent.created };
    } finally {
      of.client.close();
    }
  };

  test('the first requests are included, even if no check is to run', async (t) => {
    const of = session(await smallServer(t), { only: ['create.name'], write: false, readOnly: true });
    t.after(() => of.client.close());
    await of.open();
    const { all } = estimateOf(of);
    await runChecks(of);
    assert.ok(of.client.sent.withKey <= all && all <= Fixtures.cost.requests, `${of.client.sent.withKey} of ${all}`);
  });

  test('--exhaust adds nothing if no selected check brings a key to its limit', async (t) => {
    const { plan, sent } = await announced(t, 'get.not-found', { exhaust: true });
    assert.ok(sent <= plan.withKey && plan.withKey < 50, `${sent} of ${plan.withKey}`);
    assert.ok(plan.creates <= Fixtures.cost.creates && plan.seconds < 10, `${plan.creates}, ${plan.seconds} s`);
  });

  test('many animals are announced if a selected check needs them', async (t) => {
    const { plan, sent, created } = await announced(t, 'list.limit', {});
    assert.ok(created > 80 && created <= plan.creates && sent <= plan.withKey, `${created} of ${plan.creates}`);
  });

  test('the requests up to the limit of a plan are announced only with --exhaust', async (t) => {
    const [plan, only] = ['pro', 'limits.refuses'] as const;
    assert.ok((await announced(t, only, { plan })).plan.withKey < 50);
    const all = await announced(t, only, { plan, exhaust: true });
    assert.ok(all.sent > 600 && all.sent <= all.plan.withKey, `${all.sent} of ${all.plan.withKey}`);
  });
});

describe('progress', () => {
  // One check lists, the other gets; this mutant shows no name in getPet.
  const mutant = 'pet-name-missing-get';
  const names = check('pet.name', { requests: 1 }, async (t) => void (await t.send(listPets(t.key))));
  const gets = check('get.answers', { requests: 1 }, async (t) => void (await t.send(getPet(t.key, 1n))));

  /** The verdicts in the order in which they are reported while these checks run. */
  const reported = async (session: Session, ...checks: readonly Check[]) => {
    const verdicts: string[] = [];
    const progress = {
      group: (title: string) => void verdicts.push(title),
      result: ({ id, verdict }: RequirementResult) => void verdicts.push(`${id} ${verdict}`),
    };
    try {
      await session.open();
      await runChecks(session, progress, [['one', checks], ['none', []]]);
    } finally {
      session.client.close();
    }
    return verdicts;
  };

  test('a requirement that is violated after its own check is reported again', async (t) => {
    const of = session(await smallServer(t, { mutant }));
    const verdicts = ['one', 'pet.name passed', 'get.answers inconclusive', 'pet.name failed'];
    assert.deepEqual(await reported(of, names, gets), verdicts);
  });

  test('a requirement that is violated before its own check is reported once', async (t) => {
    const of = session(await smallServer(t, { mutant }));
    assert.deepEqual(await reported(of, gets, names), ['one', 'get.answers inconclusive', 'pet.name failed']);
  });

  test('requirements that are not selected are not reported', async (t) => {
    const of = session(await smallServer(t, { mutant }), { only: ['get.answers'] });
    assert.deepEqual(await reported(of, names, gets), ['one', 'get.answers inconclusive']);
  });
});

describe('server errors', () => {
  /** The result of service.status if `limit=abc` gets these statuses in turn, and then 400. */
  const after = async (t: Parameters<typeof smallServer>[0], ...statuses: readonly number[]) => {
    const left = [...statuses];
    const server = await proxy(t, await smallServer(t), ({ url }, response) => {
      // Some queries have escapes that are invalid.
      const text = url.replace(/%(6c|69|6d|74|61|62|63)/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
      if (text.includes('limit=abc')) response.status = left.shift() ?? 400;
    });
    const results = await run(session(server, { only: ['service.status'] }, fakeClock(Date.now())));
    return results.find(({ id }) => id === 'service.status')!;
  };

  test('a second one is a violation', async (t) => {
    const { verdict, failed, failures } = await after(t, 500, 502);
    assert.deepEqual([verdict, failed, failures[0]?.received], ['failed', 1, '502, again when the request was repeated']);
    assert.match(failures[0]!.curl, /(abc|%61%62%63)[^']*'$/);
  });

  test('a single one is not', async (t) => {
    assert.equal((await after(t, 500)).verdict, 'passed');
  });

  test('503 is a violation only if no repeated request is served', async (t) => {
    assert.equal((await after(t, 503, 503, 503)).verdict, 'passed');
    const { verdict, failures } = await after(t, 503, 503, 503, 503, 503);
    assert.deepEqual([verdict, failures[0]?.received], ['failed', '503, again when the request was repeated']);
  });

  test('503 to everything from some request on is no violation: the server cannot be tested to the end', async (t) => {
    let isDown = false;
    const server = await proxy(t, await smallServer(t), ({ url }, response) => {
      isDown ||= decodeURIComponent(url).includes('limit=abc');
      if (isDown) response.status = 503;
    });
    const of = session(server, { only: ['list.', 'service.status'] }, fakeClock(Date.now()));
    assert.deepEqual(
      (await run(of)).filter(({ verdict }) => verdict === 'failed'),
      [],
    );
    const message = /returns 503 with .* to every request, since GET \/pets\?.*limit=abc[^:]*: the service is down, /;
    assert.match(of.lost!.message, message);
  });
});

test('a key is used to the end if requests without a valid one are refused', async (t) => {
  const clock = fakeClock(Date.now());
  const of = session(await smallServer(t, { variant: 'closed', clock }), { only: [] }, clock);
  const results = verdicts(await run(of));
  assert.deepEqual([results['auth.missing'], results['auth.path'], results['list.limit']], [
    'passed',
    'skipped',
    'passed',
  ]);
});

describe('a server without animals that refuses the first create', () => {
  for (const [status, verdict] of [
    [200, 'failed'],
    [405, 'failed'],
    [400, 'inconclusive'],
    [422, 'inconclusive'],
  ] as const) {
    test(`with ${status}: create.answers is ${verdict}`, async (t) => {
      const server = await proxy(t, await smallServer(t, { animals: 0 }), ({ method }, response) => {
        if (method === 'POST') response.status = status;
      });
      const results = await run(session(server, { only: ['create.answers'] }));
      assert.equal(verdicts(results)['create.answers'], verdict);
    });
  }

  test('animals.agree gets no animal that was not created', async (t) => {
    const server = await proxy(t, await smallServer(t, { animals: 0 }), ({ method }, response) => {
      if (method === 'POST') response.status = 405;
    });
    await run(session(server, { only: ['animals.agree'] }));
    assert.deepEqual(server.received.map(({ url }) => url).filter((url) => url.endsWith('/pets/0')), []);
  });
});

test('--thorough-auth sends what a default run does not, and waits for it', async (t) => {
  const results = async (thoroughAuth: boolean, runs = 20) => {
    const clock = fakeClock(Date.now());
    const server = await smallServer(t, { variant: 'first request', clock });
    const of = session(server, { only: ['auth.'], thoroughAuth, runs }, clock);
    const verdicts = (await run(of)).map(({ verdict }) => verdict);
    assert.ok(verdicts.every((verdict) => verdict === 'passed' || verdict === 'skipped'), `${verdicts}`);
    return { sent: of.client.sent.withoutKey, waits: clock.waits.length > 0 };
  };
  assert.deepEqual(await results(false), { sent: 24, waits: false });
  assert.deepEqual(await results(false, 60), { sent: 24, waits: false });
  assert.deepEqual(await results(true), { sent: 322, waits: true });
});

test('a server that accepts any key or none fails each check of keys, even without animals', async (t) => {
  const wanted = requirements.flatMap(({ id, untested }) =>
    id.startsWith('auth.') && !['auth.valid', 'auth.path'].includes(id) && untested === undefined ? [id] : [],
  );
  for (const [write, status] of [[false, 201], [true, 400], [true, 403], [true, 500]] as const) {
    const { baseUrl, close } = await startSmallServer({
      clock: systemClock,
      keys: [{ secret: apiKey, plan: 'business' }],
      animals: 0,
      hooks: {
        admits: () => true,
        response: (response, { operation }) => (operation === 'create' ? { ...response, status } : response),
      },
    });
    t.after(close);
    const results = await run(session({ baseUrl, apiKey }, { only: ['auth.'], write, readOnly: !write }));
    const failed = results.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
    assert.deepEqual(failed, wanted, `write ${write}, ${status}`);
  }
});

describe('cases of a check', () => {
  /** The results of some checks, for a mutant that returns 11 animals for a limit from 2 to 10. */
  const failing = async (t: Parameters<typeof smallServer>[0], ...checks: readonly Check[]) =>
    (await run(session(await smallServer(t, { mutant: 'list-limit-ignored-10' })), [['one', checks]])).find(
      ({ id }) => id === 'list.limit',
    )!;

  test('each continues after a case that fails', async (t) => {
    const limits = check('list.limit', {}, async (t) => {
      await t.each([2, 11, 3], async (limit) => void (await t.send(listPets(t.key, { limit }))));
    });
    const { verdict, judged, failed, failures } = await failing(t, limits);
    assert.deepEqual([verdict, judged, failed], ['failed', 3, 2]);
    assert.deepEqual(
      failures.map(({ required, received, smallestCase }) => `${required}; ${received}; ${smallestCase}`),
      ['at most 2 animals; 11; GET /pets?limit=2'],
    );
  });

  test('a check ends after each if a case has failed, and immediately after another error', async (t) => {
    const sent: number[] = [];
    const ask = (t: Parameters<Check['run']>[0]) => async (limit: number) => {
      sent.push(limit);
      if (limit === 12) throw new Inconclusive('enough');
      await t.send(listPets(t.key, { limit }));
    };
    const limits = check('list.limit', {}, async (t) => {
      await t.each([2, 11], ask(t));
      await ask(t)(13);
    });
    const others = check('list.answers', {}, async (t) => {
      await t.each([12, 14], ask(t));
    });
    assert.equal((await failing(t, limits, others)).verdict, 'failed');
    assert.deepEqual(sent, [2, 11, 12]);
  });

  const tries: string[] = [];
  const created = check('create.name', { perCase: { requests: 1 } }, async (t) => {
    await t.forAll(fc.string({ maxLength: 60 }), JSON.stringify, async (name) => {
      tries.push(name);
      await t.send(createPet(t.key, { name, categoryId: 1n }));
    });
  });

  test('a failing case is shrunk, only the smallest is reported, and its path generates it again', async (t) => {
    const server = await smallServer(t, { mutant: 'name-lower' });
    const createdWith = async (path?: string) => {
      tries.length = 0;
      const results = await run(session(server, path === undefined ? {} : { path }), [['one', [created]]]);
      return results.find(({ id }) => id === 'create.name')!;
    };
    const { verdict, failed, failures } = await createdWith();
    assert.deepEqual([verdict, failed, failures.length], ['failed', 1, 1]);
    const { smallestCase, received, curl, replay } = failures[0]!;
    assert.deepEqual([smallestCase, received], ['"A"', '"a"']);
    assert.ok(curl.includes(`"name":${smallestCase}`), curl);
    const shrinks = tries.length;
    assert.ok(shrinks > 2 && shrinks <= 20 + 100, `${shrinks} cases`);

    const path = /^--only create\.name --seed=42 --path (\S+)$/.exec(replay!)![1]!;
    const again = await createdWith(path);
    assert.deepEqual([again.failed, again.failures[0]!.smallestCase], [1, smallestCase]);
    assert.deepEqual(tries, ['A'], 'nothing else is tried');
  });

  test('a path replays one case, also if it passes', async (t) => {
    const one = session(await smallServer(t), { path: '3:0' });
    tries.length = 0;
    await run(one, [['one', [created]]]);
    assert.deepEqual([tries.length, one.lost], [1, undefined]);
  });

  test('a path that leads to no case is named, and so is one of a check that generates none', async (t) => {
    const server = await smallServer(t);
    const plain = check('create.name', {}, async (t) => void (await t.send(listPets(t.key))));
    for (const [path, of] of [['0:5000', created], ['0:5000:0', created], ['0', plain]] as const) {
      const one = session(server, { path });
      await run(one, [['one', [of]]]);
      assert.equal(one.lost?.message, `--path ${path}: create.name generates no such case with seed 42`);
    }
  });
});

/** Returns what the files of a folder import: the file's name, and the path relative to the folder or the package. */
function importsOf(folder: string): { name: string; from: string; path: string }[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const names = files.filter((name) => name.endsWith('.ts') && !name.includes('node_modules'));
  return names.flatMap((name) => {
    const text = readFileSync(join(folder, name), 'utf8');
    return [...text.matchAll(/^(?:import|export)\b[^;]*?from '([^']+)';$/gm)].map(([, from]) =>
      ({ name, from: from!, path: relative(folder, join(dirname(join(folder, name)), from!)) }));
  });
}

const isWithin = (from: string, path: string) => from.startsWith('.') && !path.startsWith('..') && from.endsWith('.ts');

test('the kit imports only itself, the harness, node and fast-check', () => {
  for (const { name, from, path } of importsOf(fileURLToPath(new URL('..', import.meta.url)))) {
    const isHarness = dirname(path) === join('..', 'harness') && path.endsWith('.ts');
    const isAllowed = isWithin(from, path) || isHarness || from.startsWith('node:') || from === 'fast-check';
    assert.ok(isAllowed, `${name} imports ${from}`);
  }
});

test('the harness imports only itself and node, and the driver of PostgreSQL where it starts that', () => {
  const imports = importsOf(fileURLToPath(new URL('../../harness', import.meta.url)));
  assert.ok(imports.length > 0);
  for (const { name, from, path } of imports) {
    const isDriver = from === 'pg' && name.startsWith('postgres');
    assert.ok(isWithin(from, path) || isDriver || from.startsWith('node:'), `${name} imports ${from}`);
  }
});
