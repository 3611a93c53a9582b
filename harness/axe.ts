/** Finds or installs the accessibility checker axe-core, which is not a dependency of this project. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { thisProcess } from './owner.ts';
import { outputOf, Program } from './program.ts';

const folder = fileURLToPath(new URL('axe', import.meta.url));
const file = `${folder}/node_modules/axe-core/axe.min.js`;

/** Why a test is skipped if `axeSource` returns null. */
export const noAxe = 'needs axe-core: run npm ci --prefix harness/axe';

/**
 * Returns the script that defines `axe` in a page; null if it is not installed.
 *
 * @throws NotStarted if `CI` is `true` and axe-core cannot be installed, because no test may be skipped in CI
 */
export async function axeSource(): Promise<string | null> {
  if (!existsSync(file)) {
    if (process.env['CI'] !== 'true') return null;
    const install = ['npm', 'ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'];
    await outputOf(new Program(thisProcess, install, process.env).ended);
  }
  return readFileSync(file, 'utf8');
}
