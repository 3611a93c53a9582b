/**
 * The checks for node's own test runner and its reporters: `BASE_URL=… API_KEY=… node --import tsx --test conformance/tests.ts`.
 * Further options stand in CONFORMANCE_OPTIONS, as `npm run conformance` takes them.
 */
import { openSession } from './open-session.ts';
import { systemClock } from './client/clock.ts';
import { readOptions } from './options.ts';
import { runChecks } from './suite.ts';

const options = readOptions(
  (process.env['CONFORMANCE_OPTIONS'] ?? '').split(' ').filter((word) => word !== ''),
  process.env,
);
if (typeof options === 'string') throw new Error(`CONFORMANCE_OPTIONS cannot ask for --${options}`);
const { session, end } = await openSession(options, systemClock, systemClock.sleep);
await runChecks(session);
await end();
// Else all that was left out would look like a run that went well.
if (session.lost !== undefined) throw session.lost;
