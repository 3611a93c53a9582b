// Loaded with --import, so that Node runs each TypeScript file of this project as `build.mjs --tests` has compiled it.
// This is for processes that tests start with such a file. A test file itself is run from build/all/, without this.
import { readFileSync } from 'node:fs';
import module from 'node:module';
import { isMainThread } from 'node:worker_threads';

const root = new URL('..', import.meta.url).href;
const isSource = (url) => url?.startsWith(root) && url.endsWith('.ts');

/** The compiler has replaced `.ts` by `.js` in imports. */
export function resolve(specifier, context, next) {
  const isCompiled = isSource(context.parentURL) && /^\.\.?\/.*\.js$/.test(specifier);
  return next(isCompiled ? specifier.replace(/js$/, 'ts') : specifier, context);
}

export function load(url, context, next) {
  if (!isSource(url)) return next(url, context);
  const source = readFileSync(new URL(`build/all/${url.slice(root.length).replace(/ts$/, 'js')}`, root));
  return { format: 'module', source, shortCircuit: true };
}

if (!/\bbuild\/all\//.test(process.argv[1])) {
  // Node 20 has only `register`, which runs this file again, in a thread.
  if (module.registerHooks !== undefined) module.registerHooks({ resolve, load });
  else if (isMainThread) module.register(import.meta.url);
}
