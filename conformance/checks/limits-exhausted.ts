/**
 * Section 8: a key at its limit. exhaust.ts brings one key to its limit, once in a run; these checks judge
 * the responses.
 */
import { plans } from '../client/pacing.ts';
import { listPets } from '../client/requests.ts';
import { windowMoves } from '../client/limit-readings.ts';
import { check, observe, type Check } from '../session/check.ts';
import { Inconclusive } from '../verdicts/outcome.ts';
import { exhaust } from './exhaust.ts';

export const exhaustedLimitChecks: readonly Check[] = [
  check('limits.admits', { exhausts: true }, async (t) => {
    const { remaining, admitted, refused, unavailable } = await exhaust(t);
    const isEnough = admitted.length + unavailable >= remaining;
    t.require(
      isEnough,
      !isEnough ? refused[0]! : admitted.at(-1)!,
      `${remaining} requests admitted, as Remaining said (no other client may use the key)`,
      `${admitted.length}`,
    );
  }),
  check('limits.refuses', { exhausts: true }, async (t) => {
    const { remaining, admitted, refused, tolerance } = await exhaust(t);
    const most = remaining + tolerance;
    t.require(
      admitted.length <= most,
      admitted.at(-1)!,
      `at most ${most} requests admitted, because Remaining said ${remaining}`,
      `${admitted.length}`,
    );
    if (refused.length === 0) throw new Inconclusive('no request was refused');
    await t.each(refused, async (response) => t.require(response.status === 429, response, '429'));
  }),
  check('limits.all-operations', { exhausts: true }, async (t) => {
    const { beyond, missing } = await exhaust(t);
    await t.each(beyond, async (response) =>
      t.require(response.status === 429, response, '429, because the key is at its limit'),
    );
    if (beyond.length === 0) throw new Inconclusive('the key did not reach its limit');
    if (missing.length > 0) throw new Inconclusive(`no request of ${missing.join(', ')} was sent at the limit`);
  }),
  check('limits.retry-after', { exhausts: true }, async (t) => {
    try {
      await exhaust(t);
    } catch (error) {
      // The rule may have judged a 429 all the same.
      const seen = t.history.readings.some(({ response }) => response.status === 429);
      if (!(error instanceof Inconclusive && seen)) throw error;
    }
  }),
  check('limits.recovers', { exhausts: true }, async (t) => {
    const { retried } = await exhaust(t);
    if (retried === undefined) throw new Inconclusive('no 429 had a Retry-After to wait for, or it was too long');
    const { response, refusal, retryAfter } = retried;
    if (response.status === 429 && t.client.serverClock.wasSetAfter(refusal.receivedAt))
      throw new Inconclusive("a request after Retry-After got 429, but the server's clock was set meanwhile");
    const required = `the request admitted, because it was sent ${retryAfter} after the 429, as Retry-After said`;
    t.require(response.status !== 429, response, required);
  }),
  check('limits.resets', { exhausts: true }, async (t) => {
    const { first, reset } = await exhaust(t);
    if (reset === undefined) throw new Inconclusive('no request was refused, or the key was banned beyond Reset');
    // A later Reset in this 429 does not excuse it.
    const isShownAfter = (reset.date ?? 0) >= first.integer('x-ratelimit-reset')! * 1000;
    if (reset.status === 429 && !isShownAfter)
      throw new Inconclusive('a request after Reset got 429, but no Date shows that Reset had passed');
    t.require(reset.status !== 429, reset, 'the request admitted, because it was sent after Reset');
    const [limit, remaining] = [reset.integer('x-ratelimit-limit'), reset.integer('x-ratelimit-remaining')];
    if (limit === undefined || remaining === undefined || limit <= 1 || windowMoves(t.history.readings)) return;
    t.require(
      remaining > 0,
      reset,
      'requests available, because it was sent after Reset',
      `Remaining ${remaining} of ${limit}`,
    );
  }),

  check('limits.plan', { requests: 1, needsPlan: true, exhausts: 'if allowed' }, async (t) => {
    const plan = t.options.plan!;
    const { perMinute, perDay } = plans[plan];
    await t.send(listPets(t.exhaustKey, { limit: 1 }));
    for (const { limit, response } of t.history.readings.filter(({ key }) => key === t.exhaustKey.key)) {
      const required = `X-RateLimit-Limit: ${perMinute} or ${perDay}, the limits of the plan ${plan}`;
      t.require(limit === perMinute || limit === perDay, response, required, `${limit}`);
    }
    if (!t.options.exhaust) return;
    const { first, fresh, before, admitted, tolerance, unavailable } = await exhaust(t);
    if (first.integer('x-ratelimit-limit') !== perMinute || !fresh) return;
    const count = before + admitted.length;
    t.require(
      count + unavailable >= perMinute && count <= perMinute + tolerance,
      first,
      `${perMinute} requests admitted in a fresh minute, the limit of the plan ${plan}`,
      `${count}`,
    );
  }),

  observe(['limits.429-body', 'limits.retry-after-form'], { exhausts: true }, async (t) => {
    const [response] = (await exhaust(t)).refused;
    if (response === undefined) return;
    const type = response.all('content-type')[0] ?? 'no Content-Type';
    const isJson = !(response.json instanceof SyntaxError);
    t.observe('limits.429-body', response.body.length === 0 ? 'none' : `${type}${isJson ? ', JSON' : ''}`, response);
    const isSeconds = /^\d+$/.test(response.all('retry-after')[0] ?? '');
    t.observe('limits.retry-after-form', isSeconds ? 'seconds' : 'a date or nothing', response);
  }),
];
