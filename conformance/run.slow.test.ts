/** The kit as a process: output, reports and exit codes. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { requirements } from './requirements/requirements.ts';
import { assertNoKey, kit, nodeTest, reportIn, startKit } from './testing/kit.ts';
import { proxy, smallServer } from './testing/servers.ts';

const posts = (arrived: readonly { method: string }[]) => arrived.filter(({ method }) => method === 'POST').length;
const lastLine = (text: string) => text.trimEnd().split('\n').at(-1)!;

describe('a server that conforms', { concurrency: 2 }, () => {
  test("without a base URL, this project's own server is checked, and leaves nothing behind", async (t) => {
    const folder = temporaryFolder(t);
    const { code, stdout, stderr } = await startKit(['--only', 'list.,limits.'], { TMPDIR: folder }).ended;
    assert.equal(code, 0, stdout + stderr);
    assert.match(lastLine(stdout), /^NO VIOLATION FOUND: /);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('petstore-')),
      [],
    );
  });

  test('--read-only sends no POST', async (t) => {
    const server = await proxy(t, await smallServer(t, { animals: 150 }));
    const { code, stdout, stderr } = await kit(server, '--read-only', '--strict');
    assert.equal(code, 0, stdout + stderr);
    assert.match(lastLine(stdout), /^NO VIOLATION FOUND: /);
    assert.match(stdout, /It creates nothing\./);
    assert.match(lastLine(stdout), /0 animals created/);
    assert.ok(server.received.length > 100);
    assert.equal(posts(server.received), 0);
  });

  test('on a remote server, nothing is created without --write', async (t) => {
    const address = Object.values(networkInterfaces())
      .flatMap((all) => all ?? [])
      .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
    if (address === undefined) return t.skip('this machine has no address but those of its loopback');
    const local = await proxy(t, await smallServer(t), undefined, '0.0.0.0');
    const server = { ...local, baseUrl: `http://${address}:${local.port}/v1` };
    const reading = await kit(server, '--only', 'create.status,create.empty,list.answers,auth.missing,error.');
    assert.equal(reading.code, 0, reading.stdout + reading.stderr);
    assert.match(reading.stdout, /create\.status .*skipped: only with --write on a remote server/);
    assert.equal(posts(local.received), 0);
    const writing = await kit(server, '--only', 'create.status', '--write');
    assert.equal(writing.code, 0, writing.stdout + writing.stderr);
    assert.match(writing.stdout, /It creates at most \d+ animals, which remain/);
    assert.ok(posts(local.received) > 0);
  });

  test('--max-requests limits the run, and skipped checks have that reason', async (t) => {
    const server = await proxy(t, await smallServer(t));
    const { code, stdout, stderr } = await kit(server, '--max-requests', '70');
    assert.equal(code, 0, stdout + stderr);
    assert.ok(server.received.length <= 70 && server.received.length > 40, `${server.received.length}`);
    assert.match(stdout, /^At most 70 requests, of which at most 25 without a valid key, in about /m);
    assert.match(stdout, /skipped: too much for --max-requests 70: the check may send 2 requests\)/);
    assert.match(stdout, /✓ service\.json .*\(\d\d responses so far\)/);
  });

  test('--strict counts requirements as failures that a run with these options could judge', async (t) => {
    const server = await smallServer(t);
    const ended = async (only: string, ...args: string[]) => {
      const { code, stdout } = await kit(server, '--read-only', '--only', only, ...args);
      return [code, /^(.*?) \(/.exec(lastLine(stdout))![1]];
    };
    const judged = `1 of ${requirements.length} requirements judged`;
    const counts = '1 passed, 0 failed';
    const rest = `${requirements.length - 2} not selected`;
    const [inconclusive, skipped, untestable] = [
      'list.answers,list.default-limit',
      'list.answers,create.empty',
      'list.answers,version.number',
    ];
    assert.deepEqual(await ended(inconclusive), [
      0,
      `NO VIOLATION FOUND: ${judged}: ${counts}, 1 inconclusive, 0 skipped, ${rest}`,
    ]);
    assert.deepEqual(await ended(inconclusive, '--strict'), [
      1,
      `NOT SHOWN TO CONFORM: ${judged}, fewer than --strict requires: ${counts}, 1 inconclusive, 0 skipped, ${rest}`,
    ]);
    // No run, or no run that is read-only, can judge it.
    for (const only of [untestable, skipped])
      assert.deepEqual(await ended(only, '--strict'), [
        0,
        `NO VIOLATION FOUND: ${judged}: ${counts}, 0 inconclusive, 1 skipped, ${rest}`,
      ]);
  });

  test('an empty store that is only read does not show that the server conforms, and --min-judged fails', async (t) => {
    const folder = temporaryFolder(t);
    const server = await smallServer(t, { animals: 0 });
    const { code, stdout } = await kit(server, '--read-only', '--report', folder);
    assert.equal(code, 0, stdout);
    const [, judged] = /^NO VIOLATION FOUND: (\d+) of \d+ requirements judged/m.exec(stdout)!;
    assert.match(readFileSync(join(folder, 'junit.xml'), 'utf8'), /<testcase [^>]* time="(?!0\.000)\d+\.\d{3}"/);
    for (const [least, wanted] of [[Number(judged), 0], [Number(judged) + 1, 1]] as const) {
      const again = await kit(server, '--read-only', '--min-judged', `${least}`);
      assert.equal(again.code, wanted, again.stdout);
      if (wanted === 0) continue;
      const line = `^NOT SHOWN .*: ${judged} of \\d+ requirements judged, fewer than --min-judged ${least} requires: `;
      assert.match(lastLine(again.stdout), new RegExp(line));
    }
  });

  test('a missing --compare file gets one line', async () => {
    const { code, stdout, stderr } = await kit(undefined, '--compare', '/nowhere/report.json');
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^conformance: --compare [^\n]*\/nowhere\/report\.json[^\n]*\n$/);
  });

  test("with node's own test runner", async (t) => {
    const [good, bad] = await Promise.all([
      nodeTest(await smallServer(t), '--seed 3 --only list.answers,create.status,auth.missing,limits.plan'),
      nodeTest(
        await smallServer(t, { mutant: 'error-status-string-401' }),
        '--seed 3 --only auth.missing,error.status',
      ),
    ]);
    assert.equal(good.code, 0, good.stdout + good.stderr);
    assert.match(good.stdout, /ok \d+ - list\.answers: GET \/pets returns 200 and Pets\./);
    assert.match(good.stdout, /limits\.plan.*# SKIP skipped: the plan is unknown/);
    assert.equal(bad.code, 1, bad.stdout + bad.stderr);
    assert.match(bad.stdout, /not ok \d+ - error\.status: /);
    assert.match(bad.stdout, /required: a status that is the number 401/);
    assertNoKey([good.stdout, good.stderr, bad.stdout, bad.stderr]);
  });
});

describe('mutants', { concurrency: 2 }, () => {
  /** The fields of the first failure of a requirement. */
  const shown = (stdout: string, id: string) => {
    const block = stdout.slice(stdout.indexOf(`FAILED ${id} `));
    return (field: string) => new RegExp(`^ +${field} +(.*)$`, 'm').exec(block)?.[1];
  };

  /** A server on which a list with a limit below 100 damages the latest animal: only a generated sequence shows it. */
  const forgetful = async (t: TestContext) => {
    let last: string | undefined;
    const damaged = new Set<string>();
    return proxy(t, await smallServer(t), ({ method, url }, response) => {
      const text = response.body.toString();
      const id = /"id":(\d+)/.exec(text)?.[1];
      if (response.status === 201) last = id;
      if (last !== undefined && /limit=\d\d?(?!\d)/.test(url)) damaged.add(last);
      if (method === 'GET' && id !== undefined && !text.startsWith('[') && damaged.has(id))
        response.body = Buffer.from(text.replace('"name":"', '"name":"not '));
    });
  };

  for (const [id, start] of [
    ['create.name', (t: TestContext) => smallServer(t, { mutant: 'name-lower' })],
    ['animals.agree', forgetful],
  ] as const) {
    test(`${id}: a failure is complete, and its replay leads to the same smallest case`, async (t) => {
      const server = await start(t);
      const first = await kit(server, '--only', id, '--runs', '100', '--seed=-5');
      assert.equal(first.code, 1, first.stdout + first.stderr);
      assert.match(lastLine(first.stdout), /^DOES NOT CONFORM: 1 of \d+ requirements judged: 0 passed, 1 failed/);
      const field = shown(first.stdout, id);
      for (const name of ['required', 'received', 'smallest case', 'reproduce', 'replay'])
        assert.ok(field(name), `${name} in ${first.stdout}`);
      assert.match(field('reproduce')!, /^(printf .* \| \{ )?printf '%s\\n' "Authorization: Bearer \$API_KEY" \| curl -i -H @- /);
      const replay = field('replay')!;
      assert.match(replay, /^--only [\w.]+ --seed=-5 --path [\d:]+$/);
      const again = await kit(server, ...replay.split(' '));
      assert.equal(again.code, 1, again.stdout + again.stderr);
      assert.equal(shown(again.stdout, id)('smallest case'), field('smallest case'));
    });
  }

  test('output and reports contain no key, although the server returns it', async (t) => {
    const folder = temporaryFolder(t);
    const server = await proxy(t, await smallServer(t, { mutant: 'limit-missing-401' }), (request, response) => {
      if (response.status < 400) return;
      const { authorization = 'nothing' } = request.headers;
      const message = `${request.method} ${request.url} with ${authorization} (${encodeURIComponent(authorization)}, ${authorization.toUpperCase()}) is refused`;
      response.body = Buffer.from(JSON.stringify({ code: authorization, message, status: 999 }));
      response.headers.push(['X-Echo', authorization], ['WWW-Authenticate', `Bearer error="${authorization}"`]);
    });
    const [ended, tap] = [
      await kit(server, '--report', folder, '--runs', '5'),
      await nodeTest(server, '--only auth.,error. --runs 5'),
    ];
    assert.equal(ended.code, 1);
    assert.equal(tap.code, 1);
    assert.match(ended.stdout, /FAILED limits\.limit-header/);
    assert.match(ended.stdout, /FAILED error\.status/);
    const reports = ['report.html', 'report.json', 'junit.xml'].map((name) => readFileSync(join(folder, name), 'utf8'));
    assert.ok(reports.every((text) => text.includes('[key]')));
    assertNoKey([ended.stdout, ended.stderr, tap.stdout, tap.stderr, ...reports]);
  });

  test('--compare shows changed verdicts and gaps', async (t) => {
    const [before, now] = [temporaryFolder(t), temporaryFolder(t)];
    const only = ['--only', 'list.answers,error.,auth.missing,create.empty'];
    assert.equal((await kit(await smallServer(t), ...only, '--report', before)).code, 0);
    const { code, stdout, stderr } = await kit(
      await smallServer(t, { mutant: 'error-empty-401' }),
      ...only,
      '--compare',
      join(before, 'report.json'),
      '--report',
      now,
    );
    assert.equal(code, 1, stderr);
    const comparison = stdout.slice(stdout.indexOf('\nDOES NOT CONFORM'));
    assert.match(comparison, /Verdicts that differ\n(.*\n)* +error\.object: passed → failed/);
    assert.match(readFileSync(join(now, 'report.html'), 'utf8'), /error\.object/);
    // An earlier report of a server that fills a gap differently.
    const earlier = reportIn(before);
    const changed = {
      ...earlier,
      gaps: earlier.gaps.map((gap) => (gap.id === 'auth.challenge' ? { ...gap, behaviour: 'by pigeon' } : gap)),
    };
    writeFileSync(join(before, 'changed.json'), JSON.stringify(changed));
    const gap = await kit(await smallServer(t), ...only, '--compare', join(before, 'changed.json'));
    assert.equal(gap.code, 0, gap.stdout + gap.stderr);
    assert.match(gap.stdout, /by pigeon/);
  });
});
