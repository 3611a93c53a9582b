/** Section 8: a key at its limit. The probes (limits/probes.ts) use up the limit; the history is judged as a whole. */
import { nobody, wrongKey } from '../client/credentials.ts';
import { NoRequestsLeft } from '../client/client.ts';
import type { Request } from '../client/request.ts';
import { createPet, getPet, listOrders, listPets } from '../client/requests.ts';
import { int64Max } from '../client/pet.ts';
import { longWindowMs, plans, type Plan } from '../client/pacing.ts';
import { dayMs } from '../client/limit-readings.ts';
import { exchangeOf, hasSucceeded, isRefused, type Exchange } from '../limits/exchange.ts';
import { upTo } from '../limits/group.ts';
import { exhaust } from '../limits/probes.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import { check, observe, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';
import { Inconclusive, Violated } from '../verdicts/outcome.ts';

/** The check of a requirement by the history of the exhausted key. `why`: the reason if nothing could be judged. */
const shown = (id: RequirementId, why: string): Check =>
  check(id, { exhausts: true }, async (t) => {
    await needExhausted(t);
    if (!t.requireHistory(id)) throw new Inconclusive(why);
  });

/** The number of ids that are requested after the latest one. */
const nextIds = 3n;

/** How often requests with the API key are sent at the same time as requests with the exhausted key. */
const maxMixed = 6;

/** The API key is used beside the exhausted key if more requests of it remain. */
const minOfOther = 20;

/** Comes first: it must not be skipped because the other checks have used up the day of the API key. */
export const planChecks: readonly Check[] = [
  check('limits.plan', { requests: 5, creates: 1, needsPlan: true }, async (t) => {
    await t.send(listPets(t.exhaustKey, { limit: 1 }));
    for (const request of await t.fixtures.operations(t.exhaustKey)) await t.send(request);
    requirePlan(t, t.options.plan!);
  }),
];

/**
 * Judges the limits that the headers of the exhausted key have shown so far.
 *
 * @param isSecond whether they have been judged before: then only violations are recorded
 * @throws Violated if one is not of the plan
 */
function requirePlan(t: CheckContext, plan: Plan, isSecond = false): void {
  const { perMinute, perDay } = plans[plan];
  const require = (met: boolean, { response }: Exchange, required: string, received: string) => {
    if (!met || !isSecond) t.require(met, response, required, received, 'limits.plan');
  };
  const all = t.history.limits.of(t.exhaustKey.key);
  const succeeded: number[] = [];
  let [rises, counted, since] = [0, 0, all[0]?.sentAt ?? 0];
  for (const one of all) {
    const { limit, remaining, sentTurn, receivedTurn, receivedAt } = one;
    const required = `X-RateLimit-Limit: ${perMinute} or ${perDay}, the limits of the plan ${plan}`;
    require(limit === perMinute || limit === perDay, one, required, `${limit}`);
    // The requests of this run count until the day ends, which it does at most once in a run.
    const used = upTo(succeeded, sentTurn) - counted;
    if (limit === perDay && remaining > perDay - used + 1 + (perDay * (receivedAt - since)) / dayMs)
      [rises, counted, since] = [rises + 1, succeeded.length, receivedAt];
    const received = `Remaining ${remaining}, so the requests of the day were available again for the second time`;
    require(rises <= 1, one, `a limit of ${limit} per day, which resets at most once in a run`, received);
    if (hasSucceeded(one)) succeeded.push(receivedTurn);
  }
  const isFar = ({ reset, receivedAt, date }: Exchange) =>
    date !== undefined && reset * 1_000 - Math.max(date, receivedAt) > longWindowMs;
  const admitted = all.filter((one) => one.limit === perMinute && !isRefused(one));
  // If most of the day is used up, Reset can be that of the day although Limit is that of the minute.
  const first = admitted.find(({ remaining }) => remaining > perMinute / 2);
  if (first === undefined) return;
  const required = `a Reset within minutes, because the limit of ${perMinute} is per minute`;
  require(!admitted.every(isFar), first, required, `${first.reset}`);
}

export const exhaustedLimitChecks: readonly Check[] = [
  shown('limits.admits', 'no earlier Remaining promised that a request would be admitted'),
  shown('limits.refuses', 'the headers do not show how many requests were left'),
  check('limits.all-operations', { exhausts: true }, async (t) => {
    await needExhausted(t);
    t.requireHistory('limits.all-operations');
    const refused = t.history.limits.of(t.exhaustKey.key).filter(isRefused);
    for (const { response } of refused) t.require(true, response, '429, because the key is at its limit');
    const missing = (await t.fixtures.operations(t.exhaustKey)).filter(({ operation }) => {
      return !refused.some(({ response }) => response.request.operation === operation);
    });
    if (refused.length === 0) throw new Inconclusive('the key did not reach its limit');
    const names = missing.map(({ operation }) => operation).join(', ');
    if (missing.length > 0) throw new Inconclusive(`no request of ${names} was sent at the limit`);
  }),
  check('limits.retry-after', { exhausts: true }, async (t) => {
    try {
      await needExhausted(t);
    } catch (error) {
      // Even so, the rule may have judged a 429.
      const seen = t.history.limits.of(t.exhaustKey.key).some(isRefused);
      if (!(error instanceof Inconclusive && seen)) throw error;
    }
  }),
  shown('limits.recovers', 'no request was sent after a Retry-After, or a clock was set meanwhile'),
  shown('limits.resets', 'no request was sent after a Reset that a Date shows to have passed'),

  observe(['limits.429-body', 'limits.retry-after-form'], { exhausts: true }, async (t) => {
    await needExhausted(t);
    const response = t.history.limits.of(t.exhaustKey.key).find(isRefused)?.response;
    if (response === undefined) return;
    const type = response.all('content-type')[0] ?? 'no Content-Type';
    const isJson = !(response.json instanceof SyntaxError);
    t.observe('limits.429-body', response.body.length === 0 ? 'none' : `${type}${isJson ? ', JSON' : ''}`, response);
    const isSeconds = /^\d+$/.test(response.all('retry-after')[0] ?? '');
    t.observe('limits.retry-after-form', isSeconds ? 'seconds' : 'a date or nothing', response);
  }),
];

/**
 * Brings the key to its limit, once in a run.
 *
 * @throws Inconclusive if the headers do not allow it
 * @throws Violated if a response to a probe violates the requirement of the check
 */
async function needExhausted(t: CheckContext): Promise<void> {
  let violated: Violated | undefined;
  // A second attempt would take as long, and end in the same way.
  const end = await t.fixtures.once('exhaustion', async () => {
    try {
      const small = listPets(t.exhaustKey, { limit: 1 });
      // A server may confuse the limits of two keys. Enough must remain that the other one does not have to wait.
      const mayUseOther = () => {
        const last = t.history.limits.of(t.key.key).at(-1);
        return last !== undefined && !isRefused(last) && last.remaining > minOfOther;
      };
      const ofOther = await otherRequests(t);
      let [turn, mixed] = [0, 0];
      const sendOther = async () => {
        if (t.exhaustKey.key !== t.key.key && mayUseOther()) await t.sendOptional([ofOther[turn++ % ofOther.length]!]);
      };
      // Only an operation that succeeds shows whether a request is admitted.
      const others: Request[] = [];
      const operations = await t.fixtures.operations(t.exhaustKey);
      for (const request of [...operations, ...(await t.fixtures.costly(t.exhaustKey))]) {
        if ((await t.send(request)).status < 300) others.push(request);
        await sendOther();
      }
      const clients: Request[] = [];
      for (const request of t.fixtures.byOtherClients(t.exhaustKey)) {
        // If it is accepted, it is a request with the key from now on.
        const credential = { ...request.credential, key: t.exhaustKey.key };
        const [response] = await t.sendOptional([request]);
        if (response !== undefined && response.status < 300) clients.push({ ...request, credential });
      }
      // The specification does not say whether requests that fail count. Only those that do must be refused.
      const failing: Request[] = [];
      for (const request of await t.fixtures.failing(t.exhaustKey)) {
        const before = remainingOf(t);
        const { status } = await t.send(request);
        if (status >= 400 && remainingOf(t) < before) failing.push(request);
        // A limiter may give a request back after it has failed.
        await t.send(small);
      }
      // A refused create must add no animal, so each one has a name of its own.
      const renewed = (request: Request) => {
        const isCreate = request === operations[0] && request.sent !== undefined;
        return isCreate ? ({ ...createPet(t.exhaustKey, t.fixtures.newPet()), isSentOnce: true } as const) : request;
      };
      const send = async (requests: readonly Request[]) => {
        const mayMix = requests.length > 1 && mixed < maxMixed && t.exhaustKey.key !== t.key.key && mayUseOther();
        if (mayMix) mixed++;
        const all = [...(mayMix ? ofOther : []), ...requests.map(renewed)];
        const own = (await t.sendTogether(all)).slice(all.length - requests.length);
        return own.flatMap((response) => exchangeOf(response) ?? []);
      };
      const [sleep, serverTime] = [t.sleep.bind(t), t.serverTime.bind(t)];
      const keyless = [nobody, wrongKey].map((invalid) => listPets(invalid, { limit: 1 }));
      const sendKeyless = async () => void (await t.sendOptional(keyless));
      const reads = [...others.filter(({ operation }) => operation !== 'createPet'), ...clients];
      const kinds = { small, others, reads, clients, failing };
      await exhaust({ send, sendOther, sendKeyless, sleep, serverTime }, kinds);
      await showAnimals(t).catch((error: unknown) => {
        // What the probes have shown is judged nevertheless.
        if (!(error instanceof NoRequestsLeft)) throw error;
      });
      return undefined;
    } catch (error) {
      if (error instanceof Inconclusive) return error;
      // Once the key has been at its limit, the other checks judge what the probes have shown.
      if (!(error instanceof Violated && t.history.limits.of(t.exhaustKey.key).some(isRefused))) throw error;
      violated = error;
      return undefined;
    }
  });
  const { plan } = t.options;
  if (plan !== undefined) await t.fixtures.once('plan', async () => judgePlanAgain(t, plan));
  const error = violated ?? end;
  if (error !== undefined) throw error;
}

/** Judges `limits.plan` after the key was at its limit. A violation does not end the check that calls it. */
function judgePlanAgain(t: CheckContext, plan: Plan): void {
  try {
    requirePlan(t, plan, true);
  } catch (error) {
    if (!(error instanceof Violated)) throw error;
  }
}

/** Requests with the API key, with which a server may confuse those of the exhausted key. */
async function otherRequests({ fixtures, history, key }: CheckContext): Promise<readonly Request[]> {
  const gets = (await fixtures.getIsRemoved()) ? [] : history.ids().slice(0, 2).map((id) => getPet(key, id));
  return [listPets(key, { limit: 1 }), ...gets, listOrders(key), listPets(key, { limit: 2, status: 'available' })];
}

/**
 * Requests animals that have been seen before the key was at its limit. Then the newest ones: a list, and the ids after
 * the latest one, which a refused create may have added.
 */
async function showAnimals(t: CheckContext): Promise<void> {
  const ids = t.history.ids();
  const getExists = !(await t.fixtures.getIsRemoved());
  const sample = new Set([0, 1 / 3, 2 / 3, 1].map((part) => ids[Math.floor(part * (ids.length - 1))]));
  const show = async (request: Request) => {
    await t.room(1);
    await t.sendOptional([request]);
  };
  for (const id of getExists ? sample : []) if (id !== undefined) await show(getPet(t.key, id));
  if (!t.mayWrite) return;
  await show(listPets(t.key, { limit: 100 }));
  const created = t.history.limits.of(t.exhaustKey.key).filter(({ status }) => status === 201);
  const [latest] = created.at(-1)?.response.pets ?? [];
  if (latest === undefined || latest.id > int64Max - nextIds || !getExists) return;
  for (let more = 1n; more <= nextIds; more++) await show(getPet(t.key, latest.id + more));
}

const remainingOf = ({ history, exhaustKey }: CheckContext): number =>
  history.limits.of(exhaustKey.key).at(-1)?.remaining ?? -Infinity;
