/** The key goes only to a server whose certificate is right. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../conformance/client/clock.ts';
import { temporaryFolder } from '../../conformance/testing/servers.ts';
import { Budget } from './budget.ts';
import { Drive, NoAnswer } from './drive.ts';
import { relayTo } from './relay.ts';

test('a server behind TLS: nothing is sent to it unless its certificate is trusted', async (t) => {
  const folder = temporaryFolder(t);
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  try {
    execFileSync('openssl', ['req', '-x509', ...curve, ...names, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' });
  } catch {
    return t.skip('openssl, which makes the certificate, is not here');
  }
  const [key, cert] = [keyFile, certFile].map((file) => readFileSync(file, 'utf8')) as [string, string];
  const arrived: (string | undefined)[] = [];
  const server = createServer({ key, cert }, (request, response) => {
    arrived.push(request.url);
    response.end('[]');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const baseUrl = `https://localhost:${(server.address() as AddressInfo).port}/v1`;

  const signal = new AbortController().signal;
  const drive = new Drive({ baseUrl, clock: systemClock, stopwatch: () => performance.now(), budget: new Budget(9), signal, heard: () => {}, paced: false });
  const load = { key: { secret: 'test_Kb7rT2xVq9KdLw4s', own: false }, amount: 3, connections: 1 };
  await assert.rejects(drive.send(load), (error) => error instanceof NoAnswer && /self-signed certificate/.test(error.message));
  await drive.close();
  assert.deepEqual(arrived, []);

  const relay = await relayTo(baseUrl, cert);
  t.after(() => relay.close());
  const answer = await fetch(`${relay.baseUrl}/pets?limit=1`, { headers: { connection: 'close' } });
  assert.deepEqual([answer.status, arrived], [200, ['/v1/pets?limit=1']]);
});
