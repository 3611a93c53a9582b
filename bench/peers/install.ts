/**
 * Installs the peers of package-lock.json into node_modules/ beside this file: `node --import tsx
 * bench/peers/install.ts`, or the first `npm run bench:peers` or `npm run test:servers`. Only the install script of
 * better-sqlite3 runs, which compiles it with the headers of this Node.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const stampFile = join(here, 'node_modules/.installed');

/** Whether the packages are installed, and compiled for this Node. */
export function arePeersInstalled(): boolean {
  return read(stampFile) === stamp();
}

/** Installs the packages if necessary. Returns undefined, or one line that states why they cannot be used. */
export function installPeers(): string | undefined {
  if (arePeersInstalled()) return undefined;
  const failure = npm('ci', '--ignore-scripts');
  if (failure !== undefined) return `the peers could not be installed (${failure}): they need npm and its registry`;
  const unbuilt = npm('rebuild', 'better-sqlite3', '--ignore-scripts=false');
  if (unbuilt === undefined) writeFileSync(stampFile, stamp());
  else process.stderr.write(`  better-sqlite3 could not be compiled (${unbuilt}): it needs a C++ compiler\n`);
  return undefined;
}

/** Runs npm. Returns undefined, or why it failed. */
function npm(...args: readonly string[]): string | undefined {
  const env = {
    ...process.env,
    PATH: [dirname(process.execPath), process.env['PATH']].join(delimiter), // npm runs the first node that it finds
    ...{ npm_config_build_from_source: 'true', npm_config_nodedir: dirname(dirname(process.execPath)) },
  };
  try {
    execFileSync('npm', [...args, '--no-audit', '--no-fund'], { cwd: here, env, stdio: 'pipe' });
    return undefined;
  } catch (error) {
    const lines = (error as Error).message.split('\n');
    return lines.find((line) => /not found|no such|code E|ENOENT/i.test(line)) ?? lines[0];
  }
}

/** The versions of the packages by name. */
export function peerVersions(): Readonly<Record<string, string>> {
  const { packages } = JSON.parse(read(join(here, 'package-lock.json'))!) as { readonly packages: Packages };
  const names = Object.keys(packages['']?.dependencies ?? {});
  return Object.fromEntries(names.map((name) => [name, packages[`node_modules/${name}`]?.version ?? '?']));
}

type Packages = Readonly<Record<string, { readonly version?: string; readonly dependencies?: object }>>;

/** Identifies the lock file and this Node: another Node may not load what this one has compiled. */
function stamp(): string {
  const lock = createHash('sha256').update(read(join(here, 'package-lock.json')) ?? '').digest('hex');
  return `${lock} ${process.version} ${process.platform}-${process.arch}\n`;
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const failure = installPeers();
  if (failure !== undefined) {
    console.error(failure);
    process.exitCode = 1;
  }
}
