/** The package that `npm pack` makes, as its users install it, and each bundle alone in a folder. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { dirname, join } from 'node:path';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { temporaryFolder, thisProcess } from './owner.ts';
import type { Ended } from './program.ts';
import { distFolder, runServer, startServer } from './server.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const bundles = ['petstore-conformance.mjs', 'petstore-limits.mjs'];

/** Runs a command to its end in a folder. */
function run(cwd: string, file: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const { PATH, HOME } = process.env;
  return new Promise((resolve) => {
    execFile(file, args, { cwd, env: { PATH, HOME, ...env } }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : null, stdout, stderr });
    });
  });
}

/** The output of a run without its durations. */
const untimed = (stdout: string) =>
  stdout.replace(/\d[\d.]* (ms|s|min)\b/g, 'some time').replace(/\d+ (responses|requests)/g, 'some $1');

const withNetwork = process.env['OFFLINE'] === undefined && 'only npm run release:check turns the network off';

test('there is no network', { skip: withNetwork }, async () => {
  assert.deepEqual(Object.keys(networkInterfaces()), ['lo']);
  await assert.rejects(fetch('http://192.0.2.1/'), ({ cause }) => /ENETUNREACH/.test(String(cause)));
});

describe('the package', () => {
  const folder = temporaryFolder(thisProcess);
  const installed = join(folder, 'node_modules/pet-store-service');
  const offline = { HOME: folder, npm_config_cache: join(folder, 'cache'), npm_config_offline: 'true' };
  let tarball = '';
  const command = (name: string, ...args: string[]) => run(folder, join(folder, 'node_modules/.bin', name), args);

  before(async () => {
    const startedAt = Date.now();
    const packed = await run(root, 'npm', ['pack', '--pack-destination', folder]);
    assert.equal(packed.code, 0, packed.stderr);
    assert.ok(statSync(join(distFolder, 'package.json')).mtimeMs >= startedAt, 'prepack has built nothing');
    tarball = packed.stdout.trim().split('\n').at(-1)!;
    const { code, stderr } = await run(folder, 'npm', ['install', '--offline', `./${tarball}`], offline);
    assert.equal(code, 0, stderr);
  });

  test('contains what an operator needs, no source and no test, and needs no other package', () => {
    const names = (path: string) => readdirSync(join(folder, path)).sort();
    const commands = ['pet-store-service', 'petstore', 'petstore-conformance', 'petstore-limits'];
    assert.deepEqual(names('node_modules'), ['.bin', '.package-lock.json', 'pet-store-service']);
    assert.deepEqual(names('node_modules/.bin'), commands);
    const texts = ['CHANGELOG.md', 'CONTRIBUTING.md', 'Dockerfile', 'LICENSE', 'README.md'];
    assert.deepEqual(names('node_modules/pet-store-service'), [...texts, 'deploy', 'dist', 'docs', 'package.json']);
    assert.deepEqual(names('node_modules/pet-store-service/deploy'), readdirSync(join(root, 'deploy')).sort());
    const files = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' }).sort();
    assert.deepEqual(files, readdirSync(distFolder, { recursive: true, encoding: 'utf8' }).sort());
    assert.deepEqual(files.filter((file) => /\.ts$|\.test\.|^(testing|conformance|bench|harness)\b/.test(file)), []);
  });

  test('has every file that a relative link of its Markdown files names', () => {
    const documents = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter((name) => /\.md$/.test(name));
    const links = documents.flatMap((name) => {
      const targets = readFileSync(join(installed, name), 'utf8').matchAll(/\]\((?!https?:|#)([^)#\s]+)/g);
      return [...targets].map(([, target]) => ({ name, target: target! }));
    });
    assert.ok(links.length > 50, `${links.length} links`);
    assert.deepEqual(links.filter(({ name, target }) => !existsSync(join(installed, dirname(name), target))), []);
  });

  test('has the version of the latest entry in CHANGELOG.md, which README.md installs', () => {
    const { version } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as { version: string };
    const [, latest] = /^## (\S+) - \d{4}-\d\d-\d\d$/m.exec(readFileSync(join(installed, 'CHANGELOG.md'), 'utf8'))!;
    assert.equal(latest, version);
    assert.equal(tarball, `pet-store-service-${version}.tgz`);
    assert.ok(readFileSync(join(installed, 'README.md'), 'utf8').includes(`install --global ./${tarball}`));
  });

  test('is smaller than 300 kB besides the two bundles', (t) => {
    const ofBundles = bundles.map((bundle) => gzipSync(readFileSync(join(installed, 'dist', bundle))).length);
    const size = statSync(join(folder, tarball)).size - ofBundles[0]! - ofBundles[1]!;
    t.diagnostic(`${size} bytes`);
    assert.ok(size < 300_000, `${size} bytes`);
  });

  test('npx starts the server with its sample data in an empty folder, and stops it', async (t) => {
    const place = temporaryFolder(t);
    copyFileSync(join(folder, tarball), join(place, tarball));
    const npx = ['sh', '-c', 'cd "$0" && exec npx --yes ./pet-store-service-*.tgz serve "$@"', place];
    const server = await startServer(t, 'store', ['--demo'], npx, offline);
    // npm ends without its child on a signal to it alone; Ctrl-C signals both.
    const second = await runServer(t, join(place, 'store')).ended;
    const pid = Number(/ in use by process (\d+) /.exec(second.stderr)?.[1]);
    t.after(() => server.child.exitCode ?? process.kill(pid, 'SIGKILL'));
    const [, key = ''] = await server.printed(/^ +([A-Za-z0-9_]{20,})\n/m);
    const response = await fetch(`${server.address}/v1/pets/1`, { headers: { Authorization: `Bearer ${key}` } });
    assert.equal(response.status, 200);
    assert.match(await response.text(), /^\{"id":1,"name":"Mittens",/);
    assert.deepEqual(readdirSync(place).sort(), [tarball, 'store']);
    process.kill(pid, 'SIGINT');
    assert.equal((await server.ended).code, 0);
  });

  test('petstore-conformance prints its help and its requirements', async () => {
    const help = await command('petstore-conformance', '--help');
    const list = await command('petstore-conformance', '--list');
    assert.match(help.stdout, /^Usage: petstore-conformance \[options\]\n/);
    assert.doesNotMatch(help.stdout, /npm run/);
    const sources = await run(root, process.execPath, ['--import', 'tsx', 'conformance/run.ts', '--list']);
    assert.ok(list.stdout.length > 1_000);
    assert.deepEqual(list, sources);
  });

  test('petstore-conformance tests a server to its verdict', async (t) => {
    const data = temporaryFolder(t);
    const server = await startServer(t, data, ['--demo'], [join(folder, 'node_modules/.bin/petstore'), 'serve']);
    const [, key = ''] = await server.printed(/^ +([A-Za-z0-9_]{20,})\n/m);
    const args = ['--base-url', `${server.address}/v1`, '--api-key', key, '--report', 'reports'];
    const { code, stdout, stderr } = await command('petstore-conformance', ...args);
    assert.equal(code, 0, stdout + stderr);
    assert.match(stdout, /\nCONFORMS[^\n]*\n\nReports: /);
    assert.deepEqual(readdirSync(join(folder, 'reports')).sort(), ['junit.xml', 'report.html', 'report.json']);
    const version = (file: string) => /"version": ?"(.+)"/.exec(readFileSync(file, 'utf8'))![1];
    assert.equal(version(join(folder, 'reports/report.json')), version(join(root, 'package.json')));
  });

  test('without --base-url, both commands test the installed server', async () => {
    const kit = await command('petstore-conformance', '--only', 'list.');
    assert.equal(kit.code, 0, kit.stdout + kit.stderr);
    const bench = await command('petstore-limits', 'latency');
    assert.equal(bench.code, 0, bench.stdout + bench.stderr);
    assert.match(bench.stdout, /\nALL DEMANDS MET: 1 passed/);
  });
});

describe('a bundle alone in a folder', () => {
  const folder = temporaryFolder(thisProcess);
  const node = (...args: string[]) => run(folder, process.execPath, args);

  before(() => {
    for (const bundle of bundles) copyFileSync(join(distFolder, bundle), join(folder, bundle));
    writeFileSync(join(folder, 'server.js'), 'throw new Error("another project")');
  });

  test('is smaller than 1 MB, and has the licence of each package in it', () => {
    const packages = bundles.map((bundle) => {
      const text = readFileSync(join(folder, bundle), 'utf8');
      assert.ok(text.length < 1_000_000);
      // esbuild names the file of each part in a comment.
      const parts = text.matchAll(/^\/\/ .*?node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//gm);
      const names = [...new Set([...parts].map(([, name]) => name!))].sort();
      for (const name of ['pet-store-service', ...names])
        assert.match(text, new RegExp(`\n${name}\n\nMIT License\n\nCopyright`), bundle);
      return names;
    });
    assert.deepEqual(packages, [['fast-check', 'pure-rand'], ['fast-check', 'pure-rand']]);
  });

  test('demands --base-url', async () => {
    for (const bundle of bundles) {
      const { code, stdout, stderr } = await node(bundle);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, /^[a-z-]+: --base-url is required, [^\n]+\n$/);
    }
  });

  test('prints what the sources print, and nothing of node:test', async (t) => {
    const server = await startServer(t, temporaryFolder(t), ['--demo']);
    const [, key = ''] = await server.printed(/^ +([A-Za-z0-9_]{20,})\n/m);
    const target = ['--base-url', `${server.address}/v1`, '--api-key', key];
    const options = [...target, '--read-only', '--only', 'list.,auth.', '--seed', '1'];
    const bundled = await node(bundles[0]!, ...options);
    const sources = await run(root, process.execPath, ['--import', 'tsx', 'conformance/run.ts', ...options]);
    assert.equal(bundled.code, 0, bundled.stdout + bundled.stderr);
    assert.equal(untimed(bundled.stdout), untimed(sources.stdout));
    assert.doesNotMatch(bundled.stdout, /^(TAP|ok|#) /m);
  });
});
