/** Retry-After and Reset, and what happens when they are obeyed: section 8. */
import { base, type Answer, type Exchange, type Hooks } from '../hooks.ts';
import { answers, integerOf, setHeader, type Fault } from './fault.ts';

const refused = (answer: Answer): boolean => answer.status === 429;
const minuteMs = 60_000;

export const recoveryFaults: readonly Fault[] = [
  {
    id: 'retry-after-missing',
    requirement: 'limits.retry-after',
    text: 'A 429 has no Retry-After.',
    shares: 'no Retry-After',
    needs: 'exhaust',
    hooks: { retryAfter: () => undefined },
  },
  {
    id: 'retry-after-missing-create',
    requirement: 'limits.retry-after',
    text: 'A 429 of create has no Retry-After.',
    shares: 'no Retry-After',
    needs: 'exhaust',
    hooks: { retryAfter: (ms, exchange) => (exchange.operation === 'create' ? undefined : base.retryAfter(ms, exchange)) },
  },
  {
    id: 'retry-after-missing-orders',
    requirement: 'limits.retry-after',
    text: 'A 429 of orders has no Retry-After.',
    shares: 'no Retry-After',
    needs: 'exhaust',
    hooks: { retryAfter: (ms, exchange) => (exchange.operation === 'orders' ? undefined : base.retryAfter(ms, exchange)) },
  },
  {
    id: 'retry-after-twice',
    requirement: 'limits.retry-after',
    text: 'A 429 carries Retry-After twice, each time the same.',
    needs: 'exhaust',
    hooks: answers(refused, (answer) => void answer.headers.push(['Retry-After', String(integerOf(answer, 'Retry-After'))])),
  },
  {
    id: 'retry-after-unit',
    requirement: 'limits.retry-after',
    text: 'Retry-After has a unit, such as 30s.',
    shares: 'Retry-After form',
    needs: 'exhaust',
    hooks: { retryAfter: (ms, exchange) => `${base.retryAfter(ms, exchange)}s` },
  },
  {
    id: 'retry-after-fraction',
    requirement: 'limits.retry-after',
    text: 'Retry-After is a fraction, such as 29.5.',
    shares: 'Retry-After form',
    needs: 'exhaust',
    hooks: { retryAfter: (ms, exchange) => `${base.retryAfter(ms, exchange)}.5` },
  },
  {
    id: 'retry-after-iso',
    requirement: 'limits.retry-after',
    text: 'Retry-After is a date, but in ISO 8601.',
    shares: 'Retry-After form',
    needs: 'exhaust',
    hooks: { retryAfter: (ms, { now }) => new Date(now + ms).toISOString() },
  },
  {
    id: 'retry-after-negative',
    requirement: 'limits.retry-after',
    text: 'Retry-After counts from the reset, so that it is negative.',
    shares: 'Retry-After form',
    needs: 'exhaust',
    hooks: { retryAfter: (ms, exchange) => `-${base.retryAfter(ms, exchange)}` },
  },
  {
    id: 'retry-after-short',
    requirement: 'limits.recovers',
    text: 'Retry-After is five seconds too short.',
    shares: 'Retry-After short',
    needs: 'exhaust',
    hooks: { retryAfter: (ms, exchange) => base.retryAfter(ms - 5_000, exchange) },
  },
  {
    id: 'retry-after-one',
    requirement: 'limits.recovers',
    text: 'Retry-After is always 1.',
    shares: 'Retry-After short',
    needs: 'exhaust',
    hooks: { retryAfter: () => '1' },
  },
  {
    id: 'retry-after-half',
    requirement: 'limits.recovers',
    text: 'Retry-After is half of what it should be.',
    shares: 'Retry-After short',
    needs: 'exhaust',
    hooks: { retryAfter: (ms, exchange) => base.retryAfter(ms / 2, exchange) },
  },
  {
    id: 'retry-after-date-now',
    requirement: 'limits.recovers',
    text: 'Retry-After is a date, and that of the answer itself.',
    shares: 'Retry-After short',
    needs: 'exhaust',
    hooks: { retryAfter: (_ms, { now }) => new Date(now).toUTCString() },
  },
  {
    id: 'retry-after-then-refused',
    requirement: 'limits.recovers',
    text: 'A key that used up a minute is refused for the first 20 seconds of the next, though neither Retry-After nor Reset says so.',
    needs: 'exhaust',
    hooks: lateRecovery(20_000),
  },
  {
    id: 'reset-too-early',
    requirement: 'limits.resets',
    text: 'A key that used up a minute is refused for the first 20 seconds of the next; Retry-After says so, Reset does not.',
    needs: 'exhaust',
    hooks: {
      ...lateRecovery(20_000),
      retryAfter: (ms, exchange) =>
        base.retryAfter(inPenalty(exchange, 20_000) ? 20_000 - (exchange.now % minuteMs) : ms + 20_000, exchange),
      ...answers(refused, (answer) => setHeader(answer, 'X-RateLimit-Remaining', '0')),
    },
  },
  {
    id: 'reset-remaining-stale',
    requirement: 'limits.resets',
    text: 'After a minute that was used up, Remaining stays at 0 until the next, though requests are admitted.',
    needs: 'exhaust',
    hooks: {
      admitted: (rates, exchange) => {
        if (rates.remaining <= 0) noteUsedUp(exchange);
        return rates.remaining > 0;
      },
      ...answers(
        (_answer, exchange) => inPenalty(exchange, minuteMs),
        (answer) => setHeader(answer, 'X-RateLimit-Remaining', '0'),
      ),
    },
  },
];

/** Remembers that the key of this request has used up this minute. */
function noteUsedUp({ now, authorization, world }: Exchange): void {
  world.notes.set(`used up ${authorization}`, String(Math.floor(now / minuteMs)));
}

/** Whether the key used up the minute before this one, and this one is not older than `ms`. */
function inPenalty({ now, authorization, world }: Exchange, ms: number): boolean {
  return world.notes.get(`used up ${authorization}`) === String(Math.floor(now / minuteMs) - 1) && now % minuteMs < ms;
}

function lateRecovery(ms: number): Partial<Hooks> {
  return {
    admitted: (rates, exchange) => {
      if (inPenalty(exchange, ms)) return false;
      if (rates.remaining <= 0) noteUsedUp(exchange);
      return rates.remaining > 0;
    },
  };
}
