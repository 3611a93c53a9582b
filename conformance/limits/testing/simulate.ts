/** Test support: the history of a client of a limiter, without a server and without waiting. */
import {
  freshState, hit, look, type Decision, type Limiter, type State,
} from '../../mutants/families/limiters.ts';
import type { Random } from '../../mutants/families/random.ts';
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
}

/** What a client does: requests at once, one after the other with a pause after each, or nothing for a while. */
export type Step =
  | { readonly burst: number }
  | { readonly trickle: number; readonly everyMs: number }
  | { readonly pauseMs: number }
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
  /** Sends requests at once, and returns their exchanges. */
  together(count: number, names?: readonly string[]): readonly Exchange[];
  pause(ms: number): void;
  now(): number;
}

/** The client of a limiter in a world. */
export function simulation(
  limiter: Limiter, world: World, random: Random, fault: Fault = (reply) => reply,
): Simulation {
  const { limit, latencyMs, offsetMs, round, cachesDate, others } = world;
  const limits = { minute: limit, day };
  const exchanges: Exchange[] = [];
  const notes = new Map<string, number>();
  let [state, now, turn, sent, ended, nth] = [freshState, start, 0, 0, 0, 0];
  const phase = random.integer(0, 999);
  const together = (count: number, names: readonly string[] = []): readonly Exchange[] => {
    const flights = Array.from({ length: count }, (_, i) => {
      const sentAt = now;
      const arrives = sentAt + random.integer(0, latencyMs);
      const number = ++sent;
      const name = names[i] ?? 'GET /pets?limit=1';
      const decision = undefined as Decision | undefined;
      return { number, name, sentAt, sentTurn: ++turn, ended, arrives, leaves: arrives, decision };
    });
    const arrivals = flights.toSorted((a, b) => a.arrives - b.arrives);
    for (const flight of arrivals) {
      const server = flight.arrives + offsetMs;
      if (others && random.next() < 0.3) state = hit(limiter, state, limits, server).state;
      const before = state;
      const request = { now: server, nth: ++nth, before, notes, name: flight.name };
      const one = fault(hit(limiter, state, limits, server), request);
      state = one.state;
      flight.decision = one.decision;
      flight.leaves = flight.arrives + random.integer(0, 2);
    }
    if (limiter.readsAfterHits)
      for (const flight of flights)
        if (flight.decision!.admitted) {
          const { remaining } = look(limiter, state, limits, flight.leaves + offsetMs);
          flight.decision = { ...flight.decision!, remaining: Math.min(remaining, flight.decision!.remaining) };
        }
    const received = flights.map((flight) => ({ ...flight, receivedAt: flight.leaves + random.integer(0, latencyMs) }));
    for (const flight of received.toSorted((a, b) => a.receivedAt - b.receivedAt)) {
      const { admitted, remaining, resetMs, retryAfterMs, limit } = flight.decision!;
      const server = flight.leaves + offsetMs;
      const dated = cachesDate ? Math.floor((server - phase) / 1_000) * 1_000 + phase : server;
      const seconds = {
        up: Math.ceil(resetMs / 1_000),
        down: Math.floor(resetMs / 1_000),
        'now+duration': Math.floor(server / 1_000) + Math.ceil((resetMs - server) / 1_000),
      };
      ended++;
      now = Math.max(now, flight.receivedAt);
      exchanges.push({
        key: 'exhaust',
        name: flight.name,
        status: admitted ? 200 : 429,
        limit,
        remaining: admitted ? remaining : 0,
        reset: seconds[round],
        retryAfterMs: admitted ? undefined : Math.max(1, Math.ceil(retryAfterMs / 1_000)) * 1_000,
        date: Math.floor(dated / 1_000) * 1_000,
        sentAt: flight.sentAt,
        receivedAt: flight.receivedAt,
        sentTurn: flight.sentTurn,
        receivedTurn: ++turn,
        number: flight.number,
        ended: flight.ended,
        sentBy: sent,
        response: undefined as unknown as Response,
      });
    }
    return exchanges.slice(-count);
  };
  return { exchanges, together, pause: (ms) => void (now += ms), now: () => now };
}

/** The exchanges of a client that takes these steps. */
export function simulate(limiter: Limiter, steps: readonly Step[], world: World, random: Random): readonly Exchange[] {
  const { exchanges, together, pause, now } = simulation(limiter, world, random);
  for (const step of steps) {
    if ('burst' in step) together(step.burst);
    else if ('pauseMs' in step) pause(step.pauseMs);
    else if ('wait' in step) {
      const last = exchanges.at(-1);
      if (last === undefined) continue;
      const ms = step.wait === 'Reset' ? last.reset * 1_000 - world.offsetMs - now() : (last.retryAfterMs ?? 0);
      pause(Math.max(0, Math.min(ms, 130_000)));
    } else
      for (let i = 0; i < step.trickle; i++) {
        together(1);
        pause(step.everyMs);
      }
  }
  return exchanges;
}
