/** Headers and spellings that must not change a response: a server that they change fails, and the case names them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ReceivedRequest } from '../../harness/proxy.ts';
import { bearer } from '../client/credentials.ts';
import { createPet, listPets } from '../client/requests.ts';
import { apiKey, proxy, scripted, smallServer } from '../testing/servers.ts';
import { failuresText, run, session, verdicts } from '../testing/sessions.ts';
import { withHeaders } from './exchange.ts';

const key = bearer(apiKey);

test('headers of a request replace the usual ones, and one can be left out', async (t) => {
  const server = await scripted(t, (_, response) => void response.end('[]'));
  const { client } = session(server);
  t.after(() => client.close());
  await client.exchange(listPets(key));
  await client.exchange(withHeaders({ accept: 'text/csv', 'Accept-Encoding': 'gzip' })(listPets(key)));
  await client.exchange({ ...listPets(key), without: 'User-Agent' });
  const pet = { name: 'Rex', categoryId: 1n };
  await client.exchange(withHeaders({ 'Transfer-Encoding': 'chunked' })(createPet(key, pet)));
  const [usual, replaced, unnamed, chunked] = server.received.map(({ headers }) => headers);
  assert.deepEqual([usual!.accept, usual!['accept-encoding']], ['*/*', 'identity']);
  assert.match(usual!['user-agent']!, /^petstore-conformance\//);
  assert.deepEqual([replaced!.accept, replaced!['accept-encoding']], ['text/csv', 'gzip']);
  assert.deepEqual([unnamed!['user-agent'], unnamed!.accept], [undefined, '*/*']);
  assert.deepEqual([chunked!['transfer-encoding'], chunked!['content-length']], ['chunked', undefined]);
  assert.match(server.received[3]!.body.toString(), /Rex/);
});

test('a header is not added twice', () => {
  const request = createPet(key, { name: 'Rex', categoryId: 1n });
  const twice = withHeaders({ 'content-type': 'text/plain', DNT: '1' })(request);
  assert.deepEqual(twice.headers, [['Content-Type', 'application/json'], ['DNT', '1']]);
});

describe('a server fails if it changes', () => {
  type Change = NonNullable<Parameters<typeof proxy>[2]>;
  type Answered = Parameters<Change>[1];
  const setType = (response: Answered, type: string) => {
    response.headers = [...response.headers.filter(([name]) => !/^content-type$/i.test(name)), ['Content-Type', type]];
  };
  const faults: readonly (readonly [name: string, id: string, shown: RegExp, change: Change])[] = [
    [
      'the media type because Accept prefers another one',
      'service.json',
      /request headers Accept: text\/html/,
      ({ method, headers }, response) => {
        if (method === 'POST' && headers.accept?.startsWith('text/html')) setType(response, 'text/html');
      },
    ],
    [
      'the media type because Accept names only another one',
      'service.json',
      /request headers Accept: text\/csv only/,
      ({ headers }, response) => {
        if (headers.accept === 'text/csv') setType(response, 'text/csv');
      },
    ],
    [
      'the label of a body that it does not compress',
      'service.json',
      /request headers Accept-Encoding: br/,
      ({ headers }, response) => {
        if (headers['accept-encoding'] === 'br') response.headers = [...response.headers, ['Content-Encoding', 'br']];
      },
    ],
    [
      'the form of an Error with the language',
      'error.message',
      /request headers Accept-Language: ja/,
      ({ headers }, response) => {
        const isChanged = headers['accept-language'] === 'ja';
        if (isChanged) response.body = Buffer.from(String(response.body).replace('message', 'm'));
      },
    ],
    [
      'the media type for a browser',
      'service.json',
      /User-Agent Mozilla/,
      ({ headers }, response) => {
        if (/^Mozilla/.test(headers['user-agent'] ?? '')) setType(response, 'text/html');
      },
    ],
    [
      'the status of a body in chunks, to one that has nothing to do with chunks',
      'create.answers',
      /transfer in chunks/,
      ({ headers }, response) => {
        if (headers['transfer-encoding'] !== undefined) response.status = 415;
      },
    ],
    [
      'the status of a filter with escapes',
      'list.status',
      /query values with escapes/,
      ({ url }, response) => {
        if (/status=%/.test(url)) response.status = 400;
      },
    ],
    [
      'that orders exist, because of Accept',
      'orders.exists',
      /^GET \/store\/orders/,
      ({ url, headers }, response) => {
        if (url.endsWith('/store/orders') && headers.accept === 'application/json') response.status = 410;
      },
    ],
  ];
  for (const [name, id, shown, change] of faults) {
    test(name, async (t) => {
      const server = await proxy(t, await smallServer(t), change);
      const results = await run(session(server, { seed: 1 }));
      const result = results.find((one) => one.id === id)!;
      assert.equal(result.verdict, 'failed', failuresText(results));
      assert.ok(result.failures.some(({ smallestCase }) => shown.test(smallestCase)), failuresText(results));
    });
  }
});

test('a server may refuse headers, compress when asked, send a part and translate messages', async (t) => {
  const of = session(await smallServer(t, { variant: 'negotiating' }), { seed: 1 });
  const results = await run(of);
  const failed = results.filter(({ verdict }) => verdict === 'failed');
  assert.deepEqual(failed, [], failuresText(results));
  const gaps = Object.fromEntries(of.ledger.observations().map(({ id, behaviour }) => [id, behaviour]));
  assert.deepEqual([gaps['service.accept'], gaps['create.chunked']], ['no: 406', 'no: 411']);
  // The kit has asked for it.
  assert.equal(gaps['service.compression'], 'no');
});

test('a firewall may refuse some requests with a page of its own', async (t) => {
  const refusals: readonly (readonly [status: number, isRefused: (request: ReceivedRequest) => boolean])[] = [
    [403, ({ headers }) => headers['user-agent'] === undefined],
    [411, ({ headers }) => headers['transfer-encoding'] !== undefined],
    [403, ({ url }) => url.includes('%00')],
  ];
  const server = await proxy(t, await smallServer(t), (request, response) => {
    const status = refusals.find(([, isRefused]) => isRefused(request))?.[0];
    if (status === undefined) return;
    Object.assign(response, { status, headers: [['Content-Type', 'text/html']], body: Buffer.from('<p>No</p>') });
  });
  const results = await run(session(server, { seed: 1 }));
  for (const [status, isRefused] of refusals) assert.ok(server.received.some(isRefused), `${status}`);
  assert.deepEqual(results.filter(({ verdict }) => verdict === 'failed'), [], failuresText(results));
});

test('a request without a valid key is not repeated after a server error: they are few', async (t) => {
  const server = await proxy(t, await smallServer(t), (_, response) => {
    if (response.status === 401) response.status = 500;
  });
  const of = session(server, { only: ['auth.empty'], seed: 1 });
  assert.deepEqual(verdicts(await run(of)), { 'auth.empty': 'failed' });
  assert.equal(of.client.sent.withoutKey, 1);
});
