import assert from 'node:assert/strict';
import test from 'node:test';
import { isLoopback } from './loopback.ts';

test('tells the names and addresses of this machine from all others', () => {
  const own = [
    'localhost', 'LocalHost:8080', 'shop.localhost', 'a.b.localhost:1', '127.0.0.1', '127.255.3.4:9100', '127.1',
    '[::1]', '[::1]:9100', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f12:3456]:1',
    'localhost.', 'shop.localhost.:8080', '127.0.0.1.',
  ];
  for (const host of own) assert.equal(isLoopback(host), true, host);
  const others = [
    '', 'example.org', '127.example.org', '127.0.0.1.example.org', 'localhost.example.org', 'notlocalhost', '128.0.0.1',
    '10.0.0.1:127', '0.0.0.0', '[::]', '[::2]', '[::ffff:10.0.0.1]', '[fe80::1]', 'localhost@example.org', 'a b',
    '[::1', 'localhost:99999', 'localhost..', 'example.org.',
  ];
  for (const host of others) assert.equal(isLoopback(host), false, host);
});
