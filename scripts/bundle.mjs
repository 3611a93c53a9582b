// Makes one file of a program and its dependencies.
import { readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

/** The end of the file has the licence of each dependency. */
export async function bundle(program, outfile) {
  const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'));
  const { outputFiles, metafile } = await build({
    entryPoints: [program],
    outfile,
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    banner: { js: '#!/usr/bin/env node' },
    define: { BUNDLE_VERSION: JSON.stringify(version) },
  });
  const folderOf = (file) => /^.*node_modules\/(@[^/]+\/)?[^/]+\//.exec(file)?.[0] ?? '';
  const licences = [...new Set(Object.keys(metafile.inputs).map(folderOf))].sort().map((folder) => {
    const title = folder === '' ? name : folder.replace(/^.*node_modules\/|\/$/g, '');
    return `${title}\n\n${readFileSync(`${folder}LICENSE`, 'utf8').trim()}\n`;
  });
  writeFileSync(outfile, `${outputFiles[0].text}/*\n${licences.join('\n')}*/\n`, { mode: 0o755 });
}
