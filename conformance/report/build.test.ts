/** What --strict counts: only what a run with the same options could judge. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SessionOptions } from '../session/session.ts';
import { smallServer } from '../testing/servers.ts';
import { run, session } from '../testing/sessions.ts';
import { isUnjudged } from '../verdicts/results.ts';
import { buildReport } from './build.ts';
import { headline } from './words.ts';

type Case = readonly [what: string, options: Partial<SessionOptions>, conforms: boolean, headline: string];

const cases: readonly Case[] = [
  ['a default run', {}, true, 'Conforms'],
  ['--read-only', { write: false, readOnly: true }, true, 'No violation found'],
  ['a remote server without --write', { write: false }, true, 'No violation found'],
  ['--exclude', { exclude: ['create.', 'limits.'] }, true, 'No violation found'],
  ['--exclude of what no run can judge', { exclude: ['limits.ban'] }, true, 'No violation found'],
  ['--only', { only: ['get.', 'create.name'] }, true, 'No violation found'],
  ['--max-requests', { maxRequests: 100 }, false, 'Not shown to conform'],
];

for (const [what, options, conforms, wanted] of cases) {
  test(`--strict, ${what}: ${wanted}`, async (t) => {
    const opened = session(await smallServer(t, { animals: 150 }), { strict: true, runs: 2, ...options });
    await run(opened);
    const report = buildReport(opened);
    const open = report.requirements.filter(isUnjudged).map(({ id, reason }) => `${id}: ${reason}`);
    assert.deepEqual([report.conforms, headline(report)], [conforms, wanted], open.join('\n'));
  });
}
