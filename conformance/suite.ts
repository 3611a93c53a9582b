/**
 * The checks as tests of node:test, in one process, with one budget of requests for all. `run.ts` is the comfortable face over
 * them; `tests.ts` hands them to node's own reporters.
 */
import { test } from 'node:test';
import { animalChecks } from './checks/animals.ts';
import { authChecks } from './checks/auth.ts';
import { borderChecks } from './checks/create-gaps.ts';
import { createChecks } from './checks/create.ts';
import { exhaustChecks } from './checks/limits-reached.ts';
import { getChecks } from './checks/get.ts';
import { limitChecks } from './checks/limits.ts';
import { listChecks } from './checks/list.ts';
import { otherChecks } from './checks/other.ts';
import { answerChecks } from './checks/reference/answers.ts';
import { deprecationChecks } from './checks/reference/deprecation.ts';
import { errorChecks } from './checks/reference/errors.ts';
import { decidedLimitChecks } from './checks/reference/limits.ts';
import { orderChecks } from './checks/reference/order.ts';
import { orderListChecks } from './checks/reference/orders.ts';
import { petChecks } from './checks/reference/pets.ts';
import { urlChecks } from './checks/reference/urls.ts';
import { refusalChecks } from './checks/create-refusals.ts';
import { resourceChecks } from './checks/resources.ts';
import { totalCost, type Check } from './session/check.ts';
import { nameOf } from './client/exchange.ts';
import { Fixtures } from './session/fixtures.ts';
import { Violated, Inconclusive, Skipped } from './verdicts/outcome.ts';
import type { RequirementResult } from './report/report.ts';
import { requirements, type RequirementId } from './requirements/requirements.ts';
import { Untestable, type Session } from './session/session.ts';
import { NoResponse, NoRequestsLeft } from './client/client.ts';
import { CheckContext } from './session/context.ts';

/**
 * All checks, in the order in which they run. No verdict depends on it; but what creates animals goes before what needs many, and
 * what every response owes is told when most responses have come.
 */
export const groups: readonly (readonly [title: string, checks: readonly Check[]])[] = [
  ['Authentication', authChecks],
  ['Add an animal', [...createChecks, ...refusalChecks, ...borderChecks]],
  ['Get an animal', getChecks],
  ['List animals', listChecks],
  ['Create, list and get together', animalChecks],
  ['Other operations, versioning', otherChecks],
  ['At the limit', exhaustChecks],
  ['Bodies of every response', resourceChecks],
  ['Limits in every response', limitChecks],
  ['Decided: order of checks', orderChecks],
  ['Decided: error codes', errorChecks],
  ['Decided: URLs', urlChecks],
  ['Decided: animals', petChecks],
  ['Decided: orders', orderListChecks],
  ['Decided: deprecation', deprecationChecks],
  ['Decided: limits', decidedLimitChecks],
  ['Decided: every response', answerChecks],
];

/** What a run is going to send at most, retries and shrinking apart. */
export interface Estimate {
  readonly withKey: number;
  readonly withoutKey: number;
  /** Animals that will stay. */
  readonly creates: number;
  /** As far as the limits tell. */
  readonly seconds: number;
}

/** The checks that a run makes. */
export function chosen(session: Session): readonly Check[] {
  return groups
    .flatMap(([, checks]) => checks)
    .filter((check) => isChosen(session, check) && whyNot(session, check) === undefined);
}

/** What the run is going to cost. The session must be open. */
export function estimateOf(session: Session): Estimate {
  const { runs, exhaust, maxRequests } = session.options;
  const write = session.mayWrite;
  const checks = chosen(session);
  if (checks.length === 0) return { withKey: 0, withoutKey: 0, creates: 0, seconds: 0 };
  const costs = checks.map(({ cost }) => totalCost(cost, runs));
  const sum = (of: 'requests' | 'keyless' | 'creates') => costs.reduce((total, cost) => total + cost[of], 0);
  const creates = write ? sum('creates') + Fixtures.cost.creates : 0;
  const crowd = write ? Fixtures.missingFrom(session.history.count() + creates) : 0;
  const most = maxRequests ?? Infinity;
  const driven = exhaust ? atLimit(session) : 0;
  const withKey = Math.min(most, sum('requests') + Fixtures.cost.requests + crowd + driven);
  const withoutKey = Math.min(most - withKey, sum('keyless'));
  const waiting = session.client.pacer('main').estimate(session.clock.now(), withKey - driven) + (exhaust ? 2 * 60_000 : 0);
  return {
    withKey,
    withoutKey,
    creates: Math.min(most, creates + crowd),
    seconds: waiting / 1000 + (withKey + withoutKey) * session.secondsPerRequest,
  };
}

/** How many requests it takes to drive a key to its limit and beyond. */
function atLimit(session: Session): number {
  return (session.client.pacer(session.exhaustKey.key).limit ?? 0) + 20;
}

/** Told as the run goes on. */
export interface Progress {
  group(title: string): void;
  result(result: RequirementResult): void;
}

/** What a test is given, as node:test gives it. */
export interface Running {
  test: Register;
  skip(reason: string): void;
}

/** Runs a test, as node:test does: a failure is told elsewhere, and does not reject. */
export type Register = (title: string, body: (t: Running) => Promise<void>) => Promise<void>;

/** Registers a test for every check of the run, and resolves when all have ended. */
export async function runChecks(session: Session, progress?: Progress, suite = groups, register: Register = test): Promise<void> {
  const told = new Set<RequirementId>();
  for (const [title, checks] of suite) {
    const mine = checks.filter((check) => isChosen(session, check));
    if (mine.length === 0) continue;
    await register(title, async (t) => {
      progress?.group(title);
      for (const check of mine) {
        await t.test(titleOf(check), async (t) => {
          await attempt(session, check);
          const id = check.requirement;
          if (id === undefined) return;
          const result = session.ledger.result(id);
          if (result.verdict === 'failed') told.add(id);
          progress?.result(result);
          conclude(t, session, result);
        });
      }
    });
  }
  await register('No response to any check broke another requirement', async () => {
    const broken = results(session).filter(({ id, verdict }) => verdict === 'failed' && !told.has(id));
    for (const result of broken) progress?.result(result);
    if (broken.length > 0) throw plainError(broken.map(failureText).join('\n\n'));
  });
}

/** What became of every requirement of the run. */
export function results(session: Session): readonly RequirementResult[] {
  return requirements
    .filter((r) => (r.profile === 'spec' || session.options.profile === 'reference') && session.wants(r.id))
    .map(({ id }) => session.ledger.result(id));
}

function isChosen(session: Session, { requirement }: Check): boolean {
  if (requirement === undefined) return session.options.only.length === 0;
  const { profile } = requirements.find(({ id }) => id === requirement)!;
  return (profile === 'spec' || session.options.profile === 'reference') && session.wants(requirement);
}

/** Why a check is left out, or undefined. */
function whyNot(session: Session, { cost }: Check): string | undefined {
  const { write, exhaust, maxRequests, runs } = session.options;
  if (cost.writes === true && !write)
    return session.options.readOnly
      ? 'nothing is created under --read-only'
      : 'nothing is created on a server elsewhere without --write';
  if (cost.exhausts === true && !exhaust) return 'no key is driven to its limit without --exhaust';
  if (session.halted !== undefined) return session.halted;
  const { keyless, ...total } = totalCost(cost, runs);
  const requests = total.requests + (cost.exhausts === true ? atLimit(session) : 0);
  const { withKey, withoutKey } = session.client.sent;
  if (maxRequests !== undefined && withKey + withoutKey + requests + keyless > maxRequests)
    return `left out by --max-requests ${maxRequests}: it may take ${requests + keyless} requests`;
  return undefined;
}

/** Runs a check; what comes of it is in the ledger. */
async function attempt(session: Session, check: Check): Promise<void> {
  const leave = (verdict: 'inconclusive' | 'skipped', reason: string) => {
    if (check.requirement !== undefined) session.ledger.leave(check.requirement, verdict, reason);
    for (const gap of check.gaps) session.ledger.notObserved(gap, reason);
  };
  const reason = whyNot(session, check);
  if (reason !== undefined) return leave('skipped', reason);
  if (check.cost.writes === true && session.noCategory !== undefined) return leave('inconclusive', session.noCategory);
  try {
    await check.run(new CheckContext(session, check));
    for (const gap of check.gaps) session.ledger.notObserved(gap, 'the responses did not show it');
  } catch (error) {
    if (error instanceof Violated) return;
    const end = error instanceof NoResponse ? await unanswered(session, error) : error;
    if (end instanceof Inconclusive) return leave('inconclusive', end.message);
    if (end instanceof Skipped) return leave('skipped', end.message);
    if (end instanceof NoRequestsLeft || end instanceof Untestable) {
      // Where only requests without the key have no room, those with it go on.
      if (end instanceof Untestable || end.forAll) session.halted = end.message;
      return leave('skipped', end.message);
    }
    // A fault of the kit must not look like a verdict.
    const { message, stack } = end as Error;
    leave('inconclusive', `the kit itself failed: ${message}`);
    session.lost ??= new Untestable(
      session.redact(`the kit itself failed in ${check.requirement ?? check.gaps.join(', ')}: ${message.split('\n')[0]}`),
    );
    throw plainError(session.redact(stack ?? message));
  }
}

/** What a fixture's request that broke its connection leaves of a check. */
async function unanswered(session: Session, error: NoResponse): Promise<unknown> {
  try {
    await session.seeThatItLives(error);
  } catch (second) {
    return second;
  }
  return new Inconclusive(`no response to ${nameOf(error.request)}: ${error.message}`);
}

function titleOf({ requirement, gaps }: Check): string {
  return requirement === undefined
    ? `gaps: ${gaps.join(', ')}`
    : `${requirement}: ${requirements.find(({ id }) => id === requirement)!.text}`;
}

/** The verdict in node's words. */
function conclude(t: Running, session: Session, result: RequirementResult): void {
  const { verdict, reason } = result;
  if (verdict === 'failed') throw plainError(failureText(result));
  if (verdict === 'inconclusive' && session.options.strict) throw plainError(`inconclusive: ${reason}`);
  if (verdict === 'inconclusive' || verdict === 'skipped') t.skip(`${verdict}: ${reason}`);
}

function failureText({ id, text, failures, failed }: RequirementResult): string {
  const told = failures.map(({ required, came, smallestCase, curl, replay }) =>
    [
      `required: ${required}`,
      `came: ${came}`,
      `case: ${smallestCase}`,
      curl,
      ...(replay === undefined ? [] : [`replay: ${replay}`]),
    ].join('\n'),
  );
  return [`${id}: ${text}`, ...told, ...(failed > failures.length ? [`and ${failed - failures.length} more`] : [])].join('\n');
}

/** An error without a stack: where in the kit it was thrown tells nobody anything. */
function plainError(message: string): Error {
  const error = new Error(message);
  error.stack = message;
  return error;
}
