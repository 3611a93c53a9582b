// Makes one file of a program and its dependencies.
import { readFileSync, writeFileSync } from 'node:fs';
import { build, transformSync } from 'esbuild';

/** Refuses an old Node. */
const versionSource = readFileSync('src/program/node-version.ts', 'utf8');
const versionCheck = transformSync(versionSource, { loader: 'ts', format: 'esm' }).code;

/**
 * Makes an import of Node's modules one that old versions accept: a name that they do not have would be an error before
 * the first line runs.
 */
function withLateNames(code) {
  let number = 0;
  return code.replace(/^import (?:(\w+), )?\{([^}]*)\} from "(node:[^"]+)";$/gm, (_, whole, names, module) => {
    const space = `nodeModule${++number}`;
    const members = `const {${names.replaceAll(' as ', ': ')}} = ${space};`;
    return `import * as ${space} from "${module}"; ${members}${whole ? ` const ${whole} = ${space}.default;` : ''}`;
  });
}

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
    target: 'node16.11', // so that older versions can read it, and refuse to run it
    banner: { js: `#!/usr/bin/env node\n${versionCheck}` },
    define: { BUNDLE_VERSION: JSON.stringify(version) },
  });
  const folderOf = (file) => /^.*node_modules\/(@[^/]+\/)?[^/]+\//.exec(file)?.[0] ?? '';
  const licences = [...new Set(Object.keys(metafile.inputs).map(folderOf))].sort().map((folder) => {
    const title = folder === '' ? name : folder.replace(/^.*node_modules\/|\/$/g, '');
    return `${title}\n\n${readFileSync(`${folder}LICENSE`, 'utf8').trim()}\n`;
  });
  writeFileSync(outfile, `${withLateNames(outputFiles[0].text)}/*\n${licences.join('\n')}*/\n`, { mode: 0o755 });
}
