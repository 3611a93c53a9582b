/** The kit as a process: output, reports and exit codes. run.slow.test.ts and run-untested.slow.test.ts have more. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { requirements } from './requirements/requirements.ts';
import { kit, reportIn } from './testing/kit.ts';
import { ownServer, scripted, smallServer } from './testing/servers.ts';

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
        `^${server.baseUrl}, seed 7\nAt most \\d+ requests with the key and 99 without a valid one, in about .*\\. It creates about \\d+ animals, which remain`,
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
