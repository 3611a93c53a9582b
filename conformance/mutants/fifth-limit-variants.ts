/** Conforming servers with unusual connections, clocks and headers. */
import { fixedFromFirst, limiterHooks, limiters, type Limiter } from './families/limiters.ts';
import { base, type Exchange, type Hooks, type Limits, type Usage } from './server/hooks.ts';
import { setHeader } from './table/changes.ts';
import type { Variant } from './variant.ts';

const fromFirst: Limiter = { ...limiters[0]!, minute: fixedFromFirst };

/** A window from the first request, which begins again, used up, with each request after a refusal in it. */
function beginningAgain(): Partial<Hooks> {
  const hooks = limiterHooks(fromFirst, (state, limits, now) => {
    const { minute } = state;
    if (minute.used < limits.minute) return state;
    // Whether the window has a refusal is where a sliding counter has the requests before.
    return { ...state, minute: minute.before === 0 ? { ...minute, before: 1 } : { ...minute, at: now } };
  });
  const counters = new WeakMap<Exchange, readonly [Usage, Limits]>();
  return {
    ...hooks,
    left: (usage, limits, exchange) => {
      counters.set(exchange, [usage, limits]);
      return hooks.left!(usage, limits, exchange);
    },
    admitted: (rates, exchange) => {
      if (hooks.admitted!(rates, exchange)) return true;
      // Retry-After must be that of the window that has begun.
      Object.assign(rates, hooks.left!(...counters.get(exchange)!, exchange));
      return false;
    },
  };
}

const withoutDate = (headers: string[]): string[] => headers.filter((_, i) => headers[i & ~1] !== 'Date');

/** The number of responses on a connection, by which a timer sees whether it has been used since. */
const responsesOn = new WeakMap<object, number>();

export const fifthLimitVariants: readonly Variant[] = [
  {
    id: 'window of silence',
    text:
      'A window begins with a request; each request after a refusal in it begins it again, used up, which bans the ' +
      'key for 60 s, as Reset and Retry-After say.',
    hooks: beginningAgain(),
  },
  {
    id: 'idle connections',
    text: 'It closes a connection without notice when it has been idle for 400 ms.',
    hooks: {
      write: (...sent) => {
        const [to] = sent;
        const { socket } = to;
        base.write(...sent);
        if (socket === null) return;
        const number = (responsesOn.get(socket) ?? 0) + 1;
        responsesOn.set(socket, number);
        setTimeout(() => {
          if (responsesOn.get(socket) === number) socket.end();
        }, 400).unref();
      },
    },
  },
  {
    id: 'dates without Date',
    text: 'Retry-After is a date; its clock is 25 s ahead of that of the client, and no response has a Date.',
    hooks: {
      time: (now) => now + 25_000,
      retryAfter: (ms, { now }) => new Date(Math.ceil((now + ms) / 1_000) * 1_000).toUTCString(),
      write: (to, status, headers, body, exchange) => base.write(to, status, withoutDate(headers), body, exchange),
    },
  },
  {
    id: 'words without a key',
    text: 'Without a valid key, the three headers have words instead of numbers.',
    hooks: {
      response: (response) => {
        if (response.status !== 401) return response;
        setHeader(response, 'X-RateLimit-Limit', 'unknown');
        setHeader(response, 'X-RateLimit-Remaining', 'unknown');
        setHeader(response, 'X-RateLimit-Reset', 'never');
        return response;
      },
    },
  },
];
