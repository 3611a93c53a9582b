/** Replies on the wire. */
import assert from 'node:assert/strict';
import { get, json, serve, test } from '../testing/wire.ts';

test('HEAD has the Content-Length of GET, and no body', async (t) => {
  const site = await serve(t, async () => json('ä'.repeat(1_000)));
  const client = await site.connect().send(get('/').replace('GET', 'HEAD'), get('/'));
  const head = await client.answer('HEAD');
  const whole = await client.answer();
  assert.equal(head.headers.get('content-length'), '2002');
  assert.deepEqual([...head.headers.keys()], [...whole.headers.keys()]);
  assert.equal(whole.body.length, 2_002);
});

test('a reply is text, bytes or nothing, with its own headers', async (t) => {
  const site = await serve(t, async ({ path }) => ({
    status: path === '/none' ? 204 : 201,
    headers: ['Location', '/a'],
    body: path === '/none' ? null : path === '/bytes' ? Buffer.from('"ä"') : '"ä"',
  }));
  const client = await site.connect().send(get('/none'), get('/bytes'), get('/text'));
  const answers = [await client.answer(), await client.answer(), await client.answer()];
  assert.deepEqual(answers.map(({ status }) => status), [204, 201, 201]);
  for (const { headers } of answers) assert.equal(headers.get('location'), '/a');
  for (const { body } of answers.slice(1)) assert.equal(Buffer.from(body, 'latin1').toString(), '"ä"');
});
