/** `node dist/server.js`. Installs the signal handlers, then loads the server. */
import './node-version.ts';
import { catchEarlySignals } from './early-signals.ts';

catchEarlySignals();
void import('./serve.ts');
