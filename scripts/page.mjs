// Bundles the reference page into one file, which needs no other resource.
import { readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

/** Writes the reference page to `outfile`. */
export async function page(outfile) {
  const options = { bundle: true, write: false, minify: true, charset: 'utf8', target: 'es2022', format: 'esm' };
  const textOf = async (file) => (await build({ ...options, entryPoints: [`src/page/${file}`] })).outputFiles[0].text;
  const [style, script] = await Promise.all(['page.css', 'page.ts'].map(textOf));
  const html = readFileSync('src/page/page.html', 'utf8');
  const withStyle = html.replace('</style>', (end) => style + end);
  writeFileSync(outfile, withStyle.replace('</script>', (end) => script + end));
}
