/** Section 8: Retry-After and Reset, and what happens to a client that obeys them. */
import { base, type Exchange } from '../server/hooks.ts';
import { all, integerOf, responses, setHeader, status, table, type Change } from './changes.ts';

const minuteMs = 60_000;

/** Leaves Retry-After out of the 429s of one operation. */
const missingFrom = (operation: Exchange['operation']): Change => ({
  retryAfter: (ms, exchange) => (exchange.operation === operation ? undefined : base.retryAfter(ms, exchange)),
});

export const recoveryMutants = table([
  ['retry-after-missing', 'limits.retry-after', 'A 429 has no Retry-After.', { retryAfter: () => undefined }],
  ['retry-after-missing-create', 'limits.retry-after', 'A 429 of createPet has no Retry-After.',
    missingFrom('create')],
  ['retry-after-missing-orders', 'limits.retry-after', 'A 429 of listOrders has no Retry-After.',
    missingFrom('orders')],
  ['retry-after-twice', 'limits.retry-after', 'A 429 has two Retry-After headers with the same value.',
    responses(status(429), (response) =>
      void response.headers.push(['Retry-After', String(integerOf(response, 'Retry-After'))]))],
  ['retry-after-unit', 'limits.retry-after', 'Retry-After has a unit: 30s.',
    { retryAfter: (ms, exchange) => `${base.retryAfter(ms, exchange)}s` }],
  ['retry-after-fraction', 'limits.retry-after', 'Retry-After has a fraction: 29.5.',
    { retryAfter: (ms, exchange) => `${base.retryAfter(ms, exchange)}.5` }],
  ['retry-after-iso', 'limits.retry-after', 'Retry-After is an ISO 8601 date.',
    { retryAfter: (ms, { now }) => new Date(now + ms).toISOString() }],
  ['retry-after-negative', 'limits.retry-after', 'Retry-After is negative.',
    { retryAfter: (ms, exchange) => `-${base.retryAfter(ms, exchange)}` }],
  ['retry-after-ms', 'limits.retry-after', 'Retry-After is in milliseconds.',
    { retryAfter: (ms) => String(Math.ceil(ms)) }],
  ['retry-after-ms-list', 'limits.retry-after', 'Retry-After of listPets is in milliseconds.',
    {
      retryAfter: (ms, exchange) =>
        exchange.operation === 'list' ? String(Math.ceil(ms)) : base.retryAfter(ms, exchange),
    }],
  ['retry-after-timestamp', 'limits.retry-after', 'Retry-After is a time in Unix seconds.',
    { retryAfter: (ms, { now }) => String(Math.ceil((now + ms) / 1000)) }],
  ['retry-after-hour-ahead', 'limits.retry-after', 'Retry-After is a date in the next time zone.',
    { retryAfter: (ms, { now }) => new Date(now + ms + 3_600_000).toUTCString() }],

  ['retry-after-short', 'limits.recovers', 'Retry-After is five seconds too short.',
    { retryAfter: (ms, exchange) => base.retryAfter(ms - 5_000, exchange) }],
  ['retry-after-one', 'limits.recovers', 'Retry-After is always 1.', { retryAfter: () => '1' }],
  ['retry-after-half', 'limits.recovers', 'Retry-After is half of what it should be.',
    { retryAfter: (ms, exchange) => base.retryAfter(ms / 2, exchange) }],
  ['retry-after-date-now', 'limits.recovers', 'Retry-After is the date of the response.',
    { retryAfter: (_ms, { now }) => new Date(now).toUTCString() }],
  ['retry-after-then-refused', 'limits.recovers',
    'After a minute at the limit, a key is refused for 20 seconds more than Retry-After and Reset say.',
    lateRecovery(20_000)],

  ['reset-too-early', 'limits.resets',
    'After a minute at the limit, a key is refused for 20 seconds more than Reset says; Retry-After includes them.',
    {
      ...lateRecovery(20_000),
      retryAfter: (ms, exchange) =>
        base.retryAfter(inPenalty(exchange, 20_000) ? 20_000 - (exchange.now % minuteMs) : ms + 20_000, exchange),
      ...responses(status(429), (response) => setHeader(response, 'X-RateLimit-Remaining', '0')),
    }],
  ['reset-second-early', 'limits.resets', 'Reset is one second early; Retry-After is right.', resetEarlier(1)],
  ['reset-five-seconds-early', 'limits.resets', 'Reset is five seconds early; Retry-After is right.',
    resetEarlier(5)],
  ['reset-second-early-everywhere', 'limits.resets', 'Reset and Retry-After are one second early.',
    { ...resetEarlier(1), retryAfter: (ms, exchange) => base.retryAfter(ms - 1_000, exchange) }],
  ['reset-remaining-stale', 'limits.resets',
    'After a minute at the limit, Remaining stays at 0 for a minute, although requests are admitted.',
    {
      admitted: (rates, exchange) => {
        if (rates.remaining <= 0) noteUsedUp(exchange);
        return rates.remaining > 0;
      },
      ...responses(
        (_response, exchange) => inPenalty(exchange, minuteMs),
        (response) => setHeader(response, 'X-RateLimit-Remaining', '0'),
      ),
    }],
]);

/** Shows a Reset that is too early, in every response. */
function resetEarlier(seconds: number): Change {
  return responses(all, (response) =>
    setHeader(response, 'X-RateLimit-Reset', String(integerOf(response, 'X-RateLimit-Reset') - seconds)),
  );
}

/** Remembers that the key of this request has used up this minute. */
function noteUsedUp({ now, authorization, world }: Exchange): void {
  world.notes.set(`used up ${authorization}`, String(Math.floor(now / minuteMs)));
}

/** Whether the key used up the previous minute, and less than `ms` of this one have passed. */
function inPenalty({ now, authorization, world }: Exchange, ms: number): boolean {
  return world.notes.get(`used up ${authorization}`) === String(Math.floor(now / minuteMs) - 1) && now % minuteMs < ms;
}

function lateRecovery(ms: number): Change {
  return {
    admitted: (rates, exchange) => {
      if (inPenalty(exchange, ms)) return false;
      if (rates.remaining <= 0) noteUsedUp(exchange);
      return rates.remaining > 0;
    },
  };
}
