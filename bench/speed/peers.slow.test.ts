import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { noPostgres, testDatabase } from '../../harness/postgres.ts';
import { animal } from '../measure/animal.mjs';
import type { ServerProcess } from '../measure/server-process.ts';
import { arePeersInstalled, peerVersions } from '../peers/install.ts';
import { withClients } from './check.ts';
import { send } from './running-target.ts';
import { peerCommand, peers, startPeer } from './targets.ts';
import { byName, checkService } from './testing/service.ts';

const skip =
  !arePeersInstalled() && 'the peers are not installed for this Node: node --import tsx peers/install.ts';

describe('the peers', () => {
  it('that could not be installed are reported', async () => {
    for (const { start, workloads } of peers('npm is missing'))
      await assert.rejects(start(workloads[0]!), /^NotStarted: npm is missing$/);
  });

  it('have their versions reported', { skip }, () => {
    const versions = peerVersions();
    for (const name of ['fastify', 'better-sqlite3', 'express', 'hono', 'polka'])
      assert.match(versions[name]!, /^\d+\.\d+\.\d+/);
  });

  for (const { name, workloads, start } of peers(undefined)) {
    it(`${name} returns correct responses to its workloads`, { skip }, async (t) => {
      let target;
      try {
        target = await start(workloads[0]!);
      } catch (error) {
        if (!/no Go toolchain/.test((error as Error).message)) throw error;
        return t.skip((error as Error).message);
      }
      for (const workload of workloads) {
        await withClients([{ target, workload }], ([client]) => client!.send(workload.exchanges.length));
        await checkService(target, workload);
      }
      await target.process.stop();
    });
  }

  for (const [file, store] of [
    ['fastify.mjs', 'sqlite'],
    ['fastify.mjs', 'sqlite-group'],
    ['express.mjs', 'sqlite'],
    ['fastify-postgres.mjs', 'PostgreSQL'],
  ] as const) {
    it(
      `${file} with ${store} limits by the minute and the day, knows its keys, and keeps what it has created`,
      { skip },
      async (t) => {
        const data = temporaryFolder(t);
        const keys = [
          { key: 'day', perMinute: 100, perDay: 2 },
          { key: 'minute', perMinute: 2, perDay: 100 },
          { key: 'free', perMinute: 100, perDay: 100 },
        ];
        const place = store === 'PostgreSQL' ? await testDatabase(t) : store;
        if (place === null) return t.skip(noPostgres);
        const startOne = () => startPeer(peerCommand(file), data, 30, keys, place);
        const first = await startOne();
        const ask = ({ address }: ServerProcess, key: string, path = '/pets', body?: string) =>
          send(address + path, {
            headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
            ...(body !== undefined && { method: 'POST', body }),
          });
        for (const [key, least, most] of [
          ['day', 61, 86_400],
          ['minute', 1, 60],
        ] as const) {
          const responses = [await ask(first, key), await ask(first, key), await ask(first, key)];
          assert.deepEqual(
            responses.map(({ status }) => status),
            [200, 200, 429],
            key,
          );
          assert.deepEqual(
            responses.map((response) => byName(response)['x-ratelimit-remaining']),
            ['1', '0', '0'],
            key,
          );
          const headers = byName(responses[2]!);
          const after = Number(headers['retry-after']);
          assert.ok(
            headers['x-ratelimit-limit'] === '2' && after >= least && after <= most,
            `${key}: ${JSON.stringify(headers)}`,
          );
        }
        const unknown = await ask(first, 'wrong');
        assert.deepEqual(
          [unknown.status, byName(unknown)['x-ratelimit-limit'], byName(unknown)['x-ratelimit-remaining']],
          [401, '60', '59'],
        );
        const created = await ask(first, 'free', '/pets', JSON.stringify(animal(1)));
        assert.equal(created.status, 201);
        process.kill(first.pid, 'SIGKILL');
        const again = await startOne();
        const found = await ask(again, 'free', '/pets/31');
        assert.deepEqual([found.status, found.body], [200, created.body]);
        await again.stop();
      },
    );
  }
});
