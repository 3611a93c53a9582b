import assert from 'node:assert/strict';
import test from 'node:test';
import { clientAddress } from './client-address.ts';

/** Returns the client address of a message from 10.0.0.1 with these lines of X-Forwarded-For. */
const from = (trustedProxies: number, ...forwarded: string[]): string =>
  clientAddress(
    { address: '10.0.0.1', headers: forwarded.length === 0 ? {} : { 'x-forwarded-for': forwarded.join(', ') } },
    trustedProxies,
  );

test('ignores X-Forwarded-For without trusted proxies', () => {
  assert.equal(from(0), '10.0.0.1');
  assert.equal(from(0, '203.0.113.7'), '10.0.0.1');
});

test('takes the entry that the outermost trusted proxy appended, and ignores the entries before it', () => {
  assert.equal(from(1, '203.0.113.7'), '203.0.113.7');
  assert.equal(from(1, '1.1.1.1, 203.0.113.7'), '203.0.113.7');
  assert.equal(from(2, '1.1.1.1, 203.0.113.7, 10.0.0.2'), '203.0.113.7');
  assert.equal(from(2, '1.1.1.1', '203.0.113.7 ,\t10.0.0.2'), '203.0.113.7');
  assert.equal(from(1, '2001:db8::7'), '2001:db8::7');
});

test('takes the first entry if there are fewer entries than trusted proxies, and the peer if there are none', () => {
  assert.equal(from(3, '203.0.113.7, 10.0.0.2'), '203.0.113.7');
  assert.equal(from(2), '10.0.0.1');
  assert.equal(from(1, ''), '10.0.0.1');
});

test('ignores an entry that is not an address and the entries before it', () => {
  assert.equal(from(1, 'unknown'), '10.0.0.1');
  assert.equal(from(2, '203.0.113.7, _hidden'), '10.0.0.1');
  assert.equal(from(2, 'unknown, 10.0.0.2'), '10.0.0.2');
  assert.equal(from(1, '203.0.113.7,'), '10.0.0.1');
  assert.equal(from(1, '010.0.0.1'), '10.0.0.1');
  assert.equal(from(1, '203.0.113.7/24'), '10.0.0.1');
});

test('removes ports and brackets', () => {
  assert.equal(from(1, '203.0.113.7:4711'), '203.0.113.7');
  assert.equal(from(1, '[2001:db8::7]:4711'), '2001:db8::7');
  assert.equal(from(1, '[2001:db8::7]'), '2001:db8::7');
});
