import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { load, measureLoad, WrongAnswers } from './load.ts';
import { complaintIn, NotStarted, Program } from './program.ts';

const floor = new URL('../speed/floor.mjs', import.meta.url);

type Answer = (response: ServerResponse, nth: number) => void;

/** Answers with this status. */
const as = (statusOf: (nth: number) => number): Answer => (response, nth) => void response.writeHead(statusOf(nth)).end('{}');

/** A server that answers as told, and all that came to it. */
async function serve(t: TestContext, answer: Answer): Promise<{ readonly url: string; readonly seen: readonly IncomingMessage[] }> {
  const seen: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    seen.push(request);
    answer(response, seen.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, seen };
}

describe('a load', () => {
  it('counts every request that the server has worked for', async (t) => {
    const { url, seen } = await serve(t, as(() => 201));
    const { requests, seconds, latencies } = await load({ url, method: 'POST', body: '{}', connections: 64, seconds: 0.05, status: 201 });
    assert.equal(requests, seen.length);
    const counted = requests - 64; // but those that opened a connection
    assert.equal(latencies.length, counted - Math.floor(counted / 10));
    assert.ok(requests >= 64 && seconds > 0 && seconds < 5);
  });

  it('goes on until there is a latency, if the server is slow', async (t) => {
    const { url, seen } = await serve(t, (response) => void setTimeout(() => response.end('{}'), 50));
    const { requests, latencies } = await load({ url, connections: 4, seconds: 0.001, status: 200 });
    assert.equal(requests, seen.length);
    assert.deepEqual([requests > 4, requests <= 8, latencies.length], [true, true, requests - 4]);
  });

  it('takes headers in turn, each as often as any other', async (t) => {
    const { url, seen } = await serve(t, as(() => 200));
    const headersInTurn = Array.from({ length: 10 }, (_, i) => ({ 'X-Number': String(i) }));
    await load({ url, headers: { 'X-Every': 'one' }, headersInTurn, connections: 4, seconds: 0.05, status: 200 });
    assert.ok(seen.every(({ headers }) => headers['x-every'] === 'one'));
    assert.equal(new Set(seen.map(({ headers }) => headers['x-number'])).size, 10);
  });

  it('is worth nothing with one wrong answer', async (t) => {
    const { url } = await serve(t, (response, nth) => void response.writeHead(nth === 20 ? 429 : 200).end(nth === 20 ? 'no' : '{}'));
    await assert.rejects(load({ url, connections: 16, seconds: 0.1, status: 200, expectedBody: '{}' }), (error: Error) => {
      assert.ok(error instanceof WrongAnswers && error.byStatusOnly);
      assert.match(error.message, /must be answered with 200, and came: \d+ × 200, 1 × 429/);
      return true;
    });
  });

  it('is worth nothing with one wrong body, if there is a right one', async (t) => {
    const { url } = await serve(t, (response, nth) => void response.end(nth === 20 ? '[]' : '{}'));
    const options = { url, connections: 32, seconds: 0.1, status: 200 };
    await assert.rejects(load({ ...options, expectedBody: '{}' }), /must be answered with 200, and came: \d+ × 200, 1 of them with another body/);
    await load(options);
  });

  it('is worth nothing if the server ended a connection in the middle', async (t) => {
    const ends: readonly Answer[] = [
      (response) => void response.socket!.destroy(),
      (response) => void response.socket!.end(),
      (response) => void response.writeHead(200, { Connection: 'close' }).end('{}'),
    ];
    for (const end of ends) {
      const { url } = await serve(t, (response, nth) => (nth % 10 === 0 ? end : as(() => 200))(response, nth));
      await assert.rejects(load({ url, connections: 16, seconds: 0.1, status: 200 }), /^WrongAnswers: .* × 200, \d+ × no answer$/);
    }
  });

  it('ends where every connection is ended without an answer', async (t) => {
    const { url } = await serve(t, (response) => void response.socket!.end());
    await assert.rejects(load({ url, connections: 8, seconds: 0.05, status: 200 }), /and came: 8 × no answer$/);
  });
});

describe('a measured program', () => {
  it('tells what it has used, and is missed when it has ended', async () => {
    const program = await Program.start(floor, { env: { FLOOR_ANSWER: '{"status":200,"headers":[],"body":"{}"}' } });
    const { user, resident } = await program.usage();
    assert.ok(user > 1_000 && resident > 1e6);
    await program.stop();
    await assert.rejects(program.usage(), /the server ended while it was measured \(exit code 0\)/);
    await assert.rejects(load({ url: program.address, connections: 2, seconds: 0.02, status: 200 }), /came: 2 × no answer$/);
  });

  it('that ends under a load tells by what, and its last complaint', async () => {
    const env = { FLOOR_ANSWER: '{"status":200,"headers":[],"body":"{}"}' };
    const measure = (program: Program) => measureLoad(program, { url: program.address, connections: 2, seconds: 0.3, status: 200 });
    const killed = await Program.start(floor, { env });
    setTimeout(() => process.kill(killed.pid, 'SIGKILL'), 50);
    await assert.rejects(measure(killed), /^Error: the server ended while it was measured \(SIGKILL\)$/);
    const fails = "process.on('message', () => setTimeout(() => { console.error('Error: the disk is full'); process.exit(3); }, 50))";
    const failing = await Program.start(floor, { env, nodeArgs: ['--import', `data:text/javascript,${encodeURIComponent(fails)}`] });
    await assert.rejects(measure(failing), /measured \(exit code 3; Error: the disk is full\)$/);
  });

  it('that cannot start says why', async () => {
    await assert.rejects(Program.start(floor), (error) => error instanceof NotStarted && /^SyntaxError: .* not valid JSON$/.test(error.message));
  });

  it('has its complaint found among what it printed', () => {
    assert.equal(complaintIn('at x\nError: no such thing\n    at y\n\nNode.js v20\n'), 'Error: no such thing');
    assert.equal(complaintIn('starting\npetstore: the folder is held\n'), 'petstore: the folder is held');
    assert.equal(complaintIn(''), undefined);
  });
});
