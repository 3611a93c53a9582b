/**
 * Section 8: a key whose day is used up. Only `--exhaust` allows it, and only if little of the day remains. It is the
 * last check of a run, because the key is of no use until the next day.
 */
import { longWindowMs } from '../client/pacing.ts';
import { listPets } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { exchangeOf } from '../limits/exchange.ts';
import { jitter } from '../limits/group.ts';
import { longestDayMs, toleranceMs } from '../client/limit-readings.ts';
import { check, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';
import { Inconclusive, Skipped } from '../verdicts/outcome.ts';

/** The most requests of a day that are used up. */
export const maxOfDay = 300;

/** The number of requests that are sent when nothing remains. */
const overdraft = 3;

/** After this pause only the day can refuse a request, not the minute. */
const minuteMs = 61_000;

export const dayLimitChecks: readonly Check[] = [
  check('limits.day', { exhausts: true }, async (t) => {
    const small = listPets(t.exhaustKey, { limit: 1 });
    // Sent even if nothing remains, because the response shows what remains.
    const [first] = await t.sendTogether([small]);
    const day = first!.rateLimits;
    if (day === undefined) throw new Inconclusive('a response lacks the headers that say how many requests remain');
    const untilReset = day.reset * 1000 - t.serverTime();
    if (untilReset > longestDayMs + toleranceMs)
      throw new Inconclusive('Reset is more than 25 hours ahead; see limits.reset-time');
    // Date may be wrong. By the kit's clock, a Reset that seems to be that of the day can be that of the minute.
    if (untilReset <= longWindowMs || Math.abs(day.reset * 1000 - first!.receivedAt) <= longWindowMs)
      throw new Skipped('the headers do not show the day, so what remains of it is unknown or too much to use up');
    if (day.remaining > maxOfDay)
      throw new Skipped(`${day.remaining} requests of the day remain; they are used up if at most ${maxOfDay} remain`);
    let { remaining } = day;
    for (let sent = 0; remaining > 0 && sent < day.remaining; sent++) {
      await t.client.room(t.exhaustKey.key, 1);
      const [response] = await t.sendTogether([small]);
      await needRecovery(t, response!);
      // Any response may describe the minute.
      const { limit, remaining: left, reset } = response!.rateLimits ?? {};
      if (limit === day.limit && Math.abs(reset! - day.reset) <= jitter) remaining = left!;
      else if (response!.status !== 429) remaining--;
      else if ((exchangeOf(response!)?.retryAfterMs ?? 0) > longWindowMs) remaining = 0;
    }
    await t.sleep(minuteMs, 'a new minute, so that only the day can be used up');
    needSameDay(t, day.reset);
    // The first one is sent alone, because the server has no reason for a ban yet.
    const single = await t.sendTogether([small]);
    await needRecovery(t, single[0]!);
    const beyond = [...single, ...(await t.sendTogether(Array.from({ length: overdraft - 1 }, () => small)))];
    needSameDay(t, day.reset);
    await t.each(beyond, async (response) =>
      t.require(response.status === 429, response, '429, because the requests of the day are used up'),
    );
  }),
];

/** After a short Retry-After, the server must admit a request: if the day is used up, Retry-After must say so. */
async function needRecovery(t: CheckContext, refusal: Response): Promise<void> {
  const waitMs = refusal.status === 429 ? exchangeOf(refusal)?.retryAfterMs : undefined;
  if (waitMs === undefined || waitMs > longWindowMs) return;
  await t.sleep(waitMs, 'Retry-After of a 429');
  const [response] = await t.sendTogether([listPets(t.exhaustKey, { limit: 1 })]);
  t.require(response!.status !== 429, response!, `no 429 after the Retry-After of ${waitMs / 1_000} s`);
}

/** @throws Inconclusive if the next day has begun, or is about to */
function needSameDay(t: CheckContext, reset: number): void {
  if (t.serverTime() >= reset * 1000 - 2_000) throw new Inconclusive('the next day began during the check');
}
