/** Section 8: the three rate limit headers. */
import { base, type Exchange } from '../server/hooks.ts';
import {
  all, everyHundredth, integerOf, of, responses, setHeader, status, table,
  type Change, type Kind, type NumberHeader,
} from './changes.ts';

const limit: NumberHeader = 'X-RateLimit-Limit';
const remaining: NumberHeader = 'X-RateLimit-Remaining';
const reset: NumberHeader = 'X-RateLimit-Reset';
const daySeconds = 86_400;

const missing = (kind: Kind, name: NumberHeader): Change =>
  responses(kind, (response) => setHeader(response, name, undefined));

const twice = (kind: Kind, name: NumberHeader): Change =>
  responses(kind, (response) => void response.headers.push([name, String(integerOf(response, name))]));

/** Writes a header in another form. */
const as = (kind: Kind, name: NumberHeader, form: (value: number, exchange: Exchange) => string | number): Change =>
  responses(kind, (response, exchange) => setHeader(response, name, String(form(integerOf(response, name), exchange))));

/** The headers except one. */
const without = (headers: readonly string[], name: string): string[] =>
  headers.filter((_, i) => headers[i - (i % 2)] !== name);

const secondsUntil = (value: number, { now }: Exchange): number => Math.max(0, value - Math.floor(now / 1000));

export const headerMutants = table([
  ['limit-missing-401', 'limits.limit-header', 'A 401 has no X-RateLimit-Limit.', missing(status(401), limit)],
  ['limit-missing-404', 'limits.limit-header', 'A 404 has no X-RateLimit-Limit.', missing(status(404), limit)],
  ['limit-missing-429', 'limits.limit-header', 'A 429 has no X-RateLimit-Limit.', missing(status(429), limit)],
  ['limit-missing-hundredth', 'limits.limit-header', 'Every hundredth response has no X-RateLimit-Limit.',
    missing(everyHundredth, limit)],
  ['limit-missing-kept-connection', 'limits.limit-header', 'A connection has X-RateLimit-Limit for ten responses only.',
    missing((_response, { connection, world: { notes } }) => {
      const count = Number(notes.get(`connection ${connection}`) ?? 0) + 1;
      notes.set(`connection ${connection}`, String(count));
      return count > 10;
    }, limit)],
  ['limit-renamed-create', 'limits.limit-header', 'A 201 has X-Rate-Limit-Limit instead of X-RateLimit-Limit.',
    responses(status(201), (response) => {
      response.headers.push(['X-Rate-Limit-Limit', String(integerOf(response, limit))]);
      setHeader(response, limit, undefined);
    })],

  ['remaining-missing-400', 'limits.remaining-header', 'A 400 has no X-RateLimit-Remaining.',
    missing(status(400), remaining)],
  ['remaining-missing-429', 'limits.remaining-header', 'A 429 has no X-RateLimit-Remaining.',
    missing(status(429), remaining)],
  ['remaining-missing-orders', 'limits.remaining-header', 'listOrders has no X-RateLimit-Remaining.',
    missing(of('orders'), remaining)],
  ['remaining-missing-401-create', 'limits.remaining-header', 'A 401 of createPet has no X-RateLimit-Remaining.',
    missing(status(401, 'create'), remaining)],

  ['reset-missing-201', 'limits.reset-header', 'A 201 has no X-RateLimit-Reset.', missing(status(201), reset)],
  ['reset-missing-404', 'limits.reset-header', 'A 404 has no X-RateLimit-Reset.', missing(status(404), reset)],
  ['reset-missing-401-orders', 'limits.reset-header', 'A 401 of listOrders has no X-RateLimit-Reset.',
    missing(status(401, 'orders'), reset)],
  ['reset-missing-filtered', 'limits.reset-header', 'A list with status=pending has no X-RateLimit-Reset.',
    missing((_response, { query }) => query.get('status') === 'pending', reset)],

  ['limit-twice-401', 'limits.headers-once', 'A 401 has X-RateLimit-Limit twice.', twice(status(401), limit)],
  ['remaining-twice-201', 'limits.headers-once', 'A 201 has X-RateLimit-Remaining twice.',
    twice(status(201), remaining)],
  ['reset-twice-get', 'limits.headers-once', 'getPet has X-RateLimit-Reset twice.', twice(status(200, 'get'), reset)],

  ['limit-with-window', 'limits.headers-integers', 'Limit includes its window: 60;w=60.',
    as(all, limit, (value) => `${value};w=60`)],
  ['remaining-float-404', 'limits.headers-integers', 'Remaining of a 404 has a fraction: 59.0.',
    as(status(404), remaining, (value) => value.toFixed(1))],
  ['reset-hex-orders', 'limits.headers-integers', 'Reset of listOrders is hexadecimal, with 0x.',
    as(of('orders'), reset, (value) => `0x${value.toString(16)}`)],
  ['reset-exponent-201', 'limits.headers-integers', 'Reset of a 201 has an exponent: 1.8e9.',
    as(status(201), reset, (value) => value.toExponential())],
  ['reset-iso-401', 'limits.headers-integers', 'Reset of a 401 is an ISO 8601 date.',
    as(status(401), reset, (value) => new Date(value * 1000).toISOString())],
  ['remaining-empty-hundredth', 'limits.headers-integers', 'Remaining of every hundredth response is empty.',
    as(everyHundredth, remaining, () => '')],

  ['remaining-above-limit', 'limits.remaining-range', 'Limit of a 400 is one below its Remaining.',
    responses(status(400), (response) => setHeader(response, limit, String(integerOf(response, remaining) - 1)))],
  ['remaining-above-limit-401', 'limits.remaining-range', 'A 401 has Limit 0 and Remaining 60.',
    responses(status(401), (response) => {
      setHeader(response, limit, '0');
      setHeader(response, remaining, '60');
    })],
  ['remaining-of-ten-minutes', 'limits.remaining-range', 'Remaining of listOrders covers ten minutes, Limit one.',
    responses(of('orders'), (response) =>
      setHeader(response, remaining, String(integerOf(response, remaining) + 9 * integerOf(response, limit))))],
  ['remaining-negative-429', 'limits.remaining-range', 'Remaining of a 429 is -1.',
    as(status(429), remaining, () => -1)],

  ['reset-ms', 'limits.reset-time', 'Reset is in milliseconds.', as(all, reset, (value) => value * 1000)],
  ['reset-ms-without-date', 'limits.reset-time', 'Reset is in milliseconds, and there is no Date.',
    {
      ...as(all, reset, (value) => value * 1000),
      write: (to, status, headers, ...rest) => base.write(to, status, without(headers, 'Date'), ...rest),
    }],
  ['reset-ms-404', 'limits.reset-time', 'Reset of a 404 is in milliseconds.',
    as(status(404), reset, (value) => value * 1000)],
  ['reset-delta', 'limits.reset-time', 'Reset is the number of seconds until the reset.',
    as(all, reset, secondsUntil)],
  ['reset-delta-create', 'limits.reset-time', 'Reset of a 201 is the number of seconds until the reset.',
    as(status(201), reset, secondsUntil)],
  ['reset-past-orders', 'limits.reset-time', 'Reset of listOrders is an hour ago.',
    as(of('orders'), reset, (value) => value - 3600)],
  ['reset-past-401', 'limits.reset-time', 'Reset of a 401 is an hour ago.',
    as(status(401), reset, (value) => value - 3600)],
  ['reset-past-429', 'limits.reset-time', 'Reset of a 429 is five seconds before the start of its minute.',
    as(status(429), reset, (value) => value - 65)],
  ['reset-two-days', 'limits.reset-time', 'Reset of a 400 is two days ahead.',
    as(status(400), reset, (value) => value + 2 * daySeconds)],
  ['reset-26-hours', 'limits.reset-time', 'Reset of a 404 is 26 hours ahead.',
    as(status(404), reset, (_value, { now }) => Math.floor(now / 1000) + 26 * 3600)],

  ['remaining-rises-twenty-fifth', 'limits.remaining-never-rises', 'Remaining of every 25th response is 3 too high.',
    responses(
      (response, { world }) => world.requests % 25 === 0 && response.status !== 429,
      (response) => setHeader(response, remaining,
        String(Math.min(integerOf(response, limit), integerOf(response, remaining) + 3))))],
  ['remaining-full-get', 'limits.remaining-never-rises', 'Remaining of getPet equals Limit.',
    responses(status(200, 'get'), (response) => setHeader(response, remaining, String(integerOf(response, limit))))],

  ['remaining-per-connection', 'limits.remaining-never-rises', 'Each connection has its own limit.',
    { budget: ({ connection }) => String(connection) }],

  ['limits-all-zero', 'limits.reset-time', 'The three headers are 0 in every response.',
    responses(all, (response) => [limit, remaining, reset].forEach((name) => setHeader(response, name, '0')))],

  ['sunset-year-early', 'get.removal', 'getPet announces its removal a year early, in Sunset.',
    responses(of('get'), (response) => setHeader(response, 'Sunset', 'Wed, 05 Dec 2029 00:00:00 GMT'))],
  ['sunset-day-late', 'get.removal', 'getPet of a known animal announces its removal two days late, in Sunset.',
    responses(status(200, 'get'), (response) => setHeader(response, 'Sunset', 'Sat, 07 Dec 2030 00:00:00 GMT'))],

  ['sunset-everywhere', 'get.removal', 'All operations announce the removal of getPet, in Sunset.',
    responses(all, (response) => setHeader(response, 'Sunset', 'Thu, 05 Dec 2030 00:00:00 GMT'))],

  ['remaining-hundreds', 'limits.remaining-falls', 'Remaining is rounded up to hundreds, at most to Limit.',
    responses(all, (response) => setHeader(response, remaining,
      String(Math.min(integerOf(response, limit), Math.ceil(integerOf(response, remaining) / 100) * 100))))],
]);
