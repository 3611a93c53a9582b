/** In a shell, a curl line has the credential that the kit sent. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { apiKey, smallServer } from '../testing/servers.ts';
import { run, session } from '../testing/sessions.ts';
import { inDoubleQuotes } from '../testing/shell.ts';
import type { Request } from './request.ts';

test('a shell evaluates the expression of every credential to what the kit sent, for any key', async (t) => {
  const ordinary = fc.stringMatching(/^[A-Za-z0-9_]{6,40}$/);
  const printable = fc.string({
    unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
    minLength: 6,
    maxLength: 30,
  });
  const keys = [
    apiKey,
    'aaaaaaaaaa',
    '0123456789',
    'key-$HOME-`id`-\\1-"x"-&-/-\'',
    '\\\\\\\\\\\\\\',
    '$$$$$$$$',
    '-n-n-n-n',
    '%s%s%s%s',
    '!!!!!!!!',
    '{a,b}[c]?#',
  ];
  const property = fc.asyncProperty(fc.oneof(ordinary, printable), fc.nat(), async (secret, seed) => {
    const tested = session(await smallServer(t, { secret }), { only: ['auth.'], seed, thoroughAuth: true });
    const sent = new Set<Request>();
    const plain = tested.client.exchange.bind(tested.client);
    tested.client.exchange = (request) => {
      sent.add(request);
      return plain(request);
    };
    for (const { id, verdict, reason } of await run(tested))
      assert.equal(verdict, id === 'auth.keys' ? 'skipped' : 'passed', `${id} ${reason}`);
    const requests = [...sent].filter(({ credential }) => credential.shell !== undefined);
    const headers = await inDoubleQuotes(
      requests.map(({ credential }) => credential.shell!),
      { API_KEY: secret },
    );
    assert.deepEqual(
      headers,
      requests.map(({ credential }) => credential.header),
    );
    const queries = [...sent].filter(({ shellTarget }) => shellTarget !== undefined);
    assert.ok(queries.length >= 3);
    assert.deepEqual(
      await inDoubleQuotes(
        queries.map(({ shellTarget }) => shellTarget!),
        { API_KEY: secret },
      ),
      queries.map(({ target }) => target),
    );
  });
  await fc.assert(property, { numRuns: 18, examples: keys.map((secret, seed) => [secret, seed] as [string, number]) });
});
