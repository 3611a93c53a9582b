/** No program needs a secret in its arguments, which every user of a machine can read. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './owner.ts';
import { outputOf, Program } from './program.ts';
import { cliPath, distFolder, serverPath, startServer } from './server.ts';

/** An option whose value is a secret, such as `--api-key KEY`. */
const secretOption = /--([a-z-]*(?:key|secret|token|password)) (?:KEY|SECRET|TOKEN|PASSWORD)\b/g;

/** A command whose arguments contain a key, or a variable with a key. */
const keyInArguments = /\bcurl .*(Bearer [^r]|\$(AUTH|KEY|API_KEY)\b)|--(api|exhaust|neighbour)-key ["$]/;

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

test('no example passes a key as an argument: in the guides, on the reference page, and with --demo', async (t) => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const guides = readdirSync(join(root, 'docs')).map((name) => `docs/${name}`);
  const files = ['README.md', ...guides, 'src/page/curl.ts', 'src/serve/demo.ts'];
  const texts = new Map(files.map((name) => [name, readFileSync(join(root, name), 'utf8')]));
  const server = await startServer(t, temporaryFolder(t), ['--demo']);
  await server.stop();
  assert.match(server.stdout, /\bcurl\b/);
  texts.set('--demo', server.stdout);
  for (const [name, text] of texts) {
    // A command goes on after a backslash or a pipe at the end of a line.
    for (const line of text.replace(/\\\n/g, ' ').replace(/\|\s*\n/g, '| ').split('\n')) {
      assert.doesNotMatch(line, keyInArguments, name);
    }
  }
});
