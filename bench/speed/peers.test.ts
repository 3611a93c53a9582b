import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { temporaryFolder } from '../measure/own-server.ts';
import type { Program } from '../measure/program.ts';
import { arePeersInstalled } from '../peers/install.mjs';
import { ask, type Question } from './ask.ts';
import type { Contestant } from './contestants.ts';
import { openField } from './field.ts';
import { durableRows, peers, peerVersions, startPeer } from './peers.ts';
import { createRow, refusedRow, unauthorizedRow } from './rows.ts';
import { newAnimal } from './site.ts';
import { cold } from './testing.ts';

const nobody: Contestant = { name: 'petstore', demand: 'service', start: () => Promise.reject(new Error('not to be started')) };

describe('the peers', () => {
  it('that could not be installed are rows that say so', async () => {
    const { entries, absent, order } = await openField([[nobody, []], ...peers('npm is not there')], [], cold);
    assert.deepEqual(entries, []);
    assert.deepEqual(order, ['node:http', 'petstore', 'fastify + SQLite', 'express + SQLite', 'json-server', 'Prism']);
    const said = (contestant: string, row: string) => absent.find((outcome) => outcome.contestant === contestant && outcome.row === row)?.problem;
    for (const { id } of durableRows) assert.equal(said('fastify + SQLite', id), 'npm is not there');
    assert.equal(said('json-server', createRow.id), 'npm is not there');
    assert.equal(said('json-server', unauthorizedRow.id), 'it knows no keys');
    assert.equal(said('Prism', refusedRow.id), 'it has no limits');
  });

  it('tell what they cannot do', async () => {
    const { lacks } = await openField([[nobody, []], ...peers('npm is not there')], [], cold);
    assert.deepEqual(Object.keys(lacks), ['fastify + SQLite', 'express + SQLite', 'json-server', 'Prism']);
    assert.match(lacks['fastify + SQLite']!, /by the clock.*X-RateLimit-Reset as a moment.*bans.*2\^53/);
  });

  it('that do less than we do have a note at what they do', () => {
    const noted = peers(null).flatMap(([{ name, note }, rows]) => rows.flatMap((row) => note?.(row) ?? []).map((text) => `${name}: ${text}`));
    assert.ok(noted.includes('json-server: not durable') && noted.includes('Prism: a mock: keeps nothing'));
    assert.ok(noted.every((text) => /^(json-server|Prism)/.test(text)));
  });

  const skip = !arePeersInstalled() && 'the peers are not installed for this Node: node bench/peers/install.mjs does that';

  it('are told with their versions', { skip }, () => {
    const versions = peerVersions();
    for (const name of ['fastify', 'better-sqlite3', 'express', 'json-server', '@stoplight/prism-cli']) assert.match(versions[name]!, /^\d+\.\d+\.\d+/);
  });

  for (const file of ['fastify.mjs', 'express.mjs']) {
    it(`${file} limits by the minute and the day, knows its keys, and keeps what it has answered`, { skip }, async () => {
      const data = temporaryFolder();
      const keys = [{ key: 'day', perMinute: 100, perDay: 2 }, { key: 'minute', perMinute: 2, perDay: 100 }, { key: 'free', perMinute: 100, perDay: 100 }];
      const start = () => startPeer(file, data, 30, keys);
      const first = await start();
      const asked = ({ address }: Program, key: string, more: Question = {}, path = '/pets') =>
        ask(address + path, { ...more, headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' } });
      for (const [key, least, most] of [['day', 61, 86_400], ['minute', 1, 60]] as const) {
        const answers = [await asked(first, key), await asked(first, key), await asked(first, key)];
        assert.deepEqual(answers.map(({ status }) => status), [200, 200, 429], key);
        assert.deepEqual(answers.map(({ headers }) => headers['x-ratelimit-remaining']), ['1', '0', '0'], key);
        const { headers } = answers[2]!;
        const after = Number(headers['retry-after']);
        assert.ok(headers['x-ratelimit-limit'] === '2' && after >= least && after <= most, `${key}: ${JSON.stringify(headers)}`);
      }
      const stranger = await asked(first, 'wrong');
      assert.deepEqual([stranger.status, stranger.headers['x-ratelimit-limit'], stranger.headers['x-ratelimit-remaining']], [401, '60', '59']);
      const created = await asked(first, 'free', { method: 'POST', body: JSON.stringify(newAnimal) });
      assert.equal(created.status, 201);
      process.kill(first.pid, 'SIGKILL');
      const again = await start();
      const found = await asked(again, 'free', {}, '/pets/31');
      assert.deepEqual([found.status, found.body], [200, created.body]);
      await again.stop();
    });
  }
});
