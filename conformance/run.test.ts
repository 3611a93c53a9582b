/** The kit as a process: output, reports and exit codes. run.slow.test.ts and run-untested.slow.test.ts have more. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { requirements } from './requirements/requirements.ts';
import { kit, reportIn, startKit } from './testing/kit.ts';
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
        `^${server.baseUrl}, seed 7\nAt most \\d+ requests with the key and 25 without a valid one, in about .*\\. It creates about \\d+ animals, which remain`,
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
    assert.ok(report.sent.withKey <= Number(estimate));
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
    assert.match(list.stdout, /^auth\.changed .*\. \(3 requests without a valid key; --thorough-auth: 40\.\)$/m);
    assert.match(help.stdout, /^Usage: npm run conformance/);
    assert.equal(server.received.length, 0);
  });

  test('exit 1 for a server that violates a requirement', async (t) => {
    const { code, stdout } = await kit(await smallServer(t, { mutant: 'list-201' }), '--only', 'list.answers');
    assert.equal(code, 1, stdout);
    assert.match(stdout, /FAILED list\.answers .*\n.*\n\n +required +200\n +received +201\n/);
  });

  test('exit 2 for a wrong key', async (t) => {
    const { code, stdout, stderr } = await kit({ ...(await smallServer(t)), apiKey: 'not_the_key' });
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^conformance: .* rejects the key of API_KEY \(401\)\n$/);
  });
});

const environmentOf = ({ baseUrl, apiKey }: Server) => ({ BASE_URL: baseUrl, API_KEY: apiKey });

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
