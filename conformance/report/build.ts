/** The report of a session. */
import { readFileSync } from 'node:fs';
import type { Session } from '../session/session.ts';
import type { Report } from './report.ts';
import type { Verdict } from '../verdicts/results.ts';

/** What the session has found, as it stands now. */
export function buildReport(session: Session): Report {
  const { options, client, clock, startedAt } = session;
  const requirements = session.results();
  const totals: Record<Verdict, number> = { passed: 0, failed: 0, inconclusive: 0, skipped: 0 };
  for (const { verdict } of requirements) totals[verdict]++;
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
  // A run that the user has cut short is one; a run that looked at nothing is none.
  const cutShort = session.halted !== undefined && options.maxRequests === undefined;
  const nothing =
    totals.passed + totals.failed === 0 && !(options.strict && totals.inconclusive > 0)
      ? (requirements.find(({ reason }) => reason !== undefined)?.reason ?? 'nothing was looked at')
      : undefined;
  const why = session.lost?.message ?? (cutShort ? session.halted : nothing);
  const aborted = why === undefined ? undefined : session.redact(why);
  return {
    format: 1,
    kit: { name: 'petstore-conformance', version, node: process.version },
    target: options.baseUrl,
    profile: 'spec',
    startedAt: new Date(startedAt).toISOString(),
    seconds: Math.round((clock.now() - startedAt) / 100) / 10,
    seed: options.seed,
    runs: options.runs,
    mode: [
      options.write ? 'write' : 'read-only',
      ...(options.only.length > 0 ? [`only ${options.only.join(',')}`] : []),
      ...(options.path !== undefined ? [`path ${options.path}`] : []),
      ...(options.exhaust ? ['exhaust'] : []),
      ...(options.plan !== undefined ? [`plan ${options.plan}`] : []),
      ...(options.strict ? ['strict'] : []),
      ...(options.maxRequests !== undefined ? [`max-requests ${options.maxRequests}`] : []),
    ],
    sent: { ...client.sent, secondsWaited: Math.round(client.sent.secondsWaited) },
    totals,
    ...(aborted !== undefined && { aborted }),
    conforms: aborted === undefined && totals.failed === 0 && !(options.strict && totals.inconclusive > 0),
    requirements,
    gaps: session.ledger.observations(),
  };
}
