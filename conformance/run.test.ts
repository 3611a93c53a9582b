/** The kit as its users meet it: a process, its output, its reports and its exit code. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { requirements } from './requirements/requirements.ts';
import { assertNoKey, kit, nodeTest, reportIn, startKit } from './testing/kit.ts';
import { ownServer, proxy, scripted, smallServer, temporaryFolder } from './testing/servers.ts';

const posts = (arrived: readonly { method: string }[]) => arrived.filter(({ method }) => method === 'POST').length;
const lastLine = (text: string) => text.trimEnd().split('\n').at(-1)!;

describe('a server that conforms', { concurrency: 2 }, () => {
  test('exit 0, the verdict in the last line, three reports, and no key in any of it', async (t) => {
    const folder = join(temporaryFolder(t), 'new', 'folder');
    const server = await ownServer(t);
    const ended = await kit(server, '--report', folder, '--seed', '7');
    assert.equal(ended.code, 0, ended.stdout + ended.stderr);
    assert.equal(ended.stderr, '');
    assert.match(
      ended.stdout,
      new RegExp(
        `^${server.baseUrl}, seed 7\nAt most \\d+ requests with the key and 39 without a valid one, in about .*\\. It creates about \\d+ animals, which remain`,
      ),
    );
    assert.match(
      ended.stdout,
      /\nCONFORMS: \d+ passed, 0 failed, 0 inconclusive, \d+ skipped \(\d+ requests, \d+ animals created, seed 7, .*\)\n/,
    );
    assert.deepEqual(readdirSync(folder).sort(), ['junit.xml', 'report.html', 'report.json']);
    const report = reportIn(folder);
    assert.ok(report.conforms);
    assert.equal(report.sent.unwanted429, 0);
    for (const text of [ended.stdout, ...readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))])
      assert.ok(!text.includes(server.apiKey));
    const [, told] = /At most (\d+) requests/.exec(ended.stdout)!;
    assert.ok(report.sent.withKey <= Number(told));
  });

  test("without a base URL: this project's own server, which leaves nothing behind", async (t) => {
    const folder = temporaryFolder(t);
    const { code, stdout, stderr } = await startKit(['--only', 'list.,limits.'], { TMPDIR: folder }).ended;
    assert.equal(code, 0, stdout + stderr);
    assert.match(lastLine(stdout), /^CONFORMS/);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.startsWith('petstore-')),
      [],
    );
  });

  test('--list and --help send nothing', async (t) => {
    const server = await scripted(t, (_, response) => void response.end());
    const [list, help] = await Promise.all([kit(server, '--list'), kit(server, '--help')]);
    for (const { code, stderr } of [list, help]) assert.deepEqual([code, stderr], [0, '']);
    for (const { id, text } of requirements)
      assert.ok(
        list.stdout.split('\n').some((line) => line.startsWith(`${id} `) && line.includes(text)),
        id,
      );
    assert.match(help.stdout, /^Usage: npm run conformance/);
    assert.equal(server.received.length, 0);
  });

  test('--read-only sends no POST at all', async (t) => {
    const server = await proxy(t, await smallServer(t, { animals: 150 }));
    const { code, stdout, stderr } = await kit(server, '--read-only');
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /It creates nothing\./);
    assert.match(lastLine(stdout), /0 animals created/);
    assert.ok(server.received.length > 100);
    assert.equal(posts(server.received), 0);
  });

  test('on another machine nothing is created without --write', async (t) => {
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
    assert.match(writing.stdout, /It creates about \d+ animals, which remain/);
    assert.ok(posts(local.received) > 0);
  });

  test('--max-requests: no more than that, and what is left out says so', async (t) => {
    const server = await proxy(t, await smallServer(t));
    const { code, stdout, stderr } = await kit(server, '--max-requests', '70');
    assert.equal(code, 0, stdout + stderr);
    assert.ok(server.received.length <= 70 && server.received.length > 40, `${server.received.length}`);
    assert.match(stdout, /skipped: skipped by --max-requests 70/);
  });

  test('--strict makes a failure of what stays inconclusive', async (t) => {
    const server = await smallServer(t);
    const args = ['--read-only', '--only', 'list.answers,list.default-limit'];
    const [lenient, strict] = await Promise.all([kit(server, ...args), kit(server, ...args, '--strict')]);
    assert.equal(lenient.code, 0, lenient.stdout);
    assert.match(
      lenient.stdout,
      /list\.default-limit .*inconclusive: only 12 animals are known, and 20 is the default/,
    );
    assert.equal(strict.code, 1, strict.stdout);
    assert.match(lastLine(strict.stdout), /^DOES NOT CONFORM: 1 passed, 0 failed, 1 inconclusive/);
  });

  test("under node's own test runner", async (t) => {
    const [good, bad] = await Promise.all([
      nodeTest(await smallServer(t), '--seed 3 --only list.answers,create.status,auth.missing,limits.plan'),
      nodeTest(
        await smallServer(t, { mutant: 'error-status-string-401' }),
        '--seed 3 --only auth.missing,error.status',
      ),
    ]);
    assert.equal(good.code, 0, good.stdout + good.stderr);
    assert.match(good.stdout, /ok \d+ - list\.answers: GET \/pets returns 200 and Pets\./);
    assert.match(good.stdout, /limits\.plan.*# SKIP skipped: the plan was not told/);
    assert.equal(bad.code, 1, bad.stdout + bad.stderr);
    assert.match(bad.stdout, /not ok \d+ - error\.status: /);
    assert.match(bad.stdout, /required: a status that is the number 401/);
    assertNoKey([good.stdout, good.stderr, bad.stdout, bad.stderr]);
  });
});

describe('a server with a fault', { concurrency: 2 }, () => {
  /** What the first failure of a requirement shows. */
  const shown = (stdout: string, id: string) => {
    const block = stdout.slice(stdout.indexOf(`FAILED ${id} `));
    return (field: string) => new RegExp(`^ +${field} +(.*)$`, 'm').exec(block)?.[1];
  };

  /**
   * A server on which whoever asks for an unknown animal damages the one created last: only a sequence of requests can
   * show it.
   */
  const forgetful = async (t: TestContext) => {
    let last: string | undefined;
    const damaged = new Set<string>();
    return proxy(t, await smallServer(t), ({ method }, response) => {
      const text = response.body.toString();
      const id = /"id":(\d+)/.exec(text)?.[1];
      if (response.status === 201) last = id;
      if (response.status === 404 && last !== undefined) damaged.add(last);
      if (method === 'GET' && id !== undefined && !text.startsWith('[') && damaged.has(id))
        response.body = Buffer.from(text.replace('"name":"', '"name":"not '));
    });
  };

  for (const [id, start] of [
    ['create.name', (t: TestContext) => smallServer(t, { mutant: 'name-lower' })],
    ['animals.agree', forgetful],
  ] as const) {
    test(`${id}: each failure tells all, and its replay comes to the same smallest case`, async (t) => {
      const server = await start(t);
      const first = await kit(server, '--only', id, '--runs', '100', '--seed', '5');
      assert.equal(first.code, 1, first.stdout + first.stderr);
      assert.match(lastLine(first.stdout), /^DOES NOT CONFORM: 0 passed, 1 failed/);
      const field = shown(first.stdout, id);
      for (const name of ['required', 'came', 'smallest case', 'curl', 'replay'])
        assert.ok(field(name), `${name} in ${first.stdout}`);
      assert.match(field('curl')!, /^(printf .* \| )?curl -i .*-H "Authorization: Bearer \$API_KEY"/);
      const replay = field('replay')!;
      assert.match(
        replay,
        id === 'animals.agree'
          ? /^--only animals\.agree --seed 5 --path [\d:]+@\S+$/
          : /^--only create\.\w+ --seed 5 --path [\d:]+$/,
      );
      const again = await kit(server, ...replay.split(' '));
      assert.equal(again.code, 1, again.stdout + again.stderr);
      assert.equal(shown(again.stdout, id)('smallest case'), field('smallest case'));
    });
  }

  test('no key in output or reports, though the server echoes whatever it is sent', async (t) => {
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

  test('--compare shows what changed since an earlier report: verdicts and gaps', async (t) => {
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
    assert.match(comparison, /Worse: .*\n +error\.object: passed → failed/);
    assert.match(readFileSync(join(now, 'report.html'), 'utf8'), /error\.object/);
    // A gap that the other server fills otherwise: the first has a challenge with its 401.
    const earlier = reportIn(before);
    const changed = {
      ...earlier,
      gaps: earlier.gaps.map((gap) => (gap.id === 'auth.challenge' ? { ...gap, answer: 'by pigeon' } : gap)),
    };
    writeFileSync(join(before, 'changed.json'), JSON.stringify(changed));
    const gap = await kit(await smallServer(t), ...only, '--compare', join(before, 'changed.json'));
    assert.equal(gap.code, 0, gap.stdout + gap.stderr);
    assert.match(gap.stdout, /by pigeon/);
  });
});
