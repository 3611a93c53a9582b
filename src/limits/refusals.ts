/** What a 429 says (decisions.md, "Limits"). */
import { refusal, type ErrorCode, type Refusal } from '../domain/api-error.ts';
import type { LimitStatus } from './limit-status.ts';

/** The refusal of a request `now` (in milliseconds) by the key's limits or its ban. */
export function keyLimited(status: LimitStatus, now: number): Refusal {
  const { window, limit, refusedBy } = status;
  return refusedBy === 'ban'
    ? refusalUntil(status, now, 'key_banned', 'The key is banned, as requests went on and on after 429')
    : refusalUntil(status, now, 'rate_limited', `The key's ${limit} requests a ${window} are used up`);
}

/** The refusal of a request `now` (in milliseconds) without a valid key, whose address has sent too many of them. */
export function addressLimited(status: LimitStatus, now: number): Refusal {
  const reason = 'Too many requests without a valid API key came from this address';
  return refusalUntil(status, now, 'rate_limited', reason);
}

function refusalUntil({ reset }: LimitStatus, now: number, code: ErrorCode, reason: string): Refusal {
  const retryAfterSeconds = Math.ceil((reset * 1000 - now) / 1000); // at least 1, as `reset` is later than `now`
  return refusal(code, `${reason}; try again in ${retryAfterSeconds} s.`, { retryAfterSeconds });
}
