/** Whether this program runs as a bundle: one file that scripts/build.mjs has made of it, which may be anywhere. */
import { readFileSync } from 'node:fs';

/** The version of the package; the build defines it in bundles. */
declare const BUNDLE_VERSION: string | undefined;

export const isBundle = typeof BUNDLE_VERSION === 'string';

/** The version of this package. */
export const version = typeof BUNDLE_VERSION === 'string' ? BUNDLE_VERSION : packageVersion();

function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { readonly version: string }).version;
}
