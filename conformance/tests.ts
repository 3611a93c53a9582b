/**
 * The kit as tests of node:test, for Node's reporters: `BASE_URL=… API_KEY=… node --import tsx --test
 * conformance/tests.ts`. CONFORMANCE_OPTIONS contains further options of `npm run conformance`. The tests start when
 * the run has ended, because a later response may violate a requirement that an earlier one has met.
 */
import { describe, test } from 'node:test';
import { runChecks } from './checks/suite.ts';
import { systemClock } from './client/clock.ts';
import { openSession } from './open-session.ts';
import { readOptions } from './options.ts';
import { buildReport } from './report/build.ts';
import { suitesOf } from './report/junit.ts';

/** A requirement that is not met. node:test prints the stack, so that it only contains the message. */
class NotMet extends Error {
  override readonly name = 'NotMet';

  constructor(message: string) {
    super(message);
    this.stack = message;
  }
}

const words = (process.env['CONFORMANCE_OPTIONS'] ?? '').split(' ').filter((word) => word !== '');
const options = readOptions(words, process.env);
if (options === 'help' || 'list' in options)
  throw new Error('CONFORMANCE_OPTIONS must contain neither --help nor --list');
const { session, close } = await openSession(options, systemClock);
await runChecks(session);
await close();
// Without this error, a run that skips most checks because the server is gone would pass.
if (session.lost !== undefined) throw session.lost;
for (const [title, cases] of suitesOf(buildReport(session)).filter(([, of]) => of.length > 0)) {
  describe(title, () => {
    for (const { name, kind, message, details = '' } of cases)
      test(name, { skip: kind === 'skipped' && message }, () => {
        if (kind === 'failure') throw new NotMet(`${message}\n${details}`);
      });
  });
}
