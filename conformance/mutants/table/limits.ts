/** Section 8: how requests are counted and refused, and the numbers of the plans. */
import type { Plan } from '../../client/pacing.ts';
import { base, type Exchange, type Limits, type MutantResponse } from '../server/hooks.ts';
import { fewLeft, rounded, sliding } from '../variants.ts';
import { failing, integerOf, responses, setHeader, status, table, type Change } from './changes.ts';

/** Admits some requests although none remains. */
const exempt = (which: (exchange: Exchange) => boolean): Change => ({
  admitted: (rates, exchange) => rates.remaining > 0 || which(exchange),
});

const plans = (change: (limits: Limits, plan: Plan) => Limits): Change => ({
  limits: (plan) => change(base.limits(plan), plan),
});

export const limitMutants = table([
  ['limits-one-more', 'limits.refuses', 'One request more than Remaining is admitted.',
    { admitted: (rates) => rates.remaining > -1 }],
  ['limits-two-more', 'limits.refuses', 'Two requests more than Remaining are admitted.',
    { admitted: (rates) => rates.remaining > -2 }],
  ['limits-never', 'limits.refuses', 'No request is refused; Remaining stays at 0.', { admitted: () => true }],
  ['limits-503', 'limits.refuses', 'A request beyond the limit gets 503.',
    failing(status(429), 503, 'Too many requests.')],
  ['limits-403', 'limits.refuses', 'A request beyond the limit gets 403.',
    failing(status(429), 403, 'Too many requests.')],
  ['limits-empty-list', 'limits.refuses', 'listPets returns 200 and an empty list beyond the limit.',
    responses(status(429, 'list'), (response) => Object.assign(response, { status: 200, body: [] }))],
  ['limits-second-refusal-admitted', 'limits.refuses', 'Every second request beyond the limit is admitted.',
    {
      admitted: (rates, { world: { notes } }) => {
        if (rates.remaining > 0) return true;
        const refusals = Number(notes.get('refusals') ?? 0) + 1;
        notes.set('refusals', String(refusals));
        return refusals % 2 === 0;
      },
    }],
  ['limits-every-second-counted', 'limits.refuses', 'Only every second request is counted.',
    { counts: ({ world }) => world.requests % 2 === 0 }],

  ['limits-one-more-concurrent', 'limits.refuses', 'One more is admitted if the last two requests arrive together.',
    oneMoreTogether({})],
  ['limits-one-more-concurrent-sliding', 'limits.refuses',
    'As above, with a sliding minute.', oneMoreTogether(sliding.hooks)],
  ['limits-one-more-sliding', 'limits.refuses', 'A sliding minute has one request more than Remaining says.',
    { ...sliding.hooks, admitted: (rates) => rates.remaining > -1 }],
  ['limits-one-more-rounded', 'limits.refuses',
    'Reset varies by a second, and one request more than Remaining is admitted.',
    { ...rounded.hooks, admitted: (rates) => rates.remaining > -1 }],

  ['day-not-enforced', 'limits.day', 'A key is not refused when its day is used up.',
    { left: fewLeft, admitted: (rates) => rates.remaining > 0 || rates.limit === 1_000 }],
  ['day-one-more', 'limits.day', 'One request more than the day has is admitted.',
    { left: fewLeft, admitted: (rates) => rates.remaining > (rates.limit === 1_000 ? -1 : 0) }],
  ['day-then-minute', 'limits.day', 'When the day is used up, only the minute counts.',
    {
      left: (usage, limits, exchange) => {
        const rates = fewLeft(usage, limits, exchange);
        return rates.limit === 1_000 && rates.remaining <= 0
          ? base.left({ ...usage, dayUsed: 0 }, limits, exchange)
          : rates;
      },
    }],
  ['day-403', 'limits.day', 'When the day is used up, a request gets 403.',
    {
      left: fewLeft,
      ...failing(
        (response) => response.status === 429 && integerOf(response, 'X-RateLimit-Limit') === 1_000,
        403,
        'No requests left.',
      ),
    }],

  ['limits-one-fewer', 'limits.admits', 'The last request of Remaining is refused.',
    { admitted: (rates) => rates.remaining > 1 }],
  // A default run cannot tell these refusals from those that other clients of its key cause.
  ['limits-twenty-fifth-refused', 'limits.admits', 'Every 25th request of a window is refused once.',
    {
      admitted: (rates, { authorization, world: { notes } }) => {
        const note = `refused ${authorization} ${rates.remaining} ${rates.resetMs}`;
        const isTwentyFifth = rates.remaining % 25 === 0 && rates.remaining < rates.limit;
        if (!isTwentyFifth || notes.has(note)) return rates.remaining > 0;
        notes.set(note, 'yes');
        return false;
      },
      retryAfter: () => '1',
    }],
  ['limits-three-fewer', 'limits.admits', 'The last three requests of Remaining are refused.',
    { admitted: (rates) => rates.remaining > 3 }],
  ['limits-list-counts-double', 'limits.admits', 'Every fourth list is counted twice.',
    {
      count: (usage, exchange) => {
        base.count(usage, exchange);
        if (exchange.operation === 'list' && exchange.world.lists % 4 === 0) base.count(usage, exchange);
      },
    }],

  ['limits-orders-exempt', 'limits.all-operations', 'listOrders is never refused.',
    exempt(({ operation }) => operation === 'orders')],
  ['limits-create-exempt', 'limits.all-operations', 'createPet is never refused.',
    exempt(({ operation }) => operation === 'create')],
  ['limits-get-exempt', 'limits.all-operations', 'getPet is never refused.',
    exempt(({ operation }) => operation === 'get')],
  ['limits-list-exempt', 'limits.all-operations', 'listPets with a filter is never refused.',
    exempt(({ query }) => query.has('status'))],
  ['limits-budget-per-operation', 'limits.all-operations', 'Each operation has its own limit.',
    { budget: ({ operation }) => operation }],

  ['limits-budget-orders', 'limits.remaining-never-rises', 'listOrders has its own limit, which its headers show.',
    { budget: ({ operation }) => (operation === 'orders' ? 'orders' : '') }],
  ['limits-budget-writes', 'limits.remaining-never-rises', 'createPet has its own limit, which its headers show.',
    { budget: ({ method }) => (method === 'POST' ? 'writes' : '') }],
  ['limits-404-given-back-rounded', 'limits.remaining-never-rises',
    'Reset varies by a second; a 404 and the request before it are not counted.',
    { ...rounded.hooks, ...refunding((response) => response.status === 404) }],
  ['limits-404-given-back', 'limits.remaining-never-rises', 'A 404 and the request before it are not counted.',
    refunding((response) => response.status === 404)],
  ['limits-400-given-back', 'limits.remaining-never-rises', 'A 400 and the request before it are not counted.',
    refunding((response) => response.status === 400)],

  ['limits-remaining-fixed', 'limits.remaining-falls', 'Remaining always equals Limit.',
    responses(
      (response) => response.status !== 429,
      (response) =>
        setHeader(response, 'X-RateLimit-Remaining', String(integerOf(response, 'X-RateLimit-Limit'))))],
  ['limits-nothing-counted', 'limits.remaining-falls', 'No request is counted.', { counts: () => false }],
  ['limits-nothing-counted-rounded', 'limits.remaining-falls', 'Reset varies by a second; no request is counted.',
    { ...rounded.hooks, counts: () => false }],
  ['limits-posts-not-counted', 'limits.remaining-falls', 'Only GET is counted.',
    { counts: ({ method }) => method === 'GET' }],
  ['limits-orders-not-counted', 'limits.remaining-falls', 'listOrders is not counted.',
    { counts: ({ operation }) => operation !== 'orders' }],

  ['plan-one-more', 'limits.plan', 'A plan allows one request a minute more, and the headers show it.',
    plans(({ minute, day }) => ({ minute: minute + 1, day }))],
  ['plan-one-fewer', 'limits.plan', 'A plan allows one request a minute fewer, and the headers show it.',
    plans(({ minute, day }) => ({ minute: minute - 1, day }))],
  ['plan-of-neighbour', 'limits.plan', 'Free has the numbers of Pro; every other plan has those of Free.',
    { limits: (plan) => base.limits(plan === 'free' ? 'pro' : 'free') }],
  ['plan-day-per-minute', 'limits.plan', 'A plan allows as many requests a minute as it should a day.',
    plans(({ day }) => ({ minute: day, day: 100 * day }))],
  ['plan-minute-per-day', 'limits.plan', 'A plan allows as many requests a day as it should a minute.',
    plans(({ minute }) => ({ minute: 100 * minute, day: minute }))],
  ['plan-forgotten', 'limits.plan', 'A key that was used up has the limits of Pro from then on.',
    {
      left: (usage, limits, exchange) => {
        const { authorization, world: { notes } } = exchange;
        const wasUsed = notes.has(`used ${authorization}`);
        const left = base.left(usage, wasUsed ? base.limits('pro') : limits, exchange);
        if (left.remaining <= 0) notes.set(`used ${authorization}`, 'yes');
        return left;
      },
    }],
]);

/** Admits one more request if it arrives together with the last one that the limit allows. */
function oneMoreTogether(hooks: Change): Change {
  return {
    ...hooks,
    admitted: (rates, { world: { notes } }) => {
      if (rates.remaining > 0) {
        notes.set('together', 'yes');
        setImmediate(() => notes.delete('together'));
      }
      return rates.remaining > 0 || (rates.remaining === 0 && notes.has('together'));
    },
  };
}

/** Does not count some requests, and takes the request before each of them off the count. */
function refunding(which: (response: MutantResponse) => boolean): Change {
  return {
    counts: (exchange, response) => {
      if (which(response)) exchange.world.notes.set('refund', 'yes');
      return true;
    },
    count: (usage, exchange) => {
      if (!exchange.world.notes.delete('refund')) base.count(usage, exchange);
      else if (usage.minuteUsed > 0) {
        usage.minuteUsed -= 1;
        usage.dayUsed -= 1;
      }
    },
  };
}
