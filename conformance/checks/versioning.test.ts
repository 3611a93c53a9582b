/** version.path fails only if the operations are elsewhere, and not if an animal or the orders are missing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { proxy, smallServer } from '../testing/servers.ts';
import { run, session } from '../testing/sessions.ts';

for (const [name, isMissing, verdict] of [
  ['getPet', (path: string) => /\/pets\/\d+$/.test(path), 'passed'],
  ['listOrders', (path: string) => path.endsWith('/orders'), 'passed'],
] as const) {
  test(`${name} returns 404: ${verdict}`, async (t) => {
    const server = await proxy(t, await smallServer(t), ({ url }, response) => {
      if (isMissing(url)) response.status = 404;
    });
    const [result] = await run(session(server, { only: ['version.path'] }));
    assert.equal(result?.verdict, verdict);
  });
}

test('a redirection within the base path is not a violation; a redirection to another version is', async (t) => {
  for (const [location, verdict] of [['/v1/pets/', 'passed'], ['/v2/pets', 'failed']] as const) {
    const server = await proxy(t, await smallServer(t), ({ url }, response) => {
      if (url === '/v1/pets') Object.assign(response, { status: 308, headers: [['Location', location]] });
    });
    const [result] = await run(session(server, { only: ['version.path'] }));
    assert.equal(result?.verdict, verdict, location);
  }
});
