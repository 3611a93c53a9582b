/** Messages byte by byte: whatever form a response has, it is read whole; and the shell's line sends the very bytes. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { bearer, nobody } from './credentials.ts';
import { curlLine } from './curl.ts';
import { exchangeRaw } from './raw.ts';
import { other } from './requests.ts';
import { apiKey } from '../testing/servers.ts';
import { sh } from '../testing/shell.ts';

/** A server that says the pieces, a moment apart, and closes where they end in `true`. */
async function saying(t: TestContext, ...pieces: readonly (string | true)[]): Promise<string> {
  const server = createServer(async (socket) => {
    socket.on('error', () => {});
    await once(socket, 'data');
    for (const piece of pieces) {
      if (piece === true) socket.end();
      else socket.write(piece, 'latin1');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

const ask = (baseUrl: string, method = 'GET', timeoutMs = 2_000) => exchangeRaw(baseUrl, Buffer.from('GET'), method, timeoutMs);

test('a response is read whole, however it ends', async (t) => {
  const cases: readonly (readonly [pieces: readonly (string | true)[], body: string, closed: boolean, method?: string])[] = [
    [['HTTP/1.1 200 OK\r\nContent-', 'Length: 3\r\n\r', '\na', 'bcd'], 'abc', false],
    [['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nab\r\n1', '\r\nc\r\n0\r\n\r\n'], 'abc', false],
    [['HTTP/1.1 200 OK\r\n\r\na', 'bc', true], 'abc', true],
    [['HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc', true], 'abc', true],
    [['HTTP/1.1 204 No Content\r\n\r\n'], '', false],
    [['HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n'], '', false, 'HEAD'],
  ];
  for (const [pieces, body, closed, method] of cases) {
    const response = await ask(await saying(t, ...pieces), method);
    assert.deepEqual([Buffer.from(response.body).toString(), response.closed, response.interim], [body, closed, []], pieces.join());
  }
});

test('interim responses are told, and headers are as they came', async (t) => {
  const { status, headers, interim } = await ask(
    await saying(
      t,
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n',
      'HTTP/1.1 201 Created\r\nX-A:  b: c \r\nx-a: d\r\nContent-Length: 0\r\n\r\n',
    ),
  );
  assert.deepEqual(
    [status, headers.slice(0, 2), interim],
    [
      201,
      [
        ['X-A', 'b: c'],
        ['x-a', 'd'],
      ],
      [100, 103],
    ],
  );
});

test('what is no whole response is an error', async (t) => {
  await assert.rejects(
    ask(await saying(t, 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab', true)),
    /closed before a whole response/,
  );
  await assert.rejects(ask(await saying(t, 'HTTP/1.1 200 OK\r\n'), 'GET', 50), /no response within 0.05 s/);
  await assert.rejects(ask('http://127.0.0.1:1/v1'), /ECONNREFUSED/);
});

test('the line for a shell sends the same bytes, and does not show the key', async () => {
  const key = bearer(apiKey);
  const requests = [
    {
      ...other(key, 'GET', '/pets'),
      raw: `GET /a'b%41\\n?${'0'.repeat(300)} HTTP/1.1\r\nAuthorization: ${key.header}\r\nX: ${'0'.repeat(200)}\u00ff\r\n\r\n{"a":"%s"}`,
    },
    { ...other(nobody, 'GET', '/pets'), raw: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
  ];
  for (const request of requests) {
    const line = curlLine(request, 'http://shop.example:81/v1');
    const [, print = ''] = /^(.*) \| nc shop\.example 81$/.exec(line) ?? [];
    assert.equal(
      await sh(`${print} | od -An -v -tx1 | tr -d ' \\n'`, { API_KEY: apiKey }),
      Buffer.from(request.raw, 'latin1').toString('hex'),
    );
    assert.ok(!line.includes(apiKey));
  }
  assert.match(curlLine(requests[1]!, 'https://shop.example/v1'), / \| openssl s_client -quiet -connect shop\.example:443$/);
});
