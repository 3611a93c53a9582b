/** `node dist/server.js`. Installs the signal handlers, then loads the server. */
import './program/node-version.ts';
import { catchEarlySignals } from './program/early-signals.ts';

catchEarlySignals();
void import('./serve/serve.ts');
