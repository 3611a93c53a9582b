/** The list of requirements, the checks and what they say they cost are one; and no verdict depends on the order of checks. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { totalCost, type Check } from './check.ts';
import { Fixtures } from './fixtures.ts';
import { gaps } from './gaps.ts';
import { readOptions } from './options.ts';
import type { RequirementResult } from './report/report.ts';
import { requirements, sections } from './requirements.ts';
import type { Session } from './session.ts';
import { groups, planOf, type Plan } from './suite.ts';
import { ownServer, smallServer } from './testing/servers.ts';
import { run, session, told, verdicts } from './testing/sessions.ts';

const checks = groups.flatMap(([, ofGroup]) => ofGroup);
const reversed = groups.map(([title, ofGroup]) => [title, ofGroup.toReversed()] as const).toReversed();

describe('the list', () => {
  test('every requirement has one check, or a reason why there is none', () => {
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

  test('every check names a requirement, or looks at gaps; each gap is looked at by one', () => {
    for (const { requirement, gaps: looked } of checks) {
      if (requirement === undefined) assert.notEqual(looked.length, 0);
      else
        assert.ok(
          requirements.some(({ id }) => id === requirement),
          requirement,
        );
    }
    const looked = checks.flatMap((check) => check.gaps);
    assert.deepEqual(
      looked.filter((id, i) => looked.indexOf(id) !== i),
      [],
      'looked at twice',
    );
    assert.deepEqual(
      looked.filter((id) => !gaps.some((gap) => gap.id === id)),
      [],
      'no gap',
    );
  });

  test('ids are words of a topic, each once; sections exist; texts are sentences', () => {
    for (const list of [requirements, gaps]) {
      const ids: readonly string[] = list.map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length);
      for (const id of ids) assert.match(id, /^[a-z]+(\.[a-z]+)?\.[a-z0-9]+([-.][a-z0-9]+)*$/);
    }
    const numbers = sections.map(([number]) => number);
    for (const { id, section, profile, text } of requirements) {
      if (profile === 'spec') assert.ok(numbers.includes(section), `${id}: ${section}`);
      assert.match(text, /^[^\s][^\n]*\.$/, id);
    }
    for (const { section, question } of gaps) {
      assert.ok(numbers.includes(section), question);
      assert.match(question, /^[A-Z][^\n]*\?$/);
    }
  });

  test('the replay of every generated case is an option that is taken', () => {
    for (const { requirement, cost } of checks) {
      if (cost.perRun === undefined || requirement === undefined) continue;
      assert.notEqual(typeof readOptions(['--only', requirement, '--seed', '1', '--path', '3:0'], {}), 'string', requirement);
    }
  });
});

/** What one check has sent, the fixtures it was the first to need apart. */
interface Spent {
  readonly check: Check;
  readonly requests: number;
  readonly keyless: number;
  readonly created: number;
}

/** A whole run in which every request is put down to its check, or to the fixtures. */
async function counted(of: Session) {
  const spent: Spent[] = [];
  const shared = { requests: 0, keyless: 0, created: 0 };
  const now = () => ({ requests: of.target.sent.withKey, keyless: of.target.sent.withoutKey, created: of.target.sent.created });
  let depth = 0;
  let plan: Plan | undefined;
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
      if (depth === 0) for (const what of ['requests', 'keyless', 'created'] as const) shared[what] += end[what] - start[what];
    }
  };
  const suite = groups.map(
    ([title, ofGroup]) =>
      [
        title,
        ofGroup.map((check): Check => ({
          ...check,
          run: async (t) => {
            plan ??= planOf(of);
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

  test('it conforms, and nothing stays inconclusive', () => {
    const open = whole.results.filter(({ verdict }) => verdict === 'failed' || verdict === 'inconclusive');
    assert.deepEqual(
      open.map(({ id, verdict, reason }) => `${id} ${verdict} ${reason}`),
      [],
      told(whole.results),
    );
    for (const { id, verdict, judged, evidence } of whole.results) {
      if (verdict === 'passed') assert.ok(judged > 0 && evidence.length > 0, id);
    }
    assert.equal(whole.session.lost, undefined);
  });

  test('no check sends more than it says', () => {
    for (const { check, ...sent } of whole.spent) {
      const { requests, keyless, creates } = totalCost(check.cost, whole.session.options.runs);
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

  test('a check that could create an animal says so', () => {
    for (const { check, created } of whole.spent) {
      if (created > 0) assert.ok(totalCost(check.cost, 1).creates > 0, check.requirement);
    }
  });

  test('the run sends no more than it has told beforehand', () => {
    const { plan } = whole;
    const { withKey, withoutKey, created } = whole.session.target.sent;
    assert.ok(withKey <= plan.withKey, `${withKey} of ${plan.withKey}`);
    assert.ok(withoutKey <= plan.withoutKey && withoutKey <= 40, `${withoutKey} without a key`);
    assert.ok(created <= plan.creates, `${created} of ${plan.creates}`);
  });

  test('every gap is looked at, those at the limit apart', () => {
    const atLimit = checks.filter(({ cost }) => cost.exhausts === true).flatMap((check) => check.gaps);
    for (const { id, answer, reason } of whole.session.ledger.observations()) {
      if (atLimit.includes(id)) assert.match(reason ?? '', /--exhaust/);
      else assert.notEqual(answer, undefined, `${id}: ${reason}`);
    }
  });

  test('the order of checks changes no verdict', async (t) => {
    assert.deepEqual(verdicts(await run(session(await ownServer(t)), reversed)), verdicts(whole.results));
  });

  test('each requirement alone has the verdict that it has in the whole run', async (t) => {
    // Requests without a key are counted by address: two servers have room for all of them.
    const another = await ownServer(t);
    for (const { id, verdict } of whole.results) {
      const alone = await run(session(id.startsWith('auth.') ? another : server, { only: [id] }));
      assert.equal(alone.find((result) => result.id === id)!.verdict, verdict, `${id} ${told(alone)}`);
    }
  });

  test('--read-only creates nothing, and what needs creating is skipped with its reason', async () => {
    const only = session(server, {
      write: false,
      readOnly: true,
      only: ['list.', 'get.', 'create.', 'pet.', 'limits.', 'error.'],
    });
    const results = await run(only);
    assert.equal(only.target.sent.created, 0);
    for (const { id, verdict, reason } of results) {
      assert.notEqual(verdict, 'failed', id);
      if (id.startsWith('create.')) assert.match(`${verdict} ${reason}`, /^skipped nothing is created under --read-only$/);
    }
  });
});

describe('runs against a server with a fault', () => {
  for (const fault of ['name-lower', 'remaining-missing-400']) {
    test(`${fault}: the order of checks changes no verdict`, async (t) => {
      const forward = await run(session(await smallServer(t, { fault })));
      const backward = await run(session(await smallServer(t, { fault })), reversed);
      assert.deepEqual(verdicts(backward), verdicts(forward));
      assert.ok(forward.some(({ verdict }) => verdict === 'failed'));
    });
  }

  test('a fault of the kit is no verdict', async (t) => {
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
    assert.equal(result.reason, 'the kit itself failed: it knows Bearer [key]');
    assert.equal(failing.lost?.message, 'the kit itself failed in list.answers: it knows Bearer [key]');
  });
});

test('the kit imports nothing but itself, node and fast-check', () => {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))) {
    const text = readFileSync(join(folder, name), 'utf8');
    for (const [, from] of text.matchAll(/^(?:import|export)\b[^;]*?from '([^']+)';$/gm)) {
      const inside =
        from!.startsWith('.') &&
        !relative(folder, join(dirname(join(folder, name)), from!)).startsWith('..') &&
        from!.endsWith('.ts');
      assert.ok(inside || from!.startsWith('node:') || from === 'fast-check', `${name} imports ${from}`);
    }
  }
});
