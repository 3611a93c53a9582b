/** TLS: the memory of handshakes that are never complete, and the conformance kit over HTTPS. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryFolder } from '../harness/owner.ts';
import { Program } from '../harness/program.ts';
import { makeKey, startServer } from '../harness/server.ts';
import { certificateFlags, makeCertificate } from '../harness/certificates.ts';

const certificate = makeCertificate();

/** The beginning of the largest ClientHello that OpenSSL accepts (131,396 bytes), in records. */
function endlessHello(): Buffer {
  const message = Buffer.alloc(130_000);
  message.writeUInt32BE(131_000); // its type is the first byte
  message.writeUInt8(1);
  message.writeUInt16BE(0x303, 4);
  const records: Buffer[] = [];
  for (let start = 0; start < message.length; start += 16_000) {
    const piece = message.subarray(start, start + 16_000);
    records.push(Buffer.from([0x16, 3, 1, piece.length >> 8, piece.length & 0xff]), piece);
  }
  return Buffer.concat(records);
}

test('a connection retains at most 400 KB during its TLS handshake', { timeout: 120_000 }, async (t) => {
  if (process.platform !== 'linux') return t.skip('only Linux shows the memory of a process in /proc');
  const server = await startServer(t, temporaryFolder(t), certificateFlags(temporaryFolder(t), certificate));
  const residentKb = (): number =>
    Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))![1]);
  const count = 300;
  const before = residentKb();
  const hello = endlessHello();
  const sockets = Array.from({ length: count }, () => connect(Number(new URL(server.address).port), '127.0.0.1'));
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  let closed = 0;
  await Promise.all(sockets.map((socket) => {
    socket.on('error', () => {}).on('close', () => closed++); // the server closes them after 10 s
    return new Promise((resolve) => socket.write(hello, resolve));
  }));
  let most = 0;
  for (; closed === 0; await delay(20)) most = Math.max(most, (residentKb() - before) / count);
  assert.ok(most < 400, `${most} KB`);
  assert.ok(most > 130, `${most} KB: too little for a valid measurement`);
});

test('the conformance kit tests a server with TLS', { timeout: 120_000 }, async (t) => {
  const [place, folder] = [temporaryFolder(t), temporaryFolder(t)];
  const server = await startServer(t, folder, certificateFlags(place, certificate));
  const key = await makeKey(t, folder, 'enterprise', '--per-minute', '100000', '--per-day', '1000000');
  const kit = ['--import', 'tsx', 'conformance/run.ts', '--base-url', `${server.address}/v1`];
  const env = { API_KEY: key, NODE_EXTRA_CA_CERTS: join(place, 'cert.pem') };
  const { code, stdout, stderr } = await new Program(t, [process.execPath, ...kit], env).ended;
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /\nCONFORMS: /);
});
