/** What a 429 says (decisions.md, "Limits"). */
import { refusal, type ErrorAnswer } from '../domain/api-error.ts';
import { retryAfter, type Standing } from './standing.ts';

/** What the holder of a key is told `now` (in milliseconds) that its ban or its limits refuse a request. */
export function keyLimited(standing: Standing, now: number): ErrorAnswer {
  const seconds = retryAfter(standing, now);
  const headers = ['Retry-After', String(seconds)];
  if (standing.refusedBy === 'window') {
    return refusal('rate_limited', `The key's ${standing.limit} requests a ${standing.window} are used up; try again in ${seconds} s.`, headers);
  }
  return refusal('key_banned', `The key is banned, as requests went on and on after 429; try again in ${seconds} s.`, headers);
}

/** What a client without a valid key is told `now` that its address has sent too many requests. */
export function strangerLimited(standing: Standing, now: number): ErrorAnswer {
  const seconds = retryAfter(standing, now);
  const message = `Too many requests without a valid API key came from this address; try again in ${seconds} s.`;
  return refusal('rate_limited', message, ['Retry-After', String(seconds)]);
}
