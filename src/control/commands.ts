/**
 * The commands of `petstore` that concern the keys, and its reports. The server executes them if one is using the data,
 * and `petstore` itself otherwise.
 *
 * Another version of the program may have sent a command, so the declared types of its members are not relied on.
 */
import { hasControlCharacters } from '../domain/control-characters.ts';
import { OperatorError } from '../domain/operator-error.ts';
import type { ChangedKey, KeyAdmin, Soon, Usage } from '../engine.ts';
import { isActive, type Key } from '../keys/key.ts';
import { isSecret, newSecret } from '../keys/secret.ts';
import { limitsOf, planOf, type PlanLimits } from '../limits/plans.ts';

/** What commands operate on. */
export interface Administered {
  readonly keys: KeyAdmin;
  /** Returns the status of a server; undefined if this is not a server. */
  readonly status?: (now: number) => Promise<unknown>;
}

/** A plan as requested. `planOf` checks it. */
export type PlanRequest = { readonly plan: string } & Partial<PlanLimits>;

/**
 * A secret that `petstore` has made, so that it knows the secret even if it receives no response. If another version
 * of `petstore` sends none, the server makes it.
 */
interface NewSecret {
  readonly secret?: string;
}

interface NewKey extends NewSecret {
  readonly name: string;
  readonly expiresAt: number | null;
}

/** Asks for a page of a list, which begins with the key of this index. Without it, for the whole list. */
interface PageRequest {
  readonly from?: number;
}

/** The approximate length of a page. It is small, so that other requests do not wait long for it. */
const pageBytes = 64 * 1024;

/**
 * What each command does. Times and durations are in milliseconds. A function rejects with an OperatorError if the
 * command is invalid or the change cannot be saved; nothing has changed then (except in `unban`).
 */
const commands = {
  async list({ keys }: Administered, { from }: PageRequest, now: number) {
    return pageOf(await keys.list(), from, (key) => keyReport(key, now));
  },

  async create({ keys }: Administered, command: PlanRequest & NewKey, now: number) {
    const { name, plan, perMinute, perDay, expiresAt, secret: given } = command;
    check(isName(name), '--name must have 1 to 100 characters, at least one visible, and no control characters');
    check(expiresAt === null || isTime(expiresAt), '--expires must be a time before the year 10000');
    check(expiresAt === null || expiresAt > now, '--expires is in the past');
    checkSecret(given);
    const secret = given ?? newSecret();
    const created = await keys.create(name, planOf(plan, perMinute, perDay), expiresAt, now, secret);
    return { ...changed(created, now), secret };
  },

  async rotate({ keys }: Administered, command: { id: string; graceMs: number } & NewSecret, now: number) {
    const { id, graceMs, secret: given } = command;
    check(typeof graceMs === 'number' && graceMs >= 0 && isTime(now + graceMs), '--grace must be a duration');
    checkSecret(given);
    const secret = given ?? newSecret();
    return { ...changed(await keys.rotate(id, graceMs, now, secret), now), secret };
  },

  async revoke({ keys }: Administered, { id }: { id: string }, now: number) {
    return changed(await keys.revoke(id, now), now);
  },

  async 'set-plan'({ keys }: Administered, { id, plan, perMinute, perDay }: PlanRequest & { id: string }, now: number) {
    return changed(await keys.setPlan(id, planOf(plan, perMinute, perDay), now), now);
  },

  /** Returns the usage of one key, or of all keys that are not revoked. */
  async usage({ keys }: Administered, { id, from }: { id: string | null } & PageRequest, now: number) {
    return pageOf(id === null ? await keys.list() : [await keys.get(id)], from, async (key) => {
      return id === null && key.revokedAt !== null ? null : usageReport(await keys.usage(key, now));
    });
  },

  /** Lifts a ban. `unbanned` is whether there was one. */
  async unban({ keys }: Administered, { id }: { id: string }, now: number) {
    const { key, unbanned } = await keys.unban(id, now);
    return { keys: [keyReport(key, now)], unbanned };
  },

  /** Returns a StatusReport. */
  async status({ status }: Administered, _: object, now: number) {
    return status?.(now);
  },
};

export type CommandName = keyof typeof commands;
/** The commands that a process without a server executes too. */
export type AccountCommandName = Exclude<CommandName, 'status'>;
/** A command as it is sent to a server: its name and its parameters. */
export type Command<Op extends CommandName> = { readonly op: Op } & Parameters<(typeof commands)[Op]>[1];
/** The result of a command: the keys that it concerns, or their usage. */
export type Result<Op extends CommandName> = Awaited<ReturnType<(typeof commands)[Op]>>;
/** Executes a command and returns its result. Rejects with an OperatorError if it is unknown or fails. */
export async function execute(administered: Administered, command: unknown, now: number): Promise<unknown> {
  const { op, id = null } = Object(command) as { op?: unknown; id?: unknown };
  check(id === null || typeof id === 'string', 'the id of a key must be a text'); // a deep array cannot be shown
  if (typeof op === 'string' && Object.hasOwn(commands, op)) {
    return commands[op as CommandName](administered, command as never, now);
  }
  throw new OperatorError('the running server is another version and does not support this command; restart it');
}

/** A command was sent, and there was no response. Whether it made a change is not known. */
export class NoResponseError extends OperatorError {}

/**
 * Returns the reports of the keys from the index `from` on, without those that are null, and the index of the next page
 * or null. Keys are never removed, so an index stays that of the same key.
 */
async function pageOf<Report>(keys: readonly Key[], from: unknown, reportOf: (key: Key) => Soon<Report | null>) {
  check(from === undefined || (Number.isSafeInteger(from) && (from as number) >= 0), 'the page must be an index');
  const items: Report[] = [];
  let next = (from as number | undefined) ?? 0;
  for (let bytes = 0; next < keys.length; next++) {
    const report = await reportOf(keys[next]!);
    bytes += from === undefined ? 0 : Buffer.byteLength(JSON.stringify(report));
    if (bytes > pageBytes && items.length > 0) break;
    if (report !== null) items.push(report);
  }
  return { items, next: next < keys.length ? next : null };
}

/** What a change of a key returns. */
function changed({ key, unsynced }: ChangedKey, now: number) {
  return { keys: [keyReport(key, now)], unsynced };
}

function checkSecret(secret: unknown): void {
  check(secret === undefined || (typeof secret === 'string' && isSecret(secret)), 'the new secret is invalid');
}

function check(valid: boolean, rule: string): void {
  if (!valid) throw new OperatorError(rule, 2);
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && /^(?=.*\S).{1,100}$/u.test(value) && !hasControlCharacters(value);
}

/** The last millisecond that RFC 3339 can represent. */
const lastTime = Date.UTC(10_000, 0, 1) - 1;

/** Returns whether a value is a time in whole milliseconds of the years 0 to 9999. */
function isTime(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) <= lastTime && new Date(value as number).getUTCFullYear() >= 0;
}

export type KeyReport = ReturnType<typeof keyReport>;

/** Returns what `keys list --json` shows of a key. Times are RFC 3339, here and below. */
function keyReport(key: Key, now: number) {
  const active = isActive(key, now);
  return {
    id: key.id,
    name: key.name,
    plan: key.plan.name,
    // The limits of an enterprise plan. They are null for the other plans, whose limits are fixed.
    perMinute: key.plan.name === 'enterprise' ? key.plan.perMinute : null,
    perDay: key.plan.name === 'enterprise' ? key.plan.perDay : null,
    state: active ? 'active' : key.revokedAt === null ? 'expired' : 'revoked',
    createdAt: isoTime(key.createdAt),
    expiresAt: key.expiresAt === null ? null : isoTime(key.expiresAt),
    // The secrets that are valid now, the newest last.
    secrets: key.secrets
      .filter(({ expiresAt }) => active && (expiresAt === null || now < expiresAt))
      .map(({ last4, expiresAt }) => ({ last4, expiresAt: expiresAt === null ? null : isoTime(expiresAt) })),
  };
}

export type UsageReport = ReturnType<typeof usageReport>;

/** Returns what `usage --json` shows of a key. */
export function usageReport({ key, minute, day, ban, isBanned }: Usage) {
  const { perMinute, perDay } = limitsOf(key.plan);
  const windowReport = ({ used, end }: Usage['minute'], limit: number) => ({ limit, used, resetAt: isoTime(end) });
  return {
    id: key.id,
    name: key.name,
    plan: key.plan.name,
    minute: windowReport(minute, perMinute),
    day: windowReport(day, perDay),
    // The ban in force, or the last one as long as it would prolong the next.
    ban: ban && {
      start: isoTime(ban.start),
      end: isoTime(ban.end),
      active: isBanned,
    },
  };
}

/** Formats a time (RFC 3339). */
export function isoTime(time: number): string {
  return new Date(time).toISOString();
}
