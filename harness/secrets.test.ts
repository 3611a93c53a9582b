/** No program needs a secret in its arguments, which every user of a machine can read. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { outputOf, Program } from './program.ts';
import { cliPath, distFolder, serverPath } from './server.ts';

/** An option whose value is a secret, such as `--api-key KEY`. */
const secretOption = /--([a-z-]*(?:key|secret|token|password)) (?:KEY|SECRET|TOKEN|PASSWORD)\b/g;

test('petstore has no option for a secret, and those of the kit and the bench have a variable', async (t) => {
  const helpOf = (path: string): Promise<string> =>
    outputOf(new Program(t, [process.execPath, path, '--help']).ended);
  const options = async (path: string): Promise<string[]> => {
    const help = await helpOf(path);
    const names = [...help.matchAll(secretOption)].map(([, name]) => name!);
    for (const name of names) {
      const variable = name.toUpperCase().replaceAll('-', '_');
      assert.match(help, new RegExp(`\\b${variable}\\b`), `--${name} has no variable`);
    }
    return names;
  };
  assert.deepEqual(await options(cliPath), []);
  assert.deepEqual(await options(serverPath), []);
  assert.deepEqual(await options(join(distFolder, 'petstore-conformance.mjs')), ['api-key', 'exhaust-key']);
  assert.deepEqual(await options(join(distFolder, 'petstore-limits.mjs')), ['api-key', 'neighbour-key']);
});

test('no example passes a key as an argument', () => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const pages = ['README.md', ...readdirSync(join(root, 'docs')).map((name) => `docs/${name}`)];
  for (const page of pages.filter((name) => name !== 'docs/conformance.md')) { // which says why its lines do
    for (const line of readFileSync(join(root, page), 'utf8').split('\n')) {
      assert.doesNotMatch(line, /\bcurl .*(Bearer [^r]|\$(AUTH|KEY|API_KEY)\b)|--(api|exhaust|neighbour)-key ["$]/, page);
    }
  }
});
