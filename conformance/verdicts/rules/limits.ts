/** The rate limit headers of every response: section 8. */
import type { Response } from '../../client/response.ts';
import type { RequirementId } from '../../requirements/requirements.ts';
import { dayMs, explainedMs, longestDayMs, retryAfterMs, toleranceMs } from '../../client/limit-readings.ts';
import { isOfOperation, must, type Judgement, type Rule } from './rule.ts';

/** The headers that every response carries. */
export const headers = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/** An HTTP date in its preferred format (RFC 9110, section 5.6.7). */
const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

const rulesOfOperations: readonly Rule[] = [
  hasHeader('limits.limit-header', 'X-RateLimit-Limit'),
  hasHeader('limits.remaining-header', 'X-RateLimit-Remaining'),
  hasHeader('limits.reset-header', 'X-RateLimit-Reset'),
  {
    id: 'limits.headers-once',
    judge: (response) => {
      const present = headers.filter((name) => response.all(name).length > 0);
      if (present.length === 0) return undefined;
      const repeated = present.find((name) => response.all(name).length > 1);
      const values = repeated === undefined ? [] : response.all(repeated);
      return must(repeated === undefined, 'each header once', `${repeated}: ${values.join(' and ')}`);
    },
  },
  {
    id: 'limits.headers-integers',
    judge: (response) => {
      const single = headers.filter((name) => response.all(name).length === 1);
      if (single.length === 0) return undefined;
      const isNumber = (name: string) => !isUnauthorized(response) || /\d/.test(response.all(name)[0]!);
      const invalid = single.filter(isNumber).find((name) => response.integer(name) === undefined);
      return must(invalid === undefined, 'decimal integers', `${invalid}: ${invalid && response.all(invalid)[0]}`);
    },
  },
  {
    id: 'limits.remaining-range',
    judge: (response) => {
      const [limit, remaining] = [response.integer('x-ratelimit-limit'), response.integer('x-ratelimit-remaining')];
      // A server may show with -1 that a plan has no limit.
      if (limit === undefined || remaining === undefined || (limit < 0 && remaining <= 0)) return undefined;
      return must(remaining >= 0 && remaining <= limit, `Remaining from 0 to ${limit}, the Limit`, `${remaining}`);
    },
  },
  {
    id: 'limits.reset-time',
    judge: (response) => {
      const { date, sentAt, receivedAt } = response;
      const reset = response.integer('x-ratelimit-reset');
      if (reset === undefined) return undefined;
      const isUnlimited = (response.integer('x-ratelimit-limit') ?? 0) < 0;
      if (reset <= 0 && (isUnlimited || isUnauthorized(response))) return undefined;
      // Without Date, the clocks of server and kit may differ by hours. Milliseconds are years ahead.
      if (date === undefined && Math.abs(reset * 1000 - receivedAt) <= 2 * dayMs) return undefined;
      // A server may set Reset when the request arrives, and Date when it responds. A proxy may set a wrong Date.
      const isNear = (now: number): boolean => {
        const aheadMs = reset * 1000 - now;
        return aheadMs >= -toleranceMs - (receivedAt - sentAt) && aheadMs <= longestDayMs + toleranceMs;
      };
      return must(
        isNear(date ?? receivedAt) || isNear(receivedAt),
        'Reset in Unix seconds, not before Date and at most 25 hours after it',
        `${reset}, while ${date === undefined ? 'the time' : 'Date'} is ${Math.floor((date ?? receivedAt) / 1000)}`,
      );
    },
  },
  {
    id: 'limits.retry-after',
    judge: (response, history) => {
      if (response.status !== 429) return isAdmittedEarly(response, history.refusalBefore(response));
      const values = response.all('retry-after');
      const [value = ''] = values;
      return must(
        values.length === 1 && (/^\d+$/.test(value) || httpDate.test(value)),
        'one Retry-After, in whole seconds or as a date (RFC 9110, section 10.2.3)',
        values.length === 0 ? 'a 429 without it' : `Retry-After: ${values.join(' and ')}`,
      );
    },
  },
];

export const limitRules: readonly Rule[] = rulesOfOperations.map(({ id, judge }) =>
  ({ id, judge: (response, history) => (isOfOperation(response) ? judge(response, history) : undefined) }));

/** Whether it is the 401 of a request without a valid key. What its headers contain is a gap: 0, -1 or a word. */
function isUnauthorized({ request, status }: Response): boolean {
  return request.credential.key === 'none' && status === 401;
}

/**
 * A Retry-After in milliseconds, as a timestamp or in another time zone appears to be at least this long. A shorter one
 * can be longer than necessary, but that violates nothing.
 */
const otherUnitMs = 1_000_000;

/** Whether a request is admitted long before Retry-After, although no window explains such a wait. */
function isAdmittedEarly(response: Response, refusal: Response | undefined): Judgement {
  if (refusal === undefined || response.request.credential.key === 'none' || response.status >= 300) return undefined;
  const refusedAt = refusal.date ?? refusal.receivedAt;
  const waitMs = retryAfterMs(refusal, refusedAt) ?? 0;
  const waitedMs = response.sentAt - refusal.receivedAt;
  if (waitMs < otherUnitMs || waitMs <= explainedMs(refusal, refusedAt)) return undefined;
  if (waitedMs >= waitMs - toleranceMs) return undefined;
  const [retryAfter] = refusal.all('retry-after');
  return {
    required: 'a Retry-After, in seconds or as a date, that agrees with the limits',
    received: `Retry-After: ${retryAfter}, and a request admitted after ${Math.ceil(waitedMs / 1000)} s`,
  };
}

function hasHeader(id: RequirementId, name: string): Rule {
  const judge = (response: Response): Judgement =>
    must(response.all(name).length > 0, `${name} in every response`, `none in a ${response.status}`);
  return { id, judge };
}
