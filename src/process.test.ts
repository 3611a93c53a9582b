/** The built server as a process: what needs a real start, a real kill or a real disk. */
import assert from 'node:assert/strict';
import {
  cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync,
} from 'node:fs';
import { createServer, connect } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { Program } from '../harness/program.ts';
import {
  cliPath, distFolder, petstore, runServer, serverPath, startServer, type RunningServer,
} from '../harness/server.ts';
import { codeOf, type HttpResponse } from './testing/http-response.ts';
import { newKey } from './testing/command.ts';
import { send } from './testing/service.ts';
import { withinMinute } from './testing/timers.ts';

const create = ({ address }: RunningServer, key: string, name: string): Promise<HttpResponse> =>
  send(address, 'POST', '/v1/pets', { key, body: JSON.stringify({ name, categoryId: 1 }) });

async function allNames({ address }: RunningServer, key: string): Promise<Map<number, string>> {
  const names = new Map<number, string>();
  for (let path: string | undefined = '/v1/pets?limit=100'; path !== undefined; ) {
    const page: HttpResponse = await send(address, 'GET', path, { key });
    for (const { id, name } of JSON.parse(page.body) as { id: number; name: string }[]) names.set(id, name);
    path = /^<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1];
  }
  return names;
}

/** Returns the contents of the files in a folder, by name. */
function contents(folder: string): Record<string, string> {
  const names = readdirSync(folder).filter((name) => statSync(join(folder, name)).isFile()).sort();
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(folder, name), 'latin1')]));
}

function journalOf(folder: string): string {
  return join(folder, readdirSync(folder).find((name) => name.endsWith('.journal'))!);
}

test('the first start with --demo prints a key and curl commands that work; the second prints neither', async (t) => {
  const folder = join(temporaryFolder(t), 'new', 'store');
  const first = await startServer(t, folder, ['--demo']);
  const [, key] = await first.printed(/\n {2}(petstore_[0-9A-Za-z_]+)\n/);
  await first.printed(/openapi\.json\n/);
  assert.match(first.stdout, /^petstore listening on http:\/\/127\.0\.0\.1:\d+\n/);
  const curls = first.stdout.split('\n').filter((line) => /^ {2}(echo '[^']+' \| )?curl /.test(line));
  assert.equal(curls.length, 4);
  assert.ok(curls.every((line) => !/curl .*petstore_/.test(line)), 'a secret is among the arguments of curl');
  const responses = await Promise.all(curls.map(async (line) => {
    const { code, stdout } = await new Program(t, ['sh', '-c', `${line} -s -o /dev/null -w '%{http_code}'`]).ended;
    return code === 127 ? 'no curl' : stdout;
  }));
  if (responses.includes('no curl')) t.diagnostic('curl is not installed: the commands were not tried');
  else assert.deepEqual(responses, ['200', '201', '200', '200']);
  assert.equal(JSON.parse((await send(first.address, 'GET', '/v1/store/orders', { key: key! })).body).length, 8);
  assert.ok(!first.stderr.includes(key!), 'the secret is in the log');
  assert.equal(statSync(folder).mode & 0o777, 0o700);
  assert.deepEqual((await first.stop()).code, 0);

  const second = await startServer(t, folder, ['--demo']);
  assert.equal((await allNames(second, key!)).size, responses.includes('no curl') ? 32 : 33);
  const { stdout, stderr } = await second.stop();
  assert.equal(stdout, `petstore listening on ${second.address}\n`);
  assert.doesNotMatch(stderr, /API key/);
});

test('a start with --demo completes an interrupted one', async (t) => {
  const folder = temporaryFolder(t);
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const { port } = taken.address() as { port: number };
  const refused = await runServer(t, folder, ['--demo', '--port', String(port)]).ended;
  assert.deepEqual([refused.code, refused.stdout], [1, '']);
  const samples = join(distFolder, 'sample');
  // The folder after a kill between the orders and the animals, then after one between the animals and the key.
  cpSync(join(samples, 'orders.json'), join(folder, 'orders.json'));
  const filled = await startServer(t, folder, ['--demo']);
  const [, key] = await filled.printed(/\n {2}(petstore_[0-9A-Za-z_]+)\n/);
  assert.equal((await allNames(filled, key!)).size, 32);
  await filled.kill();
  rmSync(join(folder, 'keys.json'));
  const again = await startServer(t, folder, ['--demo']);
  const [, other] = await again.printed(/\n {2}(petstore_[0-9A-Za-z_]+)\n/);
  assert.equal((await allNames(again, other!)).size, 32);
});

test('petstore serve is the server, in the same process', async (t) => {
  const folder = temporaryFolder(t);
  const command = [process.execPath, cliPath, 'serve'];
  const help = await new Program(t, [...command, '--help']).ended;
  assert.match(help.stdout, /^Usage: node \S+cli\.js serve \[options\]\n/);
  assert.match((await petstore(t, folder, '--help')).stdout, /^  serve +run the server$/m);
  const server = await startServer(t, folder, ['--demo'], command);
  const second = await runServer(t, folder, [], command).ended;
  assert.equal(second.code, 1);
  assert.match(second.stderr, new RegExp(`^petstore: .+ in use by process ${server.child.pid} \\(server, .+\n$`));
  assert.deepEqual((await server.stop('SIGINT')).code, 0);
  const invalid = await runServer(t, folder, ['--base-path', '/shop'], command).ended;
  assert.deepEqual([invalid.code, invalid.stdout], [2, '']);
  const late = await new Program(t, [process.execPath, cliPath, '--data', folder, 'serve']).ended;
  assert.deepEqual([late.code, late.stderr], [2, 'petstore: serve must come before its flags; see --help\n']);
});

test('a start with --demo on a full disk is an error of one line, and the next one completes it', async (t) => {
  const folder = temporaryFolder(t);
  const full = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const { write } = fs;
    fs.write = (descriptor, bytes, start, length, position, done) => {
      if (!bytes.includes('"pet":')) return write(descriptor, bytes, start, length, position, done);
      const message = 'ENOSPC: no space left on device, write';
      setImmediate(done, Object.assign(new Error(message), { code: 'ENOSPC', syscall: 'write' }));
    };
    syncBuiltinESMExports();`;
  const command = [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(full)}`, serverPath];
  const { code, stdout, stderr } = await runServer(t, folder, ['--demo'], command).ended;
  assert.deepEqual([code, stdout], [1, '']);
  const [why, error, ...more] = stderr.split('\n');
  assert.match(why!, /^petstore: cannot write the journal of .*: ENOSPC: no space left on device; .*make room/);
  const advice = 'the line above says why; correct that, and start the server again with --demo';
  assert.equal(error, `petstore: cannot save the sample animals in ${folder}; ${advice}`);
  assert.deepEqual(more, ['']);
  const again = await startServer(t, folder, ['--demo']);
  const [, key] = await again.printed(/\n {2}(petstore_[0-9A-Za-z_]+)\n/);
  assert.equal((await allNames(again, key!)).size, 32);
});

test('without --demo the folder stays empty, and one line has the command that creates the first key', async (t) => {
  const folder = temporaryFolder(t);
  const server = await startServer(t, folder);
  const { stdout, stderr } = await server.stop();
  assert.equal(stdout, `petstore listening on ${server.address}\n`);
  const [, command] = /no valid API key; create one: (.+)\n/.exec(stderr)!;
  const made = await new Program(t, ['sh', '-c', command!]).ended;
  assert.match(made.stdout, /^petstore_[0-9A-Za-z]{36}\n$/);
  const again = await startServer(t, folder);
  assert.equal((await send(again.address, 'GET', '/v1/pets', { key: made.stdout.trimEnd() })).body, '[]');
});

test('a copy of dist/ alone runs with --demo; without its samples, --demo reports that in one line', async (t) => {
  const place = temporaryFolder(t);
  cpSync(distFolder, join(place, 'app'), { recursive: true });
  const copy = [process.execPath, join(place, 'app', 'server.js')];
  const run = (...args: string[]): Program => runServer(t, join(place, 'data'), args, copy);
  const samples = join(place, 'app', 'sample');
  renameSync(samples, `${samples}.away`);
  const demo = await run('--demo').ended;
  assert.deepEqual([demo.code, demo.stdout], [1, '']);
  assert.match(demo.stderr, /^petstore: cannot use \S+: ENOENT: [^'\n]+; check the path\n$/);
  assert.equal(existsSync(join(place, 'data')), false);
  renameSync(`${samples}.away`, samples);
  const server = run('--demo');
  const [, address] = await server.printed(/listening on (\S+)\n[^]*\/openapi\.json\n/);
  assert.equal((await send(address!, 'GET', '/openapi.json')).status, 200);
  assert.equal((await server.stop()).code, 0);
  const version = await run('--version').ended;
  assert.equal(
    version.stdout,
    `${(JSON.parse(readFileSync(join(distFolder, 'package.json'), 'utf8')) as { version: string }).version}\n`,
  );
});

test('the torn end of a journal is set aside with one line in the log, and the server starts', async (t) => {
  const folder = temporaryFolder(t);
  const key = await newKey(folder);
  const server = await startServer(t, folder);
  for (const name of ['a', 'b']) await create(server, key, name);
  await server.kill();
  const journal = journalOf(folder);
  const [lines] = readFileSync(journal, 'utf8').split('\0', 1); // zeros follow: the reserved space
  const torn = '{"seq":3,"durable":2,"pet":{"id":3,"na';
  writeFileSync(journal, `${lines}${torn}${'\0'.repeat(10_000)}`);

  const again = await startServer(t, folder);
  assert.deepEqual([...await allNames(again, key)], [[1, 'a'], [2, 'b']]);
  assert.equal(JSON.parse((await create(again, key, 'c')).body).id, 3);
  const { stderr } = await again.stop();
  assert.equal(stderr.split('\n').filter((line) => line.includes('the end was cut off')).length, 1);
  assert.equal(contents(folder)[`${journal.slice(folder.length + 1)}.torn-1`], torn);
  assert.equal((await allNames(await startServer(t, folder), key)).size, 3);
});

test('if the journal is damaged in the middle, the server names file and line and changes nothing', async (t) => {
  const folder = temporaryFolder(t);
  const key = await newKey(folder);
  const server = await startServer(t, folder);
  for (const name of ['a', 'b', 'c']) await create(server, key, name);
  await server.kill();
  const journal = journalOf(folder);
  const lines = readFileSync(journal, 'utf8').split('\n');
  const line = lines.findIndex((text) => text.includes('"name":"b"'));
  lines[line] = lines[line]!.replace('"name":"b"', '"name":"B"');
  writeFileSync(journal, lines.join('\n'));
  const before = contents(folder);
  const refused = await runServer(t, folder).ended;
  assert.deepEqual([refused.code, refused.stdout], [1, '']);
  assert.equal(refused.stderr.split('\n').length, 2);
  assert.ok(refused.stderr.startsWith(`petstore: ${journal}, line ${line + 1}: `), refused.stderr);
  assert.deepEqual(contents(folder), before);
});

test('if orders.json is invalid, the server refuses to start and names the line', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(
    join(folder, 'orders.json'),
    '[\n{"id":1,"petId":1,"quantity":1,"status":"placed","complete":false},\n'
      + '{"id":2,"petId":1,"quantity":0,"status":"placed","complete":false}\n]\n',
  );
  const { code, stderr } = await runServer(t, folder).ended;
  assert.equal(code, 1);
  assert.match(stderr, /^petstore: .+orders\.json, line 3: quantity must be .+\n$/);
});

test('a second server on a folder refuses to start and names the first; after a kill it starts', async (t) => {
  const folder = temporaryFolder(t);
  const first = await startServer(t, folder);
  const second = await runServer(t, folder).ended;
  assert.deepEqual([second.code, second.stdout], [1, '']);
  assert.match(second.stderr, /^petstore: the data folder .+\n$/);
  for (const part of [String(first.child.pid), first.address]) assert.ok(second.stderr.includes(part), second.stderr);
  await first.kill();
  await (await startServer(t, folder)).stop();
});

test('a port in use is one line and exit code 1', async (t) => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const { port } = taken.address() as { port: number };
  const { code, stderr } = await runServer(t, temporaryFolder(t), ['--port', String(port)]).ended;
  assert.equal(code, 1);
  assert.match(stderr, new RegExp(`^petstore: cannot listen on 127\\.0\\.0\\.1, port ${port} .*--port.*\n$`));
});

test('on a signal the server finishes requests under way, refuses new ones and exits with 0', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    const folder = temporaryFolder(t);
    const key = await newKey(folder);
    const server = await startServer(t, folder);
    const { port, hostname } = new URL(server.address);
    const [body, head] = ['{"name":"late","categoryId":1}', `Host: x\r\nAuthorization: Bearer ${key}\r\n`];
    const open = async (text: string): Promise<{ write: (more: string) => void; response: Promise<string> }> => {
      const socket = connect(Number(port), hostname);
      let received = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
      const response = once(socket, 'end').then(() => received);
      socket.write(text);
      return { write: (more) => socket.write(more), response };
    };
    // The body of one request and the head of another are incomplete. 100 Continue shows that the first has begun.
    const first = await open(
      `POST /v1/pets HTTP/1.1\r\n${head}Content-Type: application/json\r\n`
        + `Content-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
    );
    const second = await open(`GET /v1/pets HTTP/1.1\r\n${head}`);
    await send(server.address, 'GET', '/healthz');
    server.child.kill(signal);
    while ((await send(server.address, 'GET', '/healthz').catch(() => null)) !== null);
    second.write('\r\n');
    assert.match(await second.response, /^HTTP\/1\.1 503 [^]*"code":"shutting_down"/);
    first.write(body);
    assert.match(await first.response, /HTTP\/1\.1 201 [^]*Connection: close/i);
    assert.equal((await server.ended).code, 0, signal);
    assert.deepEqual([...(await allNames(await startServer(t, folder), key)).values()], ['late']);
  }
});

test('changes of keys apply to a running server from the next request on', async (t) => {
  const folder = temporaryFolder(t);
  const server = await startServer(t, folder);
  const status = async (key: string): Promise<number> =>
    (await send(server.address, 'GET', '/v1/pets', { key })).status;
  const key = await newKey(folder);
  assert.equal(await status(key), 200);
  const rotated = (await petstore(t, folder, 'keys', 'rotate', 'k1')).stdout.trimEnd();
  assert.deepEqual([await status(key), await status(rotated)], [200, 200]);
  await petstore(t, folder, 'keys', 'revoke', 'k1');
  assert.deepEqual([await status(key), await status(rotated)], [401, 401]);
});

test('on a full disk creates and /readyz are 503; with room again both recover, and nothing is lost', async (t) => {
  const folder = temporaryFolder(t);
  const key = await newKey(folder);
  // A limit on the size of files makes writes fail as a full disk does. A soft limit can be raised again.
  const limited = ['bash', '-c', 'ulimit -S -f 8; exec "$0" "$@"', process.execPath, serverPath];
  const server = await startServer(t, folder, [], limited);
  const { address } = server;
  const saved: string[] = [];
  let refused: HttpResponse | null = null;
  for (let i = 0; refused === null; i++) {
    const response = await create(server, key, `animal ${i} ${'x'.repeat(500)}`);
    if (response.status === 201) saved.push(`animal ${i}`);
    else refused = response;
  }
  assert.deepEqual(
    [refused.status, codeOf(refused), refused.headers.has('retry-after')],
    [503, 'storage_unavailable', true],
  );
  const notReady = await send(address, 'GET', '/readyz');
  assert.deepEqual([notReady.status, codeOf(notReady)], [503, 'not_ready']);
  assert.equal((await send(address, 'GET', '/healthz')).status, 200);
  assert.equal((await allNames(server, key)).size, saved.length);
  const raised = await new Program(t, ['prlimit', '--pid', String(server.child.pid), '--fsize=unlimited']).ended;
  if (raised.code !== 0) return t.diagnostic('prlimit is not installed: recovery was not tried');
  assert.equal((await create(server, key, 'after')).status, 201);
  assert.equal((await send(address, 'GET', '/readyz')).status, 200);
  await server.kill();
  const names = [...(await allNames(await startServer(t, folder), key)).values()];
  assert.deepEqual(names.map((name) => name.slice(0, 9).trim()), [...saved.map((name) => name.slice(0, 9)), 'after']);
});

test('an unusable data folder is one line', async (t) => {
  const place = temporaryFolder(t);
  writeFileSync(join(place, 'file'), '');
  mkdirSync(join(place, 'x'));
  for (const folder of [
    join(place, 'file'),
    join(place, 'file', 'below'),
    '/proc/petstore',
    join(place, 'x'.repeat(120)),
  ]) {
    const { code, stderr, stdout } = await runServer(t, folder).ended;
    assert.deepEqual([code, stdout, stderr.split('\n').length], [1, '', 2], stderr);
    assert.match(stderr, /^petstore: .+data folder/);
  }
});

test('after a clean stop all animals are in one JSON document, one per line', async (t) => {
  const folder = temporaryFolder(t);
  const key = await newKey(folder);
  const server = await startServer(t, folder);
  for (const name of ['a', 'b']) await create(server, key, name);
  await server.stop();
  const text = readFileSync(join(folder, 'pets.json'), 'utf8');
  const { pets } = JSON.parse(text) as { pets: unknown[] };
  assert.deepEqual(
    pets,
    ['a', 'b'].map((name, index) => ({ id: index + 1, name, categoryId: 1, status: 'available' })),
  );
  assert.ok(text.includes('\n{"id":2,"name":"b","categoryId":1,"status":"available"}\n'));
  const again = await startServer(t, folder);
  assert.equal(JSON.parse((await create(again, key, 'c')).body).id, 3);
});

test('with --trust-proxy the address is taken from X-Forwarded-For', async (t) => {
  const left = async (server: RunningServer, address: string): Promise<string | undefined> =>
    (await send(server.address, 'GET', '/healthz', { headers: { 'x-forwarded-for': address } })).headers.get(
      'x-ratelimit-remaining',
    );
  for (const [args, seen] of [[['--trust-proxy', '1'], '60'], [[], '59']] as const) {
    const remaining = await withinMinute(async () => {
      const server = await startServer(t, temporaryFolder(t), args);
      await send(server.address, 'GET', '/v1/pets', { headers: { 'x-forwarded-for': '203.0.113.7' } });
      return left(server, '203.0.113.8');
    });
    assert.equal(remaining, seen);
  }
});

test('the built server has its reference page, unless it is started with --no-docs', async (t) => {
  const servers = [[], ['--no-docs']].map((flags) => startServer(t, temporaryFolder(t), flags));
  const [on, off] = await Promise.all(servers);
  const { status, headers, body } = await send(on!.address, 'GET', '/', { headers: { accept: 'text/html' } });
  assert.deepEqual([status, headers.get('content-type')], [200, 'text/html; charset=utf-8']);
  assert.equal(body, readFileSync(join(distFolder, 'page.html'), 'utf8'));
  assert.match(body, /<style>[^<]{1000,}<\/style>[^]*<script type="module">.{1000,}<\/script>/s);
  assert.ok(Buffer.byteLength(body) < 40_000, `${Buffer.byteLength(body)} bytes`);
  assert.equal((await send(off!.address, 'GET', '/docs')).status, 404);
});
