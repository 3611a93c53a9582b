/** What a 429 says (decisions.md, "Limits"). */
import { refusal, type Refusal } from '../domain/api-error.ts';
import { retryAfterSeconds, type Standing } from './standing.ts';

/** The refusal of a request `now` (in milliseconds) by the key's limits or its ban. */
export function keyLimited(standing: Standing, now: number): Refusal {
  const seconds = retryAfterSeconds(standing, now);
  const details = { retryAfterSeconds: seconds };
  if (standing.refusedBy === 'ban') {
    return refusal('key_banned', `The key is banned, as requests went on and on after 429; try again in ${seconds} s.`, details);
  }
  return refusal('rate_limited', `The key's ${standing.limit} requests a ${standing.window} are used up; try again in ${seconds} s.`, details);
}

/** The refusal of a request `now` (in milliseconds) without a valid key, whose address has sent too many of them. */
export function strangerLimited(standing: Standing, now: number): Refusal {
  const seconds = retryAfterSeconds(standing, now);
  const message = `Too many requests without a valid API key came from this address; try again in ${seconds} s.`;
  return refusal('rate_limited', message, { retryAfterSeconds: seconds });
}
