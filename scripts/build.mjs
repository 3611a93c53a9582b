// Builds dist/: the server with its reference page and the operator's command, complete in themselves, and the
// conformance kit and the limits bench as one file each. With --if-needed it builds nothing if dist/ is newer than the
// sources of the server. With --tests it also compiles everything into build/, from where compiled.mjs runs it.
//
// The build happens in a folder of its own. Then each file that differs replaces its predecessor at once, so that
// servers can start, and others can build, at the same time.
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundle } from './bundle.mjs';
import { page } from './page.mjs';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
/** Is written last, and has the time at which the build began. */
const stamp = 'dist/package.json';
const sources = ['src', 'data/sample', 'package.json', 'tsconfig.json', 'scripts'];
const tsc = (...options) => execFileSync('node_modules/.bin/tsc', options, { stdio: 'inherit' });

const isCurrent = process.argv.includes('--if-needed') && fs.existsSync(stamp) &&
  sources.flatMap(withContent).every((path) => fs.statSync(path).mtimeMs < fs.statSync(stamp).mtimeMs);
if (!isCurrent) await build();
if (process.argv.includes('--tests')) {
  const maps = ['--inlineSourceMap', '--sourceRoot', `${process.cwd()}/`];
  tsc('--noEmit', 'false', '--noCheck', '--rootDir', '.', '--outDir', 'build', ...maps);
}

async function build() {
  const startedAt = new Date();
  fs.mkdirSync('build', { recursive: true });
  const made = fs.mkdtempSync('build/dist-');
  try {
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
    publish(made);
    fs.utimesSync(stamp, startedAt, startedAt);
  } finally {
    fs.rmSync(made, { recursive: true, force: true });
  }
}

/** Moves what differs into dist/, the stamp last, and removes what the build has not made. */
function publish(made) {
  const isFile = (path) => fs.statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
  const names = fs.readdirSync(made, { recursive: true }).filter((name) => isFile(join(made, name)));
  for (const name of [...names.filter((name) => name !== 'package.json'), 'package.json']) {
    const [from, to] = [join(made, name), join('dist', name)];
    if (isFile(to) && fs.readFileSync(to).equals(fs.readFileSync(from))) continue;
    fs.mkdirSync(dirname(to), { recursive: true });
    fs.renameSync(from, to);
  }
  for (const name of fs.readdirSync('dist', { recursive: true }))
    if (isFile(join('dist', name)) && !names.includes(name)) fs.rmSync(join('dist', name), { force: true });
}

/** A file, or a folder and everything in it: a folder changes when a file in it is removed. */
function withContent(path) {
  if (!fs.statSync(path).isDirectory()) return [path];
  return [path, ...fs.readdirSync(path, { recursive: true }).map((name) => join(path, name))];
}
