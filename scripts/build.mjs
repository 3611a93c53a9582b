// Builds dist/: the server with its reference page and the operator's command, complete in themselves, and the
// conformance kit and the rate-limit bench as one file each. With --if-needed it builds nothing if dist/ is newer than the
// sources of the server. With --tests it also compiles everything into build/all/, from where test.mjs runs tests.
//
// The build happens in a folder of its own. Then each file that differs replaces its predecessor at once, so that
// servers can start, and others can build, at the same time.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundle } from './bundle.mjs';
import { page } from './page.mjs';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
/** Is written last, and has the time at which the build began. */
const stamp = 'dist/package.json';
const sources = ['src', 'data/sample', 'package.json', 'tsconfig.json', 'scripts'];
const tsc = (...options) => execFileSync('node_modules/.bin/tsc', options, { stdio: 'inherit' });

const isCurrent = process.argv.includes('--if-needed') && fs.existsSync(stamp) &&
  sources.flatMap(withContent).every((path) => fs.statSync(path).mtimeMs < fs.statSync(stamp).mtimeMs);
fs.mkdirSync('build', { recursive: true });
if (!isCurrent) await inFolder('dist', build);
if (process.argv.includes('--tests')) await inFolder('build/all', compile);

/** Calls `make` with a new folder, and then moves what is in it to another one. */
async function inFolder(to, make) {
  const startedAt = new Date();
  const made = fs.mkdtempSync('build/made-');
  try {
    await make(made);
    publish(made, to);
    if (to === 'dist') fs.utimesSync(stamp, startedAt, startedAt);
  } finally {
    fs.rmSync(made, { recursive: true, force: true });
  }
}

/**
 * Compiles everything. Each file has the URL of its source as its own, because what it reads is beside that, and the
 * generator of property-based tests has a seed.
 */
function compile(made) {
  const maps = ['--inlineSourceMap', '--sourceRoot', `${process.cwd()}/`];
  tsc('--noEmit', 'false', '--noCheck', '--rootDir', '.', '--outDir', made, ...maps);
  for (const name of filesIn(made)) {
    const source = pathToFileURL(name.replace(/js$/, 'ts'));
    const text = fs.readFileSync(join(made, name), 'utf8');
    fs.writeFileSync(join(made, name), text
      .replaceAll('import.meta.url', `'${source}'`)
      .replaceAll("from 'fast-check'", `from '${pathToFileURL('scripts/seeded.mjs')}'`)
      .replace(/(?<= from ')\.[^']+\.mjs(?=')/g, (path) => new URL(path, source)));
  }
}

async function build(made) {
  const bundles = [
    bundle('conformance/run.ts', join(made, 'petstore-conformance.mjs')),
    bundle('bench/limits.ts', join(made, 'petstore-limits.mjs')),
    page(join(made, 'page.html')),
  ];
  tsc('-p', 'src', '--outDir', made);
  fs.copyFileSync('src/operations/openapi.json', join(made, 'operations/openapi.json'));
  fs.cpSync('data/sample', join(made, 'sample'), { recursive: true });
  await Promise.all(bundles);
  const { name, version, license, type, engines, bin } = JSON.parse(fs.readFileSync('package.json', 'utf8'));
  const commands = Object.entries(bin).map(([command, file]) => [command, file.replace('dist/', '')]);
  const about = { name, version, license, private: true, type, engines, bin: Object.fromEntries(commands) };
  fs.writeFileSync(join(made, 'package.json'), `${JSON.stringify(about, null, 2)}\n`);
  for (const [, file] of commands) fs.chmodSync(join(made, file), 0o755);
}

/** Moves what differs into a folder, the stamp last, and removes what is not new. */
function publish(made, to) {
  const names = filesIn(made);
  for (const name of names.sort((a, b) => (a === 'package.json') - (b === 'package.json'))) {
    const [from, path] = [join(made, name), join(to, name)];
    if (isFile(path) && fs.readFileSync(path).equals(fs.readFileSync(from))) continue;
    fs.mkdirSync(dirname(path), { recursive: true });
    fs.renameSync(from, path);
  }
  for (const name of filesIn(to)) if (!names.includes(name)) fs.rmSync(join(to, name), { force: true });
}

/** The paths of the files in a folder. */
function filesIn(folder) {
  return fs.readdirSync(folder, { recursive: true }).filter((name) => isFile(join(folder, name)));
}

function isFile(path) {
  return fs.statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** A file, or a folder and everything in it: a folder changes when a file in it is removed. */
function withContent(path) {
  if (!fs.statSync(path).isDirectory()) return [path];
  return [path, ...fs.readdirSync(path, { recursive: true }).map((name) => join(path, name))];
}
