/**
 * The checks for node's own test runner and its reporters: `BASE_URL=… API_KEY=… node --import tsx --test
 * conformance/tests.ts`. CONFORMANCE_OPTIONS contains further options of `npm run conformance`.
 */
import { test } from 'node:test';
import { groups, runChecks } from './checks/suite.ts';
import { systemClock } from './client/clock.ts';
import { openSession } from './open-session.ts';
import { readOptions } from './options.ts';

const options = readOptions(
  (process.env['CONFORMANCE_OPTIONS'] ?? '').split(' ').filter((word) => word !== ''),
  process.env,
);
if (options === 'help' || 'list' in options)
  throw new Error('CONFORMANCE_OPTIONS must contain neither --help nor --list');
const { session, close } = await openSession(options, systemClock, systemClock.sleep);
await runChecks(session, undefined, groups, test);
await close();
// Without this error, a run that skips most checks because the server is gone would pass.
if (session.lost !== undefined) throw session.lost;
