import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import test from 'node:test';

const source = fileURLToPath(new URL('../..', import.meta.url));
const reading = new Set([
  'existsSync', 'lstatSync', 'readFile', 'readFileSync', 'readdirSync', 'stat', 'statfs', 'statSync',
]);
/**
 * The lock creates the data folder and the name of its socket, and removes those of dead holders. A new secret is
 * written to stdout, and the log to stderr, which are not files of the data folder.
 */
const allowed = [
  'cli/outcome.ts: writeSync', 'file-engine/lock/folder-lock.ts: linkSync, mkdirSync, rmdirSync, rmSync',
  'files/stale-socket.ts: linkSync, renameSync, rmSync', 'observe/stderr.ts: write, writeSync',
];

test('only this folder writes files: faults that tests inject here reach every write of the server', () => {
  const found: string[] = [];
  for (const name of readdirSync(source, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!name.endsWith('.ts') || /^(file-engine\/files|testing)\/|\.test\.ts$/.test(name)) continue;
    const text = readFileSync(`${source}/${name}`, 'utf8');
    const imports = [...text.matchAll(/^import \{([^}]*)\} from 'node:fs(?:\/promises)?';/gm)];
    const mentions = text.match(/['"](?:node:)?fs(?:\/promises)?['"]/g) ?? [];
    assert.equal(imports.length, mentions.length, `${name}: an import in another form`);
    const names = imports.flatMap(([, list = '']) => list.split(',').map((one) => one.trim()));
    const writing = names.filter((one) => one !== '' && !reading.has(one) && !one.startsWith('type '));
    if (writing.length > 0) found.push(`${name}: ${writing.join(', ')}`);
  }
  assert.deepEqual(found, allowed);
});
