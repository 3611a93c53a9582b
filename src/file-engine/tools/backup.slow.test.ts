/** Backups of a running server, under load and with kills. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { temporaryFolder } from '../../../harness/owner.ts';
import { Program } from '../../../harness/program.ts';
import { cliPath, makeKey, petstore, startServer } from '../../../harness/server.ts';
import { petLine } from '../../domain/pet.ts';
import { LineTable } from '../store/line-table.ts';
import { PetStore } from '../store/pet-store.ts';
import { writeSnapshot } from '../store/snapshot.ts';

const stored = 200_000;

/** Creates a data folder with many animals. */
async function makeStore(folder: string): Promise<void> {
  const table = new LineTable();
  for (let id = 1; id <= stored; id++) {
    table.append(Buffer.from(petLine(id, { name: `n${id}`, categoryId: 1n, status: 'sold' })), 'sold');
  }
  mkdirSync(folder);
  await writeSnapshot(join(folder, 'pets.json'), table, { store: 'ab'.repeat(16), sequence: stored, lastId: stored });
}

test('a backup under load contains everything acknowledged before it began, and is a store', async (t) => {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'store');
  await makeStore(folder);
  const server = await startServer(t, folder);
  const secret = await makeKey(t, folder, 'enterprise', '--per-minute', '10000000', '--per-day', '10000000');
  const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' };
  const acknowledged: string[] = [];
  let stopped = false;
  // node:http, because fetch takes more CPU time than the server, which then gets too few creates.
  const agent = new Agent({ keepAlive: true });
  const create = (): Promise<IncomingMessage> => new Promise((resolve, reject) => {
    const message = request(`${server.address}/v1/pets`, { method: 'POST', headers, agent }, resolve);
    message.on('error', reject).end('{"name":"Rex","categoryId":1}');
  });
  const client = async (): Promise<void> => {
    while (!stopped) {
      const response = await create();
      assert.equal(response.statusCode, 201);
      acknowledged.push(await text(response));
    }
  };
  const startedAt = performance.now();
  const clients = Array.from({ length: 32 }, client);
  while (acknowledged.length < 500) await nextTurn();
  const backups = [];
  for (const name of ['one', 'two']) {
    const before = [...acknowledged];
    const { code, stderr } = await petstore(t, folder, 'backup', join(parent, name));
    assert.equal(code, 0, stderr);
    backups.push({ name, before, during: acknowledged.length - before.length });
  }
  const rate = (acknowledged.length / (performance.now() - startedAt)) * 1000;
  stopped = true;
  await Promise.all(clients);
  agent.destroy();
  await server.stop();
  const during = backups.map((backup) => backup.during).join(' and ');
  t.diagnostic(`${rate.toFixed(0)} creates a second; ${during} during the backups`);

  for (const { name, before } of backups) {
    const restored = join(parent, `restored-${name}`);
    const { code, stderr } = await petstore(t, restored, 'restore', join(parent, name));
    assert.equal(code, 0, stderr);
    const store = await PetStore.open(restored, (line) => assert.fail(line));
    const page = store.table.page({ limit: 1_000_000, after: String(stored), status: undefined }).body;
    const created = new Set((typeof page === 'string' ? page : page.join('')).slice(1, -1).split(',\n'));
    assert.equal(store.table.count, stored + created.size);
    for (const line of before) assert.ok(created.has(line), line);
    const all = new Set(acknowledged);
    for (const line of created) assert.ok(all.has(line), `${line} was never acknowledged`);
    await store.close();
  }
});

/** Makes `petstore` stop itself when it has read the first megabyte, until SIGCONT. */
const stopping = `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const { writeSync } = fs;
  fs.writeSync = (...args) => {
    fs.writeSync = writeSync;
    syncBuiltinESMExports();
    writeSync(2, 'stopping\\n');
    process.kill(process.pid, 'SIGSTOP');
    return writeSync(...args);
  };
  syncBuiltinESMExports();`;

test('if petstore is killed during a backup, there is none; if the server is, the backup is complete', async (t) => {
  const parent = temporaryFolder(t);
  const [folder, to] = [join(parent, 'store'), join(parent, 'backup')];
  await makeStore(folder);
  const server = await startServer(t, folder);
  const begin = async (): Promise<Program> => {
    const node = [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(stopping)}`];
    const program = new Program(t, [...node, cliPath, 'backup', to, '--data', folder]);
    await program.printed(/stopping/, 'stderr');
    return program;
  };
  await (await begin()).kill();
  assert.equal(existsSync(to), false);
  assert.equal((await fetch(`${server.address}/readyz`)).status, 200);

  const program = await begin();
  await server.kill();
  program.child.kill('SIGCONT');
  const { code, stderr } = await program.ended;
  assert.deepEqual([code, stderr], [0, `stopping\nwrote a backup with ${stored} animals to ${to}\n`]);
  assert.equal((await petstore(t, to, 'verify')).code, 0);
});

test('an export to a slow reader is complete, whatever the server does meanwhile', async (t) => {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'store');
  await makeStore(folder);
  const secret = await makeKey(t, folder);
  const create = async (address: string): Promise<void> => {
    const headers = { Authorization: `Bearer ${secret}`, 'Content-Type': 'application/json' };
    const response = await fetch(`${address}/v1/pets`, { method: 'POST', headers, body: '{"name":"Rex","categoryId":1}' });
    assert.equal(response.status, 201);
  };
  let server = await startServer(t, folder);
  await create(server.address);
  const [gate, out] = [join(parent, 'gate'), join(parent, 'out')];
  // Reads one byte, and the rest when there is the file `gate`.
  const reader = '{ dd bs=1 count=1 2>/dev/null; echo begun >&2; until [ -e "$3" ]; do sleep 0.1; done; cat; } > "$4"';
  const script = `"$0" "$1" export --data "$2" | ${reader}`;
  const program = new Program(t, ['sh', '-c', script, process.execPath, cliPath, folder, gate, out]);
  await program.printed(/begun/, 'stderr');
  for (let round = 0; round < 2; round++) {
    await create(server.address);
    await server.stop(); // writes a snapshot and removes the segments
    server = await startServer(t, folder);
  }
  writeFileSync(gate, '');
  const { code, stderr } = await program.ended;
  const lines = readFileSync(out, 'utf8').split('\n').slice(0, -1);
  assert.deepEqual([code, stderr], [0, `begun\nexported ${lines.length} animals\n`]);
  assert.ok(lines.length > stored, `${lines.length}`);
  for (const [index, line] of lines.entries()) assert.ok(line.startsWith(`{"id":${index + 1},`), line);
  await server.stop();
});
