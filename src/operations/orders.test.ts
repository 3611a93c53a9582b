import assert from 'node:assert/strict';
import test from 'node:test';
import { openService } from '../testing/service.ts';

const orders = `[
{"id":9223372036854775807,"petId":-9223372036854775808,"quantity":2147483647,"status":"placed","complete":false},
{"complete":true,"status":"delivered","shipDate":"2026-03-02T09:30:00.5+01:00","quantity":1.0,"petId":4,"id":-3},
{"id":12,"petId":4,"quantity":1,"status":"approved","complete":false},
{"id":11,"petId":4,"quantity":1,"status":"placed","complete":false}
]`;

test('lists orders in ascending order of id, with exact numbers, and with limit, after and status', async (t) => {
  const { call } = await openService(t, { orders });
  const [a, b, c, d] = [
    '{"id":-3,"petId":4,"quantity":1,"shipDate":"2026-03-02T09:30:00.5+01:00","status":"delivered","complete":true}',
    '{"id":11,"petId":4,"quantity":1,"status":"placed","complete":false}',
    '{"id":12,"petId":4,"quantity":1,"status":"approved","complete":false}',
    '{"id":9223372036854775807,"petId":-9223372036854775808,"quantity":2147483647,"status":"placed","complete":false}',
  ];
  const list = async (query: string): Promise<string> =>
    (await call('GET', `/v1/store/orders${query}`)).body.replaceAll('\n', '');
  assert.equal(await list(''), `[${a},${b},${c},${d}]`);
  assert.equal(await list('?status=placed'), `[${b},${d}]`);
  assert.equal(await list('?after=11'), `[${c},${d}]`);
  assert.equal(await list('?after=9223372036854775806'), `[${d}]`);
  assert.equal(await list('?after=9223372036854775807'), '[]');
  const page = await call('GET', '/v1/store/orders?limit=1&status=placed');
  assert.equal(page.headers.get('link'), '</v1/store/orders?limit=1&status=placed&after=11>; rel="next"');
  assert.equal((await call('GET', '/v1/store/orders?status=available')).status, 400);
});

test('lists no orders if the data folder has no orders.json', async (t) => {
  const { call } = await openService(t);
  assert.equal((await call('GET', '/v1/store/orders')).body, '[]');
});
