/** Test support: the history of a client of a limiter, without a server and without waiting. */
import {
  freshState, hit, look, type Decision, type Limiter, type State,
} from '../../mutants/families/limiters.ts';
import type { Random } from '../../mutants/families/random.ts';
import type { Request } from '../../client/request.ts';
import type { Response } from '../../client/response.ts';
import type { Exchange } from '../exchange.ts';

/** What lies between a client and a limiter. */
export interface World {
  readonly limit: number;
  readonly latencyMs: number;
  /** The server's clock minus the client's. */
  readonly offsetMs: number;
  /** How Reset loses its fraction of a second. */
  readonly round: 'up' | 'down' | 'now+duration';
  readonly cachesDate: boolean;
  /** Whether other clients use the key. */
  readonly others: boolean;
  /** What the limiter does with a request that fails. If it does not count, it is never refused. */
  readonly failures: 'counts' | 'gives back' | 'does not count';
}

/** The name of a request that fails, unless it is refused. */
export const failing = 'failing';

/**
 * What a client does: requests at once or over some connections, one after the other with a pause after each, or
 * nothing for a while, or until so long before the next minute of the server's clock.
 */
export type Step =
  | { readonly burst: number; readonly connections?: number }
  | { readonly trickle: number; readonly everyMs: number; readonly names?: readonly string[] }
  | { readonly pauseMs: number }
  | { readonly beforeMinuteMs: number }
  | { readonly wait: 'Retry-After' | 'Reset' };

/** The response of a server, which a fault may change. */
export interface Reply {
  readonly decision: Decision;
  readonly state: State;
}

/** Changes a reply: `nth` counts the requests, `before` is the state before this one. */
export type Fault = (reply: Reply, request: {
  readonly now: number; readonly nth: number; readonly before: State; readonly notes: Map<string, number>;
  readonly name: string;
}) => Reply;

const day = 1_000_000;
const start = Date.UTC(2026, 10, 21, 12, 0, 5, 300);

/** A client of a limiter. */
export interface Simulation {
  readonly exchanges: readonly Exchange[];
  /** Sends requests over some connections, each of which waits for its response, and returns their exchanges. */
  send(count: number, connections: number): readonly Exchange[];
  /** Sends requests at once. */
  together(count: number, names?: readonly string[]): readonly Exchange[];
  pause(ms: number): void;
  now(): number;
}

/** The client of a limiter in a world. */
export function simulation(
  limiter: Limiter, world: World, random: Random, fault: Fault = (reply) => reply,
): Simulation {
  const { limit, latencyMs, offsetMs, round, cachesDate, others, failures } = world;
  const limits = { minute: limit, day };
  const exchanges: Exchange[] = [];
  const notes = new Map<string, number>();
  let [state, now, turn, sent, ended, nth] = [freshState, start, 0, 0, 0, 0];
  const phase = random.integer(0, 999);
  const send = (count: number, connections: number, names: readonly string[] = []): readonly Exchange[] => {
    const events: { readonly at: number; readonly happen: () => void }[] = [];
    const later = (at: number, happen: () => void) => void events.push({ at, happen });
    let begun = 0;
    const depart = (): void => {
      if (begun === count) return;
      const [sentAt, sentTurn, endedBefore, number] = [now, ++turn, ended, ++sent];
      const name = names[begun++] ?? 'GET /pets?limit=1';
      later(sentAt + random.integer(0, latencyMs), () => {
        const server = now + offsetMs;
        if (others && random.next() < 0.3) state = hit(limiter, state, limits, server).state;
        const one = fault(hit(limiter, state, limits, server), { now: server, nth: ++nth, before: state, notes, name });
        const isOpen = name === failing && failures === 'does not count';
        const isFailure = isOpen || (name === failing && one.decision.admitted);
        if (!isFailure || failures === 'counts') state = one.state;
        later(now + random.integer(0, 2), () => {
          const decision = isOpen ? { ...look(limiter, state, limits, now + offsetMs), admitted: true } : one.decision;
          const left = now + offsetMs;
          const { remaining } = limiter.readsAfterHits ? look(limiter, state, limits, left) : decision;
          const reply = { ...decision, remaining: Math.min(remaining, decision.remaining) };
          const sending = { name, sentAt, sentTurn, ended: endedBefore, number };
          later(now + random.integer(0, latencyMs), () => {
            exchanges.push({ ...sending, ...arrival(reply, left), ...(isFailure && { status: 404 }) });
            depart();
          });
        });
      });
    };
    /** What the client receives of a reply that left the server at a time of its clock. */
    const arrival = ({ admitted, remaining, resetMs, retryAfterMs, limit }: Decision, left: number) => {
      const dated = cachesDate ? Math.floor((left - phase) / 1_000) * 1_000 + phase : left;
      const seconds = {
        up: Math.ceil(resetMs / 1_000),
        down: Math.floor(resetMs / 1_000),
        'now+duration': Math.floor(left / 1_000) + Math.ceil((resetMs - left) / 1_000),
      };
      const wait = Math.max(1, Math.ceil(retryAfterMs / 1_000));
      ended++;
      return {
        key: 'exhaust' as const,
        status: admitted ? 200 : 429,
        limit,
        remaining: admitted ? remaining : 0,
        reset: seconds[round],
        retryAfterMs: admitted ? undefined : wait * 1_000,
        date: Math.floor(dated / 1_000) * 1_000,
        receivedAt: now,
        receivedTurn: ++turn,
        sentBy: sent,
        // All that the judge reads of it.
        response: { request: {} as Request, all: () => [`${wait}`] } as Partial<Response> as Response,
      };
    };
    for (let i = 0; i < connections; i++) depart();
    for (let next = 0; events.length > 0; events.splice(next, 1)) {
      next = events.reduce((first, { at }, i) => (at < events[first]!.at ? i : first), 0);
      const { at, happen } = events[next]!;
      now = at;
      happen();
    }
    return exchanges.slice(-count);
  };
  const together = (count: number, names?: readonly string[]) => send(count, count, names);
  return { exchanges, send, together, pause: (ms) => void (now += ms), now: () => now };
}

/** The exchanges of a client that takes these steps. */
export function simulate(limiter: Limiter, steps: readonly Step[], world: World, random: Random): readonly Exchange[] {
  const { exchanges, send, together, pause, now } = simulation(limiter, world, random);
  for (const step of steps) {
    if ('burst' in step) send(step.burst, Math.min(step.burst, step.connections ?? step.burst));
    else if ('pauseMs' in step) pause(step.pauseMs);
    else if ('beforeMinuteMs' in step)
      pause(Math.max(0, 60_000 - ((now() + world.offsetMs) % 60_000) - step.beforeMinuteMs));
    else if ('wait' in step) {
      const last = exchanges.at(-1);
      if (last === undefined) continue;
      const ms = step.wait === 'Reset' ? last.reset * 1_000 - world.offsetMs - now() : (last.retryAfterMs ?? 0);
      pause(Math.max(0, Math.min(ms, 130_000)));
    } else
      for (let i = 0; i < step.trickle; i++) {
        together(1, step.names?.slice(i % step.names.length));
        pause(step.everyMs);
      }
  }
  return exchanges;
}
