/** Makes the report of a session. */
import { version } from '../../harness/bundle.ts';
import { combinedBy } from '../model/plan.ts';
import type { Session } from '../session/session.ts';
import { isOutdated } from '../verdicts/known.ts';
import { isUnjudged, totalsOf, type RequirementResult, type Verdict } from '../verdicts/results.ts';
import type { Report } from './report.ts';

/** The report of everything that the session has found so far. */
export function buildReport(session: Session): Report {
  const { options, client, clock, startedAt } = session;
  const requirements = session.results();
  const known = session.knownResults();
  const totals = totalsOf(requirements);
  const aborted = abortReason(session, requirements);
  const isTooLittle =
    (options.strict && requirements.some(isUnjudged)) ||
    totals.passed + totals.failed + totals.known < (options.minJudged ?? 0);
  return {
    format: 1,
    kit: { name: 'petstore-conformance', version, node: process.version },
    target: options.baseUrl,
    startedAt: new Date(startedAt).toISOString(),
    seconds: Math.round((clock.now() - startedAt) / 100) / 10,
    seed: options.seed,
    runs: options.runs,
    mode: [
      options.write ? 'write' : 'read-only',
      ...(options.only.length > 0 ? [`only ${options.only.join(',')}`] : []),
      ...(options.exclude !== undefined ? [`exclude ${options.exclude.join(',')}`] : []),
      ...(known[0] !== undefined ? [`known ${known[0].file}`] : []),
      ...(options.path !== undefined ? [`path ${options.path}`] : []),
      ...(options.exhaust ? ['exhaust'] : []),
      ...(options.plan !== undefined ? [`plan ${options.plan}`] : []),
      ...(options.thoroughAuth ? ['thorough-auth'] : []),
      ...(options.strict ? ['strict'] : []),
      ...(options.minJudged !== undefined ? [`min-judged ${options.minJudged}`] : []),
      ...(options.maxRequests !== undefined ? [`max-requests ${options.maxRequests}`] : []),
    ],
    sent: { ...client.sent, secondsWaited: Math.round(client.sent.secondsWaited) },
    totals,
    ...(aborted !== undefined && { aborted: session.redact(aborted) }),
    conforms: aborted === undefined && totals.failed === 0 && !isTooLittle && !known.some(isOutdated),
    known,
    requirements,
    gaps: session.ledger.observations(),
    combined: combinedBy(session.caseSets, session.sentCases),
  };
}

/** Why the server was not tested to the end, or undefined. A run that --max-requests has ended is complete. */
function abortReason(session: Session, requirements: readonly RequirementResult[]): string | undefined {
  const { lost, halted, options } = session;
  if (lost !== undefined) return lost.message;
  if (halted !== undefined && options.maxRequests === undefined) return halted;
  const unjudged: readonly Verdict[] = options.strict ? ['skipped'] : ['inconclusive', 'skipped'];
  if (requirements.some(({ verdict }) => !unjudged.includes(verdict))) return undefined;
  const reason = requirements.find(({ reason }) => reason !== undefined)?.reason;
  return reason === undefined ? 'no requirement was checked' : `nothing was judged: ${reason}`;
}
