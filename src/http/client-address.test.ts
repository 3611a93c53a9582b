import assert from 'node:assert/strict';
import test from 'node:test';
import { clientAddress } from './client-address.ts';

/** Of a message over a connection from 10.0.0.1 with these lines of X-Forwarded-For. */
const from = (trustedProxies: number, ...forwarded: string[]): string =>
  clientAddress({ address: '10.0.0.1', headers: forwarded.length === 0 ? {} : { 'x-forwarded-for': forwarded.join(', ') } }, trustedProxies);

test('without proxies the header is ignored', () => {
  assert.equal(from(0), '10.0.0.1');
  assert.equal(from(0, '203.0.113.7'), '10.0.0.1');
});

test('N proxies deep: what a client puts in front of it is not believed', () => {
  assert.equal(from(1, '203.0.113.7'), '203.0.113.7');
  assert.equal(from(1, '1.1.1.1, 203.0.113.7'), '203.0.113.7');
  assert.equal(from(2, '1.1.1.1, 203.0.113.7, 10.0.0.2'), '203.0.113.7');
  assert.equal(from(2, '1.1.1.1', '203.0.113.7 ,\t10.0.0.2'), '203.0.113.7');
  assert.equal(from(1, '2001:db8::7'), '2001:db8::7');
});

test('with fewer entries than proxies it is the first; with none, the connection\'s other end', () => {
  assert.equal(from(3, '203.0.113.7, 10.0.0.2'), '203.0.113.7');
  assert.equal(from(2), '10.0.0.1');
  assert.equal(from(1, ''), '10.0.0.1');
});

test('an entry that is no address ends the chain: the last address known counts', () => {
  assert.equal(from(1, 'unknown'), '10.0.0.1');
  assert.equal(from(2, '203.0.113.7, _hidden'), '10.0.0.1');
  assert.equal(from(2, 'unknown, 10.0.0.2'), '10.0.0.2');
  assert.equal(from(1, '203.0.113.7,'), '10.0.0.1');
  assert.equal(from(1, '010.0.0.1'), '10.0.0.1');
  assert.equal(from(1, '203.0.113.7/24'), '10.0.0.1');
});

test('ports and brackets are left out', () => {
  assert.equal(from(1, '203.0.113.7:4711'), '203.0.113.7');
  assert.equal(from(1, '[2001:db8::7]:4711'), '2001:db8::7');
  assert.equal(from(1, '[2001:db8::7]'), '2001:db8::7');
});
