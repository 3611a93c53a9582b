/** The rate limit headers of every response: section 8. */
import type { Response } from '../../client/response.ts';
import type { RequirementId } from '../../requirements/requirements.ts';
import { isOfOperation, must, type Rule } from './rule.ts';

const headers = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/** By how much Reset may lie in the past or beyond a day, because clocks and Date headers have whole seconds. */
const resetToleranceMs = 2_000;
const dayMs = 86_400_000;

/** An HTTP date in its preferred format (RFC 9110, section 5.6.7). */
const httpDate = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/;

export const limitRules: readonly Rule[] = [
  hasHeader('limits.limit-header', 'X-RateLimit-Limit'),
  hasHeader('limits.remaining-header', 'X-RateLimit-Remaining'),
  hasHeader('limits.reset-header', 'X-RateLimit-Reset'),
  {
    id: 'limits.headers-once',
    judge: (response) => {
      const present = presentHeaders(response, 1);
      if (!isOfOperation(response) || present.length === 0) return undefined;
      const [repeated] = presentHeaders(response, 2);
      const values = repeated === undefined ? [] : response.all(repeated).map((value) => `${repeated}: ${value}`);
      return must(repeated === undefined, 'each header once', values.join(' and '));
    },
  },
  {
    id: 'limits.headers-integers',
    judge: (response) => {
      const single = headers.filter((name) => response.all(name).length === 1);
      if (!isOfOperation(response) || single.length === 0) return undefined;
      const invalid = single.find((name) => response.integer(name) === undefined);
      return must(invalid === undefined, 'decimal integers', `${invalid}: ${invalid && response.all(invalid)[0]}`);
    },
  },
  {
    id: 'limits.remaining-range',
    judge: (response) => {
      const [limit, remaining] = [response.integer('x-ratelimit-limit'), response.integer('x-ratelimit-remaining')];
      if (!isOfOperation(response) || limit === undefined || remaining === undefined) return undefined;
      return must(remaining >= 0 && remaining <= limit, `Remaining from 0 to ${limit}, the Limit`, `${remaining}`);
    },
  },
  {
    id: 'limits.reset-time',
    judge: (response) => {
      const { date, sentAt, receivedAt } = response;
      const reset = response.integer('x-ratelimit-reset');
      if (!isOfOperation(response) || reset === undefined || date === undefined) return undefined;
      const aheadMs = reset * 1000 - date;
      // A server may set Reset when the request arrives, and Date when it responds.
      const earliestMs = -resetToleranceMs - (receivedAt - sentAt);
      return must(
        aheadMs >= earliestMs && aheadMs <= dayMs + resetToleranceMs,
        'Reset in Unix seconds, not before Date and at most a day after it',
        `${reset}, while Date is ${date / 1000}`,
      );
    },
  },
  {
    id: 'limits.retry-after',
    judge: (response) => {
      if (!isOfOperation(response) || response.status !== 429) return undefined;
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

function hasHeader(id: RequirementId, name: string): Rule {
  return {
    id,
    judge: (response) =>
      isOfOperation(response)
        ? must(response.all(name).length > 0, `${name} in every response`, `none in a ${response.status}`)
        : undefined,
  };
}

/** The headers that a response has at least `times` times. */
function presentHeaders(response: Response, times: number): readonly string[] {
  return headers.filter((name) => response.all(name).length >= times);
}
