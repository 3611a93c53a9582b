/** Replies, as clients receive them. */
import assert from 'node:assert/strict';
import { get, json, startServer, test, testOnce } from '../testing/wire.ts';
import { bytesOf } from '../domain/byte-text.ts';
import { newRequestId, type Reply } from './reply.ts';

testOnce('an id has 12 random characters: it says nothing about the requests of others', async () => {
  const ids = Array.from({ length: 5_000 }, newRequestId);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^\w[\w-]{11}$/);
  for (let at = 0; at < 12; at++) {
    const counts = new Map<string, number>();
    for (const id of ids) counts.set(id[at]!, (counts.get(id[at]!) ?? 0) + 1);
    assert.equal(counts.size, at === 0 ? 63 : 64);
    for (const count of counts.values()) assert.ok(count < 200, `${count} of 5,000`); // about 78 are expected
  }
});

test('sends the Content-Length of GET in response to HEAD, and no body', async (t) => {
  const server = await startServer(t, async () => json('ä'.repeat(1_000)));
  const client = await server.connect().send(get('/').replace('GET', 'HEAD'), get('/'));
  const head = await client.response('HEAD');
  const whole = await client.response();
  assert.equal(head.headers.get('content-length'), '2002');
  assert.deepEqual([...head.headers.keys()], [...whole.headers.keys()]);
  assert.equal(whole.body.length, 2_002);
});

test('sends a body of text, bytes, several pieces or none, short or long, and the headers of the reply', async (t) => {
  const long = 'ä€'.repeat(10_000);
  const bodies = new Map<string, Reply['body']>([
    ['/none', null],
    ['/text', bytesOf('"ä€"')],
    ['/piece', [Buffer.from('"ä€"')]],
    ['/pieces', [Buffer.from('"ä'), Buffer.from('€"')]],
    ['/long-text', bytesOf(`"${long}"`)],
    ['/long-piece', [Buffer.from(`"${long}"`)]],
    ['/long-pieces', [Buffer.from('"'), Buffer.from(long), Buffer.from('"')]],
  ]);
  const server = await startServer(t, async ({ path }) => {
    const body = bodies.get(path)!;
    return { status: body === null ? 204 : 201, headers: ['Location', '/a'], body };
  });
  const client = await server.connect().send(...[...bodies.keys()].map((path) => get(path)));
  for (const path of bodies.keys()) {
    const { status, headers, body } = await client.response();
    assert.deepEqual([status, headers.get('location')], [path === '/none' ? 204 : 201, '/a'], path);
    if (path === '/none') assert.equal(body, '');
    else assert.equal(Buffer.from(body, 'latin1').toString(), path.startsWith('/long') ? `"${long}"` : '"ä€"', path);
    assert.equal(headers.has('content-type'), path !== '/none', path);
  }
});

test('sends the current time as Date in every response', async (t) => {
  const server = await startServer(t);
  const client = server.connect();
  for (const message of [get('/'), 'junk\r\n\r\n']) {
    const before = Math.floor(Date.now() / 1_000) * 1_000;
    await client.send(message);
    const date = (await client.response()).headers.get('date') ?? '';
    assert.equal(date, new Date(date).toUTCString()); // RFC 9110 section 5.6.7
    assert(Date.parse(date) >= before && Date.parse(date) <= Date.now(), date);
  }
});
