/**
 * The points at which the behaviour of the small server can be replaced. `base` conforms to the specification; mutants
 * and variants replace some of its hooks. Several servers share the hooks, so a hook keeps its state in the `World`.
 */
import type { ServerResponse } from 'node:http';
import type { Plan } from '../../client/pacing.ts';
import { Digits, readJson, type Json, type JsonObject } from './json.ts';

export type Operation = 'list' | 'create' | 'get' | 'orders' | 'other';

export const statuses: readonly string[] = ['available', 'pending', 'sold'];

export interface Pet {
  /** Decimal digits, like all integers here. */
  id: string;
  name: string;
  categoryId: string;
  /** '' if a variant stores no status. */
  status: string;
  /** Time of creation in milliseconds; 0 if the animal was there at the start. */
  at: number;
}

/** The state of one server. */
export interface World {
  readonly pets: Map<string, Pet>;
  nextId: bigint;
  /** Requests so far, including the current one. `lists` and `creates` count lists and accepted creates. */
  requests: number;
  lists: number;
  creates: number;
  /** The state of hooks. */
  readonly notes: Map<string, string>;
}

/** A request and the time at which it arrived. */
export interface Exchange {
  readonly operation: Operation;
  readonly method: string;
  /** Below /v1, such as `/pets/7`. */
  readonly path: string;
  /** The path as it was sent. */
  readonly fullPath: string;
  readonly query: URLSearchParams;
  /** The query as it was sent, without the question mark. */
  readonly search: string;
  /** '' if the header is missing. */
  readonly authorization: string;
  readonly contentType: string;
  /** Every header, by its name in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Names and values, as they were sent. */
  readonly rawHeaders: readonly string[];
  /** The text of the body. */
  readonly body: string;
  /** Identifies the connection on which it arrived. */
  readonly connection: number;
  readonly now: number;
  readonly world: World;
}

export interface MutantResponse {
  status: number;
  headers: [name: string, value: string][];
  /** undefined for an empty body. */
  body: Json | undefined;
}

export interface Limits {
  readonly minute: number;
  readonly day: number;
}

/** The usage of one key. */
export interface Usage {
  minute: number;
  minuteUsed: number;
  day: number;
  dayUsed: number;
  /** Times of admitted requests, for variants that count in another way. */
  times: number[];
}

/** The values of the rate limit headers. */
export interface Rates {
  limit: number;
  remaining: number;
  resetMs: number;
  /** The milliseconds until a request is admitted, if that is not at the reset. */
  retryAfterMs?: number;
  /** Whether the next request is admitted, if that is not whether some remain. */
  admitted?: boolean;
}

export interface Hooks {
  /** The number of animals at the start. */
  animals(): number;
  /** The server's time, from the time of the clock. */
  time(now: number, world: World): number;
  /** The path below the base path, or undefined. */
  below(path: string): string | undefined;
  /** Whether the request has this key. */
  admits(exchange: Exchange, secret: string): boolean;

  /** The parsed limit; undefined rejects it with 400. */
  limit(text: string | null, exchange: Exchange): number | undefined;
  /** The parsed filter, '' for none; undefined rejects it with 400. */
  filter(text: string | null, exchange: Exchange): string | undefined;
  /** Whether an animal is visible yet. */
  visible(pet: Pet, exchange: Exchange): boolean;
  /** The animals in the order of lists. */
  order(pets: Pet[], exchange: Exchange): Pet[];
  fits(pet: Pet, status: string, exchange: Exchange): boolean;
  /** The rows of the page, of those that fit the filter. */
  page(rows: Pet[], limit: number, exchange: Exchange): Pet[];

  /** The body, from its parts as they arrived. */
  join(chunks: readonly Buffer[]): Buffer;
  /** The text of the body; undefined rejects it with 400, here and below. */
  text(bytes: Uint8Array): string | undefined;
  read(text: string): Json | undefined;
  object(value: Json): JsonObject | undefined;
  /** Whether a body is accepted, apart from its fields. */
  accepts(body: JsonObject, text: string, exchange: Exchange): boolean;
  name(value: Json | undefined, exchange: Exchange): string | undefined;
  category(value: Json | undefined, exchange: Exchange): string | undefined;
  status(value: Json | undefined, exchange: Exchange): string | undefined;
  newId(pet: Pet, exchange: Exchange): string;
  /** The animal as it is stored, or undefined to store nothing. The 201 shows it as it was before. */
  keep(pet: Pet, exchange: Exchange): Pet | undefined;

  find(id: string, exchange: Exchange): Pet | undefined;
  /** The Pet object of an animal, in every response. */
  show(pet: Pet, exchange: Exchange): JsonObject;
  orders(): Json;
  error(status: number, message: string, exchange: Exchange): Json | undefined;

  limits(plan: Plan): Limits;
  /** Requests with the same budget are counted together. */
  budget(exchange: Exchange): string;
  /** The limit, remaining requests and reset of a key now. */
  left(usage: Usage, limits: Limits, exchange: Exchange): Rates;
  admitted(rates: Rates, exchange: Exchange): boolean;
  /** Whether a request counts. */
  counts(exchange: Exchange, response: MutantResponse): boolean;
  count(usage: Usage, exchange: Exchange): void;
  /** The headers of a response to a request without a valid key. */
  keyless(exchange: Exchange): Rates;
  /** The value of Retry-After, given the milliseconds until a request is admitted again; undefined for no header. */
  retryAfter(ms: number, exchange: Exchange): string | undefined;

  /** The response just before it is sent. */
  response(response: MutantResponse, exchange: Exchange): MutantResponse;
  /** The bytes of its body. */
  bytes(text: string, exchange: Exchange): Uint8Array;
  /** Writes the response, whose headers are a flat list of names and values, because some mutants send one twice. */
  write(to: ServerResponse, status: number, headers: string[], body: Uint8Array, exchange: Exchange): void;
}

const minuteMs = 60_000;
const dayMs = 86_400_000;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const codes: Record<number, string> = {
  400: 'invalid',
  401: 'unauthorized',
  404: 'not_found',
  405: 'no_such_method',
  429: 'too_many_requests',
};
const plans: Record<Plan, Limits> = {
  free: { minute: 60, day: 1_000 },
  pro: { minute: 300, day: 10_000 },
  business: { minute: 1_000, day: 100_000 },
};

export const base: Hooks = {
  animals: () => 12,
  time: (now) => now,
  below: (path) => (path.startsWith('/v1/') ? path.slice(3) : undefined),
  admits: ({ authorization }, secret) => authorization === `Bearer ${secret}`,

  limit: (text) => {
    if (text === null) return 20;
    return /^\d{1,3}$/.test(text) && Number(text) >= 1 && Number(text) <= 100 ? Number(text) : undefined;
  },
  filter: (text) => (text === null ? '' : statuses.find((status) => status === text)),
  visible: () => true,
  // Newest first, so that a new animal is on the first page.
  order: (pets) => pets.toReversed(),
  fits: (pet, status) => status === '' || pet.status === status,
  page: (rows, limit) => rows.slice(0, limit),

  join: (chunks) => Buffer.concat(chunks),
  text: (bytes) => attempt(() => utf8.decode(bytes)),
  read: (text) => attempt(() => readJson(text)),
  object: (value) => (value instanceof Map ? value : undefined),
  accepts: () => true,
  name: (value) => (typeof value === 'string' ? value : undefined),
  category: (value) => {
    if (!(value instanceof Digits) || !/^-?\d{1,19}$/.test(value.text)) return undefined;
    const integer = BigInt(value.text);
    return BigInt.asIntN(64, integer) === integer ? String(integer) : undefined;
  },
  status: (value) => (value === undefined ? 'available' : statuses.find((status) => status === value)),
  newId: (_pet, { world }) => String(world.nextId++),
  keep: (pet) => pet,

  find: (id, { world }) => (/^-?\d+$/.test(id) ? world.pets.get(String(BigInt(id))) : undefined),
  show: (pet) =>
    new Map<string, Json>([
      ['id', new Digits(pet.id)],
      ['name', pet.name],
      ['categoryId', new Digits(pet.categoryId)],
      ['status', pet.status],
    ]),
  orders: () => [
    new Map<string, Json>([
      ['id', new Digits('1')],
      ['petId', new Digits('3')],
      ['quantity', new Digits('1')],
    ]),
  ],
  error: (status, message) =>
    new Map<string, Json>([
      ['code', codes[status] ?? 'error'],
      ['message', message],
      ['status', new Digits(String(status))],
    ]),

  limits: (plan) => plans[plan],
  budget: () => '',
  left: (usage, limits, { now }) => {
    const [minute, day] = [Math.floor(now / minuteMs), Math.floor(now / dayMs)];
    if (usage.minute !== minute) Object.assign(usage, { minute, minuteUsed: 0 });
    if (usage.day !== day) Object.assign(usage, { day, dayUsed: 0 });
    const ofMinute = {
      limit: limits.minute,
      remaining: limits.minute - usage.minuteUsed,
      resetMs: (minute + 1) * minuteMs,
    };
    const ofDay = { limit: limits.day, remaining: limits.day - usage.dayUsed, resetMs: (day + 1) * dayMs };
    // If both are used up, the day decides when a request is admitted again.
    return ofDay.remaining <= 0 || ofDay.remaining < ofMinute.remaining ? ofDay : ofMinute;
  },
  admitted: (rates) => rates.admitted ?? rates.remaining > 0,
  counts: () => true,
  count: (usage) => {
    usage.minuteUsed += 1;
    usage.dayUsed += 1;
  },
  keyless: ({ now }) => ({
    limit: plans.free.minute,
    remaining: plans.free.minute,
    resetMs: (Math.floor(now / minuteMs) + 1) * minuteMs,
  }),
  retryAfter: (ms) => String(Math.max(1, Math.ceil(ms / 1000))),

  response: (response) => response,
  bytes: (text) => Buffer.from(text, 'utf8'),
  write: (to, status, headers, body) => void to.writeHead(status, headers).end(body),
};

/** The result of `make`, or undefined if it throws. */
export function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}
