// Runs tests as `build.mjs --tests` has compiled them: `npm run -s test:files -- FILE…`. Loading them with tsx, or
// with a hook, would cost each file a fifth of a second of CPU time.
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { relative } from 'node:path';

const args = process.argv.slice(2).map((arg) => {
  return arg.endsWith('.ts') ? `build/all/${relative('.', arg).replace(/ts$/, 'js')}` : arg;
});
const imports = ['./scripts/compiled.mjs', './build/all/src/testing/setup.js'].flatMap((path) => ['--import', path]);
const flags = ['--enable-source-maps', ...imports, `--test-concurrency=${availableParallelism() + 1}`, '--test'];
process.exitCode = spawnSync(process.execPath, [...flags, ...args], { stdio: 'inherit' }).status ?? 1;
