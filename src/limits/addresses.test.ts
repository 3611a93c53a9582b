import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { AddressLimiter, networkOf } from './addresses.ts';
import type { LimitStatus } from './limit-status.ts';

const noon = Date.UTC(2026, 10, 21, 12);
const minute = 60_000;

test('60 requests per address and UTC minute are admitted', () => {
  const limiter = new AddressLimiter();
  const send = (count: number, time: number): LimitStatus[] =>
    Array.from({ length: count }, () => limiter.admit('203.0.113.7', time));
  const sent = send(62, noon + 59_999);
  assert.deepEqual(sent[0], { window: 'minute', limit: 60, remaining: 59, reset: noon / 1000 + 60, refusedBy: null });
  assert.deepEqual(sent.map(({ remaining }) => remaining), [...Array.from({ length: 60 }, (_, i) => 59 - i), 0, 0]);
  assert.deepEqual(sent.map(({ refusedBy }) => refusedBy), [...Array<null>(60).fill(null), 'window', 'window']);
  assert.equal(send(1, noon + minute)[0]!.remaining, 59);
});

test('status() neither counts a request nor remembers the address', () => {
  const limiter = new AddressLimiter();
  const before = limiter.status('203.0.113.7', noon);
  assert.deepEqual(before, { window: 'minute', limit: 60, remaining: 60, reset: noon / 1000 + 60, refusedBy: null });
  for (let i = 0; i < 3; i += 1) limiter.admit('203.0.113.7', noon);
  assert.equal(limiter.status('203.0.113.7', noon).remaining, 57);
  assert.equal(limiter.status('203.0.113.8', noon).remaining, 60);
  assert.equal(limiter.status('203.0.113.7', noon + minute).remaining, 60);
});

test('a minute that begins up to 60 s in the future stays in force', () => {
  const limiter = new AddressLimiter();
  limiter.admit('203.0.113.7', noon);
  assert.equal(limiter.status('203.0.113.7', noon - minute).remaining, 59);
  assert.equal(limiter.status('203.0.113.7', noon - minute - 1).remaining, 60);
});

test('10,000 addresses are remembered; the one unused for longest is forgotten first', () => {
  const limiter = new AddressLimiter();
  const address = (n: number): string => `10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`;
  for (const time of [noon, noon + minute, noon + 5 * minute]) {
    const use = (n: number): number => limiter.admit(address(n), time).remaining;
    for (let n = 0; n < 10_000; n += 1) use(n);
    assert.equal(use(0), 58); // now 1 has been unused for longest
    assert.equal(use(10_000), 59); // 1 is forgotten
    assert.equal(use(0), 57);
    assert.equal(use(2), 58);
    assert.equal(use(1), 59);
    for (let n = 20_000; n < 60_000; n += 1) assert.equal(use(n), 59);
    assert.equal(use(50_001), 58);
    assert.equal(use(49_999), 59);
  }
});

test('an IPv4 address is counted by itself, an IPv6 address by its /64', () => {
  for (const [address, network] of [
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::FFFF:cb00:7107', '203.0.113.7'],
    ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2'],
    ['2001:DB8:1:2:ffff::1', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:db8::2:3:4:5:6', '2001:db8:0:2'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
    ['::', '0:0:0:0'],
    ['64:ff9b::203.0.113.7', '64:ff9b:0:0'],
    ['1:2:3:4:5:6:203.0.113.7', '1:2:3:4'],
  ] as const) assert.equal(networkOf(address), network, address);
});

test('the spelling of an address does not matter', () => {
  const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), {
    minLength: 8,
    maxLength: 8,
  });
  fc.assert(fc.property(groups, fc.boolean(), (given, upper) => {
    const full = given.map((group) => group.toString(16).padStart(4, '0')).join(':');
    const short = new URL(`http://[${full}]`).hostname.slice(1, -1); // the spelling of RFC 5952
    assert.equal(networkOf(upper ? full.toUpperCase() : full), networkOf(short));
    const prefix = given.slice(0, 4).map((group) => group.toString(16)).join(':');
    if (!networkOf(short).includes('.')) assert.equal(networkOf(short), prefix);
  }));
});
