/** What a 429 says (decisions.md, "Limits"). */
import { refusal, type ErrorAnswer } from '../domain/api-error.ts';
import { retryAfter, type Standing } from './standing.ts';

/** What a key was told last, and what of: a flood is refused in the same words for a second. */
let told: { readonly standing: Standing; readonly seconds: number; readonly answer: ErrorAnswer } | null = null;

/** What the holder of a key is told `now` (in milliseconds) that its ban or its limits refuse a request. */
export function keyLimited(standing: Standing, now: number): ErrorAnswer {
  const seconds = retryAfter(standing, now);
  if (told?.seconds !== seconds || !sameRefusal(told.standing, standing)) {
    told = { standing, seconds, answer: refusalOfKey(standing, seconds) };
  }
  return told.answer;
}

/** What a client without a valid key is told `now` that its address has sent too many requests. */
export function strangerLimited(standing: Standing, now: number): ErrorAnswer {
  const seconds = retryAfter(standing, now);
  const message = `Too many requests without a valid API key came from this address; try again in ${seconds} s.`;
  return refusal('rate_limited', message, `Retry-After: ${seconds}\r\n`);
}

function sameRefusal(one: Standing, other: Standing): boolean {
  return one.refusedBy === other.refusedBy && one.window === other.window && one.limit === other.limit;
}

function refusalOfKey({ refusedBy, window, limit }: Standing, seconds: number): ErrorAnswer {
  const headers = `Retry-After: ${seconds}\r\n`;
  if (refusedBy === 'window') {
    return refusal('rate_limited', `The key's ${limit} requests a ${window} are used up; try again in ${seconds} s.`, headers);
  }
  return refusal('key_banned', `The key is banned, as requests went on and on after 429; try again in ${seconds} s.`, headers);
}
