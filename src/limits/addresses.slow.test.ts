import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { AddressLimiter } from './addresses.ts';

const noon = Date.UTC(2026, 10, 21, 12);

test('300,000 addresses take no more memory than 100,000', () => {
  const limiter = new AddressLimiter();
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const used = (): number => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const fill = (from: number): void => {
    for (let n = from; n < from + 100_000; n += 1) {
      limiter.admit(`2001:db8:${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)}::1`, noon);
    }
  };
  fill(0);
  const before = used();
  for (let i = 1; i < 3; i += 1) fill(i * 100_000);
  const more = used() - before;
  assert.ok(more < 1e6, `${more} bytes more`);
  assert.equal(limiter.status('2001:db8:4:93df::1', noon).remaining, 59, 'the last one is remembered');
});
