// Installs the peers of package-lock.json into node_modules/ beside this file, on first use. `node install.mjs` does it by hand.
//
// Two steps, so that one package that cannot be compiled does not cost the others: all packages without their install
// scripts (none but better-sqlite3's is of use), then better-sqlite3's own, from source and with the headers of the Node that runs.
// The second may fail: then fastify and express say why, and the two others can be measured.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const modules = join(here, 'node_modules');
const stampFile = join(modules, '.installed');
const sqliteBinary = join(modules, 'better-sqlite3/build/Release/better_sqlite3.node');
const sqliteLog = join(modules, '.better-sqlite3.log');

/** Why better-sqlite3 could not be built, in one line; there is no such file if it was. */
export const sqliteFailureFile = join(modules, '.better-sqlite3-failed');

const timeoutMs = 10 * 60_000;
const maxOutputBytes = 64 * 1024 * 1024;

/** Whether all of them are there, compiled for this Node. */
export function arePeersInstalled() {
  return read(stampFile) === stampOf() && read(sqliteFailureFile) === null;
}

/** Returns null once the peers are installed (better-sqlite3 apart: see above), or one line: why not, and what to do. */
export function installPeers() {
  if (arePeersInstalled()) return null;
  const stamp = stampOf();
  if (read(stampFile) !== stamp) {
    rmSync(stampFile, { force: true });
    const packages = npm('ci', '--ignore-scripts');
    if (packages.failure !== null) {
      return `The peers could not be installed (${packages.failure}): \`npm ci --ignore-scripts\` in bench/peers shows more; `
        + 'it needs npm and its registry.';
    }
  }
  // A machine that had no compiler may have one today, so a build that failed is tried again.
  const built = npm('rebuild', 'better-sqlite3', '--ignore-scripts=false');
  writeFileSync(sqliteLog, built.output);
  // npm 12 passes over a script that package.json does not allow, and says that all went well.
  const failure = built.failure ?? (existsSync(sqliteBinary) ? null : 'npm did not run its install script');
  if (failure === null) rmSync(sqliteFailureFile, { force: true });
  else {
    const needs = `a C++ compiler, make, Python 3 and Node's headers in ${prefix}/include/node`;
    writeFileSync(sqliteFailureFile, `better-sqlite3 could not be built (${failure}): it needs ${needs}; see ${sqliteLog}\n`);
  }
  writeFileSync(stampFile, stamp);
  return null;
}

/** The folder that holds bin/node and, if its headers are installed, include/node. */
const prefix = dirname(dirname(process.execPath));

/** What was installed holds for this lock file and this Node: another may not load what this one has compiled. */
function stampOf() {
  const lock = createHash('sha256').update(readFileSync(join(here, 'package-lock.json'))).digest('hex');
  return `${lock} ${process.version} ${process.platform}-${process.arch}\n`;
}

/** Runs npm here. `failure` is null if all went well, else the line of its output that tells most. */
function npm(...args) {
  const env = {
    ...process.env,
    PATH: [dirname(process.execPath), process.env.PATH].join(delimiter), // npm runs the node that it finds first
    npm_config_build_from_source: 'true',
    npm_config_nodedir: prefix,
  };
  const { error, status, signal, stdout, stderr } = spawnSync('npm', [...args, '--no-audit', '--no-fund'], {
    cwd: here, env, encoding: 'utf8', timeout: timeoutMs, maxBuffer: maxOutputBytes, stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = `${stdout ?? ''}${stderr ?? ''}`; // neither is there if npm is not
  if (status === 0) return { failure: null, output };
  if (error !== undefined) return { failure: `npm: ${error.message}`, output };
  return { failure: tellingLine(output) ?? `npm ended with ${signal ?? status}`, output };
}

/** The first line of npm's output that names what is missing, or else npm's own code for what went wrong. */
function tellingLine(output) {
  const lines = output.split('\n').map((line) => line.replace(/^npm (error|ERR!) /, '').replace(/^gyp ERR! (stack Error: )?/, ''));
  const missing = lines.find((line) => /not found|no such file|could not find|fatal error/i.test(line) && !/ (WARN|info) /.test(line));
  return (missing ?? lines.find((line) => /^code E/.test(line)))?.slice(0, 160);
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

if (process.argv[1] === join(here, 'install.mjs')) {
  const failure = installPeers() ?? read(sqliteFailureFile);
  if (failure !== null) {
    console.error(failure.trim());
    process.exitCode = 1;
  }
}
