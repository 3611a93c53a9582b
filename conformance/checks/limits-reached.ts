/** Section 8: behaviour at the limit. One key is driven to it, once in a run (exhaustion.ts); all checks here look at what came. */
import { check, observe, type Check } from '../session/check.ts';
import { Inconclusive, Skipped } from '../verdicts/outcome.ts';
import { plans } from '../client/pacing.ts';
import { listPets } from '../client/requests.ts';
import { windowMoves } from '../verdicts/windows.ts';
import { exhausted } from './exhaustion.ts';

export const exhaustChecks: readonly Check[] = [
  check('limits.admits', { exhausts: true }, async (t) => {
    const { remaining, admitted, refused } = await exhausted(t);
    const example = admitted.length < remaining ? refused[0]! : admitted.at(-1)!;
    t.require(
      admitted.length >= remaining,
      example,
      `${remaining} requests admitted, as Remaining had said (the key must be nobody else's)`,
      `${admitted.length}`,
    );
  }),
  check('limits.refuses', { exhausts: true }, async (t) => {
    const { remaining, admitted, refused, tolerance } = await exhausted(t);
    const most = remaining + tolerance;
    t.require(
      admitted.length <= most,
      admitted.at(-1)!,
      `no more than ${most} requests admitted: Remaining had said ${remaining}`,
      `${admitted.length}`,
    );
    if (refused.length === 0) throw new Inconclusive('no request was refused');
    await t.each(refused, async (response) => t.require(response.status === 429, response, '429'));
  }),
  check('limits.all-operations', { exhausts: true }, async (t) => {
    const { beyond, unasked } = await exhausted(t);
    await t.each(beyond, async (response) => t.require(response.status === 429, response, '429, since the key has reached its limit'));
    if (beyond.length === 0) throw new Inconclusive('the key has not reached its limit');
    if (unasked.length > 0) throw new Inconclusive(`the key was at its limit without a request of ${unasked.join(', ')}`);
  }),
  check('limits.retry-after', { exhausts: true }, async (t) => {
    try {
      await exhausted(t);
    } catch (error) {
      // However it went, a 429 may have come.
      if (!(error instanceof Inconclusive && t.history.readings.some(({ response }) => response.status === 429))) throw error;
    }
  }),
  check('limits.recovers', { exhausts: true }, async (t) => {
    const { retried } = await exhausted(t);
    if (retried === undefined) throw new Inconclusive('no 429 said when to come again');
    t.require(
      retried.response.status !== 429,
      retried.response,
      `the request admitted, since it came ${retried.said} after the 429, as Retry-After had said`,
    );
  }),
  check('limits.resets', { exhausts: true }, async (t) => {
    const { reset } = await exhausted(t);
    if (reset === undefined) throw new Inconclusive('no Reset to wait for');
    t.require(reset.status !== 429, reset, 'the request admitted, since Reset has come');
    const [limit, remaining] = [reset.integer('x-ratelimit-limit'), reset.integer('x-ratelimit-remaining')];
    if (limit !== undefined && remaining !== undefined && limit > 1 && !windowMoves(t.history.readings)) {
      t.require(remaining > 0, reset, 'requests remaining, since Reset has come', `Remaining ${remaining} of ${limit}`);
    }
  }),

  check('limits.plan', { requests: 1 }, async (t) => {
    const { plan } = t.options;
    if (plan === undefined) throw new Skipped('the plan was not told: --plan free, pro or business');
    const { perMinute, perDay } = plans[plan];
    await t.send(listPets(t.exhaustKey, { limit: 1 }));
    for (const { limit, response } of t.history.readings.filter(({ key }) => key === t.exhaustKey.key)) {
      t.require(
        limit === perMinute || limit === perDay,
        response,
        `X-RateLimit-Limit: ${perMinute} or ${perDay}, as the plan ${plan} has it`,
        `${limit}`,
      );
    }
    if (!t.options.exhaust) return;
    const { told, fresh, admitted, tolerance } = await exhausted(t);
    if (told.integer('x-ratelimit-limit') !== perMinute || !fresh) return;
    const count = 1 + admitted.length;
    t.require(
      count >= perMinute && count <= perMinute + tolerance,
      told,
      `${perMinute} requests admitted in a fresh minute, as the plan ${plan} has it`,
      `${count}`,
    );
  }),

  observe(['limits.429-body', 'limits.retry-after-form'], { exhausts: true }, async (t) => {
    const { refused } = await exhausted(t);
    const [response] = refused;
    if (response === undefined) return;
    const type = response.all('content-type')[0];
    t.observe(
      'limits.429-body',
      response.body.length === 0 ? 'none' : `${type ?? 'no Content-Type'}${response.json instanceof SyntaxError ? '' : ', JSON'}`,
      response,
    );
    t.observe(
      'limits.retry-after-form',
      /^\d+$/.test(response.all('retry-after')[0] ?? '') ? 'seconds' : 'a date or nothing',
      response,
    );
  }),
];
