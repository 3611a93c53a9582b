import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { counted } from './counted.ts';

test('a count has the noun for it', () => {
  assert.deepEqual([0, 1, 2].map((count) => counted(count, 'animal')), ['0 animals', '1 animal', '2 animals']);
  const lines = [1n, 2n].map((count) => counted(count, 'line is', 'lines are'));
  assert.deepEqual(lines, ['1 line is', '2 lines are']);
});

test('no message of the server or a command has a count with a noun that does not depend on it', () => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const nouns = 'animal|byte|change|connection|counter|digit|failure|file|id|key|line|order|pet|problem|range|record|' +
    'request|response|secret|segment';
  const plural = new RegExp(`\\$\\{(?<count>[^{}]*)\\} (?:\\w+ )?(?:${nouns})s\\b`, 'g');
  const found: string[] = [];
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || name.endsWith('test.ts') || name.startsWith('testing')) continue;
    for (const match of readFileSync(join(root, name), 'utf8').matchAll(plural)) {
      // A constant and the path of the command are no counts.
      const isCount = !/\bmax[A-Z]|^calledAs\(/.test(match.groups!['count']!);
      if (isCount) found.push(`${name}: ${match[0]}`);
    }
  }
  assert.deepEqual(found, []);
});
