import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Contestant } from './contestants.ts';
import { openField } from './field.ts';
import { durableRows, peers, peerVersions } from './peers.ts';
import { createRow, refusedRow, unauthorizedRow } from './rows.ts';

const nobody: Contestant = { name: 'petstore', demand: 'service', start: () => Promise.reject(new Error('not to be started')) };

describe('the peers', () => {
  it('that could not be installed are rows that say so', async () => {
    const { entries, absent, order } = await openField([[nobody, []], ...peers('npm is not there')], [], 1, () => {});
    assert.deepEqual(entries, []);
    assert.deepEqual(order, ['node:http', 'petstore', 'fastify + SQLite', 'express + SQLite', 'json-server', 'Prism']);
    const said = (contestant: string, row: string) => absent.find((outcome) => outcome.contestant === contestant && outcome.row === row)?.problem;
    for (const { id } of durableRows) assert.equal(said('fastify + SQLite', id), 'npm is not there');
    assert.equal(said('json-server', createRow.id), 'npm is not there');
    assert.equal(said('json-server', unauthorizedRow.id), 'it knows no keys');
    assert.equal(said('Prism', refusedRow.id), 'it has no limits');
  });

  it('tell what they cannot do', async () => {
    const { lacks } = await openField([[nobody, []], ...peers('npm is not there')], [], 1, () => {});
    assert.deepEqual(Object.keys(lacks), ['fastify + SQLite', 'express + SQLite', 'json-server', 'Prism']);
    assert.match(lacks['fastify + SQLite']!, /by the clock.*X-RateLimit-Reset as a moment.*bans.*2\^53/);
  });

  it('that do less than we do have a note at what they do', () => {
    const noted = peers(null).flatMap(([{ name, note }, rows]) => rows.flatMap((row) => note?.(row) ?? []).map((text) => `${name}: ${text}`));
    assert.ok(noted.includes('json-server: not durable') && noted.includes('Prism: a mock: keeps nothing'));
    assert.ok(noted.every((text) => /^(json-server|Prism)/.test(text)));
  });

  it('are told with their versions', () => {
    const versions = peerVersions();
    assert.ok(['fastify', 'better-sqlite3', 'express', 'json-server'].every((name) => /^\d+\.|^not installed$/.test(versions[name]!)));
  });
});
