#!/usr/bin/env node
/** `petstore`: the command with which operators run the server and manage its data folder. */
import './program/node-version.ts';
import { catchEarlySignals } from './program/early-signals.ts';

if (process.argv[2] === 'serve') {
  // In this process, so that signals reach the server. It reads the flags after `serve`.
  process.argv.splice(2, 1);
  catchEarlySignals();
  void import('./serve/serve.ts');
} else void import('./cli/run.ts');
