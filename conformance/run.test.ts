/** The kit as a process: output, reports and exit codes. run.slow.test.ts and run-untested.slow.test.ts have more. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { requirements } from './requirements/requirements.ts';
import { kit, nodeTest, reportIn, startKit } from './testing/kit.ts';
import { ownServer, proxy, scripted, smallServer, type Server } from './testing/servers.ts';

describe('npm run conformance', { concurrency: 2 }, () => {
  test('exit 0, the verdict in the last line, three reports, and no key in any of it', async (t) => {
    const folder = join(temporaryFolder(t), 'new', 'folder');
    const server = await ownServer(t);
    const ended = await kit(server, '--report', folder, '--seed', '7');
    assert.equal(ended.code, 0, ended.stdout + ended.stderr);
    // The kit waits for the next window if one is about to end.
    assert.match(ended.stderr, /^( {2}waiting \d+ s: the window is about to end\n)*$/);
    assert.match(
      ended.stdout,
      new RegExp(
        `^${server.baseUrl}, seed 7\nAt most \\d+ requests, of which at most 25 without a valid key, in about .*\\. It creates at most \\d+ animals, which remain`,
      ),
    );
    assert.match(
      ended.stdout,
      /\nCONFORMS: \d+ of \d+ requirements judged: \d+ passed, 0 failed, 0 inconclusive, \d+ skipped \(\d+ requests, \d+ animals created, seed 7, .*\)\n/,
    );
    assert.deepEqual(readdirSync(folder).sort(), ['junit.xml', 'report.html', 'report.json']);
    const report = reportIn(folder);
    assert.ok(report.conforms);
    assert.equal(report.sent.unwanted429, 0);
    for (const text of [ended.stdout, ...readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))])
      assert.ok(!text.includes(server.apiKey));
    const [, estimate] = /At most (\d+) requests/.exec(ended.stdout)!;
    assert.ok(report.sent.withKey + report.sent.withoutKey <= Number(estimate));
  });

  test('no key in the message for a key that is given where something else belongs', async (t) => {
    const server = await scripted(t, (_, response) => void response.end());
    for (const flag of ['--min-judged', '--only', '--report=/dev/null/', '--']) {
      const { code, stderr } = await kit(server, ...(flag.includes('=') ? [flag + server.apiKey] : [flag, server.apiKey]));
      assert.equal(code, 2);
      assert.match(stderr, /^conformance: .*\n$/);
      assert.ok(!stderr.includes(server.apiKey), stderr);
    }
  });

  test('--list and --help send nothing', async (t) => {
    const server = await scripted(t, (_, response) => void response.end());
    const [list, short, help] = await Promise.all([
      kit(server, '--list'),
      kit(server, '--list', '--only', 'orders.,list.limit'),
      kit(server, '--help'),
    ]);
    for (const { code, stderr } of [list, short, help]) assert.deepEqual([code, stderr], [0, '']);
    for (const { id, text } of requirements)
      assert.ok(
        list.stdout.split('\n').some((line) => line.startsWith(`${id} `) && line.includes(text)),
        id,
      );
    assert.deepEqual(short.stdout.match(/^\S+/gm), ['list.limit', 'orders.exists']);
    assert.match(list.stdout, /^createPet: [\d,]+ of [\d,]+ pairs of \d+ values in \d+ requests$/m);
    assert.match(list.stdout, /^createPet: combines name, /m);
    assert.match(list.stdout, /^keys: never used \(the run sends too few combinations\): .*in base64/m);
    assert.match(help.stdout, /^Usage: npm run conformance/);
    assert.equal(server.received.length, 0);
  });

  test('exit 1 for a server that violates a requirement', async (t) => {
    const { code, stdout } = await kit(await smallServer(t, { mutant: 'list-201' }), '--only', 'list.answers');
    assert.equal(code, 1, stdout);
    assert.match(stdout, /FAILED list\.answers .*\n.*\n +required +200\n +received +201\n/);
  });

  test('exit 2 for a wrong key', async (t) => {
    const { code, stdout, stderr } = await kit({ ...(await smallServer(t)), apiKey: 'not_the_key' });
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^conformance: .* rejects the key of API_KEY \(401\)\n$/);
  });
});

const environmentOf = ({ baseUrl, apiKey }: Server) => ({ BASE_URL: baseUrl, API_KEY: apiKey });

describe('known deviations and GitHub', { concurrency: 2 }, () => {
  const args = ['--only', 'list.answers,get.not-found', '--known'];
  const knownFile = (t: TestContext, text: string) => {
    const file = join(temporaryFolder(t), 'known.txt');
    writeFileSync(file, text);
    return file;
  };
  const far = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);

  test('a known deviation does not fail the run; one that no longer occurs does', async (t) => {
    const server = await smallServer(t, { mutant: 'list-201' });
    const [known, gone] = [`list.answers ${far} PET-1\n`, `get.not-found ${far} PET-2\n`];
    const first = await kit(server, ...args, knownFile(t, known));
    assert.equal(first.code, 0, first.stdout + first.stderr);
    assert.match(first.stdout, /\n {2}! list\.answers .* \(known: PET-1 \(until .*\)\)\n/);
    assert.match(first.stdout, /\n\n! KNOWN list\.answers \(known deviation\)\n[^]*\n\nONLY KNOWN VIOLATIONS FOUND: 2 of /);
    const file = knownFile(t, known + gone);
    const second = await kit(server, ...args, file);
    assert.equal(second.code, 1, second.stdout + second.stderr);
    const block = second.stdout.split('\n\n').find((text) => text.startsWith('✗ FAILED get.not-found (known deviation)\n'));
    assert.ok(block?.endsWith(`\n  reason         it no longer occurs: remove line 2 of ${file}`), second.stdout);
    assert.match(second.stdout, /\nKNOWN DEVIATIONS ARE OUT OF DATE: 2 of /);
    const tap = await nodeTest(server, `${args.join(' ')} ${file}`);
    assert.equal(tap.code, 1, tap.stdout);
    assert.match(tap.stdout, /ok \d+ - list\.answers: .* # SKIP known: PET-1/);
    assert.match(tap.stdout, /not ok \d+ - Known deviations/);
    assert.match(tap.stdout, /not ok \d+ - get\.not-found$[^]*it no longer occurs/m);
  });

  test('an invalid file, or none: one line, exit 2, and nothing is sent', async (t) => {
    const server = await scripted(t, (_, response) => void response.end());
    const file = knownFile(t, '\nlist.answers soon PET-1\n');
    const { code, stderr } = await kit(server, ...args, file);
    const rule = 'line 2: the expiry must be a date such as 2027-03-31, not "soon"';
    assert.deepEqual([code, stderr], [2, `conformance: --known ${file}: ${rule}\n`]);
    const missing = await kit(server, ...args, `${file}.missing`);
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /^conformance: --known [^\n]*ENOENT[^\n]*\n$/);
    assert.equal(server.received.length, 0);
  });

  test('--exclude: not checked, listed as excluded, and the run does not show that the server conforms', async (t) => {
    const server = await smallServer(t, { mutant: 'list-201' });
    const { code, stdout, stderr } = await kit(server, '--only', 'list.answers,get.', '--exclude', 'list.');
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /\n {2}– list\.answers .* \(skipped: excluded by --exclude\)\n/);
    assert.match(stdout, /\nNO VIOLATION FOUND: \d of \d+ requirements judged: .*, 1 excluded, \d+ not selected \(/);
  });

  test('annotations and a job summary, in which the server can write no command, and without the key', async (t) => {
    const server = await proxy(t, await smallServer(t, { mutant: 'list-201' }), ({ headers }, response) => {
      const evil = `\n::error::pwned ::set-output name=x::y ${headers.authorization}`;
      response.headers.push(['X-Evil', 'a'.repeat(110) + evil.replace('\n', ' ')]);
      const error = { code: evil, message: evil, status: evil };
      if (response.status === 404) response.body = Buffer.from(JSON.stringify(error));
    });
    const summary = join(temporaryFolder(t), 'summary.md');
    const environment = { ...environmentOf(server), GITHUB_ACTIONS: 'true', GITHUB_STEP_SUMMARY: summary };
    const { code, stdout } = await startKit(['--only', 'list.answers,get.not-found,error.'], environment).ended;
    assert.equal(code, 1, stdout);
    const token = /^::stop-commands::(\S+)\n/.exec(stdout)![1];
    const after = stdout.slice(stdout.indexOf(`\n::${token}::\n`)).trimEnd().split('\n').slice(2);
    assert.deepEqual(
      after.map((line) => /^::(.*?)::/.exec(line)?.[1]),
      ['error title=list.answers', 'error title=error.status'],
    );
    assert.match(readFileSync(summary, 'utf8'), /^## ✗ Does not conform[^]*\n- list\.answers&#58; /);
    for (const text of [stdout, readFileSync(summary, 'utf8')]) assert.ok(!text.includes(server.apiKey));
    const gone = { BASE_URL: 'http://127.0.0.1:1/v1', API_KEY: server.apiKey, GITHUB_ACTIONS: 'true' };
    const untested = await startKit([], { ...gone, GITHUB_STEP_SUMMARY: summary }).ended;
    assert.equal(untested.code, 2);
    assert.match(untested.stdout, /\n::\S+::\n::error title=Conformance::.*ECONNREFUSED/);
    assert.match(readFileSync(summary, 'utf8'), /\n## ✗ Not tested/);
  });
});

describe('stdout', () => {
  const args = ['--only', 'list.answers,get.not-found', '--report'];

  test('that is closed: the reports are written, and stderr is empty', async (t) => {
    const folder = temporaryFolder(t);
    const running = startKit([...args, folder], environmentOf(await smallServer(t)));
    running.child.stdout.destroy();
    const { code, stderr } = await running.ended;
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(reportIn(folder).totals.passed, 2);
    assert.equal(readdirSync(folder).length, 3);
  });

  test('that is full: the reports are written, and stderr has one line', async (t) => {
    if (!existsSync('/dev/full')) return t.skip('this system has no /dev/full');
    const folder = temporaryFolder(t);
    const line = /^conformance: stdout: ENOSPC: no space left on device, write\n$/;
    const ended = await startKit([...args, folder], environmentOf(await smallServer(t)), '/dev/full').ended;
    assert.equal(ended.code, 0);
    assert.match(ended.stderr, line);
    assert.equal(reportIn(folder).totals.passed, 2);
    const list = await startKit(['--list'], {}, '/dev/full').ended;
    assert.equal(list.code, 2);
    assert.match(list.stderr, line);
  });
});

describe('a signal', () => {
  test('during a request: a report of what ran, and exit 130', async (t) => {
    const folder = temporaryFolder(t);
    const server = await proxy(t, await smallServer(t), ({ url }) => {
      if (!url.includes('access_token')) return undefined;
      running.child.kill('SIGINT');
      return new Promise<undefined>(() => {}); // no response
    });
    const running = startKit(['--only', 'auth.', '--report', folder], environmentOf(server));
    const { code, stdout, stderr } = await running.ended;
    assert.deepEqual([code, stderr], [130, 'conformance: interrupted by SIGINT\n'], stdout);
    assert.match(stdout, /\nNOT TESTED TO THE END: .*, interrupted by SIGINT\)\n\nReports: /);
    const { aborted, conforms, totals, requirements } = reportIn(folder);
    assert.deepEqual([aborted, conforms, totals.failed], ['interrupted by SIGINT', false, 0]);
    assert.ok(totals.passed > 3 && totals.passed + totals.skipped === requirements.length, JSON.stringify(totals));
    for (const { verdict, reason, inapplicable } of requirements)
      if (inapplicable !== true) assert.equal(reason, verdict === 'passed' ? undefined : 'interrupted by SIGINT');
  });

  test('during a wait: a report of what ran, and exit 143', async (t) => {
    const folder = temporaryFolder(t);
    const server = await smallServer(t, { plan: 'free' });
    const running = startKit(['--only', 'list.', '--report', folder], environmentOf(server));
    await running.printed(/waiting \d+ s: the key has no requests left/, 'stderr');
    running.child.kill('SIGTERM');
    assert.equal((await running.ended).code, 143);
    const { aborted, totals } = reportIn(folder);
    assert.equal(aborted, 'interrupted by SIGTERM');
    assert.ok(totals.skipped > 0);
  });

  test('before there is anything to report: one line', async (t) => {
    const server = await scripted(t, () => void running.child.kill('SIGINT')); // no response
    const running = startKit(['--report', temporaryFolder(t)], environmentOf(server));
    const { code, stdout, stderr } = await running.ended;
    assert.deepEqual([code, stdout, stderr], [130, '', 'conformance: interrupted by SIGINT\n']);
  });
});
