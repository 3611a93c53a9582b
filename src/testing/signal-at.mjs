/**
 * Loaded before a server with `--import`: sends the signal SIGNAL to the process when it loads its module number
 * SIGNAL_AT_LOAD, or at its call number SIGNAL_AT_CALL of a function of node:fs, and creates the file SIGNALLED. What
 * is loaded or called before the server installs its first handlers does not count.
 */
import fs from 'node:fs';
import module, { syncBuiltinESMExports } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const { SIGNAL, SIGNAL_AT_LOAD, SIGNAL_AT_CALL, SIGNALLED } = process.env;
const { writeFileSync } = fs;

function send() {
  writeFileSync(SIGNALLED, '');
  process.kill(process.pid, SIGNAL);
}

let loads = 0;
const first = /\/dist\/(server|cli|program\/node-version|program\/early-signals)\.js$/;

export function load(url, context, next) {
  if (/\/dist\/.*\.js$/.test(url) && !first.test(url) && ++loads === Number(SIGNAL_AT_LOAD)) send();
  return next(url, context);
}

if (SIGNAL_AT_LOAD !== undefined) {
  if (module.registerHooks !== undefined) module.registerHooks({ load });
  else if (isMainThread) module.register(import.meta.url);
}

if (SIGNAL_AT_CALL !== undefined) {
  let calls = 0;
  for (const functions of [fs, fs.promises]) {
    for (const [name, real] of Object.entries(functions)) {
      if (typeof real !== 'function' || /^[A-Z_]/.test(name)) continue;
      functions[name] = function (...args) {
        if (process.listenerCount('SIGHUP') > 0 && ++calls === Number(SIGNAL_AT_CALL)) send();
        return real.apply(this, args);
      };
      Object.defineProperties(functions[name], Object.getOwnPropertyDescriptors(real));
    }
  }
  syncBuiltinESMExports();
}
