/** The three headers as such: section 8. */
import type { Answer, Exchange, Hooks } from '../hooks.ts';
import { answers, integerOf, setHeader, type Fault, type RateHeader } from './fault.ts';

type Kind = (answer: Answer, exchange: Exchange) => boolean;

const limit: RateHeader = 'X-RateLimit-Limit';
const remaining: RateHeader = 'X-RateLimit-Remaining';
const reset: RateHeader = 'X-RateLimit-Reset';

const every: Kind = () => true;
const status =
  (wanted: number): Kind =>
  (answer) =>
    answer.status === wanted;

const missing = (kind: Kind, name: RateHeader): Partial<Hooks> => answers(kind, (answer) => setHeader(answer, name, undefined));
const twice = (kind: Kind, name: RateHeader): Partial<Hooks> =>
  answers(kind, (answer) => void answer.headers.push([name, String(integerOf(answer, name))]));
const as = (kind: Kind, name: RateHeader, form: (value: number, exchange: Exchange) => string): Partial<Hooks> =>
  answers(kind, (answer, exchange) => setHeader(answer, name, form(integerOf(answer, name), exchange)));

const daySeconds = 86_400;

export const headerFaults: readonly Fault[] = [
  {
    id: 'limit-missing-401',
    requirement: 'limits.limit-header',
    text: 'A 401 has no X-RateLimit-Limit.',
    shares: 'Limit missing',
    hooks: missing(status(401), limit),
  },
  {
    id: 'limit-missing-404',
    requirement: 'limits.limit-header',
    text: 'A 404 has no X-RateLimit-Limit.',
    shares: 'Limit missing',
    hooks: missing(status(404), limit),
  },
  {
    id: 'limit-missing-429',
    requirement: 'limits.limit-header',
    text: 'A 429 has no X-RateLimit-Limit.',
    shares: 'Limit missing',
    needs: 'exhaust',
    hooks: missing(status(429), limit),
  },
  {
    id: 'limit-missing-hundredth',
    requirement: 'limits.limit-header',
    text: 'Every hundredth answer has no X-RateLimit-Limit.',
    shares: 'Limit missing',
    hooks: missing((_answer, { world }) => world.requests % 100 === 0, limit),
  },
  {
    id: 'limit-renamed-create',
    requirement: 'limits.limit-header',
    text: 'A 201 names its limit X-Rate-Limit-Limit.',
    hooks: answers(status(201), (answer) => {
      answer.headers.push(['X-Rate-Limit-Limit', String(integerOf(answer, limit))]);
      setHeader(answer, limit, undefined);
    }),
  },
  {
    id: 'remaining-missing-400',
    requirement: 'limits.remaining-header',
    text: 'A 400 has no X-RateLimit-Remaining.',
    shares: 'Remaining missing',
    hooks: missing(status(400), remaining),
  },
  {
    id: 'remaining-missing-429',
    requirement: 'limits.remaining-header',
    text: 'A 429 has no X-RateLimit-Remaining.',
    shares: 'Remaining missing',
    needs: 'exhaust',
    hooks: missing(status(429), remaining),
  },
  {
    id: 'remaining-missing-orders',
    requirement: 'limits.remaining-header',
    text: 'Orders have no X-RateLimit-Remaining.',
    shares: 'Remaining missing',
    hooks: missing((_answer, { operation }) => operation === 'orders', remaining),
  },
  {
    id: 'remaining-missing-401-create',
    requirement: 'limits.remaining-header',
    text: 'A 401 of create has no X-RateLimit-Remaining.',
    shares: 'Remaining missing',
    hooks: missing((answer, { operation }) => answer.status === 401 && operation === 'create', remaining),
  },
  {
    id: 'reset-missing-201',
    requirement: 'limits.reset-header',
    text: 'A 201 has no X-RateLimit-Reset.',
    shares: 'Reset missing',
    hooks: missing(status(201), reset),
  },
  {
    id: 'reset-missing-404',
    requirement: 'limits.reset-header',
    text: 'A 404 has no X-RateLimit-Reset.',
    shares: 'Reset missing',
    hooks: missing(status(404), reset),
  },
  {
    id: 'reset-missing-401-orders',
    requirement: 'limits.reset-header',
    text: 'A 401 of orders has no X-RateLimit-Reset.',
    shares: 'Reset missing',
    hooks: missing((answer, { operation }) => answer.status === 401 && operation === 'orders', reset),
  },
  {
    id: 'reset-missing-filtered',
    requirement: 'limits.reset-header',
    text: 'A list with status=pending has no X-RateLimit-Reset.',
    shares: 'Reset missing',
    hooks: missing((_answer, { query }) => query.get('status') === 'pending', reset),
  },
  {
    id: 'limit-twice-401',
    requirement: 'limits.headers-once',
    text: 'A 401 carries X-RateLimit-Limit twice.',
    shares: 'twice',
    hooks: twice(status(401), limit),
  },
  {
    id: 'remaining-twice-201',
    requirement: 'limits.headers-once',
    text: 'A 201 carries X-RateLimit-Remaining twice.',
    shares: 'twice',
    hooks: twice(status(201), remaining),
  },
  {
    id: 'reset-twice-get',
    requirement: 'limits.headers-once',
    text: 'get carries X-RateLimit-Reset twice.',
    shares: 'twice',
    hooks: twice((answer, { operation }) => operation === 'get' && answer.status === 200, reset),
  },
  {
    id: 'limit-with-window',
    requirement: 'limits.headers-integers',
    text: 'Limit tells its window, such as 60;w=60.',
    shares: 'not an integer',
    hooks: as(every, limit, (value) => `${value};w=60`),
  },
  {
    id: 'remaining-float-404',
    requirement: 'limits.headers-integers',
    text: 'Remaining of a 404 is written with a fraction, such as 59.0.',
    shares: 'not an integer',
    hooks: as(status(404), remaining, (value) => value.toFixed(1)),
  },
  {
    id: 'reset-hex-orders',
    requirement: 'limits.headers-integers',
    text: 'Reset of orders is hexadecimal, with 0x.',
    shares: 'not an integer',
    hooks: as(
      (_answer, { operation }) => operation === 'orders',
      reset,
      (value) => `0x${value.toString(16)}`,
    ),
  },
  {
    id: 'reset-exponent-201',
    requirement: 'limits.headers-integers',
    text: 'Reset of a 201 has an exponent, such as 1.8e9.',
    shares: 'not an integer',
    hooks: as(status(201), reset, (value) => value.toExponential()),
  },
  {
    id: 'reset-iso-401',
    requirement: 'limits.headers-integers',
    text: 'Reset of a 401 is an ISO date.',
    hooks: as(status(401), reset, (value) => new Date(value * 1000).toISOString()),
  },
  {
    id: 'remaining-empty-hundredth',
    requirement: 'limits.headers-integers',
    text: 'Remaining of every hundredth answer is empty.',
    hooks: as(
      (_answer, { world }) => world.requests % 100 === 0,
      remaining,
      () => '',
    ),
  },
  {
    id: 'remaining-above-limit',
    requirement: 'limits.remaining-range',
    text: 'Limit of a 400 is one too low for its Remaining.',
    shares: 'Remaining above Limit',
    hooks: answers(status(400), (answer) => setHeader(answer, limit, String(integerOf(answer, remaining) - 1))),
  },
  {
    id: 'remaining-above-limit-401',
    requirement: 'limits.remaining-range',
    text: 'Limit of a 401 is 0, Remaining is not.',
    shares: 'Remaining above Limit',
    hooks: answers(status(401), (answer) => {
      setHeader(answer, limit, '0');
      setHeader(answer, remaining, '60');
    }),
  },
  {
    id: 'remaining-of-ten-minutes',
    requirement: 'limits.remaining-range',
    text: 'Remaining of orders is that of ten minutes, Limit that of one.',
    shares: 'Remaining above Limit',
    hooks: answers(
      (_answer, { operation }) => operation === 'orders',
      (answer) => setHeader(answer, remaining, String(integerOf(answer, remaining) + 9 * integerOf(answer, limit))),
    ),
  },
  {
    id: 'remaining-negative-429',
    requirement: 'limits.remaining-range',
    text: 'Remaining of a 429 is -1.',
    needs: 'exhaust',
    hooks: as(status(429), remaining, () => '-1'),
  },
  {
    id: 'reset-ms',
    requirement: 'limits.reset-time',
    text: 'Reset is in milliseconds.',
    shares: 'Reset unit',
    hooks: as(every, reset, (value) => String(value * 1000)),
  },
  {
    id: 'reset-ms-404',
    requirement: 'limits.reset-time',
    text: 'Reset of a 404 is in milliseconds.',
    shares: 'Reset unit',
    hooks: as(status(404), reset, (value) => String(value * 1000)),
  },
  {
    id: 'reset-delta',
    requirement: 'limits.reset-time',
    text: 'Reset is the number of seconds until then.',
    shares: 'Reset unit',
    hooks: as(every, reset, (value, { now }) => String(Math.max(0, value - Math.floor(now / 1000)))),
  },
  {
    id: 'reset-delta-create',
    requirement: 'limits.reset-time',
    text: 'Reset of a 201 is the number of seconds until then.',
    shares: 'Reset unit',
    hooks: as(status(201), reset, (value, { now }) => String(Math.max(0, value - Math.floor(now / 1000)))),
  },
  {
    id: 'reset-past-orders',
    requirement: 'limits.reset-time',
    text: 'Reset of orders is an hour ago.',
    shares: 'Reset past',
    hooks: as(
      (_answer, { operation }) => operation === 'orders',
      reset,
      (value) => String(value - 3600),
    ),
  },
  {
    id: 'reset-zero-401',
    requirement: 'limits.reset-time',
    text: 'Reset of a 401 is 0.',
    shares: 'Reset past',
    hooks: as(status(401), reset, () => '0'),
  },
  {
    id: 'reset-past-429',
    requirement: 'limits.reset-time',
    text: 'Reset of a 429 is the begin of its minute, less five seconds.',
    shares: 'Reset past',
    needs: 'exhaust',
    hooks: as(status(429), reset, (value) => String(value - 65)),
  },
  {
    id: 'reset-two-days',
    requirement: 'limits.reset-time',
    text: 'Reset of a 400 is two days ahead.',
    hooks: as(status(400), reset, (value) => String(value + 2 * daySeconds)),
  },
  {
    id: 'reset-25-hours',
    requirement: 'limits.reset-time',
    text: 'Reset of a 404 is 25 hours ahead.',
    hooks: as(status(404), reset, (_value, { now }) => String(Math.floor(now / 1000) + 25 * 3600)),
  },
  {
    id: 'remaining-rises-twenty-fifth',
    requirement: 'limits.remaining-never-rises',
    text: 'Every twenty-fifth answer tells three more as Remaining than there are.',
    hooks: answers(
      (answer, { world }) => world.requests % 25 === 0 && answer.status !== 429,
      (answer) => setHeader(answer, remaining, String(Math.min(integerOf(answer, limit), integerOf(answer, remaining) + 3))),
    ),
  },
  {
    id: 'remaining-full-get',
    requirement: 'limits.remaining-never-rises',
    text: 'get tells Limit as its Remaining.',
    hooks: answers(
      (answer, { operation }) => operation === 'get' && answer.status === 200,
      (answer) => setHeader(answer, remaining, String(integerOf(answer, limit))),
    ),
  },
  {
    id: 'remaining-hundreds',
    requirement: 'limits.remaining-falls',
    text: 'Remaining is rounded up to whole hundreds, or to Limit if that is less.',
    hooks: answers(every, (answer) => {
      setHeader(
        answer,
        remaining,
        String(Math.min(integerOf(answer, limit), Math.ceil(integerOf(answer, remaining) / 100) * 100)),
      );
    }),
  },
];
