import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import test from 'node:test';
import { UnavailableError } from '../engine.ts';
import { FileAccounts } from '../file-engine/accounts/file-accounts.ts';
import { refusal, type ErrorCode } from '../http/api-error.ts';
import { Listener } from '../http/listener.ts';
import { readJson } from '../json/read.ts';
import { limitsOf } from '../limits/plans.ts';
import { OpenApiDocument } from '../testing/openapi.ts';
import { openService } from '../testing/service.ts';

test('serves the file with the base path inserted, and with every digit of its int64 bounds', async (t) => {
  const { call } = await openService(t, { basePath: '/shop/v1' });
  const file = readFileSync(new URL('openapi.json', import.meta.url), 'utf8');
  const { status, body } = await call('GET', '/openapi.json', { key: null });
  assert.equal(status, 200);
  assert.equal(body, file.replace('"url": "/v1"', '"url": "/shop/v1"'));
  assert.ok(body.includes('9223372036854775807'));
});

test('describes the responses to messages that reach no operation', async (t) => {
  const { service, secret } = await openService(t);
  const listen = async (maxServed: number): Promise<URL> => {
    const listener = await Listener.open(service, {
      monotonic: () => performance.now(), host: '127.0.0.1', port: 0, maxServed, maxRefused: 1000,
      headTimeoutMs: 200, requestTimeoutMs: 300, idleTimeoutMs: 65_000,
    });
    t.after(() => listener.stop(0));
    return new URL(listener.address);
  };
  const document = new OpenApiDocument(readJson(readFileSync(new URL('openapi.json', import.meta.url))));
  const head = `Host: x\r\nAuthorization: Bearer ${secret}\r\n`;
  const messages: [number, string][] = [
    [400, 'GET /v1/pets HTTP/1.1\r\n\r\n'],
    [408, 'GET /v1/pets HTTP/1.1\r\n'],
    [408, `GET /v1/pets HTTP/1.1\r\n${head}Content-Length: 2\r\n\r\nx`],
    [413, `GET /v1/pets HTTP/1.1\r\n${head}Content-Length: 65537\r\n\r\n`],
    [431, `GET /v1/pets HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`],
    [505, 'GET /v1/pets HTTP/1.2\r\n\r\n'],
  ];
  const exchange = async ({ hostname, port }: URL, message: string, expected: number): Promise<void> => {
    const socket = connect(Number(port), hostname);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk)).write(message);
    await once(socket, 'end');
    const [start, ...lines] = text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n');
    const status = Number(start!.split(' ')[1]);
    assert.equal(status, expected, message.slice(0, 80));
    const headers = new Map(lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }));
    const response = { status, headers, body: text.slice(text.indexOf('\r\n\r\n') + 4) };
    for (const path of ['/pets', '/pets/{petId}', '/store/orders']) {
      // getPet's responses to a request with a key have deprecation headers; these are not responses of getPet.
      if (path === '/pets/{petId}' && message.includes('Authorization')) continue;
      assert.deepEqual(document.check({ method: 'GET', path, ...response }), []);
    }
    socket.destroy();
  };
  const url = await listen(100);
  for (const [status, message] of messages) await exchange(url, message, status);
  await exchange(await listen(0), '', 503);
});

test('describes the response of each operation if the storage cannot be used', async (t) => {
  const { call, pets } = await openService(t);
  const fail = (): never => {
    throw new UnavailableError('The storage is not available at the moment.', 5);
  };
  const paths = ['/v1/pets', '/v1/pets/1', '/v1/store/orders'];
  for (const method of ['get', 'page'] as const) t.mock.method(pets, method, fail);
  for (const path of paths.slice(0, 2)) assert.equal((await call('GET', path)).status, 503);
  t.mock.method(FileAccounts.prototype, 'admit', fail);
  for (const path of paths) assert.equal((await call('GET', path)).status, 503);
  assert.equal((await call('POST', '/v1/pets', { body: '{"name":"x","categoryId":1}' })).status, 503);
});

test('lists the plans with their limits, and every error code with its status', () => {
  const { info, components } = JSON.parse(readFileSync(new URL('openapi.json', import.meta.url), 'utf8')) as {
    readonly info: { readonly description: string };
    readonly components: { readonly schemas: { readonly ErrorBody: {
      readonly properties: { readonly code: { readonly enum: readonly ErrorCode[] } };
    } } };
  };
  const rows = info.description.split('\n').filter((line) => line.startsWith('| '));
  for (const [title, name] of [['Free', 'free'], ['Pro', 'pro'], ['Business', 'business']] as const) {
    const [perMinute, perDay] = Object.values(limitsOf({ name })).map((limit: number) => limit.toLocaleString('en'));
    assert.ok(rows.includes(`| ${title} | ${perMinute} | ${perDay} |`), title);
  }
  const codes = components.schemas.ErrorBody.properties.code.enum;
  const expected = codes.map((code) => `| \`${code}\` | ${refusal(code, '').status} |`);
  assert.deepEqual(rows.slice(-codes.length).map((row) => row.split('|').slice(0, 3).join('|') + '|'), expected);
});

test('has the error bodies of the server as its examples', async (t) => {
  const opened = await openService(t, { now: Date.parse('2026-11-21T12:00:47Z') });
  const { call, service, keys, usage } = opened;
  const get = '/v1/pets';
  const bodies = new Map<string, string>();
  const collect = async (name: string, ...args: Parameters<typeof call>): Promise<void> => {
    bodies.set(name, (await call(...args)).body);
  };
  await collect('missing_api_key', 'GET', get, { key: null });
  await collect('invalid_api_key', 'GET', get, { key: 'x' });
  await collect('expectation_failed', 'GET', get, { headers: { expect: 'x' } });
  await collect('unsupported_media_type', 'POST', get, { headers: { 'content-length': '0' } });
  await collect('invalid_parameter', 'GET', `${get}?limit=0`);
  await collect('invalid_parameter_escape', 'GET', `${get}?x=%zz`);
  await collect('payload_too_large', 'GET', get, { body: 'x'.repeat(65_537) });
  await collect('malformed_json', 'POST', get, { body: '{"name":}' });
  await collect('invalid_body', 'POST', get, { body: '{"status":"lost","categoryId":null}' });
  await collect('pet_not_found', 'GET', `${get}/4711`);
  for (let i = 0; i < 60; i += 1) await call('GET', get, { key: null });
  await collect('rate_limited_address', 'GET', get, { key: null });
  const free = await keys.create('free', { name: 'free' }, null, opened.now);
  const use = () => usage.limiter.admitKey(free.key.id, limitsOf(free.key.plan), opened.now, 0);
  for (let i = 0; i < 60; i += 1) use();
  await collect('rate_limited', 'GET', get, { key: free.secret });
  opened.now += 5_000;
  while (use().refusedBy !== 'ban');
  await collect('key_banned', 'GET', get, { key: free.secret });
  service.stop();
  await collect('shutting_down', 'GET', get);
  const starting = await openService(t, { starting: true });
  bodies.set('starting', (await starting.call('GET', get)).body);
  const gone = await openService(t, { now: Date.parse('2030-12-05T00:00:00Z') });
  bodies.set('operation_removed', (await gone.call('GET', `${get}/1`)).body);
  interface Document {
    readonly components: { readonly examples: Readonly<Record<string, { readonly value: unknown }>> };
  }
  const { components } = JSON.parse((await call('GET', '/openapi.json')).body) as Document;
  for (const [name, body] of bodies) assert.deepEqual(components.examples[name]?.value, JSON.parse(body), name);
});
