/** The metrics of connections, and whether the server is ready. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Figures } from '../engine.ts';
import { Exposition } from './exposition.ts';
import { writeServer, type Sources } from './server-figures.ts';

const sources: Sources = {
  version: '1.0.0',
  maxServed: 10,
  connections: () => ({ open: 1, accepted: 5, refused: 2, dropped: 3, failedHandshakes: 4 }),
  certificateExpiresAt: () => null,
  bans: () => 0,
  droppedLogLines: () => 0,
};

const figures: Figures = {
  animals: 0, orders: 0, bannedKeys: 0, creates: { refusal: null, since: 0 }, metrics: [], details: {},
};

/** Returns the value of a metric. */
function valueOf(name: string, more: Partial<Figures> = {}): string | undefined {
  const exposition = new Exposition();
  writeServer(exposition, sources, { ...figures, ...more });
  return new RegExp(`^${name} (.+)$`, 'm').exec(exposition.text)?.[1];
}

test('connections are counted by what became of them', () => {
  const kinds = ['accepted', 'refused', 'dropped'];
  assert.deepEqual(kinds.map((kind) => valueOf(`petstore_connections_${kind}_total`)), ['5', '2', '3']);
});

test('the server is ready when the animals have been read and creates are not refused', () => {
  assert.equal(valueOf('petstore_ready'), '1');
  assert.equal(valueOf('petstore_ready', { creates: null }), '0');
  const creates = { refusal: 'the disk is full', since: 0 };
  assert.equal(valueOf('petstore_ready', { creates }), '0');
});
