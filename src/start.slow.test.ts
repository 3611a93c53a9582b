/** A start with many animals, which a test makes as slow as it needs: see testing/slow-reads.mjs. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../harness/owner.ts';
import { Program, type Ended } from '../harness/program.ts';
import { makeKey, petstore, runServer, serverPath, startServer } from '../harness/server.ts';
import { sendMessage } from './file-engine/lock/channel.ts';
import type { Holder } from './file-engine/lock/folder-lock.ts';
import type { Status } from './file-engine/lock/status-client.ts';
import { petLine } from './domain/pet.ts';
import { storeIdOf } from './file-engine/files/store-id.ts';
import { encodeMarker } from './file-engine/store/journal-format.ts';
import { LineTable } from './file-engine/store/line-table.ts';
import { writeSnapshot } from './file-engine/store/snapshot.ts';
import { certificateFlags, makeCertificate } from '../harness/certificates.ts';
import { codeOf } from './testing/http-response.ts';
import { send } from './testing/service.ts';

const animals = 300_000;
const preload = fileURLToPath(new URL('testing/slow-reads.mjs', import.meta.url));
const command = [process.execPath, '--import', preload, serverPath];

/** Returns a data folder with many animals and a key, and the file that makes starts slow. */
async function slowFolder(t: TestContext): Promise<{ folder: string; key: string; slow: string }> {
  const folder = temporaryFolder(t);
  const table = new LineTable();
  for (let id = 1; id <= animals; id++) {
    table.append(Buffer.from(petLine(id, { name: `animal ${id}`, categoryId: 1n, status: 'sold' })), 'sold');
  }
  const store = storeIdOf(folder);
  await writeSnapshot(join(folder, 'pets.json'), table, { store, sequence: animals, lastId: animals });
  writeFileSync(join(folder, `pets.${animals + 1}.journal`), encodeMarker(animals, store));
  const key = await makeKey(t, folder);
  const slow = join(temporaryFolder(t), 'slow');
  writeFileSync(slow, '');
  return { folder, key, slow };
}

/** Starts a server on such a folder, and waits until it listens. */
async function startSlowly(t: TestContext, folder: string, slow: string, flags: readonly string[] = []) {
  const server = runServer(t, folder, flags, command, { SLOW_READS: slow });
  for (;;) {
    const lock = readdirSync(folder).find((name) => /^lock\.\d+$/.test(name));
    const sent = sendMessage(join(folder, lock ?? ''), { op: 'who' }, 5_000);
    const { pid, address } = ((await sent.catch(() => null)) ?? {}) as Partial<Holder>;
    if (pid === server.child.pid && address) return { server, address }; // not of the start before
    await delay(10);
  }
}

/** Returns how a server ended. The lines about its progress, one each 10 s, and about 503s are left out of its log. */
async function endOf(server: Program): Promise<Ended> {
  const { code, stdout, stderr } = await server.ended;
  const omitted = /^petstore: (reading the animals: \d+ %|request \S+ was refused with 503 .*|\d+ more .*)\n/gm;
  return { code, stdout, stderr: stderr.replace(omitted, '') };
}

async function statusOf(t: TestContext, folder: string): Promise<Status> {
  const { code, stdout, stderr } = await petstore(t, folder, 'status', '--json');
  assert.deepEqual([code, stderr], [0, '']);
  return JSON.parse(stdout) as Status;
}

/** Returns the contents of the files with animals. */
function petFiles(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith('pets.')).sort()
    .map((name) => name + readFileSync(join(folder, name), 'latin1'));
}

test('while the animals are read, requests are refused, commands work, and the progress grows', async (t) => {
  const { folder, key, slow } = await slowFolder(t);
  const { server, address } = await startSlowly(t, folder, slow);
  const status = async (path: string, sent: string | null = null): Promise<string> => {
    const response = await send(address, 'GET', path, { key: sent });
    return response.status === 200 ? '200' : `${response.status} ${codeOf(response)}`;
  };
  assert.equal(await status('/v1/pets'), '401 missing_api_key');
  assert.equal(await status('/v1/pets', key), '503 not_ready');
  assert.equal(await status('/healthz'), '200');
  assert.equal(await status('/openapi.json'), '200');
  for (let percent = 0; percent < 2; ) {
    const { status, body } = await send(address, 'GET', '/readyz');
    assert.equal(status, 503);
    ({ percent } = JSON.parse(body) as { percent: number });
  }

  const made = await makeKey(t, folder);
  assert.equal(await status('/v1/pets', made), '503 not_ready');
  const rotated = await petstore(t, folder, 'keys', 'rotate', 'k1', '--grace', '0s');
  assert.equal(rotated.code, 0, rotated.stderr);
  assert.equal(await status('/v1/pets', key), '401 invalid_api_key');
  assert.equal(JSON.parse((await petstore(t, folder, 'keys', 'list', '--json')).stdout).length, 2);
  assert.match((await petstore(t, folder, 'usage')).stdout, /^k1 .* 0 of 1000 .*\nk2 .* 0 of 1000 /m);
  const { state, percent, pid, ...rest } = await statusOf(t, folder);
  assert.deepEqual([state, pid, rest.address, rest.journal], ['starting', server.child.pid, address, null]);
  assert.ok(percent >= 2 && percent < 100, `${percent}`);
  assert.equal(rest.since, rest.startedAt);

  assert.equal(server.stdout, '', 'the address line is printed when the animals are there');
  rmSync(slow);
  await server.printed(/^petstore listening on http:\S+\n$/);
  assert.equal(await status('/readyz'), '200');
  for (const secret of [made, rotated.stdout.trimEnd()]) assert.equal(await status('/v1/pets', secret), '200');
  const after = `/v1/pets?after=${animals - 1}`;
  assert.equal(JSON.parse((await send(address, 'GET', after, { key: made })).body)[0].name, `animal ${animals}`);
  server.child.kill();
  const { code, stderr } = await endOf(server);
  assert.deepEqual([code, stderr], [0, `petstore: ${animals} animals in ${folder}\n`]);
});

test('while the animals are read, backup, export, verify and salvage work, and import is refused', async (t) => {
  const { folder, slow } = await slowFolder(t);
  const parent = temporaryFolder(t);
  const [backup, exported] = ['backup', 'exported'].map((name) => join(parent, name));
  const { server } = await startSlowly(t, folder, slow);
  for (const [command, message] of [
    [['backup', backup!], `wrote a backup with ${animals} animals to ${backup}\n`],
    [['export', exported!], `exported ${animals} animals to ${exported}\n`],
  ] as const) {
    const { code, stderr } = await petstore(t, folder, ...command);
    assert.deepEqual([code, stderr], [0, message]);
  }
  assert.equal(readFileSync(exported!, 'utf8').split('\n').length, animals + 1);
  const orders = await petstore(t, folder, 'export', '--orders', '--format', 'json');
  assert.deepEqual([orders.code, orders.stdout], [0, '[]\n']);

  const imported = performance.now();
  const { code, stderr } = await petstore(t, folder, 'import', join(folder, 'pets.json'));
  assert.equal(code, 1);
  assert.match(stderr, /^petstore: \S+ is in use by process \d+ \(server, [^\n]+; stop it before an import\n$/);
  t.diagnostic(`the import was refused after ${Math.round(performance.now() - imported)} ms`);
  for (const path of [folder, backup!]) {
    const verified = await petstore(t, path, 'verify');
    assert.deepEqual([verified.code, verified.stderr], [0, '']);
    assert.match(verified.stdout, new RegExp(`^pets\\.json: ${animals} animals`, 'm'));
  }
  const salvaged = await petstore(t, folder, 'salvage', join(parent, 'salvaged'));
  assert.deepEqual([salvaged.code, salvaged.stderr.split(' key')[0]], [0, `copied ${animals} animals, 1`]);

  assert.equal(server.stdout, '', 'the animals are still being read');
  rmSync(slow);
  await server.printed(/^petstore listening on http:\S+\n$/);
  assert.equal((await statusOf(t, folder)).state, 'ready');
});

test('commands work while many orders are read, before the server listens', async (t) => {
  const folder = temporaryFolder(t);
  await makeKey(t, folder);
  const count = 5_000;
  const order = (id: number): string => `{"id":${id},"petId":1,"quantity":1,"status":"placed","complete":true}`;
  writeFileSync(join(folder, 'orders.json'), `[${Array.from({ length: count }, (_, i) => order(i + 1)).join()}]`);
  const gate = join(temporaryFolder(t), 'gate');
  writeFileSync(gate, '');
  const preload = `
    import { existsSync } from 'node:fs';
    import promises from 'node:timers/promises';
    import { syncBuiltinESMExports } from 'node:module';
    const { setImmediate, setTimeout: delay } = promises;
    promises.setImmediate = async () => {
      while (existsSync(${JSON.stringify(gate)})) await delay(10);
      await setImmediate();
    };
    syncBuiltinESMExports();`;
  const node = [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(preload)}`];
  const server = runServer(t, folder, [], [...node, serverPath]);
  let ended = await petstore(t, folder, 'status', '--json');
  while (JSON.parse(ended.stdout).state === 'stopped') ended = await petstore(t, folder, 'status', '--json');
  const { state, percent, address, orders, connections } = JSON.parse(ended.stdout) as Status;
  assert.deepEqual([state, percent, address, orders, connections.open], ['starting', 0, null, 0, 0]);
  assert.match((await petstore(t, folder, 'status')).stdout, /^address      none yet$/m);
  await makeKey(t, folder);
  assert.equal(JSON.parse((await petstore(t, folder, 'keys', 'list', '--json')).stdout).length, 2);
  const imported = await petstore(t, folder, 'import', gate);
  assert.match(imported.stderr, / \(server, since \S+\); stop it before an import\n$/);
  rmSync(gate);
  await server.printed(/^petstore listening on http:\S+\n$/);
  assert.equal((await statusOf(t, folder)).orders, count);
  assert.equal((await server.stop()).code, 0);
});

test('with TLS, SIGHUP reads the certificate again during the start', async (t) => {
  const { folder, slow } = await slowFolder(t);
  const place = temporaryFolder(t);
  const [first, second] = [makeCertificate(), makeCertificate()];
  const { server, address } = await startSlowly(t, folder, slow, certificateFlags(place, first));
  const served = async (): Promise<string> => {
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(address).port), rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerX509Certificate()!.toString();
    socket.destroy();
    return certificate;
  };
  assert.equal(await served(), first.cert);
  certificateFlags(place, second);
  server.child.kill('SIGHUP');
  await server.printed(/cert\.pem again/, 'stderr');
  assert.equal(await served(), second.cert);
  assert.equal(server.stdout, '');
  rmSync(slow);
  await server.printed(/^petstore listening on https:\S+\n$/);
  assert.equal(await served(), second.cert);
  assert.equal((await server.stop()).code, 0);
});

test('a signal ends the start, and nothing has changed', async (t) => {
  const { folder, slow } = await slowFolder(t);
  const before = petFiles(folder);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const { server } = await startSlowly(t, folder, slow);
    server.child.kill(signal);
    assert.deepEqual(await endOf(server), { code: 0, stdout: '', stderr: '' });
    assert.deepEqual(petFiles(folder), before);
  }
  const { stderr } = await (await startServer(t, folder)).stop();
  assert.equal(stderr, `petstore: ${animals} animals in ${folder}\n`);
});

test('a start on a damaged store ends with one line, after it has listened', async (t) => {
  const { folder, slow } = await slowFolder(t);
  const path = join(folder, 'pets.json');
  writeFileSync(path, readFileSync(path, 'utf8').replace(`"name":"animal ${animals}"`, '"name":"animal x"'));
  const before = petFiles(folder);
  const { server, address } = await startSlowly(t, folder, slow);
  assert.equal((await send(address, 'GET', '/healthz')).status, 200);
  rmSync(slow);
  const { code, stdout, stderr } = await endOf(server);
  assert.deepEqual([code, stdout], [1, '']);
  const line = `line ${animals + 1}: the line does not match its checksum`;
  assert.match(stderr, new RegExp(`^petstore: \\S+pets\\.json, ${line} [^\n]+\n$`));
  assert.deepEqual(petFiles(folder), before);
});

test('a port in use is reported before the animals are read', async (t) => {
  const { folder, slow } = await slowFolder(t);
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(() => taken.close());
  const { port } = taken.address() as { port: number };
  const server = runServer(t, folder, ['--port', String(port)], command, { SLOW_READS: slow });
  const { code, stderr } = await server.ended; // otherwise the start would take minutes
  assert.equal(code, 1);
  assert.match(stderr, /^petstore: cannot listen on [^\n]+\n$/);
});

test('on a terminal the start shows a bar, and removes it', async (t) => {
  const { folder, slow } = await slowFolder(t);
  const line = [...command, '--port', '0', '--data', folder].map((word) => `'${word}'`).join(' ');
  const server = new Program(t, ['script', '-qec', `exec ${line}`, '/dev/null'], { SLOW_READS: slow });
  const shown = await server.printed(/reading the animals \[#?-+\] [0-9] %/).catch(() => null);
  if (shown === null) return t.skip('script (util-linux) is not installed');
  rmSync(slow);
  await server.printed(/\x1b\[Kpetstore listening on http:\S+\r\n/);
  await server.printed(/animals in /);
  server.child.stdin.write('\x03');
  assert.equal((await server.ended).code, 0);
});
