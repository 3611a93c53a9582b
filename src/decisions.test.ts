/** Decisions (docs/decisions.md) about whole responses and orders, over HTTP. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'node:test';
import { codeOf } from './testing/http-response.ts';
import { openService, type TestService } from './testing/service.ts';

/** Sends a head, whose body never follows, and returns the status line, headers and body of the response. */
async function headOnly({ address, secret }: TestService, requestLine: string, ...headers: string[]): Promise<string> {
  const { hostname, port } = new URL(address);
  const socket = connect(Number(port), hostname);
  const lines = [`${requestLine} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${secret}`, ...headers];
  socket.setEncoding('utf8').write(`${lines.join('\r\n')}\r\n\r\n`);
  let received = '';
  socket.on('data', (text: string) => (received += text));
  await once(socket, 'end'); // the server closes the connection, because it will not read the body
  socket.destroy();
  return received;
}

test('the content type and the parameters are checked before the size of the body', async (t) => {
  const service = await openService(t);
  const tooLong = 'Content-Length: 131073';
  const json = 'Content-Type: application/json';
  for (const [requestLine, type, status, code] of [
    ['POST /v1/pets?x=%zz', 'Content-Type: text/plain', 415, 'unsupported_media_type'],
    ['POST /v1/pets?x=%zz', json, 400, 'invalid_parameter'],
    ['POST /v1/pets', json, 413, 'payload_too_large'],
    ['PUT /v1/pets', json, 405, 'method_not_allowed'],
    ['POST /v1/no-such-path', json, 404, 'not_found'],
  ] as const) {
    const received = await headOnly(service, requestLine, type, tooLong);
    assert.match(received, new RegExp(`^HTTP/1\\.1 ${status} `), `${requestLine}, ${type}`);
    assert.match(received, new RegExp(`"code":"${code}"`), `${requestLine}, ${type}`);
    assert.match(received, /\r\nConnection: close\r\n/, `${requestLine}, ${type}`);
  }
});

test('the expectation is checked before the parameters', async (t) => {
  const { call } = await openService(t);
  const response = await call('GET', '/v1/pets?limit=0', { headers: { expect: 'a miracle' } });
  assert.deepEqual([response.status, codeOf(response)], [417, 'expectation_failed']);
});

test('the server makes X-Request-Id, and ignores the one of the request', async (t) => {
  const { call } = await openService(t);
  const headers = { 'x-request-id': 'from-the-client' };
  const ids = [];
  for (const key of [undefined, null]) {
    const response = await call('GET', '/v1/pets', { headers, ...(key === null && { key }) });
    ids.push(response.headers.get('x-request-id'));
  }
  assert.ok(ids.every((id) => id !== undefined && id !== '' && id !== 'from-the-client'));
  assert.notEqual(ids[0], ids[1]);
});

test('operations without parameters ignore them, and HEAD ignores a body', async (t) => {
  const { call } = await openService(t);
  const created = await call('POST', '/v1/pets?limit=0', { body: '{}' });
  assert.deepEqual([created.status, codeOf(created)], [400, 'invalid_body']);
  assert.equal((await call('OPTIONS', '/v1/pets?limit=0')).status, 204);
  assert.equal((await call('HEAD', '/v1/pets?limit=1', { body: '{"limit":0' })).status, 200);
});

test('a parameter given twice is invalid, even if one of its names is escaped', async (t) => {
  const { call } = await openService(t);
  const response = await call('GET', '/v1/pets?limit=5&li%6dit=6');
  assert.deepEqual([response.status, codeOf(response)], [400, 'invalid_parameter']);
});

test('orders have the default limit of animals, and links lead through all pages', async (t) => {
  const statuses = ['placed', 'approved', 'delivered'];
  const line = (id: number): string =>
    `{"id":${id},"petId":1,"quantity":1,"status":"${statuses[id % 3]}","complete":false}`;
  const orders = `[${Array.from({ length: 25 }, (_, i) => line(i + 1)).join()}]`;
  const { call } = await openService(t, { orders });
  const ids = (body: string): number[] => (JSON.parse(body) as { id: number }[]).map(({ id }) => id);
  assert.deepEqual(ids((await call('GET', '/v1/store/orders')).body), Array.from({ length: 20 }, (_, i) => i + 1));
  for (const [query, step] of [
    ['?limit=4', 1],
    ['?limit=4&status=approved', 3],
  ] as const) {
    const seen: number[] = [];
    for (let next: string | undefined = `/v1/store/orders${query}`; next !== undefined; ) {
      const page = await call('GET', next);
      seen.push(...ids(page.body));
      next = /^<([^>]+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1];
    }
    const all = Array.from({ length: 25 }, (_, i) => i + 1);
    assert.deepEqual(seen, step === 1 ? all : all.filter((id) => id % 3 === 1), query);
  }
});
