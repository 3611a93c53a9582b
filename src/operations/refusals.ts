/** The error of a 429 (decisions.md, "Limits"). */
import { refusal, type ErrorCode, type Refusal } from '../http/api-error.ts';
import { counted } from '../domain/counted.ts';
import type { LimitStatus } from '../limits/limit-status.ts';

/** Returns the refusal of a request at `now` (in milliseconds) by the limits or the ban of its key. */
export function keyLimited(status: LimitStatus, now: number): Refusal {
  const { window, limit, refusedBy } = status;
  const used = counted(limit, `request a ${window} is`, `requests a ${window} are`);
  return refusedBy === 'ban'
    ? refusalUntil(status, now, 'key_banned', 'The key is banned because too many requests were sent after a 429')
    : refusalUntil(status, now, 'rate_limited', `The key's ${used} used up`);
}

/** Returns the refusal of a request at `now` (in milliseconds) without a valid key, by the limit of its address. */
export function addressLimited(status: LimitStatus, now: number): Refusal {
  const reason = 'Too many requests without a valid API key came from this address';
  return refusalUntil(status, now, 'rate_limited', reason);
}

function refusalUntil({ reset }: LimitStatus, now: number, code: ErrorCode, reason: string): Refusal {
  const retryAfterSeconds = Math.ceil((reset * 1000 - now) / 1000); // at least 1: `reset` is later than `now`
  return refusal(code, `${reason}; try again in ${retryAfterSeconds} s.`, { retryAfterSeconds });
}
