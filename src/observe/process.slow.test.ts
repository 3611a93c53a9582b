/** The log and the metrics of the built server, as a process with a real stderr. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { certificateFlags, makeCertificate } from '../../harness/certificates.ts';
import { temporaryFolder } from '../../harness/owner.ts';
import { Program } from '../../harness/program.ts';
import { cliPath, makeKey, runServer, serverPath, startServer, type RunningServer } from '../../harness/server.ts';
import { send } from '../testing/service.ts';

interface Line {
  readonly time: string;
  readonly level: string;
  readonly message: string;
  readonly [field: string]: unknown;
}

/** The lines of a log in JSON. Each must be a whole one. */
function linesOf(stderr: string): Line[] {
  assert.ok(stderr === '' || stderr.endsWith('\n'));
  return stderr.split('\n').slice(0, -1).map((text) => {
    const line = JSON.parse(text) as Line;
    assert.deepEqual(Object.keys(line).slice(0, 3), ['time', 'level', 'message']);
    assert.equal(new Date(line.time).toISOString(), line.time);
    return line;
  });
}

/** Starts the server with a log in JSON, as a service manager does. */
const startJson = (...[owner, folder, flags, command]: Parameters<typeof startServer>): Promise<RunningServer> =>
  startServer(owner, folder, flags, command, { LOG_FORMAT: '' });

async function metricsAddress(server: RunningServer): Promise<string> {
  return (await server.printed(/(http:\/\/[^"]+\/metrics)/, 'stderr'))[1]!;
}

test('events and requests are JSON lines in one order, and the last are written before the process ends', async (t) => {
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder);
  const server = await startJson(t, folder, ['--access-log']);
  for (let i = 0; i < 20; i++) await send(server.address, 'GET', `/v1/pets?i=${i}`, { key });
  const { code, stdout, stderr } = await server.stop();
  assert.deepEqual([code, stdout], [0, `petstore listening on ${server.address}\n`]);
  const [start, ...requests] = linesOf(stderr);
  assert.deepEqual([start!.message, start!.level, start!['animals']], [`0 animals in ${folder}`, 'info', 0]);
  assert.deepEqual(requests.map(({ message, status, key: id }) => [message, status, id]),
    Array.from({ length: 20 }, () => ['request', 200, 'k1']));
  assert.ok(!stderr.includes(key.slice(9)), 'the secret is in the log');
  const times = [start!, ...requests].map(({ time }) => time);
  assert.deepEqual(times, times.toSorted());
});

test('the access log is off by default and on with --demo', async (t) => {
  for (const [flags, count] of [[[], 0], [['--demo'], 1]] as const) {
    const server = await startJson(t, temporaryFolder(t), flags);
    await send(server.address, 'GET', '/healthz');
    assert.equal(linesOf((await server.stop()).stderr).filter(({ message }) => message === 'request').length, count);
  }
});

test('by default the log is JSON in a file and text on a terminal', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'log');
  const command = ['sh', '-c', `exec "$0" "$@" 2>${file}`, process.execPath, serverPath];
  const server = await startJson(t, join(folder, 'data'), ['--access-log'], command);
  await send(server.address, 'GET', '/healthz');
  assert.equal((await server.stop()).code, 0);
  assert.deepEqual(linesOf(readFileSync(file, 'utf8')).map(({ path }) => path), [undefined, undefined, '/healthz']);

  if (spawnSync('script', ['--version']).error !== undefined) return t.diagnostic('no terminal: there is no script(1)');
  const line = `'${process.execPath}' '${serverPath}' --port 0 --data '${join(folder, 'data')}' --access-log`;
  const terminal = new Program(t, ['script', '-qfec', line, '/dev/null']);
  const [, address] = await terminal.printed(/listening on (http:\S+)\r?\n/);
  await send(address!, 'GET', '/healthz');
  await terminal.printed(/Z [\w-]+ - 127\.0\.0\.1 GET "\/healthz" 200 15 B \S+ ms\r?\n/);
  assert.match(terminal.stdout, /petstore: 0 animals in /);
});

test('an error at a start is one line in the format of the log', async (t) => {
  const json = await runServer(t, '/dev/null/x', [], undefined, { LOG_FORMAT: '' }).ended;
  const [line, ...more] = linesOf(json.stderr);
  assert.deepEqual([json.code, line!.level, more], [1, 'error', []]);
  const text = await runServer(t, '/dev/null/x', ['--log-format', 'text'], undefined, { LOG_FORMAT: '' }).ended;
  assert.match(text.stderr, /^petstore: [^\n]+\n$/);
  const taken = await startServer(t, temporaryFolder(t), ['--metrics', '127.0.0.1:0']);
  const [, port] = /:(\d+)\/metrics/.exec(await metricsAddress(taken))!;
  const refused = await runServer(t, temporaryFolder(t), ['--metrics', `127.0.0.1:${port}`]).ended;
  assert.equal(refused.code, 1);
  const message = new RegExp(`^petstore: cannot serve metrics on 127\\.0\\.0\\.1, port ${port} .*--metrics\n$`);
  assert.match(refused.stderr, message);
});

const throwing = `data:text/javascript,process.on('SIGUSR2', () => { throw new Error('a\\nbug') })`;

test('a bug that ends the server is one line: the last of a pipe, and one of a file', async (t) => {
  const server = await startJson(t, temporaryFolder(t), [], [process.execPath, '--import', throwing, serverPath]);
  const { code, stderr } = await server.stop('SIGUSR2');
  assert.deepEqual([code, server.child.signalCode], [null, 'SIGKILL']);
  const bug = /^the server ends because of a bug: Error: a\nbug\n/;
  assert.match(linesOf(stderr).at(-1)!.message, bug);

  const file = join(temporaryFolder(t), 'log');
  const toFile = ['sh', '-c', `exec "$0" "$@" 2>${file}`, process.execPath, '--import', throwing, serverPath];
  const logging = await startJson(t, temporaryFolder(t), [], toFile);
  await logging.stop('SIGUSR2');
  assert.equal(logging.child.signalCode, 'SIGKILL');
  // A write under way may end after it.
  assert.equal(linesOf(readFileSync(file, 'utf8')).filter(({ message }) => bug.test(message)).length, 1);
});

test('a bug ends the server also if it is the first process of a container', async (t) => {
  const unshare = ['unshare', '--pid', '--fork', '--kill-child'];
  const { code, stderr } = await new Program(t, [...unshare, 'true']).ended;
  if (code !== 0) return t.skip(`a process namespace cannot be made: ${stderr.trimEnd()}`);
  const node = [process.execPath, '--import', throwing, serverPath];
  const command = ['sh', '-c', 'ulimit -c 0; exec "$0" "$@"', ...unshare, ...node]; // without a core file
  const server = await startJson(t, temporaryFolder(t), [], command);
  const { pid } = server.child;
  process.kill(Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')), 'SIGUSR2');
  const ended = await server.ended; // otherwise it would respond for ever
  assert.match(ended.stderr, /"message":"the server ends because of a bug: /);
});

test('a log that cannot be written to its file does not keep the server from ending', async (t) => {
  const hanging = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const { write } = fs;
    fs.write = (descriptor, ...rest) => descriptor === 2 ? undefined : write(descriptor, ...rest);
    syncBuiltinESMExports();`;
  const preload = `data:text/javascript,${encodeURIComponent(hanging)}`;
  const toFile = ['sh', '-c', 'exec "$0" "$@" 2>/dev/null', process.execPath, '--import', preload, serverPath];
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder);
  const server = await startJson(t, folder, [], toFile);
  await send(server.address, 'POST', '/v1/pets', { key, body: '{"name":"a","categoryId":1}' });
  await server.stop();
  // process.exit would wait for the write. Everything else is saved then.
  assert.equal(server.child.signalCode, 'SIGKILL');
  assert.match(readFileSync(join(folder, 'pets.json'), 'utf8'), /"count":1/);
});

test('lines that a full disk does not take are counted, and the log goes on when there is room', async (t) => {
  const disk = temporaryFolder(t);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=100k', 'tmpfs', disk], { encoding: 'utf8' });
  if (mounted.status !== 0) return t.skip(`a tmpfs cannot be mounted: ${mounted.stderr}`);
  try {
    const [file, other] = [join(disk, 'log'), join(disk, 'other')];
    writeFileSync(other, Buffer.alloc(50_000));
    const toFile = ['sh', '-c', `exec "$0" "$@" 2>>${file}`, process.execPath, serverPath];
    const server = await startJson(t, temporaryFolder(t), ['--access-log', '--metrics', '127.0.0.1:0'], toFile);
    const metrics = /http:[^"]+\/metrics/.exec(readFileSync(file, 'utf8'))![0];
    const dropped = async (): Promise<number> =>
      Number(/^petstore_log_lines_dropped_total (\d+)$/m.exec(await (await fetch(metrics)).text())![1]);
    let sent = 0;
    for (; (await dropped()) === 0; sent++) await send(server.address, 'GET', `/healthz?${sent}`);
    rmSync(other);
    const isNoticed = (): boolean => / missing here, because /.test(readFileSync(file, 'utf8')); // one line, or more
    while (!isNoticed()) await send(server.address, 'GET', `/${sent++}`);
    assert.equal((await server.stop()).code, 0);
    const parsed = readFileSync(file, 'utf8').split('\n').slice(0, -1).map((line) => {
      try {
        return JSON.parse(line) as Line;
      } catch {
        return null; // the line that was being written when the disk became full
      }
    });
    const missing = parsed.reduce((sum, line) => sum + Number(line?.['lines'] ?? 0), 0);
    const requests = parsed.filter((line) => line?.message === 'request').length;
    assert.equal(requests + missing, sent);
    assert.ok(parsed.filter((line) => line === null).length <= 1);
  } finally {
    spawnSync('umount', [disk]);
  }
});

test('petstore serve logs in its own format that stdout cannot be written', async (t) => {
  if (!existsSync('/dev/full')) return t.skip('there is no /dev/full');
  for (const program of [[cliPath, 'serve'], [serverPath]]) {
    const command = ['sh', '-c', 'exec "$0" "$@" >/dev/full', process.execPath, ...program];
    const { code, stderr } = await runServer(t, temporaryFolder(t), [], command, { LOG_FORMAT: '' }).ended;
    assert.equal(code, 1);
    assert.match(linesOf(stderr).map(({ message }) => message).join('\n'), /^cannot write to stdout: ENOSPC/m);
  }
});

test('a reader that stands still stops neither the server nor its end; what is missing is counted', async (t) => {
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder, 'enterprise', '--per-minute', '1000000', '--per-day', '1000000');
  const flags = ['--access-log', '--metrics', '127.0.0.1:0'];
  const server = await startJson(t, folder, flags);
  const metrics = await metricsAddress(server);
  const dropped = async (): Promise<number> => {
    const text = await (await fetch(metrics)).text();
    return Number(/^petstore_log_lines_dropped_total (\d+)$/m.exec(text)![1]);
  };
  server.child.stderr.pause();
  const path = `/v1/pets?${'x'.repeat(12_000)}`; // not logged, but the path that is logged is a part of this string
  let sent = 0;
  // A pipe takes 64 KB, about 340 lines, then 1 MiB waits in the process, about 85 of these requests.
  for (; (await dropped()) === 0; sent += 10) {
    await Promise.all(Array.from({ length: 10 }, () => send(server.address, 'GET', path, { key })));
    assert.ok(sent < 2_000, 'the log has a limit');
  }
  const missing = await dropped();
  server.child.stderr.resume();
  await server.printed(/ missing here, because/, 'stderr');
  await send(server.address, 'GET', '/healthz');
  const { code, stderr } = await server.stop();
  assert.equal(code, 0);
  const lines = linesOf(stderr);
  const notices = lines.filter(({ message }) => /^\d+ lines? of this log (is|are) missing/.test(message));
  const logged = lines.filter(({ message }) => message === 'request');
  assert.equal(notices.reduce((sum, { lines: count }) => sum + Number(count), 0), missing);
  assert.equal(logged.length + missing, sent + 1);
  assert.equal(logged.at(-1)!['path'], '/healthz');

  const still = await startJson(t, folder, flags);
  const stillMetrics = await metricsAddress(still);
  still.child.stderr.pause();
  while (Number(/^petstore_log_lines_dropped_total (\d+)$/m.exec(await (await fetch(stillMetrics)).text())![1]) === 0) {
    await Promise.all(Array.from({ length: 10 }, () => send(still.address, 'GET', path, { key })));
  }
  still.child.kill('SIGTERM');
  const [exitCode] = (await once(still.child, 'exit')) as [number];
  assert.equal(exitCode, 0);
});

test('a reader that has gone does not end the server', async (t) => {
  const server = await startJson(t, temporaryFolder(t), ['--access-log']);
  server.child.stderr.destroy();
  for (let i = 0; i < 300; i++) assert.equal((await send(server.address, 'GET', '/healthz')).status, 200);
  server.child.kill('SIGTERM');
  const [exitCode] = (await once(server.child, 'exit')) as [number];
  assert.equal(exitCode, 0);
});

test('the metrics add up, promtool accepts them, and they are on their own address', async (t) => {
  const folder = temporaryFolder(t);
  const server = await startServer(t, folder, ['--demo', '--metrics', '127.0.0.1:0']);
  const [, key] = await server.printed(/\n {2}(petstore_[0-9A-Za-z_]+)\n/);
  const address = await metricsAddress(server);
  for (let i = 0; i < 5; i++) await send(server.address, 'GET', '/v1/pets', { key: key! });
  await send(server.address, 'POST', '/v1/pets', { key: key!, body: '{"name":"a","categoryId":1}' });
  await send(server.address, 'GET', '/v1/pets');
  const response = await fetch(address);
  const text = await response.text();
  assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
  const value = (name: string): number => {
    const line = text.split('\n').find((one) => one.startsWith(`${name} `));
    return line === undefined ? NaN : Number(line.slice(name.length + 1));
  };
  assert.equal(value('petstore_http_requests_total{operation="listPets",status="200"}'), 5);
  assert.equal(value('petstore_http_requests_total{operation="listPets",status="401"}'), 1);
  assert.equal(value('petstore_http_request_duration_seconds_count{operation="createPet"}'), 1);
  assert.equal(value('petstore_connections_accepted_total'), 7);
  assert.deepEqual([value('petstore_animals'), value('petstore_orders'), value('petstore_ready')], [33, 8, 1]);
  assert.equal(value('petstore_journal_last_record'), 33);
  assert.ok(value('petstore_journal_last_sync_duration_seconds') > 0);
  assert.ok(value('petstore_journal_bytes') > 33 * 50);
  assert.equal(value('petstore_journal_failures_total') + value('petstore_snapshot_failures_total'), 0);
  assert.ok(value('process_resident_memory_bytes') > 1e7);
  assert.ok(Math.abs(value('process_start_time_seconds') - Date.now() / 1000) < 120);
  assert.ok(value('process_cpu_seconds_total') > 0);
  assert.ok(value('petstore_event_loop_delay_seconds{stat="max"}') >= 0);
  if (process.platform === 'linux') assert.ok(value('process_open_fds') > 3 && value('process_max_fds') > 100);
  assert.ok(!text.includes(key!) && !text.includes('NaN') && !text.includes('undefined'));

  const withTls = await startServer(t, temporaryFolder(t), [
    '--metrics', '127.0.0.1:0', ...certificateFlags(temporaryFolder(t), makeCertificate()),
  ]);
  const tlsText = await (await fetch(await metricsAddress(withTls))).text();
  const namesIn = (metrics: string): string[] => [...metrics.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => name!);
  const served = namesIn(tlsText);
  const onlyWithTls = served.filter((name) => name.startsWith('petstore_tls_'));
  assert.deepEqual(namesIn(text).toSorted(), served.filter((name) => !onlyWithTls.includes(name)).toSorted());
  assert.equal(onlyWithTls.length, 2);
  const guide = readFileSync(new URL('../../docs/monitoring.md', import.meta.url), 'utf8');
  const table = guide.slice(guide.indexOf('| metric |'), guide.indexOf('- `operation` is'));
  const described = [...table.matchAll(/`((?:petstore|process)_\w+)/g)].map(([, name]) => name!);
  if (process.platform === 'linux') assert.deepEqual(served.toSorted(), described.toSorted());

  assert.equal((await fetch(address, { method: 'HEAD' })).status, 200);
  assert.equal((await fetch(address, { method: 'POST' })).status, 405);
  assert.equal((await fetch(address.replace('/metrics', '/'))).status, 404);
  assert.equal((await send(server.address, 'GET', '/metrics')).status, 404);
  try {
    for (const input of [text, tlsText]) {
      execFileSync('promtool', ['check', 'metrics'], { input, stdio: ['pipe', 'pipe', 'pipe'] });
    }
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: string; stdout?: Buffer; stderr?: Buffer };
    if (code === 'ENOENT') t.diagnostic("promtool of Debian's package prometheus is not installed: it was not asked");
    else assert.fail(`promtool: ${stdout}${stderr}`);
  }
});
