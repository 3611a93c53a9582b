// Builds dist/: the server and the operator's command, complete in themselves. With --tests it also compiles everything
// into build/, from where compiled.mjs runs it.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
rmSync('dist', { recursive: true, force: true });
const tsc = (...options) => execFileSync('node_modules/.bin/tsc', options, { stdio: 'inherit' });
tsc('-p', 'src');
copyFileSync('src/operations/openapi.json', 'dist/operations/openapi.json');
const { name, version, license, type, engines } = JSON.parse(readFileSync('package.json', 'utf8'));
const bin = { petstore: 'cli.js' };
writeFileSync('dist/package.json', `${JSON.stringify({ name, version, license, private: true, type, engines, bin }, null, 2)}\n`);
chmodSync('dist/cli.js', 0o755);
if (process.argv.includes('--tests')) {
  const maps = ['--inlineSourceMap', '--sourceRoot', `${process.cwd()}/`];
  tsc('--noEmit', 'false', '--noCheck', '--rootDir', '.', '--outDir', 'build', ...maps);
}
