/** Runs of one checkout do not disturb each other, and only a run that needs this project's own server builds it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../harness/owner.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** A copy of the checkout, before any build. */
function checkout(t: TestContext): string {
  const folder = temporaryFolder(t);
  const names = ['LICENSE', 'bench', 'conformance', 'data/sample', 'harness', 'package.json', 'scripts', 'src'];
  for (const name of [...names, 'tsconfig.json'])
    cpSync(join(root, name), join(folder, name), { recursive: true, filter: (path) => !path.endsWith('/node_modules') });
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

function npm(folder: string, ...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const environment = { ...process.env, NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: undefined };
  return new Promise((resolve) => {
    execFile('npm', ['run', '-s', ...args], { cwd: folder, env: environment }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
  });
}

test('four runs that start at once build the server and test it, twice, and a build is no disturbance', async (t) => {
  const folder = checkout(t);
  for (const others of [[], [npm(folder, 'build'), npm(folder, 'build')]]) {
    const run = () => npm(folder, 'conformance', '--', '--only', 'list.answers,list.limit-accepted', '--seed', '1');
    const runs = await Promise.all([run(), run(), run(), run(), ...others]);
    for (const { code, stdout, stderr } of runs) assert.equal(code, 0, stdout + stderr);
    for (const { stdout } of runs.slice(0, 4)) assert.match(stdout, /^NO VIOLATION FOUND: 2 of /m);
  }
  assert.deepEqual(
    readdirSync(join(folder, 'build')).filter((name) => name.startsWith('dist-')),
    [],
  );
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
  assert.match(readFileSync(join(folder, 'dist/package.json'), 'utf8'), new RegExp(`"version": "${version}"`));
});

test('nothing is built for --help, --list and another server', async (t) => {
  const folder = checkout(t);
  const runs = [['--help'], ['--list'], ['--base-url', 'http://127.0.0.1:1/v1', '--api-key', 'abcdef']];
  const codes = await Promise.all(runs.map(async (args) => (await npm(folder, 'conformance', '--', ...args)).code));
  assert.deepEqual(codes, [0, 0, 2]);
  assert.deepEqual([existsSync(join(folder, 'dist')), existsSync(join(folder, 'build'))], [false, false]);
});
