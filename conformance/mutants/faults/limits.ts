/** Counting, refusing and the plans' numbers: section 8. */
import { base, type Answer, type Exchange, type Hooks, type Limits, type Plan } from '../hooks.ts';
import { answers, integerOf, setHeader, type Fault } from './fault.ts';

const refused = (answer: Answer): boolean => answer.status === 429;

/** Answers otherwise than with 429. */
const refusedWith = (status: number): Partial<Hooks> =>
  answers(refused, (answer, exchange) =>
    Object.assign(answer, { status, body: base.error(status, 'Too many requests.', exchange) }),
  );

/** Lets a request in although nothing remains. */
const exempt = (which: (exchange: Exchange) => boolean): Partial<Hooks> => ({
  admitted: (rates, exchange) => rates.remaining > 0 || which(exchange),
});

const plans = (change: (limits: Limits, plan: Plan) => Limits): Partial<Hooks> => ({
  limits: (plan) => change(base.limits(plan), plan),
});

export const limitFaults: readonly Fault[] = [
  {
    id: 'limits-one-more',
    requirement: 'limits.refuses',
    text: 'One request more is admitted than Remaining said.',
    shares: 'too many admitted',
    needs: 'exhaust',
    hooks: { admitted: (rates) => rates.remaining > -1 },
  },
  {
    id: 'limits-two-more',
    requirement: 'limits.refuses',
    text: 'Two requests more are admitted than Remaining said.',
    shares: 'too many admitted',
    needs: 'exhaust',
    hooks: { admitted: (rates) => rates.remaining > -2 },
  },
  {
    id: 'limits-never',
    requirement: 'limits.refuses',
    text: 'No request is ever refused; Remaining stays at 0.',
    shares: 'too many admitted',
    needs: 'exhaust',
    hooks: { admitted: () => true },
  },
  {
    id: 'limits-one-fewer',
    requirement: 'limits.admits',
    text: 'The last request that Remaining promised is refused.',
    shares: 'too few admitted',
    needs: 'exhaust',
    hooks: { admitted: (rates) => rates.remaining > 1 },
  },
  {
    id: 'limits-three-fewer',
    requirement: 'limits.admits',
    text: 'The last three requests that Remaining promised are refused.',
    shares: 'too few admitted',
    needs: 'exhaust',
    hooks: { admitted: (rates) => rates.remaining > 3 },
  },
  {
    id: 'limits-list-counts-double',
    requirement: 'limits.admits',
    text: 'Every fourth list is counted twice.',
    hooks: {
      count: (usage, exchange) => {
        base.count(usage, exchange);
        if (exchange.operation === 'list' && exchange.world.lists % 4 === 0) base.count(usage, exchange);
      },
    },
    needs: 'exhaust',
  },
  {
    id: 'limits-503',
    requirement: 'limits.refuses',
    text: 'A request beyond the limit is answered with 503.',
    shares: 'other status',
    needs: 'exhaust',
    hooks: refusedWith(503),
  },
  {
    id: 'limits-403',
    requirement: 'limits.refuses',
    text: 'A request beyond the limit is answered with 403.',
    shares: 'other status',
    needs: 'exhaust',
    hooks: refusedWith(403),
  },
  {
    id: 'limits-empty-list',
    requirement: 'limits.refuses',
    text: 'A list beyond the limit is answered with 200 and no animals.',
    shares: 'other status',
    needs: 'exhaust',
    hooks: answers(
      (answer, { operation }) => refused(answer) && operation === 'list',
      (answer) => Object.assign(answer, { status: 200, body: [] }),
    ),
  },
  {
    id: 'limits-second-refusal-admitted',
    requirement: 'limits.refuses',
    text: 'Of the requests beyond the limit, every second one is admitted.',
    needs: 'exhaust',
    hooks: {
      admitted: (rates, { world: { notes } }) => {
        if (rates.remaining > 0) return true;
        const refusals = Number(notes.get('refusals') ?? 0) + 1;
        notes.set('refusals', String(refusals));
        return refusals % 2 === 0;
      },
    },
  },
  {
    id: 'limits-orders-exempt',
    requirement: 'limits.all-operations',
    text: 'Orders are never refused.',
    shares: 'exempt',
    needs: 'exhaust',
    hooks: exempt(({ operation }) => operation === 'orders'),
  },
  {
    id: 'limits-create-exempt',
    requirement: 'limits.all-operations',
    text: 'create is never refused.',
    shares: 'exempt',
    needs: 'exhaust',
    hooks: exempt(({ operation }) => operation === 'create'),
  },
  {
    id: 'limits-get-exempt',
    requirement: 'limits.all-operations',
    text: 'get is never refused.',
    shares: 'exempt',
    needs: 'exhaust',
    hooks: exempt(({ operation }) => operation === 'get'),
  },
  {
    id: 'limits-list-exempt',
    requirement: 'limits.all-operations',
    text: 'The list is refused, unless it has a filter.',
    shares: 'exempt',
    needs: 'exhaust',
    hooks: exempt(({ query }) => query.has('status')),
  },
  {
    id: 'limits-budget-per-operation',
    requirement: 'limits.all-operations',
    text: 'Each operation has a budget of its own.',
    shares: 'budgets',
    needs: 'exhaust',
    hooks: { budget: ({ operation }) => operation },
  },
  {
    id: 'limits-budget-orders',
    requirement: 'limits.remaining-never-rises',
    text: 'Orders have a budget of their own, and their headers tell of it.',
    shares: 'budgets',
    hooks: { budget: ({ operation }) => (operation === 'orders' ? 'orders' : '') },
  },
  {
    id: 'limits-budget-writes',
    requirement: 'limits.remaining-never-rises',
    text: 'Creates have a budget of their own, and their headers tell of it.',
    shares: 'budgets',
    hooks: { budget: ({ method }) => (method === 'POST' ? 'writes' : '') },
  },
  {
    id: 'limits-404-given-back',
    requirement: 'limits.remaining-never-rises',
    text: 'A 404 gives the key back the request before it, too.',
    shares: 'given back',
    hooks: givenBack((answer) => answer.status === 404),
  },
  {
    id: 'limits-400-given-back',
    requirement: 'limits.remaining-never-rises',
    text: 'A 400 gives the key back the request before it, too.',
    shares: 'given back',
    hooks: givenBack((answer) => answer.status === 400),
  },
  {
    id: 'limits-remaining-fixed',
    requirement: 'limits.remaining-falls',
    text: 'Remaining always equals Limit.',
    shares: 'not falling',
    hooks: answers(
      (answer) => !refused(answer),
      (answer) => setHeader(answer, 'X-RateLimit-Remaining', String(integerOf(answer, 'X-RateLimit-Limit'))),
    ),
  },
  {
    id: 'limits-nothing-counted',
    requirement: 'limits.remaining-falls',
    text: 'Nothing is counted.',
    shares: 'not falling',
    hooks: { counts: () => false },
  },
  {
    id: 'limits-posts-not-counted',
    requirement: 'limits.remaining-falls',
    text: 'Only GET is counted.',
    shares: 'not falling',
    hooks: { counts: ({ method }) => method === 'GET' },
  },
  {
    id: 'limits-orders-not-counted',
    requirement: 'limits.remaining-falls',
    text: 'Orders are not counted.',
    shares: 'not falling',
    hooks: { counts: ({ operation }) => operation !== 'orders' },
  },
  {
    id: 'limits-every-second-counted',
    requirement: 'limits.refuses',
    text: 'Only every second request is counted.',
    needs: 'exhaust',
    hooks: { counts: ({ world }) => world.requests % 2 === 0 },
  },
  {
    id: 'plan-one-more',
    requirement: 'limits.plan',
    text: 'A plan has one request a minute more, in the headers as well.',
    shares: 'plan',
    needs: 'plan',
    hooks: plans(({ minute, day }) => ({ minute: minute + 1, day })),
  },
  {
    id: 'plan-one-fewer',
    requirement: 'limits.plan',
    text: 'A plan has one request a minute fewer, in the headers as well.',
    shares: 'plan',
    needs: 'plan',
    hooks: plans(({ minute, day }) => ({ minute: minute - 1, day })),
  },
  {
    id: 'plan-of-neighbour',
    requirement: 'limits.plan',
    text: 'Free keys have the numbers of Pro, all others those of Free.',
    shares: 'plan',
    needs: 'plan',
    hooks: { limits: (plan) => base.limits(plan === 'free' ? 'pro' : 'free') },
  },
];

/** Some answers take a request off the count again, besides their own. */
function givenBack(which: (answer: Answer) => boolean): Partial<Hooks> {
  return {
    counts: (exchange, answer) => {
      if (which(answer)) exchange.world.notes.set('give back', 'yes');
      return true;
    },
    count: (usage, exchange) => {
      // Its own request is not counted, and the one before it is taken off.
      if (!exchange.world.notes.delete('give back')) base.count(usage, exchange);
      else if (usage.minuteUsed > 0) {
        usage.minuteUsed -= 1;
        usage.dayUsed -= 1;
      }
    },
  };
}
