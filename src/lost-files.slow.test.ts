/** What the server does if somebody removes or replaces its files. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync, cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, truncateSync, unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { temporaryFolder } from '../harness/owner.ts';
import { makeKey, petstore, runServer, startServer, type RunningServer } from '../harness/server.ts';
import { codeOf, type HttpResponse } from './testing/http-response.ts';
import { send } from './testing/service.ts';

const create = ({ address }: RunningServer, key: string): Promise<HttpResponse> =>
  send(address, 'POST', '/v1/pets', { key, body: '{"name":"Rex","categoryId":1}' });
const createMany = (server: RunningServer, key: string, count: number): Promise<HttpResponse[]> =>
  Promise.all(Array.from({ length: count }, () => create(server, key)));
const idsOf = (responses: HttpResponse[]): number[] => responses.map(({ status, body }) => {
  assert.equal(status, 201, body);
  return (JSON.parse(body) as { id: number }).id;
});

async function idsIn({ address }: RunningServer, key: string): Promise<number[]> {
  const { body } = await send(address, 'GET', '/v1/pets?limit=100', { key });
  return (JSON.parse(body) as { id: number }[]).map(({ id }) => id);
}

function journalIn(folder: string): string {
  return join(folder, readdirSync(folder).find((name) => name.endsWith('.journal'))!);
}

/** Puts a FIFO in place of a file. */
function makePipe(path: string): void {
  rmSync(path, { force: true });
  execFileSync('mkfifo', [path]);
}

/** Returns the files in a folder, with their contents and the times of their last changes. */
function filesIn(folder: string): Map<string, string> {
  return new Map(readdirSync(folder).sort().map((name) => {
    const { ctimeMs } = statSync(join(folder, name));
    return [name, name.startsWith('lock.') ? '' : `${ctimeMs} ${readFileSync(join(folder, name), 'latin1')}`];
  }));
}

const disturbances: Record<string, (folder: string) => void> = {
  'the journal is removed': (folder) => unlinkSync(journalIn(folder)),
  'the journal is replaced by a copy, as sed -i does': (folder) => {
    copyFileSync(journalIn(folder), join(folder, 'copy'));
    renameSync(join(folder, 'copy'), journalIn(folder));
  },
  'the journal is emptied': (folder) => truncateSync(journalIn(folder)),
  'the journal and the snapshot are removed': (folder) => {
    for (const name of readdirSync(folder)) if (name.startsWith('pets.')) unlinkSync(join(folder, name));
  },
};

for (const [what, disturb] of Object.entries(disturbances)) {
  test(`if ${what}, nothing is lost: the next create saves all animals in a snapshot`, async (t) => {
    const folder = temporaryFolder(t);
    const key = await makeKey(t, folder);
    const before = await startServer(t, folder);
    const ids = idsOf(await createMany(before, key, 3));
    await before.stop(); // writes a snapshot
    const server = await startServer(t, folder);
    ids.push(...idsOf(await createMany(server, key, 5)));
    disturb(folder);
    ids.push(...idsOf(await createMany(server, key, 20)), ...idsOf([await create(server, key)]));
    const { stderr } = await server.kill();
    assert.equal(stderr.split('\n').filter((line) => line.includes('removed or replaced')).length, 1, stderr);
    const again = await startServer(t, folder);
    assert.deepEqual(await idsIn(again, key), ids.sort((a, b) => a - b));
    assert.equal((await again.stop()).stderr, `petstore: ${ids.length} animals in ${folder}\n`);
  });
}

test('/readyz notices that the journal was removed, and saves all animals in a snapshot', async (t) => {
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder);
  const server = await startServer(t, folder);
  const ids = idsOf(await createMany(server, key, 5));
  unlinkSync(journalIn(folder));
  assert.equal((await send(server.address, 'GET', '/readyz')).status, 200);
  await server.kill();
  assert.deepEqual(await idsIn(await startServer(t, folder), key), ids.sort((a, b) => a - b));
});

test('if the snapshot is removed, /readyz or a stop saves all animals in a new one', async (t) => {
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder);
  const path = join(folder, 'pets.json');
  const first = await startServer(t, folder);
  const ids = idsOf(await createMany(first, key, 3));
  await first.stop(); // writes a snapshot
  for (const notices of ['/readyz', 'stop']) {
    const server = await startServer(t, folder);
    unlinkSync(path);
    if (notices === '/readyz') {
      await send(server.address, 'GET', '/readyz');
      while (!existsSync(path)) await delay(5);
      await server.kill();
      assert.match(server.stderr, /pets\.json was removed: all animals are saved in a new one\n/);
    } else assert.equal((await server.stop()).code, 0);
  }
  const again = await startServer(t, folder);
  assert.deepEqual(await idsIn(again, key), ids.sort((a, b) => a - b));
});

test('a server without its lock writes nothing more, and another one loses nothing', async (t) => {
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder);
  const first = await startServer(t, folder);
  const ids = idsOf(await createMany(first, key, 5));
  for (const name of readdirSync(folder)) if (name.startsWith('lock.')) unlinkSync(join(folder, name));
  const second = await startServer(t, folder);
  ids.push(...idsOf(await createMany(second, key, 5)));
  await second.kill();
  const files = filesIn(folder);
  for (const response of [...(await createMany(first, key, 5)), await create(first, key)]) {
    assert.deepEqual([response.status, codeOf(response)], [503, 'storage_unavailable']);
  }
  assert.equal(codeOf(await send(first.address, 'GET', '/readyz')), 'not_ready');
  const before = ids.slice(0, 5).sort((a, b) => a - b);
  assert.deepEqual(await idsIn(first, key), before, 'reads continue');
  const stopped = await first.stop();
  assert.equal(stopped.code, 1, 'the counters are not saved');
  const reasons = stopped.stderr.split('\n').filter((line) => line.includes('the lock '));
  assert.equal(reasons.length, 2, stopped.stderr); // when it happened, and why the stop has failed
  assert.deepEqual(filesIn(folder), files);
  assert.equal(new Set(ids).size, 10, 'no id is used twice');
  assert.deepEqual(await idsIn(await startServer(t, folder), key), ids.sort((a, b) => a - b));
});

test('what a killed server had saved a second before its end cannot go missing unnoticed', async (t) => {
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder);
  const server = await startServer(t, folder);
  await createMany(server, key, 5);
  const usage = join(folder, 'usage.json');
  while (!existsSync(usage) || !readFileSync(usage, 'utf8').includes('"durable":5,')) await delay(20);
  await server.kill();
  const damages: [name: string, content: Buffer | null, message: string][] = [
    ['pets.1.journal', null, 'pets.json: record 5, which was on disk according to usage.json, is missing; '],
    ['pets.1.journal', readFileSync(journalIn(folder)).subarray(0, 500), 'pets.1.journal, line '],
    ['keys.json', null, 'keys.json is missing or an old copy: '],
    ['keys.json', Buffer.from('{"format":"petstore-keys","version":3}'), 'keys.json has version 3 of its format'],
  ];
  for (const [name, content, message] of damages) {
    const path = join(folder, name);
    const good = readFileSync(path);
    if (content === null) unlinkSync(path);
    else writeFileSync(path, content);
    const before = [...filesIn(folder)].filter(([other]) => !other.startsWith('lock.'));
    const { code, stderr } = await runServer(t, folder).ended;
    assert.deepEqual([code, stderr.split('\n').length], [1, 2], stderr);
    assert(stderr.startsWith(`petstore: ${folder}/${message}`), stderr);
    assert.deepEqual([...filesIn(folder)].filter(([other]) => !other.startsWith('lock.')), before);
    writeFileSync(path, good);
  }
  assert.equal((await idsIn(await startServer(t, folder), key)).length, 5);
});

test('a start and the commands refuse a FIFO in place of a file at once, and name it', async (t) => {
  const good = temporaryFolder(t);
  const key = await makeKey(t, good);
  const server = await startServer(t, good);
  idsOf(await createMany(server, key, 2));
  await server.stop();
  writeFileSync(join(good, 'orders.json'), '[]');
  const backup = join(temporaryFolder(t), 'backup');
  assert.equal((await petstore(t, good, 'backup', backup)).code, 0);
  const names = ['keys.json', 'orders.json', 'usage.json', 'pets.json', 'pets.3.journal'];
  for (const name of names) {
    const folder = join(temporaryFolder(t), 'store');
    cpSync(good, folder, { recursive: true, filter: (path) => !path.includes('lock.') });
    makePipe(join(folder, name));
    const path = join(folder, name);
    const line = `petstore: cannot read ${path}: it is not a regular file; remove it, or restore it from a backup\n`;
    const { code, stderr } = await runServer(t, folder).ended;
    assert.deepEqual([code, stderr], [1, line]);
    const listed = await petstore(t, folder, 'keys', 'list');
    assert.deepEqual([listed.code, listed.stderr], [1, line]);
    const verified = await petstore(t, folder, 'verify');
    assert.deepEqual([verified.code, verified.stderr.split('\n').includes(line.trim())], [2, true], verified.stderr);
    const salvaged = await petstore(t, folder, 'salvage', join(folder, '..', 'salvaged'));
    assert.equal(salvaged.code, 1);
    assert.ok(salvaged.stderr.includes(line.replace('cannot', 'lost: cannot')), salvaged.stderr);
    assert.match(salvaged.stderr, name === 'pets.json' ? /copied 0 animals, 1 key and/ : /copied 2 animals/);
  }
  makePipe(join(backup, 'keys.json'));
  const restored = await petstore(t, join(temporaryFolder(t), 'new'), 'restore', backup);
  assert.equal(restored.code, 1);
  assert.match(restored.stderr, /keys\.json: it is not a regular file/);
});
