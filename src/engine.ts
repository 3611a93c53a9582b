/**
 * What the server needs of its storage engine: the animals, the orders, the keys and the counts of their requests.
 * Only the engine knows where and how they are stored. `testing/engine-contract.ts` tests any engine.
 *
 * Every promise settles within a few seconds. Any method may throw or reject with an UnavailableError. Times and
 * durations are in milliseconds, times since the epoch.
 */
import type { Body } from './domain/byte-text.ts';
import { UntracedError } from './domain/untraced-error.ts';
import type { NewPet, StoredPet } from './domain/pet.ts';
import type { Order } from './domain/order.ts';
import type { Key } from './keys/key.ts';
import type { Ban } from './limits/bans.ts';
import type { LimitStatus } from './limits/limit-status.ts';
import type { Plan } from './limits/plans.ts';

/**
 * A value, or a promise of it. An engine that has the value in memory returns it directly, without a further turn of
 * the event loop.
 */
export type Soon<T> = T | Promise<T>;

/** Applies `use` to a value when it is available. */
export function mapSoon<T, R>(value: Soon<T>, use: (value: T) => Soon<R>): Soon<R> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** The parameters of a page. */
export interface PageQuery {
  /** The largest number of records on the page, at least 1. */
  readonly limit: number;
  /** The page begins after this id, an int64 in decimal; undefined: with the first record. */
  readonly after: string | undefined;
  /** Only records with this status; undefined: all records. */
  readonly status: string | undefined;
}

/** A page of records in ascending order of id, ready to be sent. */
export interface Page {
  /** The records as a JSON array. */
  readonly body: Body;
  /** The id after which the next page begins, in decimal, or null if no record follows. */
  readonly next: string | null;
}

/** Records that can be listed. */
export interface Records {
  page(query: PageQuery): Soon<Page>;
  count(): Soon<number>;
}

/** The animals. */
export interface Pets extends Records {
  /** Returns the animal with this id, an int64 in decimal, as JSON; null if there is none. */
  get(id: string): Soon<Body | null>;
  /**
   * Adds an animal. Resolves when it is durable. Its id is larger than all that were assigned before. Rejects with
   * UnavailableError if the animal may not have been saved; its id is not used again.
   */
  create(pet: NewPet): Promise<StoredPet>;
  /** Resolves to whether animals can be added. May try to write, but not for each call. */
  writable(): Promise<boolean>;
}

/** Why the storage cannot be read or written at the moment. The message is for the client. */
export class UnavailableError extends UntracedError {
  /** The client may try again after this many seconds; undefined: no later try can succeed. */
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, retryAfterSeconds?: number) {
    super(message);
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** The result of a request with a valid key. */
export interface Admission {
  /** The id of the key, and its name. */
  readonly key: string;
  readonly name: string;
  /** Whether the request was admitted, and what remains of the limits. */
  readonly limits: LimitStatus;
  /** When the engine decided: `Retry-After` counts from then. */
  readonly time: number;
}

/** Decides which requests with a key are admitted. */
export interface Accounts {
  /**
   * Finds the key with this secret, and admits and counts the request or refuses it. This is one step: of concurrent
   * requests, only one is admitted as the last one. The request is handled at `now` and arrived `waitedMs` before. With
   * `counts` false, it is neither counted nor refused. Null: no valid key has this secret.
   */
  admit(secret: string, now: number, waitedMs: number, counts: boolean): Soon<Admission | null>;
}

/** A key after a change. */
export interface ChangedKey {
  readonly key: Key;
  /** Why the change may be lost although it is in force, for example by a power cut; null if it is durable. */
  readonly unsynced: string | null;
}

/** The usage of a key. `used` can exceed the limit after a move to a smaller plan. */
export interface Usage {
  readonly key: Key;
  readonly minute: { readonly used: number; readonly end: number };
  readonly day: { readonly used: number; readonly end: number };
  /** The ban in force, or the last one as long as it would prolong the next. */
  readonly ban: Ban | null;
  readonly isBanned: boolean;
}

/**
 * Administers the keys. The methods throw or reject with an OperatorError if a key does not exist. Those that change a
 * key do so, too, if it is revoked or (except for `revoke` and `unban`) has expired, or if the change cannot be saved;
 * nothing is changed then.
 */
export interface KeyAdmin {
  /** All keys, revoked and expired ones too, oldest first. */
  list(): Soon<readonly Key[]>;
  /** The key with this id, also if it is revoked or has expired. */
  get(id: string): Soon<Key>;
  /** Adds a key with this secret, which must be new. `expiresAt` null: it does not expire. */
  create(name: string, plan: Plan, expiresAt: number | null, now: number, secret: string): Promise<ChangedKey>;
  /** Adds a secret to a key. Its other secrets expire after `graceMs` at the latest. */
  rotate(id: string, graceMs: number, now: number, secret: string): Promise<ChangedKey>;
  /** Revokes a key permanently. */
  revoke(id: string, now: number): Promise<ChangedKey>;
  /** Moves a key to another plan. */
  setPlan(id: string, plan: Plan, now: number): Promise<ChangedKey>;
  /** The usage of a key of `list` or `get`. */
  usage(key: Key, now: number): Soon<Usage>;
  /**
   * Lifts the ban of a key. `unbanned` is whether there was one. If it rejects, the ban may have been lifted.
   */
  unban(id: string, now: number): Promise<{ readonly key: Key; readonly unbanned: boolean }>;
  /** What is going on now. Lists at most `count` keys of each kind. */
  activity(count: number, now: number): Soon<Activity>;
}

/** The requests that were admitted with a key, and the keys that an operator may want to look at. */
export interface Activity {
  /** In the current minute and the current day. */
  readonly requests: { readonly minute: number; readonly day: number };
  /** The number of keys that are banned and not revoked. */
  readonly bannedKeys: number;
  /** Keys with requests today, those with the most in this minute first. None is revoked. */
  readonly busiest: readonly Usage[];
  /** Banned keys, those whose bans end last first. None is revoked. */
  readonly banned: readonly Usage[];
}

/** A metric of the engine itself, as Prometheus defines it. */
export interface Metric {
  readonly type: 'gauge' | 'counter';
  readonly name: string;
  readonly help: string;
  readonly value: number;
}

/** The state of an engine, for metrics and `petstore status`. */
export interface Figures {
  readonly animals: number;
  readonly orders: number;
  /** The number of keys that are banned now. */
  readonly bannedKeys: number;
  /** Why creates are refused, or null, and since when that is so; null until everything has been read. */
  readonly creates: { readonly refusal: string | null; readonly since: number } | null;
  /** Their names differ from those of the server's own. */
  readonly metrics: readonly Metric[];
  /** What `petstore status` shows of the engine itself: members of its JSON. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Executes a command of `petstore`. Resolves to its result. Rejects with an OperatorError if it fails. */
export type Execute = (command: unknown) => Promise<unknown>;

export interface Engine {
  readonly accounts: Accounts;
  readonly pets: Pets;
  readonly orders: Records;
  readonly keys: KeyAdmin;
  /**
   * How much of the data has been read, in percent: 100 when `load` has resolved. `pets`, `orders` and `addOrders` may
   * be used only then.
   */
  readonly progress: number;
  figures(): Soon<Figures>;
  /** Stores these orders if there are none yet, and never were. For sample data. */
  addOrders(orders: readonly Order[]): Promise<void>;
  /**
   * From now on, commands of `petstore` that this process must execute are passed to `execute`. `address` is what the
   * server listens on, or null. `report` is called with a problem that an operator must know.
   */
  serveCommands(address: string | null, execute: Execute, report: (problem: string) => void): void;
  /** Reads what must be read before the server listens. Rejects with OperatorError. */
  prepare(): Promise<void>;
  /** Reads the rest. Rejects with OperatorError, and if `signal` is aborted meanwhile. */
  load(signal: AbortSignal): Promise<void>;
  /**
   * Saves what is not saved yet. Rejects with OperatorError. `figures` and `keys` may still be used until `release`,
   * and may reject.
   */
  close(): Promise<void>;
  /** Lets another process use the data. */
  release(): Promise<void>;
  /** Does that after a start that has failed, before or instead of `close`. */
  abandon(): Promise<void>;
}
