/** `node dist/server.js`. The server itself is loaded when its signals are handled. */
import './node-version.ts';
import { catchEarlySignals } from './early-signals.ts';

catchEarlySignals();
void import('./serve.ts');
