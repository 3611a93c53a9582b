// A round trip with the types of openapi-typescript and the client of openapi-fetch.
import assert from 'node:assert/strict';
import { petStore } from './client.js';

const variable = (name: string): string => process.env[name]!;
const [baseUrl, key] = [variable('BASE_URL'), variable('API_KEY')];
const api = petStore(baseUrl, key);

const empty = await api.GET('/pets', { params: { query: { limit: 5 } } });
assert.deepEqual(empty.data, []);
for (const categoryId of [9_223_372_036_854_775_807n, 9_007_199_254_740_993n]) {
  const { data: created } = await api.POST('/pets', { body: { name: 'Żubr', categoryId } });
  assert.equal(created?.categoryId, categoryId);
  assert.equal(created.status, 'available');
  const { data: found } = await api.GET('/pets/{petId}', { params: { path: { petId: created.id } } });
  assert.deepEqual(found, created);
}

const body = { name: 'x', categoryId: 1n, status: 'asleep' as 'sold' };
const invalid = await api.POST('/pets', { body });
assert.deepEqual([invalid.response.status, invalid.error?.code], [400, 'invalid_body']);
const unknown = await petStore(baseUrl, variable('WRONG_KEY')).GET('/pets');
assert.deepEqual([unknown.response.status, unknown.error?.code], [401, 'invalid_api_key']);
const missing = await api.GET('/pets/{petId}', { params: { path: { petId: 4711n } } });
assert.deepEqual([missing.response.status, missing.error?.code], [404, 'pet_not_found']);

const limited = petStore(baseUrl, variable('LIMITED_KEY'));
let refused = await limited.GET('/pets');
for (let i = 0; i < 5 && refused.error === undefined; i++) refused = await limited.GET('/pets');
assert.deepEqual([refused.response.status, refused.error?.code], [429, 'rate_limited']);
assert.ok(Number(refused.response.headers.get('Retry-After')) >= 1);
