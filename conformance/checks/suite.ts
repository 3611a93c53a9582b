/** All checks. Estimates what they send, and runs them. */
import { NoResponse, NoRequestsLeft } from '../client/client.ts';
import { nameOf } from '../client/request.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import type { Check } from '../session/check.ts';
import { CheckContext } from '../session/context.ts';
import { totalCost } from '../session/cost.ts';
import { Fixtures } from '../session/fixtures.ts';
import { Untestable, type Session } from '../session/session.ts';
import { Violated, Inconclusive, Skipped } from '../verdicts/outcome.ts';
import { restrictions, type RequirementResult, type Restriction } from '../verdicts/results.ts';
import { animalChecks } from './animals.ts';
import { authChecks } from './auth.ts';
import { createChecks, storedChecks } from './create.ts';
import { getChecks } from './get.ts';
import { dayLimitChecks, maxOfDay } from './limits-day.ts';
import { exhaustedLimitChecks, planChecks } from './limits-exhausted.ts';
import { limitChecks } from './limits.ts';
import { earlyListChecks, listChecks } from './list.ts';
import { orderChecks } from './orders.ts';
import { resourceChecks } from './resources.ts';
import { usualChecks } from './usual.ts';
import { versionChecks } from './versioning.ts';

const special: readonly Check[] = [
  ...[...authChecks, ...createChecks, ...storedChecks, ...getChecks, ...earlyListChecks, ...listChecks],
  ...[...animalChecks, ...orderChecks, ...versionChecks],
  ...[...planChecks, ...exhaustedLimitChecks, ...resourceChecks, ...limitChecks, ...dayLimitChecks],
];

/** The usual checks of all requirements and gaps that begin with one of these words. */
const usual = (...words: readonly string[]) => usualChecks(words, special);

/**
 * All checks, in the order in which they run. No verdict depends on the order, but fewer requests are needed if checks
 * that create animals come first, and results of rules are more complete if they come last.
 */
export const groups: readonly (readonly [title: string, checks: readonly Check[]])[] = [
  ['The plan of the key', planChecks],
  ['Authentication', [...authChecks, ...usual('auth')]],
  ['Lists of few animals', earlyListChecks],
  ['Add an animal', [...createChecks, ...usual('create'), ...storedChecks]],
  ['Get an animal', [...getChecks, ...usual('get')]],
  ['List animals', [...usual('list'), ...listChecks]],
  ['Creates, lists and gets together', animalChecks],
  ['Other operations, versioning', [...orderChecks, ...versionChecks]],
  ['At the limit', exhaustedLimitChecks],
  ['Bodies of every response', [...usual('service', 'pets', 'pet', 'error'), ...resourceChecks]],
  ['Rate limit headers of every response', [...usual('limits'), ...limitChecks]],
  ['The limit of a day', dayLimitChecks],
];

/** The share of the requests a run may send at most that it usually sends. */
const usualShare = 0.8;

/** What a run will send at most, not counting retries and shrinking. */
export interface Estimate {
  readonly withKey: number;
  readonly withoutKey: number;
  /** With and without a valid key: fewer than both together if --max-requests is less. */
  readonly all: number;
  /** Animals, which remain on the server. */
  readonly creates: number;
  readonly seconds: number;
}

/**
 * The animals that `--exhaust` creates: two to see whether they can be created, two at first, three in each
 * window, and some that a bucket admits beyond them.
 */
const atLimitCreates = 16;

/**
 * The requests without a valid key that --exhaust sends: two with other spellings of the scheme, two in a window, and
 * two at the limit.
 */
const atLimitKeyless = 6;

/** Estimates the rest of an open session. */
export function estimateOf(session: Session): Estimate {
  const { maxRequests } = session.options;
  const selected = plannedOf(session, groups);
  const costs = selected.map(({ cost }) => totalCost(cost, session.options));
  const sum = (of: 'requests' | 'creates') => costs.reduce((total, cost) => total + cost[of], 0);
  const creates = session.mayWrite ? sum('creates') + Fixtures.cost.creates : 0;
  const needMany = session.mayWrite && selected.some(({ cost }) => cost.many === true);
  const missing = needMany ? Fixtures.missing(session.history).length : 0;
  const max = maxRequests ?? Infinity;
  const exhausts = selected.some(({ cost }) => cost.exhausts === true);
  const atLimit = exhausts ? atLimitEstimate(session) : { requests: 0, seconds: 0 };
  const toLimit = atLimit.requests;
  const withKey = Math.min(max, sum('requests') + Fixtures.cost.requests + missing + toLimit);
  const withoutKey = Math.min(max, keylessOf(session, selected));
  const usual = Math.ceil((withKey - toLimit) * usualShare);
  const waitMs = session.client.pacers.main.estimate(session.clock.now(), usual);
  return {
    withKey,
    withoutKey,
    all: Math.min(max, withKey + withoutKey),
    creates: Math.min(max, creates + missing + (exhausts && session.mayWrite ? atLimitCreates : 0)),
    seconds: waitMs / 1000 + atLimit.seconds + (usual + toLimit + withoutKey) * session.secondsPerRequest,
  };
}

/** The requests without a valid key that checks may send. */
function keylessOf({ options }: Session, checks: readonly Check[]): number {
  const exhausts = checks.some(({ cost }) => cost.exhausts === true);
  return checks.reduce((sum, { cost }) => sum + totalCost(cost, options).keyless, exhausts ? atLimitKeyless : 0);
}

/** The number of requests that bring a key to its limit and beyond, and the seconds until it has recovered. */
function atLimitEstimate(session: Session): { readonly requests: number; readonly seconds: number } {
  const now = session.clock.now();
  const pacer = session.client.pacers[session.exhaustKey.key];
  const day = pacer.longWindow(now);
  // The probes use up three windows: the current one and two more (limits/probes.ts).
  if (day === undefined) return { requests: 3 * (pacer.limit ?? 0) + 105, seconds: pacer.endsIn(now) / 1000 + 200 };
  const requests = day.remaining <= maxOfDay ? day.remaining : 0;
  return { requests: requests + 20, seconds: requests === 0 ? 0 : 61 + pacer.estimate(now, requests) / 1000 };
}

/** Is called while a run proceeds. */
export interface Progress {
  group(title: string): void;
  result(result: RequirementResult): void;
}

/** Runs the checks of an open session. */
export async function runChecks(session: Session, progress?: Progress, suite = groups): Promise<void> {
  const reported = new Set<RequirementId>();
  session.client.maxKeyless = keylessOf(session, plannedOf(session, suite));
  for (const [title, checks] of suite) {
    const selected = checks.filter((check) => isSelected(session, check));
    if (selected.length > 0) progress?.group(title);
    for (const check of selected) {
      const startedAt = session.clock.now();
      await runCheck(session, check);
      const id = check.requirement;
      if (id === undefined) continue;
      session.ledger.took(id, (session.clock.now() - startedAt) / 1000);
      const result = session.ledger.result(id);
      if (result.verdict === 'failed') reported.add(id);
      progress?.result(result);
    }
  }
  // Responses to the requests of later checks may have violated requirements that had passed.
  const late = session.results().filter(({ id, verdict }) => verdict === 'failed' && !reported.has(id));
  for (const result of late) progress?.result(result);
}

/** The checks of a suite that are to run. */
function plannedOf(session: Session, suite: typeof groups): readonly Check[] {
  const checks = suite.flatMap(([, checks]) => checks);
  return checks.filter((check) => isSelected(session, check) && skipReason(session, check) === undefined);
}

function isSelected(session: Session, { requirement }: Check): boolean {
  return requirement === undefined ? session.options.only.length === 0 : session.wants(requirement);
}

/** The option because of which no run with the same options can run a check. */
function restrictionOf(session: Session, { requirement, cost }: Check): Restriction | undefined {
  const { write, exhaust, plan, readOnly } = session.options;
  if (requirement !== undefined && session.excludes(requirement)) return 'exclude';
  if (cost.writes === true && !write) return readOnly ? 'read-only' : 'write';
  if (cost.exhausts === true && !exhaust) return 'exhaust';
  return cost.needsPlan === true && plan === undefined ? 'plan' : undefined;
}

/** Why a check is skipped, or undefined. */
function skipReason(session: Session, check: Check): string | undefined {
  const { cost } = check;
  const { maxRequests } = session.options;
  const restriction = restrictionOf(session, check);
  if (restriction !== undefined) return restrictions[restriction];
  // If only the API key is refused, the other key can still be brought to its limit.
  const needsMain = cost.exhausts !== true || session.exhaustKey === session.key;
  if (session.halted !== undefined && (needsMain || session.lost !== undefined)) return session.halted;
  if (maxRequests === undefined) return undefined;
  const { requests, keyless } = totalCost(cost, session.options);
  const most = requests + keyless + (cost.exhausts === true ? atLimitEstimate(session).requests + atLimitKeyless : 0);
  const { withKey, withoutKey } = session.client.sent;
  return withKey + withoutKey + most > maxRequests
    ? `too much for --max-requests ${maxRequests}: the check may send ${most === 1 ? '1 request' : `${most} requests`}`
    : undefined;
}

/** Runs a check. The ledger records its result. */
async function runCheck(session: Session, check: Check): Promise<void> {
  const leave = (verdict: 'inconclusive' | 'skipped', reason: string, inapplicable?: true) => {
    const restriction = restrictionOf(session, check);
    const { requirement } = check;
    // A check that sends no requests leaves the verdict to rules. If they have judged any response, it stands.
    const rulesDecide = totalCost(check.cost, session.options).requests === 0 && restriction === undefined;
    if (rulesDecide && verdict === 'skipped' && requirement && session.ledger.result(requirement).judged > 0) return;
    const beyond = { ...(inapplicable && { inapplicable }), ...(restriction !== undefined && { restriction }) };
    if (requirement !== undefined) session.ledger.leave(requirement, verdict, reason, beyond);
    for (const gap of check.gaps) session.ledger.notObserved(gap, reason);
  };
  const reason = skipReason(session, check);
  if (reason !== undefined) return leave('skipped', reason);
  if (check.cost.writes === true && session.noCategory !== undefined) return leave('inconclusive', session.noCategory);
  try {
    if (check.cost.many === true) await session.fixtures.needMany();
    const running = check.run(new CheckContext(session, check));
    // Before later checks change what lists show.
    await (check.cost.exhausts === true ? running : running.finally(() => session.settleDisputes()));
    const { path, seed } = session.options;
    if (path !== undefined && !session.isReplayed)
      session.lost ??= new Untestable(`--path ${path}: ${check.requirement} generates no such case with seed ${seed}`);
    for (const gap of check.gaps) session.ledger.notObserved(gap, 'no response shows it');
  } catch (thrown) {
    if (thrown instanceof Violated) return;
    const error = thrown instanceof NoResponse ? await afterNoResponse(session, thrown) : thrown;
    if (error instanceof Inconclusive) return leave('inconclusive', error.message);
    if (error instanceof Skipped) return leave('skipped', error.message, true);
    if (error instanceof NoRequestsLeft || error instanceof Untestable) {
      if (error instanceof Untestable || error.forAll) session.halted = error.message;
      return leave('skipped', error.message);
    }
    // An error in the kit must not look like a verdict.
    const { message } = error as Error;
    leave('inconclusive', `error in the kit: ${message}`);
    const name = check.requirement ?? check.gaps.join(', ');
    session.lost ??= new Untestable(session.redact(`error in the kit, in ${name}: ${message.split('\n')[0]}`));
  }
}

/** How a check ends after a request of a fixture broke its connection. */
async function afterNoResponse(session: Session, error: NoResponse): Promise<unknown> {
  try {
    await session.assertAlive(error);
  } catch (second) {
    return second;
  }
  return new Inconclusive(`no response to ${nameOf(error.request)}: ${error.message}`);
}
