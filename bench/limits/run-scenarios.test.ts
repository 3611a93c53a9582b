/** After one request, the bench names what stands between it and the service, with the kit's code. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { base } from '../../conformance/mutants/server/hooks.ts';
import { proxyFor } from '../../conformance/client/proxy.ts';
import { fakeClock } from '../../conformance/testing/responses.ts';
import { scripted, smallServer } from '../../conformance/testing/servers.ts';
import { forwardProxy } from '../../harness/forward-proxy.ts';
import { givenKeys } from './keys.ts';
import { Run, type RunOptions } from './run-scenarios.ts';
import { mainSecret, reportOf, usualSettings } from './testing/runs.ts';

function runOn(target: Pick<RunOptions, 'baseUrl' | 'proxy'>): Run {
  return new Run({
    ...target,
    keys: givenKeys(mainSecret, undefined),
    settings: usualSettings,
    names: ['latency'],
    clock: fakeClock(),
    signal: new AbortController().signal,
    show: () => {},
    paced: false,
  });
}

test('a firewall, a login page, an HTML page, and another protocol are named', async (t) => {
  const html = { 'Content-Type': 'text/html' };
  const cases: readonly (readonly [(response: ServerResponse) => void, RegExp])[] = [
    [(to) => to.writeHead(403, html), / returns 403 with Content-Type: text\/html: a firewall or proxy in front /],
    [(to) => to.writeHead(302, { Location: '/login' }), / returns 302 with Location: \/login to GET \/pets\?limit=1: /],
    [(to) => to.writeHead(200, html), / returns 200 with .* to GET \/pets\?limit=1: a page responds instead /],
    [(to) => to.writeHead(418), / returns 418 to GET \/pets\?limit=1: a firewall or proxy in front of the service /],
  ];
  for (const [head, message] of cases) {
    const server = await scripted(t, (_, response) => {
      head(response);
      response.end('<!doctype html>');
    });
    await assert.rejects(runOn(server).open(), { name: 'Untestable', message });
    assert.equal(server.received.length, 1);
  }
  const { port } = await scripted(t, (_, response) => void response.end());
  const message = /; the port does not speak TLS: is the base URL http:\?$/;
  await assert.rejects(runOn({ baseUrl: `https://127.0.0.1:${port}/v1` }).open(), { name: 'Untestable', message });
});

test('a limit that no run can use up is named', async (t) => {
  for (const limit of ['9'.repeat(400), '20001', '0', '-1']) {
    const headers = { 'X-RateLimit-Limit': limit, 'X-RateLimit-Remaining': '5', 'X-RateLimit-Reset': '1795262460' };
    const server = await scripted(t, (_, response) => void response.writeHead(200, headers).end('[]'));
    const message = /^X-RateLimit-Limit is .{1,31}, and the bench needs one from 1 to 20,000, or --plan$/;
    await assert.rejects(runOn(server).open(), { name: 'Untestable', message });
  }
});

test('what ends a run early is reported, and nothing passes because of it', async (t) => {
  const clock = fakeClock();
  const slow = { count: (...args: Parameters<typeof base.count>) => (clock.move(12_000), base.count(...args)) };
  const [latency] = (await reportOf(t, { fault: slow, clock, names: ['latency'] })).scenarios;
  assert.deepEqual([latency!.verdict, latency!.reason], [
    'inconclusive', 'the server is too slow: 20 responses took more than 10 s',
  ]);
  const full = Object.assign(new Error('connect EMFILE'), { code: 'EMFILE' });
  const show = (what: string) => {
    if (what.includes('before the border')) throw full;
  };
  const report = await reportOf(t, { show, names: ['boundary', 'ban'] });
  const reason = 'error in the bench: connect EMFILE; use fewer --connections, or allow this process more open files '
    + '(ulimit -n)';
  assert.deepEqual([report.exitCode, report.aborted], [2, reason]);
  assert.equal(report.totals.skipped, 1);
});

test('a proxy that the environment names is used', async (t) => {
  const { baseUrl } = await smallServer(t, { secret: mainSecret, plan: 'free' });
  const { origin, requests } = await forwardProxy(t, Number(new URL(baseUrl).port));
  const target = 'http://pets.example/v1';
  const proxy = proxyFor(target, { HTTP_PROXY: origin });
  assert.equal((await runOn({ baseUrl: target, proxy }).open()).limit, 60);
  assert.deepEqual(requests, ['GET http://pets.example/v1/pets?limit=1']);
});
